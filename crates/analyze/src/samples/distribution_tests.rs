use super::*;
use crate::samples::block_shares::BlockShares;
use crate::testing::clock_ns;
use anechoic_recording::Clock;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

fn distribution(values: &[u64], fixed: Fixed, block: u64) -> Option<Distribution> {
    distribution_at(&clock_ns(), values, fixed, block)
}

fn distribution_at(
    clock: &Clock,
    values: &[u64],
    fixed: Fixed,
    block: u64,
) -> Option<Distribution> {
    let (mut moments, mut shares) = (Moments::default(), BlockShares::new(block));
    moments.add(values);
    shares.add(values);
    let (mut cells, blocks) = shares.finish();
    let (rounding, scale) = (cells.rounding(), Scale::new(fixed, clock));
    let (moments, cells) = (&moments, cells.cells());
    Distribution::from_values(&SeriesValues { moments, cells, rounding, blocks: &blocks, scale })
}

fn quantile(distribution: &Distribution, share: f64) -> Quantile {
    let mut quantiles = distribution.quantiles.iter();
    *quantiles.find(|q| q.share == share).expect("this quantile is reported")
}

#[test]
fn a_quantile_is_found_by_its_share() {
    let found = distribution(&(1..=1000).collect::<Vec<u64>>(), Fixed::Work, 10).expect("values");
    let cases =
        [(0.25, Some(250.0)), (0.5, Some(500.0)), (0.999, Some(999.0)), (0.3, None), (-0.5, None)];
    for (share, expected) in cases {
        assert_eq!(found.quantile(share).map(|quantile| quantile.value), expected, "{share}");
    }
}

#[test]
fn figures_are_in_the_unit_of_the_samples() {
    // 2, 4 and 9 ticks of 4 ns each: a mean of 5 ticks, a variance of (9 + 1 + 16) / 2 square ticks.
    let clock = anechoic_lab::builders::clock(250_000_000);
    let found = distribution_at(&clock, &[2, 4, 9], Fixed::Work, 1).expect("not empty");
    let close = |found: Option<f64>, expected: f64| {
        assert!(found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-12), "{found:?}");
    };
    close(Some(found.mean), 20.0);
    close(found.standard_deviation, 13.0_f64.sqrt() * 4.0);
    close(found.variance_to_mean, 13.0 / 5.0 * 4.0);
    assert_eq!((found.min, found.max), (8.0, 36.0));
    let none = distribution(&[0, 0], Fixed::Time, 1).expect("not empty");
    assert_eq!((none.standard_deviation, none.variance_to_mean), (Some(0.0), None));
}

