//! The times of LogGOPSim: what it printed for the same schedules.

use crate::{LOGGOPSIM, schedule, trace};
use anechoic_simulate::{Model, Noise, Parameters, Phase, simulate};

/// Finishing times of all ranks for each schedule.
const FOUND: &str = include_str!("reference.tsv");

#[test]
fn every_rank_finishes_when_loggopsim_says() {
    let mut compared = 0;
    for row in FOUND.lines().filter(|row| !row.starts_with('#')) {
        let [pattern, ranks, eager, noise, times] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let ranks = ranks.parse().expect("ranks");
        let parameters = Parameters { eager_bytes: eager.parse().expect("bytes"), ..LOGGOPSIM };
        let job = schedule(pattern, ranks, 3, 30_000, 700);
        let mut noise = match noise {
            "noise" => {
                let traces = vec![trace()];
                Noise::as_loggopsim(traces, ranks as usize, Phase::Independent, 7)
            }
            _ => Noise::Quiet,
        };
        let found = simulate(&job, &parameters, Model::LogGopSim, &mut noise, &mut |_, _| true);
        let found: Vec<u64> =
            found.expect("all is executed").finish_ps.iter().map(|ps| ps / 1_000).collect();
        let expected: Vec<u64> =
            times.split(' ').map(|time| time.parse().expect("a time")).collect();
        assert_eq!(found, expected, "{pattern}, {ranks} ranks, S {eager}, {noise:?}");
        compared += 1;
    }
    assert_eq!(compared, 104, "schedules");
}

/// Finishing times of all ranks by ATLAHS's fork.
const BY_ATLAHS: &str = include_str!("atlahs.tsv");

/// Also those of events at the same time, whose order is that of a heap.
#[test]
fn every_rank_finishes_when_atlahs_says() {
    let mut compared = 0;
    for row in BY_ATLAHS.lines().filter(|row| !row.starts_with('#')) {
        let [pattern, ranks, eager, network, times] = row.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("{row}");
        };
        let eager_bytes = eager.parse().expect("bytes");
        let parameters = match network {
            "default" => Parameters { eager_bytes, ..LOGGOPSIM },
            _ => Parameters {
                latency_ps: 1_900_000,
                overhead_ps: 230_000,
                gap_ps: 700_000,
                gap_per_byte_ps: 79,
                overhead_per_byte_ps: 1_000,
                eager_bytes,
            },
        };
        let job = schedule(pattern, ranks.parse().expect("ranks"), 3, 30_000, 700);
        let found = simulate(&job, &parameters, Model::Atlahs, &mut Noise::Quiet, &mut |_, _| true);
        let found: Vec<u64> =
            found.expect("all is executed").finish_ps.iter().map(|ps| ps / 1_000).collect();
        let expected: Vec<u64> =
            times.split(' ').map(|time| time.parse().expect("a time")).collect();
        assert_eq!(found, expected, "{pattern}, {ranks} ranks, S {eager}, {network}");
        compared += 1;
    }
    assert_eq!(compared, 312, "schedules");
}

/// Ten rounds of o + L + o + 7·G, and so on: known from LogGOPSim and by hand.
#[test]
fn an_ordered_barrier_takes_what_its_messages_take() {
    for (ranks, expected_ns) in [(1_024_u32, 55_420), (16_384, 77_588)] {
        let rounds = u64::from(ranks.ilog2());
        assert_eq!(expected_ns, rounds * (1_500 + 2_500 + 1_500 + 7 * 6));
        for model in [Model::LogGopSim, Model::Anechoic] {
            let job = schedule("barrier", ranks, 1, 0, 8);
            let found = simulate(&job, &LOGGOPSIM, model, &mut Noise::Quiet, &mut |_, _| true);
            let found = found.expect("all is executed").finish_ps;
            assert!(found.iter().all(|&ps| ps == expected_ns * 1_000), "{ranks} {model:?}");
        }
    }
}
