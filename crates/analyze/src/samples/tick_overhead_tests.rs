//! Tests of intervals, and of costs in simulated repetitions.

use super::*;
use anechoic_lab::trains::{exponential, random, unit};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Returns the probability that the median of `samples` values lies between the order statistics, by the binomial
/// distribution.
fn coverage(samples: u64) -> f64 {
    let ranks = median_bounds(samples).map(|share| (share * samples as f64).ceil() as u64);
    let (mut probability, mut within) = (0.5_f64.powi(samples as i32), 0.0);
    for below in 0..=samples {
        if (ranks[0]..ranks[1]).contains(&below) {
            within += probability;
        }
        probability *= (samples - below) as f64 / (below + 1) as f64;
    }
    within
}

#[test]
fn order_statistics_enclose_the_median() {
    for samples in (FEWEST_FOR_MEDIAN..60).chain([100, 500, 1_000]) {
        let covered = coverage(samples);
        assert!(covered >= 0.949, "{samples}: {covered}");
    }
    assert!((coverage(100) - 0.965).abs() < 0.001, "between the 40th and the 61st");
    assert!(coverage(FEWEST_FOR_MEDIAN - 1) < 0.95);
}

#[test]
fn few_repetitions_have_wide_intervals_or_none() {
    let baseline = |count: u64| {
        let mut baseline = Baseline::default();
        (0..count).for_each(|_| baseline.add(1_000, 1_000));
        baseline
    };
    // Two values 100 apart have a standard error of at least 50.
    let cases: [(&[u64], u64, Option<f64>); 4] = [
        (&[2_000, 2_100], 6, Some(12.7062 * 50.0)),
        (&[2_000, 2_100], 5, None),
        (&[2_000], 100, None),
        (&[2_000, 2_000, 2_000], 6, Some(0.0)),
    ];
    for (with, count, expected) in cases {
        let mut batches = Batches::default();
        with.iter().for_each(|&length| batches.add(length as f64));
        let reach = reach_of(&batches, &mut baseline(count));
        let enough = reach.zip(expected).is_none_or(|(a, b)| a > b - 0.01);
        assert!(enough && reach.is_some() == expected.is_some(), "{with:?}, {count}: {reach:?}");
    }
}

/// What disturbs repetitions, in ticks: each depends on a state that the next continues.
type Disturb = fn(&mut f64, &mut Pcg64Mcg) -> f64;

/// Normally distributed, as on a host whose neighbours come and go.
fn wander(correlation: f64, state: &mut f64, random: &mut Pcg64Mcg) -> f64 {
    let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    *state = correlation * *state + (1.0 - correlation * correlation).sqrt() * normal;
    1_000.0 * *state
}

/// Bursts of five repetitions in the mean, one repetition in six.
fn burst(state: &mut f64, random: &mut Pcg64Mcg) -> f64 {
    let stays = if *state > 0.0 { 0.8 } else { 0.04 };
    *state = f64::from(u8::from(random.random::<f64>() < stays));
    *state * exponential(2_000.0, random) + 20.0 * random.random::<f64>()
}

/// Pareto lengths: P(longer than x) falls as x^-3.
fn heavy(_: &mut f64, random: &mut Pcg64Mcg) -> f64 {
    500.0 * unit(random).powf(-1.0 / 3.0)
}

#[test]
fn the_interval_covers_the_truth_where_repetitions_depend_on_each_other() {
    let cases: [(&str, f64, Disturb); 5] = [
        ("independent", 0.93, |state, random| wander(0.0, state, random)),
        ("correlated 0.6", 0.92, |state, random| wander(0.6, state, random)),
        ("correlated 0.9", 0.88, |state, random| wander(0.9, state, random)),
        ("bursts", 0.92, burst),
        ("a heavy tail", 0.92, heavy),
    ];
    for (name, least, disturb) in cases {
        let mut random = random(3);
        let mean = {
            let (mut state, count) = (0.0, 2_000_000);
            (0..count).map(|_| disturb(&mut state, &mut random)).sum::<f64>() / f64::from(count)
        };
        let (runs, mut covered) = (400, 0);
        for _ in 0..runs {
            let (mut with, mut without) = (Batches::default(), Baseline::default());
            let (mut a, mut b) = (0.0, 0.0);
            let mut sum = 0.0;
            for _ in 0..300 {
                let ticked = 30_000.0 + disturb(&mut a, &mut random);
                with.add(ticked);
                sum += ticked;
                // The median of what is symmetric is its mean; repetitions without a tick are not disturbed otherwise.
                let wanders = wander(0.6, &mut b, &mut random);
                let length = (10_000.0 + wanders) as u64;
                without.add(length, length);
            }
            let median = without.values.quantiles(&[0.5]).expect("values")[0] as f64;
            let reach = reach_of(&with, &mut without).expect("enough");
            covered += u32::from((sum / 300.0 - median - 20_000.0 - mean).abs() <= reach);
        }
        let share = f64::from(covered) / f64::from(runs);
        println!("{name}: covers {share}");
        assert!((least..=0.98).contains(&share), "{name}: covers {share}");
    }
}

/// A body of one or two speeds, in ns, and what a tick makes of it.
type Speed = fn(&mut f64, &mut Pcg64Mcg) -> f64;

