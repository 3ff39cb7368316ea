//! The closed-form laws against known values, brute force and chance.

use crate::phases::{MS, SECOND, alone, busy, mean_and_error, spans};
use anechoic_predict::phases::{ClosedForm, Timeline, laws};
use proptest::prelude::*;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// 1 ms once in 10 s.
#[test]
fn one_delay_of_one_length() {
    let timeline = alone();
    // Grain (ms), ranks, free start, wall start.
    let cases = [
        (1, 1, 1.000_100_01, 1.000_15),
        (1, 10_000, 1.632, 1.767),
        (1, 1_000_000_000, 2.0, 2.0),
        (10, 1_000_000_000, 1.1, 1.1),
    ];
    for (grain_ms, ranks, free, wall) in cases {
        let grain_ns = grain_ms * MS;
        let slowdown = |ns: f64| 1.0 + ns / grain_ns as f64;
        let laws = laws([&timeline], grain_ns);
        let tolerance = if ranks == 1 { 1e-7 } else { 6e-4 };
        let got = slowdown(laws.free.mean_of_slowest_ns(ranks));
        assert!((got - free).abs() < tolerance, "{grain_ms} ms, {ranks} ranks: free {got}");
        let closed = ClosedForm::fit(&laws.free, grain_ns, &[ranks]).slowdown(ranks);
        assert!((got - closed).abs() < 1e-9, "{grain_ms} ms, {ranks} ranks: Tsafrir {closed}");
        let got = slowdown(laws.wall.mean_of_slowest_ns(ranks));
        assert!((got - wall).abs() < tolerance, "{grain_ms} ms, {ranks} ranks: wall {got}");
    }
}

/// A billion ranks see the rarest delay as often as it is there.
#[test]
fn the_tail_is_exact() {
    // 3 ns once in 1000 s, and 1 µs every 10 ms.
    let length = 1000 * SECOND;
    let often = (0..100_000).map(|at| (at * 10 * MS, at * 10 * MS + 1_000));
    let timeline = Timeline::new(length, spans(often.chain([(5_000_000, 5_000_003)])));
    let rare = Timeline::new(length, spans([(5_000_000, 5_000_003)]));
    let grain = 100_000;
    let p = grain as f64 / rare.free_ns() as f64;
    let got = laws([&rare], grain).free.mean_of_slowest_ns(1_000);
    assert!((got / (3.0 * 1e3 * p) - 1.0).abs() < 1e-4, "{got}");
    let got = laws([&timeline], grain).free.mean_of_slowest_ns(1_000_000_000);
    assert!((got - 1_000.0).abs() < 1e-6, "never both in a phase: {got}");
}

#[test]
fn different_cpus_multiply() {
    let (quiet, noisy) = (Timeline::new(10 * SECOND, vec![]), alone());
    let both = laws([&quiet, &noisy], MS).free;
    let p = 1e6 / noisy.free_ns() as f64;
    let none = |ranks: f64| f64::exp(ranks * f64::ln_1p(-p));
    let cases = [(1, p / 2.0), (2, p), (20_000, 1.0 - none(10_000.0))];
    for (ranks, expected) in cases {
        let got = both.mean_of_slowest_ns(ranks) / 1e6;
        assert!((got - expected).abs() < 1e-9, "{ranks} ranks: {got}, expected {expected}");
    }
    let none = laws([&quiet], MS);
    assert_eq!(none.free.mean_of_slowest_ns(1_000_000_000), 0.0);
    assert_eq!(none.wall.mean_of_slowest_ns(1_000_000_000), 0.0);
}

/// 10^7 phases from random starts, on 100 s of ticks, daemons and bursts.
#[test]
fn the_laws_agree_with_random_starts() {
    let timeline = busy(100);
    let grain = MS / 10;
    let laws = laws([&timeline], grain);
    let phases = 10_000_000;
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let places: Vec<u64> = places(&timeline);
    let mut wall = Vec::with_capacity(phases);
    let mut free = Vec::with_capacity(phases);
    for _ in 0..phases {
        wall.push(after(&timeline, random.random_range(0..timeline.length_ns()), grain));
        let start = random.random_range(0..timeline.free_ns());
        // A start at a detour's place is one before it.
        let before = places.partition_point(|&place| place < start);
        let lost = lost_before(&timeline, before);
        free.push(after(&timeline, start + lost, grain));
    }
    for (name, law, drawn) in [("free", &laws.free, &free), ("wall", &laws.wall, &wall)] {
        for ranks in [1, 3, 30, 1_000, 30_000, 1_000_000] {
            let slowest = drawn.chunks_exact(ranks).map(|job| *job.iter().max().expect("ranks"));
            let (mean, error) = mean_and_error(slowest.map(|ns| ns as f64));
            let got = law.mean_of_slowest_ns(ranks as u64);
            let allowed = 4.0 * error + 1e-3 * mean;
            assert!((got - mean).abs() < allowed, "{name}, {ranks}: {got}, drawn {mean}±{error}");
        }
    }
}

/// Place in free time of each detour.
fn places(timeline: &Timeline) -> Vec<u64> {
    let mut lost = 0;
    let place = |detour: &anechoic_predict::phases::Span| {
        let place = detour.start_ns - lost;
        lost += detour.length_ns();
        place
    };
    timeline.detours().iter().map(place).collect()
}

