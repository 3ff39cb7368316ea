use super::*;
use crate::stats::normal_above;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Returns a normally distributed number.
fn normal(random: &mut Pcg64Mcg) -> f64 {
    normal_above(random.random())
}

/// Makes the logarithms of the noise of successive runs.
type Series = fn(usize, &mut Pcg64Mcg) -> Vec<f64>;

fn independent(count: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
    (0..count).map(|_| normal(random)).collect()
}

/// Runs that depend on the one before them with this correlation.
fn correlated(count: usize, random: &mut Pcg64Mcg, correlation: f64) -> Vec<f64> {
    let mut state = normal(random);
    let mut next = || {
        let value = state;
        state = correlation * state + (1.0 - correlation * correlation).sqrt() * normal(random);
        value
    };
    (0..count).map(|_| next()).collect()
}

/// Student's distribution with two degrees of freedom, which has no variance.
fn heavy(count: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
    let mut one = || normal(random) / (-random.random::<f64>().ln()).sqrt();
    (0..count).map(|_| one()).collect()
}

/// Runs of which one in twenty is far out.
fn outliers(count: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
    let mut one = || normal(random) + if random.random::<f64>() < 0.05 { 20.0 } else { 0.0 };
    (0..count).map(|_| one()).collect()
}

/// A host that is busy for some runs at a time.
fn busy_times(count: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
    let mut busy = false;
    let mut one = || {
        if random.random::<f64>() < if busy { 0.3 } else { 0.05 } {
            busy = !busy;
        }
        normal(random) + if busy { 6.0 } else { 0.0 }
    };
    (0..count).map(|_| one()).collect()
}

#[test]
fn two_runs_without_a_change_differ_at_most_at_the_stated_level() {
    const TRIALS: usize = 2_000;
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let kinds: [(&str, Series); 8] = [
        ("independent", independent),
        ("correlation 0.3", |count, random| correlated(count, random, 0.3)),
        ("correlation 0.6", |count, random| correlated(count, random, 0.6)),
        ("correlation 0.9", |count, random| correlated(count, random, 0.9)),
        ("two degrees of freedom", heavy),
        ("one in twenty far out", outliers),
        ("busy times", busy_times),
        ("skewed", |count, random| (0..count).map(|_| -random.random::<f64>().ln()).collect()),
    ];
    for (name, series) in kinds {
        for earlier in [FEWEST, 40, 100] {
            let mut found = [0, 0];
            for _ in 0..TRIALS {
                let runs = series(earlier + 2, &mut random);
                let (past, [before, after]) =
                    (&runs[..earlier], [runs[earlier], runs[earlier + 1]]);
                if Past::new(past.to_vec()).probability(before, after) < 0.05 {
                    found[usize::from(after > before)] += 1;
                }
            }
            let percent = 100.0 * f64::from(found[0] + found[1]) / TRIALS as f64;
            println!("{name}, {earlier} earlier runs: {percent:.1} %, {found:?}");
            // 5 % and three standard errors of 2,000 trials.
            assert!(percent <= 6.5, "{name}, {earlier} earlier runs: {percent} %");
            let uneven = f64::from(found[0] - found[1]).abs();
            let most = 4.0 * f64::from(found[0] + found[1]).sqrt() + 1.0;
            assert!(uneven <= most, "{name}: {found:?}");
        }
    }
}

/// What a history states as needed is found from a run in the middle, and hardly less is not.
#[test]
fn what_is_needed_is_found() {
    let mut random = Pcg64Mcg::seed_from_u64(12);
    for earlier in [45, 100, 200] {
        let past = Past::new(correlated(earlier, &mut random, 0.3));
        let needed = past.needed().expect("enough runs").ln();
        let middle = past.middle();
        let worst = |by: f64| {
            let both = [-by, by].map(|by| past.probability(middle, middle + by));
            both[0].max(both[1])
        };
        assert!(worst(1.001 * needed) < 0.05, "{earlier} runs: {needed}");
        assert!(worst(0.999 * needed) >= 0.05, "{earlier} runs: {needed}");
    }
}

/// A change of the size that is called detectable is found four times of five, up as well as down.
#[test]
fn what_is_called_detectable_is_found_four_times_of_five() {
    const TRIALS: usize = 150;
    let mut random = Pcg64Mcg::seed_from_u64(15);
    let skewed: Series = |count, random| (0..count).map(|_| -random.random::<f64>().ln()).collect();
    // Of a skewed distribution the harder direction is stated, so that the easier one is found more often.
    let cases: [(&str, Series, usize, f64); 3] = [
        ("normal", independent, 40, 86.0),
        ("normal", independent, 60, 86.0),
        ("skewed", skewed, 60, 95.0),
    ];
    for (name, series, earlier, most) in cases {
        let mut found = [0, 0];
        for _ in 0..TRIALS {
            let past = Past::new(series(earlier, &mut random));
            let by = past.detectable().expect("enough runs");
            for (found, direction) in found.iter_mut().zip([-1.0, 1.0]) {
                let runs = series(2, &mut random);
                *found += i32::from(past.probability(runs[0], runs[1] + direction * by) < 0.05);
            }
        }
        let percent = 100.0 * f64::from(found[0] + found[1]) / (2 * TRIALS) as f64;
        println!("{name}, {earlier} earlier runs: {percent:.1} %, {found:?}");
        assert!((75.0..=most).contains(&percent), "{name}, {earlier} earlier runs: {percent} %");
        let least = f64::from(found[0].min(found[1])) / TRIALS as f64;
        assert!(least > 0.72, "{name}, {earlier} earlier runs: {found:?}");
    }
    assert_eq!(Past::new(independent(20, &mut random)).detectable(), None, "too few for any");
}

