//! Patterns round by round, beside the same patterns message by message.

use crate::engine::{Model, simulate};
use crate::noise::Noise;
use crate::noise::law::Law;
use crate::noise::phase::Phase;
use crate::noise::trace::Trace;
use crate::parameters::{Parameters, network};
use crate::patterns::{Job, PATTERNS, Pattern};
use crate::rounds;
use crate::work::Work;

/// Numbers of ranks: powers of two, primes, squares, cubes.
const RANKS: [u32; 9] = [1, 2, 3, 6, 8, 12, 13, 27, 64];

fn job(ranks: u32, bytes: u64) -> Job {
    Job { ranks, iterations: 6, grain_ns: 40_000, bytes }
}

/// Returns when each rank finished, round by round and message by message, and what noise took.
fn both(
    pattern: &Pattern,
    job: &Job,
    parameters: &Parameters,
    noise: &Noise,
) -> [[Vec<u64>; 2]; 2] {
    let schedule = pattern.schedule(job).expect("a schedule");
    let mut noises = [noise.clone(), noise.clone()];
    let [one, other] = &mut noises;
    let by_round = rounds::simulate(pattern, job, parameters, one, &mut |_, _| true);
    let by_message = simulate(&schedule, parameters, Model::Anechoic, other, &mut |_, _| true);
    [by_round, by_message].map(|outcome| {
        let outcome = outcome.expect("executed");
        [outcome.finish_ps, outcome.lost_ps]
    })
}

fn noises(ranks: u32) -> Vec<Noise> {
    let detour = |number: u64| {
        let start = number * 70_000_000 + number * number * 7_919_000 % 40_000_000;
        start..start + 1_000_000 + number * 733_000 % 19_000_000
    };
    let trace = Trace::new((0..100).map(detour).collect(), 100 * 70_000_000);
    let cpus = ranks as usize;
    let laws = [
        Law::Periodic { every_ns: 50_000, delay_ns: 4_000 },
        Law::Exponential { every_ns: 30_000, delay_ns: 5_000 },
        Law::Once { cpu: 0, at_ns: 10_000, delay_ns: 300_000 },
    ];
    let recorded = Noise::recorded(vec![trace], &[1], cpus, Phase::Independent, 4);
    let drawn = laws.map(|law| Noise::from_law(law, cpus, 9));
    [Noise::Quiet, recorded].into_iter().chain(drawn).collect()
}

/// Where messages take no time of CPUs, the order in which these take them changes nothing.
#[test]
fn without_overhead_each_rank_finishes_as_message_by_message() {
    let free = network("none").expect("a network").parameters;
    for eager_bytes in [u64::MAX, 0] {
        let parameters = Parameters { latency_ps: 1_700_000, eager_bytes, ..free };
        for pattern in PATTERNS {
            for ranks in RANKS {
                for noise in noises(ranks) {
                    let [by_round, by_message] = both(pattern, &job(ranks, 8), &parameters, &noise);
                    let context =
                        format!("{} on {ranks}, S {eager_bytes}: {noise:?}", pattern.name);
                    assert_eq!(by_round, by_message, "{context}");
                }
            }
        }
    }
}

/// Without noise all ranks are in the same round, so that no message comes early. Exceptions: ranks beside a power of two are
/// a round behind, in a tree they have less to do than others, and long messages come while their receiver still sends.
#[test]
fn without_noise_each_rank_finishes_as_message_by_message() {
    let mut exact = 0;
    for name in ["alps", "loggopsim", "daint", "aws"] {
        let parameters = network(name).expect("a network").parameters;
        for pattern in PATTERNS {
            for ranks in RANKS {
                for bytes in [0, 8, 3_000, 100_000] {
                    let job = job(ranks, bytes);
                    let [round, message] = both(pattern, &job, &parameters, &Noise::Quiet);
                    let is_exact = match pattern.name {
                        "allreduce-rd" | "allreduce-rabenseifner" => ranks.is_power_of_two(),
                        "chain" | "halo2d" | "halo3d" => bytes <= 8,
                        "sweep" | "pipeline" => bytes <= 8 && name != "loggopsim",
                        "reduce" => false,
                        _ => true,
                    };
                    let context = format!("{name}, {} on {ranks}, {bytes} bytes", pattern.name);
                    if is_exact {
                        exact += 1;
                        assert_eq!(round, message, "{context}");
                    }
                    let [round, message] =
                        [round, message].map(|found| found[0].iter().copied().max());
                    let ratio = round.unwrap_or(0) as f64 / message.unwrap_or(1) as f64;
                    let is_long = bytes > 3_000 && name == "loggopsim";
                    let range = if is_long { 0.5..1.1 } else { 0.85..1.1 };
                    assert!(range.contains(&ratio), "{context}: {ratio}");
                }
            }
        }
    }
    assert!(exact > 1_000, "{exact}");
}

#[test]
fn a_job_is_as_large_as_its_schedule() {
    for pattern in PATTERNS {
        for ranks in (1..40).chain([63, 64, 65, 100]) {
            for (iterations, grain_ns) in [(1, 0), (3, 9), (7, 9)] {
                let job = Job { ranks, iterations, grain_ns, bytes: 999 };
                let schedule = pattern.schedule(&job).expect("a schedule");
                let expected = Work::Schedule(schedule).size();
                let found = pattern.measure(&job);
                // A schedule without computations has none that is longest.
                assert_eq!(found, expected, "{} on {ranks}", pattern.name);
            }
        }
    }
}
