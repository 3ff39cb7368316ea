//! Bodies of known speeds, with ticks that do and do not change them.

use super::*;
use crate::samples::neighbours::Neighbours;
use crate::testing::clock_ns;
use anechoic_lab::trains::{exponential, random};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Samples of a body in ns; every `every` samples in the mean one has a tick.
struct Body {
    samples: u64,
    every: f64,
    /// Undisturbed length.
    length: fn(&mut f64, &mut Pcg64Mcg) -> f64,
    /// Length with a tick, its own time taken off.
    with_tick: fn(f64, &mut Pcg64Mcg) -> f64,
}

/// Two speeds of 1,002 and 1,034 µs with jitter, a third of the samples slow. `stays` is how likely the speed of the last
/// sample stays beyond chance.
fn two_speeds(stays: f64, slow: &mut f64, random: &mut Pcg64Mcg) -> f64 {
    if random.random::<f64>() >= stays {
        *slow = f64::from(u8::from(random.random::<f64>() < 0.33));
    }
    1_002_000.0 + 32_000.0 * *slow + exponential(1_000.0, random)
}

fn play(body: &Body, seed: u64) -> Option<Modes> {
    let (mut random, mut state) = (random(seed), 0.0);
    let (mut near, mut modes) = (Neighbours::default(), ModesOf::default());
    // A tick comes at a random time, and so meets long samples more often.
    let mean = (0..1_000).map(|_| (body.length)(&mut state, &mut random)).sum::<f64>() / 1_000.0;
    let mut until = exponential(body.every * mean, &mut random);
    for _ in 0..body.samples {
        let length = (body.length)(&mut state, &mut random);
        let hit = until < length;
        until = if hit { exponential(body.every * mean, &mut random) } else { until - length };
        match hit {
            true => {
                near.add_disturbed((body.with_tick)(length, &mut random) as u64, Some(()), true)
            }
            false => near.add_undisturbed(length as u64, true),
        }
        while let Some(compared) = near.next() {
            modes.add(&compared);
        }
    }
    modes.finish(&clock_ns())
}

/// Returns in which share of recordings of `series` bodies a tick is found to change the speed of any.
fn found(body: &Body, series: u64, recordings: u64) -> f64 {
    let any = |recording: u64| {
        let played = (0..series).map(|number| play(body, recording * series + number + 1));
        let mut modes: Vec<Modes> = played.flatten().collect();
        judge(modes.iter_mut().collect());
        modes.iter().any(|modes| modes.differs)
    };
    (0..recordings).filter(|&recording| any(recording)).count() as f64 / recordings as f64
}

#[test]
fn a_tick_that_changes_nothing_is_not_found_to() {
    let unchanged: fn(f64, &mut Pcg64Mcg) -> f64 = |length, _| length;
    let cases: [(&str, Body); 7] = [
        (
            "independent",
            Body {
                samples: 1_300,
                every: 4.6,
                length: |s, r| two_speeds(0.0, s, r),
                with_tick: unchanged,
            },
        ),
        (
            "few ticks",
            Body {
                samples: 1_300,
                every: 50.0,
                length: |s, r| two_speeds(0.0, s, r),
                with_tick: unchanged,
            },
        ),
        (
            "long stretches",
            Body {
                samples: 1_300,
                every: 4.6,
                length: |s, r| two_speeds(0.95, s, r),
                with_tick: unchanged,
            },
        ),
        (
            "short stretches",
            Body {
                samples: 1_300,
                every: 4.6,
                length: |s, r| two_speeds(0.6, s, r),
                with_tick: unchanged,
            },
        ),
        (
            "a cost of half the distance",
            Body {
                samples: 1_300,
                every: 4.6,
                length: |s, r| two_speeds(0.0, s, r),
                with_tick: |length, _| length + 16_000.0,
            },
        ),
        (
            "a cost of the whole distance",
            Body {
                samples: 1_300,
                every: 4.6,
                length: |s, r| two_speeds(0.0, s, r),
                with_tick: |length, _| length + 32_000.0,
            },
        ),
        (
            "one speed and a cost",
            Body {
                samples: 1_300,
                every: 4.6,
                length: |_, r| 1_000_000.0 + exponential(10_000.0, r),
                with_tick: |length, _| length + 10_000.0,
            },
        ),
    ];
    for (name, body) in cases {
        let share = found(&body, 8, 100);
        println!("{name}: {share}");
        assert!(share <= 0.03, "{name}: found in {share} of the recordings");
    }
}