#[test]
fn few_runs_show_nothing_however_large() {
    let past = |count: u32| Past::new((0..count).map(f64::from).collect());
    // Any pair with the run that is far out differs as much: count + 1 of (count + 2)(count + 1)/2 pairs.
    assert_eq!(past(10).needed(), None);
    assert!(past(60).needed().is_some());
    let two_of_ten = past(3).probability(0.0, 100.0);
    assert!((two_of_ten - 0.2).abs() < 1e-9, "only 0 is as far from 100: {two_of_ten}");
    assert_eq!(past(3).probability(1.0, 1.0), 1.0);
}

/// The pairs that differ as much, counted one by one.
#[test]
fn pairs_are_counted_like_one_by_one() {
    let mut random = Pcg64Mcg::seed_from_u64(13);
    for count in [0, 1, 2, 7, 30] {
        let all: Vec<f64> = (0..count + 2).map(|_| f64::from(random.random::<u8>() % 8)).collect();
        let [before, after] = [all[count], all[count + 1]];
        let pairs = (0..all.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let as_far = |(a, b): &(usize, usize)| (all[*a] - all[*b]).abs() >= (before - after).abs();
        let expected = pairs.clone().filter(as_far).count() as f64 / pairs.count() as f64;
        let found = Past::new(all[..count].to_vec()).probability(before, after);
        assert!((found - expected).abs() < 1e-12, "{all:?}: {found}, not {expected}");
    }
}

#[test]
fn the_interval_of_the_deviation_covers_it() {
    let mut random = Pcg64Mcg::seed_from_u64(14);
    for count in [10, 20, 100] {
        let covers = |random: &mut Pcg64Mcg| {
            let interval = deviation_interval(&independent(count, random)).expect("it varies");
            interval.low <= 1.0 && 1.0 <= interval.high
        };
        let covered = (0..1_000).filter(|_| covers(&mut random)).count();
        assert!((910..=995).contains(&covered), "{count} runs: {covered} of 1000");
    }
    assert_eq!(deviation_interval(&[1.0; 10]), None);
}

/// Returns runs with this noise, one a day.
pub(crate) fn runs(noise: &[f64]) -> Vec<PastRun> {
    let run = |(day, noise): (u32, &f64)| PastRun {
        path: format!("nightly/{day:02}"),
        start_utc: format!("2026-{:02}-{:02}T03:00:00Z", 1 + day / 28, 1 + day % 28),
        noise: *noise,
        interval: None,
        rate_per_s: 250.0,
        beneath: None,
        doubts: vec![],
        settings: BTreeMap::new(),
    };
    (0..).zip(noise).map(run).collect()
}

#[test]
fn steps_and_trends_are_found_and_nothing_else_is() {
    let mut random = Pcg64Mcg::seed_from_u64(15);
    let flat = |random: &mut Pcg64Mcg| -> Vec<f64> {
        independent(30, random).iter().map(|normal| 0.01 * (0.1 * normal).exp()).collect()
    };
    let mut found = [0, 0];
    for _ in 0..500 {
        let runs = runs(&flat(&mut random));
        found[0] += usize::from(Step::find(&valued(&runs)).is_some());
        found[1] += usize::from(Trend::find(&valued(&runs)).is_some());
    }
    println!("without a change: steps and trends in {found:?} of 500");
    assert!(found.iter().all(|found| *found <= 12), "{found:?} of 500, at 1 %");
    let mut stepped = flat(&mut random);
    stepped[18..].iter_mut().for_each(|noise| *noise *= 1.5);
    let step = Step::find(&valued(&runs(&stepped))).expect("a step");
    assert_eq!((step.runs_before, &*step.since_utc), (18, "2026-01-19T03:00:00Z"));
    assert!((1.3..1.7).contains(&(step.after / step.before)), "{step:?}");
    let mut rising = flat(&mut random);
    (0..).zip(&mut rising).for_each(|(day, noise)| *noise *= 1.02_f64.powi(day));
    let trend = Trend::find(&valued(&runs(&rising))).expect("a trend");
    assert!((1.01..1.03).contains(&trend.per_day), "{trend:?}");
}

fn valued(runs: &[PastRun]) -> Vec<Valued<'_>> {
    runs.iter().map(|run| (&*run.start_utc, run.noise)).collect()
}
