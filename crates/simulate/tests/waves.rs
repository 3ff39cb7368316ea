//! One delay on one rank: which ranks it reaches, and how fast.

use crate::{FREE, schedule, simulated};
use anechoic_simulate::{Action, Builder, Law, Noise, Parameters, Schedule};

/// Computation in each iteration.
const GRAIN_NS: u64 = 100_000;

/// Returns by how much each rank finished later, in ns, with one delay on a rank.
fn delays(job: &Schedule, parameters: &Parameters, cpu: usize) -> Vec<u64> {
    let quiet = simulated(job, parameters, &mut Noise::Quiet).finish_ps;
    let law = Law::Once { cpu, at_ns: 50_000, delay_ns: 1_000_000 };
    let noise = &mut Noise::from_law(law, job.ranks() as usize, 1);
    let late = simulated(job, parameters, noise).finish_ps;
    late.iter().zip(&quiet).map(|(late, quiet)| (late - quiet) / 1_000).collect()
}

/// In these collectives each rank needs something of every other one.
#[test]
fn a_delay_on_any_rank_reaches_all_ranks() {
    let collectives = [
        "barrier",
        "allreduce-rd",
        "allreduce-ring",
        "allreduce-rabenseifner",
        "alltoall-bruck",
        "alltoall-pairwise",
    ];
    for pattern in collectives {
        for ranks in [2, 3, 6, 8, 13, 16] {
            for rank in 0..ranks as usize {
                let late = delays(&schedule(pattern, ranks, 1, GRAIN_NS, 8), &FREE, rank);
                assert_eq!(late, vec![1_000_000; ranks as usize], "{pattern}, {ranks}: {rank}");
            }
        }
    }
}

#[test]
fn a_delay_reaches_those_that_need_the_rank() {
    let late = |pattern: &str, rank: usize| -> Vec<usize> {
        let late = delays(&schedule(pattern, 8, 1, GRAIN_NS, 8), &FREE, rank);
        (0..8).filter(|&rank| late[rank] > 0).collect()
    };
    // The tree of a broadcast: 4 sends to 5 and 6, and 6 to 7.
    assert_eq!(late("bcast", 0), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(late("bcast", 4), [4, 5, 6, 7]);
    assert_eq!(late("bcast", 5), [5]);
    assert_eq!(late("reduce", 5), [0, 4, 5]);
    assert_eq!(late("pipeline", 3), [3, 4, 5, 6, 7]);
    assert_eq!(late("chain", 3), [2, 3, 4]);
}

/// Returns a chain of ranks that compute and then exchange with both neighbours: first to the right, then to the left.
fn directed_chain(ranks: u32, iterations: u32) -> Schedule {
    let mut builder = Builder::new(ranks);
    for rank in 0..ranks {
        let (left, right) = (rank.checked_sub(1), Some(rank + 1).filter(|&next| next < ranks));
        let mut before: Vec<u32> = vec![];
        for _ in 0..iterations {
            let mut step = |actions: Vec<Action>| {
                let numbers = actions.into_iter().map(|action| builder.add(action).expect("sound"));
                let numbers: Vec<u32> = numbers.collect();
                for &number in &numbers {
                    before.iter().for_each(|&before| builder.after(number, before));
                }
                before = numbers;
            };
            step(vec![Action::Compute { ns: GRAIN_NS }]);
            for (to, from, tag) in [(right, left, 0), (left, right, 1)] {
                let send = to.map(|to| Action::Send { to, bytes: 8, tag });
                let receive = from.map(|from| Action::Receive { from, bytes: 8, tag });
                if send.is_some() || receive.is_some() {
                    step(send.into_iter().chain(receive).collect());
                }
            }
        }
        builder.end_rank().expect("sound");
    }
    builder.finish().expect("all ranks")
}

/// Afzal, Hager and Wellein (arXiv 1905.10603): without other noise, a delay moves over a chain with σ·d ranks in each
/// iteration: σ is 1 for messages that are sent at once, 2 if each sender waits for its receiver and all exchange with
/// both neighbours. Here d is 1. The wave does not decay.
#[test]
fn an_idle_wave_has_its_published_speed() {
    let (ranks, middle) = (65, 32_usize);
    for (eager_bytes, speed) in [(u64::MAX, 1), (0, 2)] {
        let parameters = Parameters { eager_bytes, latency_ps: 1_000_000, ..FREE };
        let late =
            |iterations: u32| delays(&directed_chain(ranks, iterations), &parameters, middle);
        let reached = |late: &[u64]| late.iter().filter(|&&late| late > 100_000).count();
        let (early, after) = (late(4), late(12));
        assert_eq!(reached(&after) - reached(&early), 2 * speed * 8, "S {eager_bytes}");
        // What is absorbed is the latency of messages that are there already.
        let front = (reached(&after) - 1) / 2;
        assert!(
            after[middle - front..=middle + front].iter().all(|&late| late > 940_000),
            "{after:?}"
        );
    }
}