#[test]
fn quantiles_and_deciles_are_those_of_the_ranks() {
    // (name, values, [1 %, 25 %, 50 %, 75 %, 99 %, 99.9 %], third decile)
    type Case = (&'static str, Vec<u64>, [f64; 6], f64);
    let cases: [Case; 6] = [
        ("one", vec![7], [7.0; 6], 7.0),
        ("four", vec![4, 2, 3, 1], [1.0, 1.0, 2.0, 3.0, 4.0, 4.0], 1.0 + 0.5),
        ("1 to 1000", (1..=1000).rev().collect(), [10.0, 250.0, 500.0, 750.0, 990.0, 999.0], 250.5),
        ("all equal", vec![9; 50], [9.0; 6], 9.0),
        ("zeros", vec![0, 0, 0], [0.0; 6], 0.0),
        (
            "one far out",
            [vec![5; 99], vec![1 << 40]].concat(),
            [5.0, 5.0, 5.0, 5.0, 5.0, 2_f64.powi(40)],
            5.0,
        ),
    ];
    for (name, values, expected, decile) in cases {
        let d = distribution(&values, Fixed::Work, 1).expect("not empty");
        let got = [0.01, 0.25, 0.5, 0.75, 0.99, 0.999].map(|share| quantile(&d, share).value);
        assert_eq!(got, expected, "case: {name}");
        assert!((d.third_decile_mean - decile).abs() < 1e-9, "case: {name}: {d:?}");
    }
    assert_eq!(distribution(&[], Fixed::Work, 1), None);
}

#[test]
fn noise_is_seen_from_the_undisturbed_side() {
    let cases = [
        ("fixed work", Fixed::Work, vec![100, 100, 130], Some(0.1)),
        ("fixed time", Fixed::Time, vec![100, 100, 70], Some(0.1)),
        ("a sample of no time", Fixed::Work, vec![0, 5], None),
        ("windows without work", Fixed::Time, vec![0, 0], None),
    ];
    for (name, fixed, values, expected) in cases {
        let d = distribution(&values, fixed, 1).expect("not empty");
        let close = match (d.noise, expected) {
            (Some(noise), Some(expected)) => (noise - expected).abs() < 1e-12,
            (noise, expected) => noise == expected,
        };
        assert!(close, "case: {name}: {:?}", d.noise);
    }
    let counts: Vec<u64> = (1..=1000).collect();
    let d = distribution(&counts, Fixed::Time, 1).expect("not empty");
    assert!((d.third_decile_mean - 750.5).abs() < 1e-9, "the side of most work: {d:?}");
}

#[test]
fn outliers_lie_beyond_the_fences() {
    // A main body of 990 to 1009: quartiles 994 and 1005, so fences at 961 and 1038.
    let body = (0..1000).map(|i| 990 + i % 20);
    let values: Vec<u64> = body.chain([961, 960, 1038, 1039, 5_000]).collect();
    let work = distribution(&values, Fixed::Work, 1).expect("not empty");
    let time = distribution(&values, Fixed::Time, 1).expect("not empty");
    let found = |o: Outliers| (o.fence, o.count, o.mean, o.extreme);
    assert_eq!(found(work.fasties), (961.0, 1, Some(960.0), Some(960.0)));
    assert_eq!(found(work.slowies), (1038.0, 2, Some(3_019.5), Some(5_000.0)));
    // Of work the other way round; and the median, 1000, is nearer to the fast quartile here.
    assert_eq!(found(time.slowies), (965.0, 2, Some(960.5), Some(960.0)));
    assert_eq!(found(time.fasties), (1035.0, 3, Some(2_359.0), Some(5_000.0)));
    // A tick in every fourth sample or a few more: not the main body.
    for ticks in [240, 260] {
        let values: Vec<u64> =
            (0..1_000).map(|i| if i < ticks { 50_000 + i } else { 990 + i % 20 }).collect();
        let d = distribution(&values, Fixed::Work, 1).expect("not empty");
        assert_eq!(d.slowies.count, ticks, "{d:?}");
        let fewer: Vec<u64> = values.iter().map(|value| 100_000 - value).collect();
        let d = distribution(&fewer, Fixed::Time, 1).expect("not empty");
        assert_eq!((d.slowies.count, d.slowies.extreme), (ticks, Some(50_001.0 - ticks as f64)));
    }
    let equal = distribution(&[7; 100], Fixed::Work, 1).expect("not empty");
    assert_eq!(found(equal.slowies), (16.0, 0, None, None), "three steps, three times");
    let huge = distribution(&[0, u64::MAX, u64::MAX, 0, 5], Fixed::Work, 1).expect("not empty");
    assert_eq!((huge.fasties.count, huge.slowies.count), (0, 2));
}

#[test]
fn without_enough_samples_there_is_no_interval() {
    let values: Vec<u64> = (0..2_000).map(|i| 1_000 + i * 7_919 % 97).collect();
    let cases = [
        ("20 blocks", 100, 0.5, true),
        ("19 blocks", 105, 0.5, false),
        ("two values beyond the quantile", 20, 0.999, false),
    ];
    for (name, block, share, expected) in cases {
        let d = distribution(&values, Fixed::Work, block).expect("not empty");
        assert_eq!(quantile(&d, share).interval.is_some(), expected, "case: {name}: {d:?}");
        assert_eq!(d.intervals.blocks, 2_000 / block, "case: {name}");
    }
    let equal = distribution(&[8; 2_000], Fixed::Work, 20).expect("not empty");
    let point = Some(Interval { low: 8.0, high: 8.0 });
    assert_eq!(quantile(&equal, 0.5).interval, point, "all equal");
}

/// A standard normal deviate (Box and Muller 1958).
fn normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (-2.0 * random.random_range(f64::EPSILON..1.0).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random_range(0.0..1.0)).cos()
}

/// The distribution of a process in which each sample keeps nine tenths of the one before, around 1 ms and with
/// a standard deviation of 1000 ticks, as a counter in steps of 26 ticks sees it; in blocks of 200 samples.
fn dependent(random: &mut Pcg64Mcg) -> Distribution {
    let fresh = (1.0_f64 - 0.81).sqrt();
    let mut x = normal(random);
    let values: Vec<u64> = (0..10_000)
        .map(|_| {
            x = 0.9 * x + fresh * normal(random);
            ((2.6e6 + 1_000.0 * x) / 26.0).round() as u64 * 26
        })
        .collect();
    distribution(&values, Fixed::Work, 200).expect("not empty")
}

#[test]
fn intervals_cover_the_quantile_of_samples_that_depend_on_each_other() {
    let mut random = Pcg64Mcg::seed_from_u64(17);
    let runs: Vec<Distribution> = (0..250).map(|_| dependent(&mut random)).collect();
    // (share, that quantile of the normal distribution)
    let cases = [(0.05, -1.644_853_6), (0.5, 0.0), (0.75, 0.674_489_8), (0.99, 2.326_347_9)];
    for (share, z) in cases {
        let truth = 2.6e6 + 1_000.0 * z;
        let intervals = runs.iter().map(|run| quantile(run, share).interval.expect("bounded"));
        let covers = |i: &Interval| i.low - 13.0 <= truth && truth <= i.high + 13.0;
        let covered = intervals.filter(covers).count() as f64 / runs.len() as f64;
        assert!((0.90..=0.985).contains(&covered), "{share}: covers {covered} of the time");
    }
    // As if they were independent the median would be known to 1000 * sqrt(2 pi * 0.25 / 10,000).
    let independent = 2.0 * 1.96 * 1_000.0 * (std::f64::consts::TAU * 0.25 / 10_000.0).sqrt();
    let widths = runs.iter().map(|run| quantile(run, 0.5).interval.map_or(0.0, |i| i.high - i.low));
    let wider = widths.sum::<f64>() / runs.len() as f64 / independent;
    assert!((3.0..5.0).contains(&wider), "{wider} times as wide");
}

