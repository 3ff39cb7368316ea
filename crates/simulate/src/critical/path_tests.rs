//! The time of a path is that of the job, and what it says of the network is what finite differences say.

use super::Finder;
use super::hits;
use crate::engine::{Costs, simulate_with_log};
use crate::noise::Noise;
use crate::noise::phase::Phase;
use crate::noise::trace::Trace;
use crate::parameters::{NETWORKS, Parameters, network};
use crate::patterns::{Job, PATTERNS};
use crate::schedule::{ANY_RANK, ANY_TAG, Action, Builder, Schedule};
use crate::{Model, simulate};
use proptest::prelude::*;

const RANKS: u32 = 11;

/// Returns our rules, with messages that all cost the same.
fn usual(parameters: &Parameters) -> Costs<'static> {
    Costs { parameters: *parameters, model: Model::Anechoic, network: None }
}

/// Returns a recording with a detour of up to 9 µs about every 50 µs.
fn trace() -> Trace {
    let detour = |number: u64| {
        let start = number * 50_000_000 + number * number * 7_919_000 % 30_000_000;
        start..start + 1_000_000 + number * 733_000 % 8_000_000
    };
    Trace::new((0..400).map(detour).collect(), 400 * 50_000_000)
}

fn noise(cpus: usize, seed: u64) -> Noise {
    Noise::recorded(vec![trace()], &[1], cpus, Phase::Independent, seed)
}

/// Networks in which each parameter decides something, also messages that wait for their receivers.
fn networks() -> Vec<Parameters> {
    let base = network("loggopsim").expect("a network").parameters;
    let copying = Parameters { overhead_per_byte_ps: 9_000, ..base };
    let waiting = Parameters { eager_bytes: 0, ..base };
    let spare = Parameters { overhead_per_byte_ps: 5_000, ..base };
    NETWORKS.iter().map(|network| network.parameters).chain([copying, waiting, spare]).collect()
}

#[test]
fn the_parts_of_the_path_are_the_time_of_the_job() {
    for pattern in PATTERNS {
        let job = Job { ranks: RANKS, iterations: 4, grain_ns: 30_000, bytes: 3_000 };
        let schedule = pattern.schedule(&job).expect("a schedule");
        for parameters in networks() {
            for noise in [Noise::Quiet, noise(RANKS as usize, 3)] {
                let finder = Finder { costs: usual(&parameters), schedule: &schedule };
                let (outcome, path) = finder.path(&mut noise.clone(), &|_| true).expect("executed");
                let context = format!("{}: {parameters:?}, {:?}", pattern.name, path.time);
                assert_eq!(path.time.sum_ps(&parameters), outcome.end_ps(), "{context}");
                let same = simulate(
                    &schedule,
                    &parameters,
                    Model::Anechoic,
                    &mut noise.clone(),
                    &mut |_, _| true,
                );
                assert_eq!(same.expect("executed"), outcome, "the log changes nothing: {context}");
                let hits =
                    hits::find(&path, &schedule, &usual(&parameters), &noise).unwrap_or_default();
                let lost_ps: u64 = hits.iter().map(|hit| hit.lost_ps).sum();
                assert_eq!(lost_ps, path.time.noise_ps, "{context}");
            }
        }
    }
}

/// A path is one of those that take longest. So what one ps more of a parameter adds to the job is at least what it adds to
/// the path, and one ps less takes away at most that.
#[test]
fn counts_on_the_path_are_between_the_differences_on_both_sides() {
    type Part = fn(&mut Parameters) -> &mut u64;
    let change: [(Part, &str); 3] = [
        (|parameters| &mut parameters.latency_ps, "L"),
        (|parameters| &mut parameters.overhead_ps, "o"),
        (|parameters| &mut parameters.gap_per_byte_ps, "G"),
    ];
    let parameters = network("loggopsim").expect("a network").parameters;
    for pattern in PATTERNS {
        let job = Job { ranks: RANKS, iterations: 3, grain_ns: 30_000, bytes: 1_000 };
        let schedule = pattern.schedule(&job).expect("a schedule");
        let end = |parameters: Parameters| {
            let finder = Finder { costs: usual(&parameters), schedule: &schedule };
            let (outcome, path) = finder.path(&mut Noise::Quiet, &|_| true).expect("executed");
            (outcome.end_ps() as i64, path.time)
        };
        let (at, time) = end(parameters);
        let counts = [time.latencies, time.overheads, time.wire_bytes];
        for ((change, name), count) in change.into_iter().zip(counts) {
            let (mut more, mut less) = (parameters, parameters);
            *change(&mut more) += 1;
            *change(&mut less) -= 1;
            let (right, left) = (end(more).0 - at, at - end(less).0);
            let range = left..=right;
            assert!(
                range.contains(&(count as i64)),
                "{}, {name}: {count}, {range:?}",
                pattern.name
            );
        }
    }
}

