//! One delay on one rank: which ranks it reaches, and how fast.

use crate::{FREE, schedule, simulated};
use anechoic_recording::options::Answers;
use anechoic_simulate::{
    Action, Ask, Builder, IdleWave, Law, Noise, OPTIONS, Parameters, Schedule, Simulation,
    WaveDistance, goal, run,
};
use std::cmp::Ordering;
use std::io::Write;
use std::path::PathBuf;
use tempfile::NamedTempFile;

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

/// Returns what simulating these options and recordings gives.
fn result(given: &[(&str, &str)], noise: &[PathBuf]) -> Simulation {
    let ask = Ask::read(&Answers::read(OPTIONS, given).expect("options")).expect("a request");
    run(&ask, noise, &|_, _| true).expect("simulated")
}

/// Returns the wave of the delay of such a simulation.
fn wave(given: &[(&str, &str)], noise: &[PathBuf]) -> IdleWave {
    result(given, noise).wave.expect("there is a delay")
}

/// Writes a file of parameters: only messages on their way take time.
fn parameters(latency: &str, eager_bytes: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    write!(file, "L {latency}\no 0ns\ng 0ns\nG 0ns\nO 0ns\nS {eager_bytes}\n").expect("written");
    file
}

/// How late ranks are over time: with each iteration of 102 µs, one more on either side is late by the
/// delay, that on the right by the first exchange.
#[test]
fn late_ranks_over_time_are_those_that_the_wave_has_reached() {
    let mut goal = NamedTempFile::with_suffix(".goal").expect("a file");
    goal::write_text(&directed_chain(31, 20), &mut goal).expect("written");
    let file = parameters("1us", "1000");
    let options = [
        ("goal", goal.path().to_str().expect("text")),
        ("params", file.path().to_str().expect("text")),
        ("law", "once"),
        ("on-rank", "15"),
        ("delay", "1ms"),
        ("at", "50us"),
    ];
    let lateness = result(&options, &[]).lateness.expect("there is a delay");
    assert_eq!(lateness.groups.len(), 31);
    for (instant, &at_ns) in lateness.at_ns.iter().enumerate() {
        for (rank, group) in (0_u32..).zip(&lateness.groups) {
            assert_eq!((group.first, group.last), (rank, rank));
            let distance = rank.abs_diff(15);
            let from_ns = match rank.cmp(&15) {
                Ordering::Equal => 100_000.0,
                Ordering::Greater => f64::from(distance) * 102_000.0 - 1_000.0,
                Ordering::Less => f64::from(distance) * 102_000.0,
            };
            let late_ns = group.late_ns[instant];
            let expected_ns = if at_ns < from_ns { 0.0 } else { 1e6 };
            // What is absorbed is the latency of messages that are there already.
            let absorbed_ns = 1_000.0 * f64::from(distance);
            let range = expected_ns - absorbed_ns..=expected_ns;
            assert!(range.contains(&late_ns), "rank {rank} at {at_ns}: {late_ns}");
        }
    }
}

/// The published speed again, now as the result says it: with S of 0 each iteration brings the wave two ranks further.
#[test]
fn the_speed_of_a_wave_is_that_which_was_published() {
    let mut goal = NamedTempFile::with_suffix(".goal").expect("a file");
    goal::write_text(&directed_chain(65, 40), &mut goal).expect("written");
    let goal = goal.path().to_str().expect("text");
    for (eager_bytes, speed) in [("1000", 1.0), ("0", 2.0)] {
        let file = parameters("1us", eager_bytes);
        let params = file.path().to_str().expect("text");
        let options = [
            ("goal", goal),
            ("params", params),
            ("law", "once"),
            ("on-rank", "32"),
            ("delay", "1ms"),
            ("at", "50us"),
        ];
        let wave = wave(&options, &[]);
        let time = wave.time_per_message.expect("it moves").median;
        // An iteration computes for 100 µs, and sends messages in both directions, one after the other.
        let iteration = 102_000.0;
        assert!((time * speed / iteration - 1.0).abs() < 0.02, "{eager_bytes}: {time}");
        let loss = wave.loss_per_message.expect("it moves").median;
        assert!((0.0..=2_000.0).contains(&loss), "{eager_bytes}: {loss}");
        assert_eq!(wave.ranks_reached, 65.0);
        let count = |distance: &WaveDistance| (distance.messages, distance.ranks);
        let expected = (0..=32).map(|messages| (messages, if messages == 0 { 1 } else { 2 }));
        assert_eq!(
            wave.distances.iter().map(count).collect::<Vec<_>>(),
            expected.collect::<Vec<_>>()
        );
    }
}

/// Random numbers of our own, from 0 to 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.next()).ln() * mean
    }
}