#[test]
fn a_tick_that_changes_the_speed_is_found() {
    // As on the machine of the audit: 71 % of samples with a tick are slow, 33 % of the others.
    let body = Body {
        samples: 1_300,
        every: 4.6,
        length: |s, r| two_speeds(0.0, s, r),
        with_tick: |_, r| 1_002_000.0 + if r.random::<f64>() < 0.71 { 33_000.0 } else { 1_000.0 },
    };
    assert!(found(&body, 1, 50) > 0.98);
    let modes = play(&body, 7).expect("two speeds");
    assert!((modes.undisturbed_slow - 0.34).abs() < 0.05, "{modes:?}");
    assert!((modes.with_tick_slow - 0.71).abs() < 0.08, "{modes:?}");
    assert!((modes.slow_ns - modes.fast_ns - 32_000.0).abs() < 500.0, "{modes:?}");
    // The share of independent samples varies by √(p (1 − p) / n), and that of their neighbours by less.
    let reach = (modes.difference.high - modes.difference.low) / 2.0;
    let own = 1.96 * (0.71 * 0.29 / modes.ticks as f64).sqrt();
    assert!((0.9 * own..2.0 * own).contains(&reach), "{reach}, {own}");
}

#[test]
fn one_speed_has_no_two() {
    let mut random = random(5);
    let mut draw = |one: &mut dyn FnMut(&mut Pcg64Mcg) -> f64| -> Vec<u64> {
        (0..2_000).map(|_| one(&mut random) as u64).collect()
    };
    let normal = |random: &mut Pcg64Mcg| (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    let cases: [(&str, Vec<u64>); 5] = [
        ("all equal", vec![1_000; 2_000]),
        ("normal", draw(&mut |r| 1e6 + 1_000.0 * normal(r))),
        ("exponential", draw(&mut |r| 1e6 + exponential(1_000.0, r))),
        ("uniform", draw(&mut |r| 1e6 + 1_000.0 * r.random::<f64>())),
        (
            "two steps of a counter",
            draw(&mut |r| 1e6 + 40.0 * f64::from(u8::from(r.random::<f64>() < 0.5))),
        ),
    ];
    for (name, lengths) in cases {
        let found = Speeds::find(lengths, 240);
        assert!(found.is_none(), "{name}: {found:?}");
    }
}

/// Of more ticks than fit, those that are kept come from all of the series, each as far from the next.
#[test]
fn kept_samples_are_equally_spaced() {
    let mut near = Neighbours::default();
    (0..20).for_each(|_| near.add_undisturbed(1_000, true));
    near.add_disturbed(0, Some(()), true);
    (0..20).for_each(|_| near.add_undisturbed(1_000, true));
    let one = near.next().expect("it has neighbours");
    for (count, every) in
        [(4_095, 1), (4_096, 2), (8_190, 2), (8_191, 4), (16_380, 4), (16_381, 8), (100_000, 32)]
    {
        let mut modes = ModesOf::default();
        for rest in 0..count {
            let mut next = one.without_key();
            next.rest = rest;
            modes.add(&next);
        }
        let rests: Vec<u64> = modes.kept.iter().map(|kept| kept.rest).collect();
        let expected: Vec<u64> = (0..count).step_by(every).collect();
        assert!(rests == expected, "{count} samples: {} of {every}", rests.len());
    }
}

/// Compares a sample with four undisturbed ones on either side.
fn between(lengths: [u64; 8], rest: u64) -> Compared<()> {
    let mut near = Neighbours::default();
    lengths[..4].iter().for_each(|&length| near.add_undisturbed(length, true));
    near.add_disturbed(rest, Some(()), true);
    lengths[4..].iter().for_each(|&length| near.add_undisturbed(length, true));
    near.next().expect("it has neighbours")
}

/// Shares, their difference and its error, recomputed from their definitions.
#[test]
fn shares_are_those_of_the_time_at_each_speed() {
    // Neighbours of 1,000 and 2,000 ns, how many of them are slow, and whether the sample itself is slow.
    let played: Vec<(usize, bool)> =
        (0..40).map(|at| (1 + at * 7 % 5, at % 3 == 0 || at % 4 == 1)).collect();
    let mut modes = ModesOf::default();
    let (mut differences, mut variance) = (Batches::default(), 0.0);
    let (mut with_tick, mut undisturbed) = (0.0, 0.0);
    for &(slow, is_slow) in &played {
        let lengths = std::array::from_fn(|at| if at < slow { 2_000 } else { 1_000 });
        modes.add(&between(lengths, if is_slow { 2_100 } else { 900 }));
        let share = 2.0 * slow as f64 / (8 + slow) as f64;
        let own = f64::from(u8::from(is_slow));
        differences.add(own - share);
        (with_tick, undisturbed) = (with_tick + own / 40.0, undisturbed + share / 40.0);
        let among = (8.0 * share + own) / 9.0;
        variance += among * (1.0 - among);
    }
    let speeds = Speeds { fast: 1_000, slow: 2_000, beside_undisturbed: 0.0 };
    let found = modes.compare(&speeds, &clock_ns());
    let difference = with_tick - undisturbed;
    let spread = differences.spread().expect("40 differences");
    let error = spread.standard_error.max(variance.sqrt() / 40.0);
    let reach = spread.reach().max(1.959_963_984_540_054 * error);
    let close = |found: f64, expected: f64| (found - expected).abs() < 1e-6;
    assert!(close(found.with_tick_slow, with_tick), "{found:?}, not {with_tick}");
    assert!(close(found.undisturbed_slow, undisturbed), "{found:?}, not {undisturbed}");
    assert!(close(found.difference.low, difference - reach), "{found:?}, not {reach}");
    assert!(close(found.difference.high, difference + reach), "{found:?}, not {reach}");
    assert_eq!((found.fast_ns, found.slow_ns, found.ticks), (1_000.0, 2_000.0, 40));
}

/// Samples that are all alike have no spread: the error is that of drawing each among itself and its neighbours.
#[test]
fn samples_that_happen_to_be_alike_have_the_error_of_drawing_them() {
    let mut modes = ModesOf::default();
    for _ in 0..30 {
        modes.add(&between([1_000, 1_000, 1_000, 2_000, 1_000, 1_000, 1_000, 2_000], 2_000));
    }
    let speeds = Speeds { fast: 1_000, slow: 2_000, beside_undisturbed: 0.0 };
    let found = modes.compare(&speeds, &clock_ns());
    // Two of eight are slow and take 0.4 of the time; with the sample itself (8 · 0.4 + 1) / 9 are.
    let among = 4.2 / 9.0;
    let reach = 1.959_963_984_540_054 * f64::sqrt(among * (1.0 - among) / 30.0);
    assert!((found.difference.high - 0.6 - reach).abs() < 1e-6, "{found:?}, not {reach}");
    // A single one has one degree of freedom, with which Student's distribution is Cauchy's.
    let mut modes = ModesOf::default();
    modes.add(&between([1_000, 1_000, 1_000, 2_000, 1_000, 1_000, 1_000, 2_000], 2_000));
    let found = modes.compare(&speeds, &clock_ns());
    let distance = 0.6 / f64::sqrt(among * (1.0 - among));
    let expected = 1.0 - distance.atan() * std::f64::consts::FRAC_2_PI;
    assert!((found.p - expected).abs() < 1e-6, "{found:?}, not {expected}");
}

#[test]
fn two_speeds_are_found_beside_rare_giants_and_with_few_samples_between() {
    // The number of samples at each length.
    let lengths = |groups: &[(u64, usize)]| -> Vec<u64> {
        groups.iter().flat_map(|&(length, count)| std::iter::repeat_n(length, count)).collect()
    };
    let cases = [
        ("two speeds", vec![(1_000, 600), (1_300, 400)], Some((1_000, 1_300))),
        ("giants", vec![(1_000, 600), (1_300, 392), (1 << 40, 8)], Some((1_000, 1_300))),
        // The middle third of the distance has neither of its ends.
        ("at its end", vec![(1_000, 500), (1_200, 200), (1_300, 300)], Some((1_000, 1_300))),
        ("in the middle", vec![(1_000, 500), (1_199, 200), (1_300, 300)], None),
    ];
    for (name, samples, expected) in cases {
        let found = Speeds::find(lengths(&samples), 6).map(|speeds| (speeds.fast, speeds.slow));
        assert_eq!(found, expected, "case: {name}");
    }
}

#[test]
fn beside_both_speeds_is_what_is_a_third_of_their_distance_from_them() {
    let speeds = Speeds { fast: 1_000, slow: 1_300, beside_undisturbed: 0.0 };
    let cases = [
        (vec![899, 1_101, 1_150, 1_199, 1_401], 1.0),
        (vec![900, 1_000, 1_100, 1_200, 1_300, 1_400], 0.0),
        (vec![1_000, 1_150, 1_200, 1_500], 0.5),
        (vec![], 0.0),
    ];
    for (lengths, share) in cases {
        assert_eq!(speeds.beside(&lengths), share, "{lengths:?}");
    }
}

/// Of three series at 1 % the most significant counts below 0.33 %, and the next ones only if it does (Holm 1979).
#[test]
fn a_family_of_series_is_judged_from_the_most_significant_one_on() {
    let series = |p: f64| Modes {
        fast_ns: 1.0,
        slow_ns: 2.0,
        ticks: 100,
        undisturbed_slow: 0.2,
        with_tick_slow: 0.6,
        difference: Interval { low: 0.3, high: 0.5 },
        p,
        differs: false,
    };
    let cases = [
        ([0.003, 0.004, 0.009], [true, true, true]),
        ([0.003, 0.006, 0.009], [true, false, false]),
        ([0.004, 0.004, 0.004], [false, false, false]),
    ];
    for (p, expected) in cases {
        let mut all = p.map(series);
        judge(all.iter_mut().collect());
        assert_eq!(all.map(|modes| modes.differs), expected, "{p:?}");
    }
    // However certain, a difference of a hundredth changes nothing.
    for (with_tick_slow, expected) in [(0.21, false), (0.19, false), (0.6, true), (0.0, true)] {
        let mut one = Modes { with_tick_slow, ..series(1e-9) };
        judge(vec![&mut one]);
        assert_eq!(one.differs, expected, "{with_tick_slow} of samples with a tick are slow");
    }
}

/// The split with the largest variance between both groups, by trying each.
#[test]
fn lengths_are_split_where_the_groups_are_farthest_apart() {
    let mut random = random(6);
    for trial in 0..300 {
        let count = 2 + trial % 40;
        let mut lengths: Vec<u64> =
            (0..count).map(|_| 1_000 + (random.random::<f64>() * 30.0) as u64 * 7).collect();
        lengths.sort_unstable();
        let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len() as f64;
        let between = |at: usize| {
            let (lower, upper) = lengths.split_at(at);
            lower.len() as f64 * upper.len() as f64 * (mean(upper) - mean(lower)).powi(2)
        };
        let allowed = (1..count).filter(|&at| lengths[at - 1] < lengths[at]);
        let most = allowed.map(between).fold(0.0, f64::max);
        let found = split(&lengths);
        if most == 0.0 {
            assert_eq!(found, 0, "{lengths:?}");
            continue;
        }
        assert!(lengths[found - 1] < lengths[found], "{found} of {lengths:?}");
        assert!(between(found) >= most * (1.0 - 1e-9), "{found} of {lengths:?}");
    }
}