/// Quantiles with their intervals, the decile, fences and outliers beside those of the sorted values.
#[test]
fn a_distribution_is_that_of_its_sorted_values() {
    let mut random = Pcg64Mcg::seed_from_u64(18);
    for trial in 0..200 {
        let fixed = if trial % 2 == 0 { Fixed::Work } else { Fixed::Time };
        let count = 400 + trial % 7;
        let values: Vec<u64> = (0..count)
            .map(|_| {
                let far = random.random_range(0..40) == 0;
                100 + random.random_range(0..12_u64)
                    + if far { random.random_range(0..60) } else { 0 }
            })
            .collect();
        let block = 10 + trial % 3;
        let found = distribution(&values, fixed, block).expect("not empty");
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let rank = |rank: usize| sorted[rank.clamp(1, sorted.len()) - 1];
        for share in [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999] {
            let raw = rank((share * count as f64 - 1e-9).ceil() as usize);
            let got = quantile(&found, share);
            assert_eq!(got.value, raw as f64, "{trial}: {share}");
            let reach = |value: u64| {
                let in_block = |block: &[u64]| {
                    block.iter().filter(|&&at| at <= value).count() as f64 / block.len() as f64
                };
                let shares: Vec<f64> = values.chunks_exact(block as usize).map(in_block).collect();
                crate::stats::Spread::from_blocks(&shares).expect("many blocks").reach()
            };
            let independent = 1.959_963_985 * (share * (1.0 - share) / count as f64).sqrt();
            let reach = reach(raw).max(reach(raw - 1)).max(independent);
            let end = |share: f64| rank((share * count as f64).ceil() as usize) as f64;
            let (low, high) = (share - reach, share + reach);
            let expected =
                (low > 0.0 && high < 1.0).then(|| Interval { low: end(low), high: end(high) });
            assert_eq!(got.interval, expected, "{trial}: {share}");
        }
        let tenfold: Vec<u64> = sorted.iter().flat_map(|&value| [value; 10]).collect();
        let decile = if fixed == Fixed::Work { 2 } else { 7 };
        let inside = &tenfold[decile * sorted.len()..(decile + 1) * sorted.len()];
        let mean = inside.iter().sum::<u64>() as f64 / inside.len() as f64;
        assert!((found.third_decile_mean - mean).abs() < 1e-9, "{trial}: {found:?}, not {mean}");
        check_outliers(&found, &sorted, fixed);
    }
}

/// The slow quartile counts as far from the median as the fast one, and the body is at least three wide.
fn check_outliers(found: &Distribution, sorted: &[u64], fixed: Fixed) {
    let at = |rank: usize| sorted[rank - 1] as f64;
    let count = sorted.len();
    let (first, median, third) =
        (at(count.div_ceil(4)), at(count.div_ceil(2)), at(count - count / 4));
    let (low, high) = match fixed {
        Fixed::Work => (first, third.min(2.0 * median - first)),
        Fixed::Time => (first.max(2.0 * median - third), third),
    };
    let reach = 3.0 * (high - low).max(3.0);
    let (below, above) = match fixed {
        Fixed::Work => (found.fasties, found.slowies),
        Fixed::Time => (found.slowies, found.fasties),
    };
    assert_eq!((below.fence, above.fence), (low - reach, high + reach));
    let beyond: Vec<f64> =
        sorted.iter().map(|&value| value as f64).filter(|&value| value > high + reach).collect();
    assert_eq!((above.count, below.count), (beyond.len() as u64, 0));
    assert!((above.share - beyond.len() as f64 / count as f64).abs() < 1e-12);
    let mean = beyond.iter().sum::<f64>() / beyond.len() as f64;
    assert!(above.mean.is_none_or(|found| (found - mean).abs() < 1e-3), "{above:?}, not {mean}");
    assert_eq!(above.extreme, beyond.last().copied());
    assert_eq!(above.mean.is_some(), !beyond.is_empty());
}

/// The body of equal values is three steps of the counter wide, whatever a step is.
#[test]
fn fences_are_as_wide_as_the_counter_can_tell() {
    let clock = anechoic_recording::Clock { read_deltas: vec![(26, 9), (52, 1)], ..clock_ns() };
    let scale = Scale::new(Fixed::Work, &clock);
    assert_eq!(scale.step(), 26);
    let mut shares = BlockShares::new(1);
    shares.add(&[1_000; 20]);
    let (mut cells, _) = shares.finish();
    let fences = Fences::new(cells.cells(), 20, &scale);
    assert_eq!((fences.low, fences.high), (1_000 - 9 * 26, 1_000 + 9 * 26));
}