/// Returns detours in ns, with the length of the recording.
fn detours(mean_ns: f64, seed: u64) -> (Vec<(f64, f64)>, f64) {
    let (mut random, mut at, mut detours) = (Random(seed), 0.0, vec![]);
    while at < 2e9 {
        let start = (at + random.exponential(1e6)).round();
        let length = random.exponential(mean_ns).round().max(1.0);
        detours.push((start, length));
        at = start + length;
    }
    (detours, at + 1_000.0)
}

/// A chain of 65 ranks that compute for 1 ms and then wait for both neighbours, by its recursion. Returns how late the
/// ranks at each distance are when a delay of 10 ms on rank 32 comes to them, as long as it reaches both of them, and when.
fn chain_by_recursion(
    (detours, window): (&[(f64, f64)], f64),
    iterations: usize,
    random: &mut Random,
) -> Vec<(f64, f64)> {
    let phases: Vec<f64> = (0..65).map(|_| random.next() * window).collect();
    let end = |rank: usize, start: f64| {
        let (mut at, mut left) = (start, 1e6);
        let begin = ((start + phases[rank]) / window).floor() * window - phases[rank];
        let again = detours.iter().map(|&(start, length)| (begin + start, length));
        let twice = again.clone().chain(again.map(|(start, length)| (start + window, length)));
        for (start, length) in twice.filter(|(detour, length)| detour + length > start) {
            if start > at {
                if left <= start - at {
                    return at + left;
                }
                left -= start - at;
            }
            at = at.max(start + length);
        }
        at + left
    };
    let job = |is_delayed: bool| {
        let (mut ready, mut all) = (vec![0.0; 65], vec![]);
        for iteration in 0..iterations {
            let is_late = |rank: usize| is_delayed && rank == 32 && iteration == 0;
            let start = |rank: usize| if is_late(rank) { 1e7 } else { ready[rank] };
            let done: Vec<f64> = (0..65).map(|rank| end(rank, start(rank))).collect();
            let latest = |rank: usize| {
                let near = &done[rank.saturating_sub(1)..=(rank + 1).min(64)];
                near.iter().copied().fold(0.0, f64::max)
            };
            ready = (0..65).map(latest).collect();
            all.push((done, ready.clone()));
        }
        all
    };
    let (with, without) = (job(true), job(false));
    let reached = |rank: usize| {
        let both = with.iter().zip(&without);
        let ends = both.flat_map(|(a, b)| [(a.0[rank], b.0[rank]), (a.1[rank], b.1[rank])]);
        let mut late = ends.map(|(with, without)| (with - without, without));
        late.find(|(late, _)| *late >= 1e6)
    };
    let at = |distance: usize| {
        let (a, b) = (reached(32 - distance)?, reached(32 + distance)?);
        Some(((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0))
    };
    (0..=32).map_while(at).collect()
}

/// Under noise a wave decays: against the recursion above, which shares nothing with the simulation.
#[test]
fn a_wave_decays_under_noise_as_by_its_recursion() {
    let file = parameters("0ns", "1000");
    let params = file.path().to_str().expect("text");
    let options = [
        ("pattern", "chain"),
        ("ranks", "65"),
        ("iterations", "36"),
        ("grain", "1ms"),
        ("params", params),
        ("law", "once"),
        ("on-rank", "32"),
        ("delay", "10ms"),
        ("phase", "independent"),
        ("replicas", "60"),
        ("sources", "0"),
    ];
    for mean_ns in [20e3, 100e3] {
        let (detours, window) = detours(mean_ns, 7);
        let mut text = NamedTempFile::with_suffix(".txt").expect("a file");
        for (start, length) in &detours {
            writeln!(text, "{start} {length}").expect("written");
        }
        let length = format!("{window}ns");
        let options = [&options[..], &[("length", &*length)]].concat();
        let wave = wave(&options, &[text.path().to_owned()]);
        let mut random = Random(99);
        let truth: Vec<_> =
            (0..60).map(|_| chain_by_recursion((&detours, window), 36, &mut random)).collect();
        for messages in [8, 16] {
            let median = |value: fn(&(f64, f64)) -> f64| {
                let found = truth.iter().filter_map(|found| found.get(messages));
                let mut values: Vec<f64> = found.map(value).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            let found = &wave.distances[messages];
            let (lost, lost_in_truth) = (1e7 - found.late_ns, 1e7 - median(|at| at.0));
            assert!((lost / lost_in_truth - 1.0).abs() < 0.1, "{lost} {lost_in_truth}");
            let (after, after_in_truth) = (found.after_ns.expect("reached"), median(|at| at.1));
            assert!((after / after_in_truth - 1.0).abs() < 0.03, "{after} {after_in_truth}");
        }
        let loss = wave.loss_per_message.expect("it moves").median;
        let usual = (1e7 - wave.distances[16].late_ns) / 16.0;
        assert!((loss / usual - 1.0).abs() < 0.1, "{loss} {usual}");
    }
}
