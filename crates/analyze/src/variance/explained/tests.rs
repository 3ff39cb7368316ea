//! Made-up runs with a known share.

mod in_order;

use super::*;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// How long an interruption is, in ms.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Length {
    Fixed,
    Exponential,
    /// Of shape 1.5, so that its variance is infinite.
    Pareto,
}

/// By how much runs differ by themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Own {
    Normal,
    /// A tenth of the runs takes longer, by an exponentially distributed time; the others hardly differ.
    Sparse,
    /// Student's t with two degrees of freedom.
    HeavyTailed,
}

fn normal(random: &mut Pcg64Mcg) -> f64 {
    let [a, b]: [f64; 2] = [random.random(), random.random()];
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

fn interruption(length: Length, random: &mut Pcg64Mcg) -> f64 {
    let chance: f64 = 1.0 - random.random::<f64>();
    match length {
        Length::Fixed => 1.0,
        Length::Exponential => -chance.ln(),
        Length::Pareto => chance.powf(-1.0 / 1.5) / 3.0,
    }
}

/// Returns the lost time of a run with this number of interruptions on average.
fn lost_time(events: f64, length: Length, random: &mut Pcg64Mcg) -> f64 {
    let (mut sum, mut left) = (0.0, f64::exp(-events));
    let mut chance: f64 = random.random();
    let mut number = 0.0;
    while chance > left && number < 40.0 {
        chance -= left;
        number += 1.0;
        left *= events / number;
        sum += interruption(length, random);
    }
    sum
}

/// Returns the lost time of each run, with this number of interruptions in a run on average.
fn lost_times(count: usize, events: f64, length: Length, random: &mut Pcg64Mcg) -> Vec<f64> {
    (0..count).map(|_| lost_time(events, length, random)).collect()
}

/// Returns by how much a run is longer by itself, in units of the scale.
fn own_time(own: Own, random: &mut Pcg64Mcg) -> f64 {
    match own {
        Own::Normal => normal(random),
        Own::Sparse if random.random::<f64>() < 0.1 => interruption(Length::Exponential, random),
        Own::Sparse => 0.01 * normal(random),
        Own::HeavyTailed => normal(random) / interruption(Length::Exponential, random).sqrt(),
    }
}

fn own_times(count: usize, own: Own, random: &mut Pcg64Mcg) -> Vec<f64> {
    (0..count).map(|_| own_time(own, random)).collect()
}

const MS: f64 = 1e6;

/// Returns times of about a second.
fn times(own: &[f64], scale: f64, lost: &[f64], slope: f64) -> Vec<f64> {
    own.iter().zip(lost).map(|(own, lost)| (1_000.0 + scale * own + slope * lost) * MS).collect()
}

fn in_ns(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value * MS).collect()
}

/// What came out of many made-up series of runs.
#[derive(Debug, Default)]
struct Outcomes {
    /// Series with an interval, and series whose interval misses the truth.
    stated: u32,
    wrong: u32,
    undecided: u32,
    /// Series whose share is within 0.1 of the truth.
    near: u32,
    /// Series with a time without noise, and series whose interval of it misses the truth.
    without: u32,
    without_wrong: u32,
}

/// A kind of series of runs.
#[derive(Debug, Clone, Copy)]
struct Kind {
    count: usize,
    /// Part of the variance that lost time makes up.
    share: f64,
    own: Own,
    length: Length,
    /// Mean number of interruptions in a run.
    events: f64,
    slope: f64,
}

/// Makes this number of series. The truth is the share in which the variance of the runs' own times, of which these are drawn,
/// and that of the lost times of these runs stand to each other; without lost time, or where it delays nothing, it is 0.
fn outcomes(kind: Kind, series: usize) -> Outcomes {
    let Kind { count, share, own, length, events, slope } = kind;
    let (mut random, mut found) = (Pcg64Mcg::seed_from_u64(7), Outcomes::default());
    for _ in 0..series {
        let lost = lost_times(count, events, length, &mut random);
        let spread = slope * slope * products(&lost, &lost) / (count as f64 - 1.0);
        let related = share > 0.0 && spread > 0.0;
        let truth = if related { share } else { 0.0 };
        let scale = if related { (spread * (1.0 - share) / share).sqrt() } else { 1.0 };
        let slope = if share > 0.0 { slope } else { 0.0 };
        let own = own_times(count, own, &mut random);
        let series = explained(&times(&own, scale, &lost, slope), &in_ns(&lost));
        found.undecided += u32::from(series.decision == Decision::Undecided);
        if let (Some(ends), Some(share)) = (series.interval, series.share) {
            found.stated += 1;
            found.wrong += u32::from(!(ends.low - 1e-9..=ends.high + 1e-9).contains(&truth));
            found.near += u32::from((share - truth).abs() <= 0.1);
        }
        if let Some(Without { interval_ns: ends, .. }) = series.without {
            found.without += 1;
            found.without_wrong +=
                u32::from(!(ends.low - 1.0..=ends.high + 1.0).contains(&(1_000.0 * MS)));
        }
    }
    found
}