/// Returns the cost of ticks of 2 µs that come every 4 ms in samples of this length, each of which makes the body slower
/// by `indirect`.
fn played(length: Speed, indirect: f64, seed: u64) -> Option<Overhead> {
    played_every(4e6, 8_000, length, indirect, seed)
}

/// The same for ticks that come every `period_ns`, in this number of samples.
fn played_every(
    period_ns: f64,
    samples: u64,
    length: Speed,
    indirect: f64,
    seed: u64,
) -> Option<Overhead> {
    let mut random = random(seed);
    let (mut state, mut clean) = (0.0, TickOverheadOf::new(true));
    let mut until = period_ns * random.random::<f64>();
    for _ in 0..samples {
        let work = length(&mut state, &mut random);
        let hit = until < work;
        until += if hit { period_ns } else { 0.0 } - work;
        let tick = Parts::made(u64::from(hit), if hit { 2_000 } else { 0 });
        let took = work + if hit { 2_000.0 + indirect } else { 0.0 };
        clean.add(took as u64, &tick, false, true);
    }
    clean.finish(&crate::testing::clock_ns()).clean
}

fn two_speeds(stays: f64, slow: &mut f64, random: &mut Pcg64Mcg) -> f64 {
    if random.random::<f64>() >= stays {
        *slow = f64::from(u8::from(random.random::<f64>() < 0.4));
    }
    100_000.0 + 10_000.0 * *slow
}

#[test]
fn a_body_of_two_speeds_has_no_indirect_cost_by_itself() {
    let cases: [(&str, Speed); 4] = [
        ("60 % at 100 µs, 40 % at 110 µs", |state, random| two_speeds(0.0, state, random)),
        ("in stretches", |state, random| two_speeds(0.98, state, random)),
        ("a long tail", |_, random| 100_000.0 + exponential(5_000.0, random)),
        ("one speed", |_, random| 100_000.0 + 100.0 * random.random::<f64>()),
    ];
    for (name, length) in cases {
        for indirect in [0.0, 3_000.0] {
            let (runs, mut covered, mut clear) = (200, 0, 0);
            for seed in 1..=runs {
                let found = played(length, indirect, seed).expect("ticks alone");
                let interval = found.indirect_interval.expect("enough");
                covered += u32::from(interval.low <= indirect && indirect <= interval.high);
                clear += u32::from(interval.low > 0.0);
                assert!((found.direct_ns - 2_000.0).abs() < 0.1);
                let parts = found.direct_ns + found.gap_ns.unwrap_or(0.0) + found.indirect_ns;
                assert!((found.per_tick_ns - parts).abs() < 0.1, "{found:?}");
            }
            let covered = f64::from(covered) / runs as f64;
            println!("{name}, {indirect} ns: covers {covered}, clear in {clear}");
            assert!(covered >= 0.91, "{name}, {indirect} ns: covers {covered}");
            assert!(indirect == 0.0 || u64::from(clear) == runs, "{name}: clear in {clear}");
        }
    }
}

/// A body that mostly takes 100 µs, and now and then much longer.
fn rarely_long(rare: f64, long_ns: f64, random: &mut Pcg64Mcg) -> f64 {
    if random.random::<f64>() < rare { long_ns } else { 100_000.0 }
}

/// Ticks meet the long repetitions of a body much more often than their share, without any cost: eight neighbours mostly
/// hold none of them, and sometimes one that makes up half of their time.
#[test]
fn rare_repetitions_that_are_much_longer_are_no_cost_of_a_tick() {
    let cases: [(&str, Speed); 3] = [
        ("10 % of 1,000 µs", |_, random| rarely_long(0.10, 1_000_000.0, random)),
        ("1 % of 600 µs", |_, random| rarely_long(0.01, 600_000.0, random)),
        ("5 % of 300 µs", |_, random| rarely_long(0.05, 300_000.0, random)),
    ];
    for (name, length) in cases {
        for indirect in [0.0, 3_000.0] {
            let (runs, mut covered, mut sum, mut reach) = (40, 0, 0.0, 0.0);
            for seed in 1..=runs {
                let found = played_every(50e6, 100_000, length, indirect, seed);
                let found = found.expect("ticks alone");
                let interval = found.indirect_interval.expect("enough");
                covered += u32::from(interval.low <= indirect && indirect <= interval.high);
                sum += found.indirect_ns;
                reach += (interval.high - interval.low) / 2.0;
            }
            let [covered, mean, reach] =
                [f64::from(covered), sum, reach].map(|sum| sum / runs as f64);
            println!("{name}, {indirect} ns: {mean} ± {reach} ns, covers {covered}");
            assert!(covered >= 0.88, "{name}, {indirect} ns: covers {covered}");
            let bias = (mean - indirect).abs() / reach;
            assert!(bias < 0.25, "{name}, {indirect} ns: off by {bias} of the half interval");
        }
    }
}

#[test]
fn values_equal_to_the_median_are_not_longer() {
    // 41 of 101 are longer than the median, in a mixed order.
    let mut baseline = Baseline::default();
    (0..101_u64)
        .map(|at| 1_000 + u64::from(at * 40 % 101 < 41))
        .for_each(|length| baseline.add(length, length));
    assert_eq!(baseline.middle, 1_000);
    let error = baseline.longer.spread().expect("101 values").standard_error;
    let share = 41.0 / 101.0;
    let independent = f64::sqrt(share * (1.0 - share) / 100.0);
    assert!(error > 0.999 * independent && error < 2.0 * independent, "{error}, {independent}");
}