/// What is done between two ranks, in random order: lengths, tags, CPUs and what waits for what.
fn job() -> impl Strategy<Value = Schedule> {
    let step = (0_u32..4, 0_u32..4, 1_u64..9_000, 0_u8..3, 0_u8..2, 0_usize..4, 0_u8..3);
    prop::collection::vec(step, 1..60).prop_map(|steps| {
        type Operation = (Action, u8, u8, usize, u8);
        let mut operations: Vec<Vec<Operation>> = vec![vec![]; 4];
        for (rank, other, size, cpu, nic, before, how) in steps {
            if rank == other {
                operations[rank as usize].push((Action::Compute { ns: size }, cpu, 0, before, how));
                continue;
            }
            let (from, tag) = if how == 2 { (ANY_RANK, ANY_TAG) } else { (rank, u32::from(nic)) };
            let send = Action::Send { to: other, bytes: size, tag: u32::from(nic) };
            let receive = Action::Receive { from, bytes: size, tag };
            operations[rank as usize].push((send, cpu, nic, before, how));
            operations[other as usize].push((receive, cpu, nic, before / 2, how / 2));
        }
        let mut builder = Builder::new(4);
        for rank in operations {
            for (at, (action, cpu, nic, before, how)) in rank.into_iter().enumerate() {
                let number = builder.add_on(action, cpu, nic).expect("sound");
                match (before.checked_sub(1).and_then(|before| at.checked_sub(before + 1)), how) {
                    (Some(before), 0) => builder.after_start(number, before as u32),
                    (Some(before), _) => builder.after(number, before as u32),
                    (None, _) => {}
                }
            }
            builder.end_rank().expect("no circle");
        }
        builder.finish().expect("all ranks")
    })
}

proptest! {
    #[test]
    fn the_parts_are_the_whole_on_several_cpus(schedule in job(), network in 0_usize..13, seed in 0_u64..9) {
        let parameters = networks()[network];
        let mut noise = if seed == 0 { Noise::Quiet } else { noise(4 * schedule.cpus(), seed) };
        let executed = simulate_with_log(usual(&parameters), &schedule, &mut noise.clone(), &mut |_, _| true);
        // Ranks may wait for each other in a circle.
        prop_assume!(executed.is_ok());
        let finder = Finder { costs: usual(&parameters), schedule: &schedule };
        let (outcome, path) = finder.path(&mut noise, &|_| true).expect("executed");
        prop_assert_eq!(path.time.sum_ps(&parameters), outcome.end_ps(), "{:?}", path.time);
    }
}

/// On a chain of ranks that pass a message on, a rank starts when the one before it ends: this recursion says whom a detour
/// makes late. Others may absorb it.
#[test]
fn without_a_detour_the_ranks_that_it_delayed_are_earlier() {
    let pattern = crate::patterns::find("pipeline").expect("a pattern");
    let job = Job { ranks: RANKS, iterations: 1, grain_ns: 90_000, bytes: 8 };
    let schedule = pattern.schedule(&job).expect("sound");
    let parameters = network("none").expect("a network").parameters;
    let finder = Finder { costs: usual(&parameters), schedule: &schedule };
    let noise = noise(RANKS as usize, 5);
    let finish = |noise: &Noise| {
        let mut noise = noise.clone();
        let mut at = 0;
        let end = |cpu| {
            at = noise.end(cpu, at, 90_000_000);
            at
        };
        (0..RANKS as usize).map(end).collect::<Vec<u64>>()
    };
    let (outcome, path) = finder.path(&mut noise.clone(), &|_| true).expect("executed");
    assert_eq!(path.ranks.len() as u32, RANKS);
    assert_eq!(outcome.finish_ps, finish(&noise));
    let hits = hits::find(&path, &schedule, &usual(&parameters), &noise).expect("recorded");
    assert!(hits.len() > 10, "{hits:?}");
    let mut reached_the_end = 0;
    for hit in &hits {
        let late = finder.late_without(hit, &noise, &outcome, &|_| true).expect("executed");
        let without = finish(&noise.without_detour(hit.stream, hit.detour));
        let earlier = (0..RANKS as usize).filter(|&rank| without[rank] < outcome.finish_ps[rank]);
        assert_eq!(late.ranks, earlier.count() as u64, "{hit:?}");
        assert!(late.ranks > 0, "{hit:?}");
        reached_the_end += u64::from(late.job_ps > 0);
    }
    assert!(reached_the_end > 0);
}