const LENGTHS: [Length; 3] = [Length::Fixed, Length::Exponential, Length::Pareto];
/// Number of series of each kind.
const SERIES: usize = 400;
/// Largest number of them that may be wrong: see [`most_wrong`].
const MOST_WRONG: u32 = 29;

/// Returns how many of a number of series may be wrong: 5 %, and twice the standard deviation of that.
fn most_wrong(series: u32) -> f64 {
    0.05 * f64::from(series) + 2.0 * (0.0475 * f64::from(series)).sqrt()
}

/// Calls `judge` for all series whose runs differ normally.
fn each_kind(counts: &[usize], shares: &[f64], slope: f64, mut judge: impl FnMut(Kind, Outcomes)) {
    for &count in counts {
        for &share in shares {
            for length in LENGTHS {
                for events in [0.0, 0.2, 1.0, 5.0] {
                    let kind = Kind { count, share, own: Own::Normal, length, events, slope };
                    judge(kind, outcomes(kind, SERIES));
                }
            }
        }
    }
}

#[test]
fn intervals_hold_the_truth_for_any_lost_times() {
    let (mut without, mut without_wrong) = (0, 0);
    each_kind(&[8, 10, 30], &[0.0, 0.3, 0.8, 1.0], 1.0, |kind, found| {
        assert!(found.stated + 1 >= SERIES as u32, "nearly all vary: {kind:?}: {found:?}");
        assert!(found.wrong <= MOST_WRONG, "{kind:?}: {found:?}");
        // A series in which nothing is related has such a time only by chance, and then often a wrong one.
        assert!(found.without_wrong <= MOST_WRONG, "{kind:?}: {found:?}");
        if kind.share > 0.0 {
            without += found.without;
            without_wrong += found.without_wrong;
        }
        if kind.events == 0.0 {
            assert_eq!((found.undecided, found.without), (0, 0), "no time was lost: {kind:?}");
        }
    });
    assert!(f64::from(without_wrong) <= most_wrong(without), "{without_wrong} of {without}");
}

#[test]
fn a_share_of_four_fifths_is_stated_to_a_tenth() {
    each_kind(&[20, 30], &[0.8], 1.0, |kind, found| {
        assert!(
            kind.events == 0.0 || found.near as usize > SERIES * 17 / 20,
            "{kind:?}: {found:?}"
        );
    });
}

/// Four threads that run side by side: lost time delays the program by a fourth.
#[test]
fn threads_side_by_side_have_a_slope_of_their_own() {
    each_kind(&[10, 30], &[0.3, 0.8], 0.25, |kind, found| {
        assert!(found.wrong <= MOST_WRONG, "{kind:?}: {found:?}");
    });
}

#[test]
fn few_runs_have_no_share() {
    for count in [0, 1, 2, 3, 5, 7] {
        let kind = Kind {
            count,
            share: 0.8,
            own: Own::Normal,
            length: Length::Fixed,
            events: 2.0,
            slope: 1.0,
        };
        let found = outcomes(kind, 50);
        assert_eq!((found.stated, found.without), (0, 0), "{kind:?}");
    }
}

/// Both are mostly alike and now and then far off, by about as much: that they meet in one run is chance.
#[test]
fn what_has_nothing_to_do_with_lost_time_is_not_explained() {
    for own in [Own::Normal, Own::Sparse, Own::HeavyTailed] {
        for count in [8, 10, 20, 30] {
            for length in LENGTHS {
                for events in [0.1, 0.5, 5.0] {
                    let kind = Kind { count, share: 0.0, own, length, events, slope: 1.0 };
                    let found = outcomes(kind, SERIES);
                    assert!(found.wrong <= MOST_WRONG, "{kind:?}: {found:?}");
                }
            }
        }
    }
}

/// A tick takes a hundredth of any time, so that longer runs lose more.
#[test]
fn longer_runs_that_lose_more_are_not_explained_by_that() {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    for scatter in [0.0, 0.002, 0.02, 0.1] {
        for count in [8, 10, 30, 200] {
            let own: Vec<f64> = (0..count).map(|_| 1_000.0 + 100.0 * normal(&mut random)).collect();
            let lost: Vec<f64> = own
                .iter()
                .map(|own| 0.01 * own + scatter * 100.0 * normal(&mut random).abs())
                .collect();
            let times: Vec<f64> = own.iter().zip(&lost).map(|(own, lost)| own + lost).collect();
            let found = explained(&in_ns(&times), &in_ns(&lost));
            let most = 0.03 + 2.0 * scatter;
            assert!(found.share.is_some_and(|share| share < most), "{scatter} {count}: {found:?}");
            let high = found.interval.map_or(0.0, |ends| ends.high);
            assert!(high < 0.1 + 8.0 * scatter, "{scatter} {count}: {found:?}");
        }
    }
}