fn lost_before(timeline: &Timeline, detours: usize) -> u64 {
    // Sums are made once.
    thread_local!(static SUMS: std::cell::RefCell<Vec<u64>> = const { std::cell::RefCell::new(vec![]) });
    SUMS.with_borrow_mut(|sums| {
        if sums.is_empty() {
            sums.push(0);
            for detour in timeline.detours() {
                sums.push(sums.last().expect("one") + detour.length_ns());
            }
        }
        sums[detours]
    })
}

/// Delay of a phase that starts at a wall time, step by step.
fn after(timeline: &Timeline, start: u64, grain: u64) -> u64 {
    let detours = timeline.detours();
    let (mut now, mut left) = (start, grain);
    let mut next = detours.partition_point(|detour| detour.end_ns <= start);
    let mut turn = 0;
    loop {
        if next == detours.len() {
            (next, turn) = (0, turn + timeline.length_ns());
        }
        let (from, to) = (detours[next].start_ns + turn, detours[next].end_ns + turn);
        if from >= now + left {
            return now + left - start - grain;
        }
        left -= from.saturating_sub(now);
        now = to;
        next += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Every start of a small window, one by one.
    #[test]
    fn the_pass_is_every_start(
        detours in prop::collection::vec((0u64..400, 1u64..40), 0..20),
        length in 400u64..500,
        share in 1u64..=100,
    ) {
        let timeline = Timeline::new(length, spans(detours.iter().map(|&(s, d)| (s, s + d))));
        prop_assume!(timeline.free_ns() > 0 && !timeline.detours().is_empty());
        let grain = (timeline.free_ns() * share).div_ceil(100);
        let laws = laws([&timeline], grain);
        // A start at k + 1/2 stands for all from k to k + 1: times are doubled.
        let doubled = timeline.detours().iter().map(|d| (d.start_ns * 2, d.end_ns * 2));
        let doubled = Timeline::new(length * 2, spans(doubled));
        let (mut free, mut wall) = (vec![], vec![]);
        for start in 0..length {
            let delay = after(&doubled, start * 2 + 1, grain * 2) as f64 / 2.0;
            wall.push(delay);
            let in_detour = timeline.detours().iter().any(|d| d.start_ns <= start && start < d.end_ns);
            if !in_detour {
                free.push(delay);
            }
        }
        for (law, drawn, name) in [(&laws.free, free, "free"), (&laws.wall, wall, "wall")] {
            for ranks in [1u64, 2, 7, 1_000] {
                let got = law.mean_of_slowest_ns(ranks);
                let expected = mean_of_maximum(drawn.clone(), ranks);
                // Starts inside of detours are continuous: what lies within a ns counts as its middle.
                prop_assert!((got - expected).abs() <= 0.5 + 1e-6, "{name} {ranks}: {got} {expected}");
                if name == "free" || ranks == 1 {
                    prop_assert!((got - expected).abs() < 1e-6, "{name} {ranks}: {got} {expected}");
                }
            }
        }
        let exact = grain as f64 * timeline.lost_ns() as f64 / timeline.free_ns() as f64;
        prop_assert!((laws.free.mean_ns() - exact).abs() <= 1e-12 * exact.max(1.0));
    }
}

fn mean_of_maximum(mut drawn: Vec<f64>, ranks: u64) -> f64 {
    drawn.sort_by(f64::total_cmp);
    let all = drawn.len() as f64;
    let below = |number: usize| (number as f64 / all).powf(ranks as f64);
    drawn.iter().enumerate().map(|(at, delay)| delay * (below(at + 1) - below(at))).sum()
}

/// Ticks of 20 µs in every fourth phase, and a daemon of 5 ms once in a thousand: jobs of many ranks wait for the
/// daemon, and the closed form of the mean detour misses that.
#[test]
fn tsafrirs_delay_is_that_of_the_class_that_fits() {
    let tick = |at: u64| (at * 4 * MS, at * 4 * MS + 20_000);
    let daemon = |at: u64| (at * SECOND + 2 * MS, at * SECOND + 7 * MS);
    let ticks = (0..2_500).filter(|at| at % 250 != 1).map(tick);
    let timeline = Timeline::new(10 * SECOND, spans(ticks.chain((0..10).map(daemon))));
    let law = laws([&timeline], MS).free;
    let found = ClosedForm::fit(&law, MS, &[100, 1_000]);
    assert!((found.delay_ns / 5e6 - 1.0).abs() < 0.1, "{found:?}");
    assert!(found.from_ns.is_some_and(|from| from > 20_000.0), "{found:?}");
    for ranks in [100, 1_000] {
        let ratio = (found.slowdown(ranks) - 1.0) * 1e6 / law.mean_of_slowest_ns(ranks);
        assert!((0.95..1.05).contains(&ratio), "{ranks} ranks: {ratio} times the law");
    }
    let few = ClosedForm::fit(&law, MS, &[1, 2]);
    assert!(few.p > 0.1 && few.delay_ns < 100_000.0, "{few:?}");
    let none = ClosedForm::fit(&laws([&Timeline::new(SECOND, vec![])], MS).free, MS, &[1, 1_000]);
    assert_eq!((none.from_ns, none.slowdown(1_000)), (None, 1.0));
}