/// Four CPUs that lose a fifth each, or 64 that lose 1.5 %, lose about as much time as the program runs.
#[test]
fn what_is_lost_in_proportion_on_many_cpus_is_not_explained() {
    let mut random = Pcg64Mcg::seed_from_u64(6);
    // With more scatter a larger part looks like delays: see the limits in docs/methods/variance.md.
    for (part, most) in [(0.2, 0.1), (0.64, 0.01), (1.0, 0.01)] {
        for count in [8, 10, 30, 200] {
            for scatter in [0.0, 0.01, most] {
                let own: Vec<f64> =
                    (0..count).map(|_| 1_000.0 + 100.0 * normal(&mut random)).collect();
                let lost: Vec<f64> = own
                    .iter()
                    .map(|own| part * own * (1.0 + scatter * normal(&mut random)))
                    .collect();
                let found = explained(&in_ns(&own), &in_ns(&lost));
                let case = format!("{part} {count} {scatter}: {found:?}");
                assert_ne!(found.decision, Decision::Explained, "{case}");
            }
        }
    }
}

#[test]
fn runs_that_need_no_statistics() {
    let alike = vec![1e9; 12];
    let some: Vec<f64> = (0..12).map(|at| f64::from(at * 7 % 12) * MS).collect();
    let longer: Vec<f64> = some.iter().map(|lost| 1e9 + lost).collect();
    let decisions = [
        ("alike", explained(&alike, &some), Decision::NoVariance),
        ("three that are alike", explained(&alike[..3], &some[..3]), Decision::NoVariance),
        ("nothing was lost", explained(&longer, &[0.0; 12]), Decision::Little),
        ("all lose the same", explained(&longer, &[5.0; 12]), Decision::Little),
        ("one run", explained(&longer[..1], &some[..1]), Decision::TooFew),
        ("longer by what they lost", explained(&longer, &some), Decision::Explained),
    ];
    for (name, found, expected) in decisions {
        assert_eq!(found.decision, expected, "case: {name}: {found:?}");
    }
    let found = explained(&longer, &some);
    assert!(found.share.is_some_and(|share| share > 0.999), "{found:?}");
    assert!(found.without.is_some_and(|without| (without.mean_ns - 1e9).abs() < 1.0), "{found:?}");
}

#[test]
fn one_run_that_was_held_up_is_explained_and_one_that_was_not_is_not() {
    let mut random = Pcg64Mcg::seed_from_u64(9);
    let own: Vec<f64> = (0..10).map(|_| 1_000.0 + normal(&mut random)).collect();
    let mut held_up = own.clone();
    held_up[6] += 300.0;
    let mut lost = vec![1.0; 10];
    let little: Vec<f64> = lost.iter().map(|lost| lost + 0.1 * normal(&mut random).abs()).collect();
    lost[6] = 300.0;
    let found = explained(&in_ns(&held_up), &in_ns(&lost));
    assert!(found.interval.is_some_and(|ends| ends.low > 0.95), "{found:?}");
    let found = explained(&in_ns(&held_up), &in_ns(&little));
    assert_eq!(found.decision, Decision::Little, "{found:?}");
    assert!(found.interval.is_some_and(|ends| ends.low == 0.0 && ends.high < 0.02), "{found:?}");
}

#[test]
fn parts_add_up_to_the_share() {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let sources = [Length::Fixed, Length::Exponential, Length::Pareto]
        .map(|length| in_ns(&lost_times(20, 3.0, length, &mut random)));
    let lost: Vec<f64> =
        (0..20).map(|run| sources.iter().map(|source| source[run]).sum()).collect();
    for slope in [0.25, 1.0, 1.5] {
        let times: Vec<f64> =
            lost.iter().map(|lost| 1e9 + slope * lost + MS * normal(&mut random)).collect();
        let found = explained(&times, &lost);
        let parts = sources.iter().map(|source| part(&found, &times, &lost, source));
        let parts: Option<Vec<f64>> = parts.collect();
        let sum: f64 = parts.expect("there is a share").iter().sum();
        assert!((sum - found.share.unwrap_or(0.0)).abs() < 1e-9, "{slope}: {sum} {found:?}");
    }
}

/// The quantiles of t·√(χ²/ν) − z, against drawn ones.
#[test]
fn the_distance_is_a_quantile() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    for (t, degrees) in [(0.0, 6), (2.0, 6), (-3.0, 8), (8.0, 8), (60.0, 8), (1_000.0, 28)] {
        let mut drawn: Vec<f64> = (0..40_000)
            .map(|_| {
                let squares: f64 = (0..degrees).map(|_| normal(&mut random).powi(2)).sum();
                t * (squares / f64::from(degrees)).sqrt() - normal(&mut random)
            })
            .collect();
        drawn.sort_by(f64::total_cmp);
        for chance in [0.025, 0.975] {
            let bound = distance(t, f64::from(degrees), chance);
            let below = drawn.partition_point(|value| *value < bound) as f64 / 40_000.0;
            assert!((below - chance).abs() < 0.003, "{t} {degrees} {chance}: {below}");
        }
    }
}
