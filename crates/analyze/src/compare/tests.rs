use super::contrast::{Design, runs_needed};
use super::ranks::mann_whitney;
use super::sessions::Sessions;
use super::*;
use crate::curve::CurvePoint;
use crate::stats::normal_above;
use anechoic_lab::two_cpus;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

fn names() -> [String; 2] {
    ["before".into(), "after".into()]
}

/// Returns a run that started in this second, with this noise.
fn run(second: usize, noise: f64) -> Values {
    Values {
        start_utc: format!("2026-11-22T20:{:02}:{:02}.000000Z", second / 60, second % 60),
        noise,
        wall_ns: 10_000_000_000,
        threshold_ns: 100,
        ..Values::default()
    }
}

/// Returns a normally distributed number.
fn normal(random: &mut Pcg64Mcg) -> f64 {
    normal_above(random.random())
}

/// Returns both sides with their runs one after the other: all of one side first, or in random pairs.
fn sides(noise: [Vec<f64>; 2], paired: bool, random: &mut Pcg64Mcg) -> [Vec<Values>; 2] {
    let count = noise[0].len();
    let swapped: Vec<usize> = (0..count).map(|_| usize::from(random.random::<bool>())).collect();
    let second = |side: usize, at: usize| match paired {
        true => 2 * at + (side + swapped[at]) % 2,
        false => side * count + at,
    };
    [0, 1].map(|side| {
        let runs = noise[side].iter().enumerate();
        runs.map(|(at, noise)| run(second(side, at), *noise)).collect()
    })
}

/// Returns the noise of runs one after the other, whose logarithms have this deviation and correlation.
fn series(count: usize, deviation: f64, correlation: f64, random: &mut Pcg64Mcg) -> Vec<f64> {
    let mut state = normal(random);
    let mut next = || {
        let noise = 0.01 * (deviation * state).exp();
        state = correlation * state + (1.0 - correlation * correlation).sqrt() * normal(random);
        noise
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn without_a_change_one_is_found_at_most_at_the_stated_level_as_often_up_as_down() {
    const TRIALS: usize = 2_000;
    let mut random = Pcg64Mcg::seed_from_u64(7);
    // Runs on each side, deviation and correlation of runs, in pairs, and how often in percent a change may be found.
    // Few runs do not show how much successive runs depend on each other: only pairs keep the level then.
    let cases = [
        (2, 0.3, 0.0, false, 5.5),
        (3, 0.3, 0.0, false, 6.0),
        (5, 0.05, 0.0, false, 6.0),
        (5, 1.0, 0.0, false, 6.0),
        (10, 0.6, 0.0, false, 6.0),
        (20, 0.3, 0.3, false, 7.5),
        (20, 0.3, 0.6, false, 9.0),
        (3, 0.3, 0.9, true, 6.5),
        (5, 0.3, 0.6, true, 6.5),
        (10, 1.0, 0.9, true, 6.5),
    ];
    for (count, deviation, correlation, paired, most) in cases {
        let mut found = [0, 0];
        for _ in 0..TRIALS {
            let all = series(2 * count, deviation, correlation, &mut random);
            let halves = match paired {
                true => [0, 1].map(|side| all.iter().skip(side).step_by(2).copied().collect()),
                false => [all[..count].to_vec(), all[count..].to_vec()],
            };
            // In pairs, which of the two neighbours is which side is random.
            let mut sides = sides(halves, paired, &mut random);
            for at in 0..if paired { count } else { 0 } {
                if sides[0][at].start_utc > sides[1][at].start_utc {
                    let [before, after] = &mut sides;
                    std::mem::swap(&mut before[at].noise, &mut after[at].noise);
                }
            }
            match compare_values(names(), sides).verdict {
                Change::Quieter => found[0] += 1,
                Change::Noisier => found[1] += 1,
                Change::NotShown => {}
                other => panic!("{other:?}"),
            }
        }
        let percent = 100.0 * f64::from(found[0] + found[1]) / TRIALS as f64;
        let name = format!("{count} runs, ± {deviation}, r {correlation}, paired: {paired}");
        println!("{name}: {percent:.1} %, {found:?}");
        assert!(percent <= most, "{name}: {percent} %");
        let uneven = f64::from(found[0] - found[1]).abs();
        assert!(uneven <= 4.0 * f64::from(found[0] + found[1]).sqrt() + 1.0, "{name}: {found:?}");
    }
}

#[test]
fn the_interval_of_the_ratio_covers_it() {
    let mut random = Pcg64Mcg::seed_from_u64(8);
    for (count, truth) in [(3, 0.6), (5, 1.2), (10, 1.0)] {
        let mut covered = 0;
        for _ in 0..2_000 {
            let mut noise = [0, 1].map(|_| series(count, 0.3, 0.0, &mut random));
            noise[1].iter_mut().for_each(|noise| *noise *= truth);
            let found = compare_values(names(), sides(noise, false, &mut random));
            let interval = found.interval.expect("repeated runs");
            covered += i32::from(interval.low <= truth && truth <= interval.high);
        }
        let percent = f64::from(covered) / 20.0;
        assert!((92.0..=99.0).contains(&percent), "{count} runs, × {truth}: {percent} %");
    }
}

#[test]
fn what_is_called_detectable_is_found_four_times_of_five() {
    let mut random = Pcg64Mcg::seed_from_u64(9);
    let count = usize::try_from(runs_needed(0.01, 1.1f64.ln()).expect("few")).expect("few");
    let mut found = 0;
    for _ in 0..2_000 {
        let mut noise = [0, 1].map(|_| series(count, 0.1, 0.0, &mut random));
        noise[1].iter_mut().for_each(|noise| *noise *= 1.1);
        let verdict = compare_values(names(), sides(noise, false, &mut random)).verdict;
        found += i32::from(verdict == Change::Noisier);
    }
    let percent = f64::from(found) / 20.0;
    assert!((74.0..=88.0).contains(&percent), "{count} runs: {percent} %");
}

#[test]
fn the_order_of_runs_decides_how_they_are_compared() {
    let starts = |before: &[usize], after: &[usize]| {
        [before, after].map(|side| side.iter().map(|at| run(*at, 0.01)).collect::<Vec<_>>())
    };
    let cases = [
        ("alternating", starts(&[0, 2, 4], &[1, 3, 5]), Order::Paired),
        ("random pairs", starts(&[0, 3, 4], &[1, 2, 5]), Order::Paired),
        ("one pair only", starts(&[0], &[1]), Order::Apart),
        ("one after the other", starts(&[0, 1, 2], &[3, 4, 5]), Order::Apart),
        ("the other way round", starts(&[3, 4], &[1, 2]), Order::Apart),
        ("before, after, before", starts(&[0, 1, 4, 5], &[2, 3]), Order::Apart),
        ("a run missing", starts(&[0, 2, 4], &[1, 5]), Order::Mixed),
        (
            "a switch every second run",
            starts(&[0, 1, 3, 4, 7, 10, 11], &[2, 5, 6, 8, 9]),
            Order::Mixed,
        ),
        ("one switch less", starts(&[0, 1, 3, 4, 7, 8], &[2, 5, 6, 9, 10, 11]), Order::Apart),
    ];
    for (name, sides, expected) in cases {
        assert_eq!(Design::from_sides(&sides).order(), expected, "case: {name}");
    }
}

/// Half an hour after a session of each side, one has runs of both.
#[test]
fn a_session_with_runs_of_both_sides_is_none_of_a_side() {
    let starts = [&[0, 10, 3_000][..], &[1_000, 1_010, 1_020, 3_020]];
    let sides = starts.map(|side| side.iter().map(|at| run(*at, 0.01)).collect());
    assert_eq!(Design::from_sides(&sides).order(), Order::Apart);
    // Runs of 10 s: the last one before the change ends at 20 s.
    let apart = sides.map(|side| side[..2].to_vec());
    assert_eq!(Sessions::from_sides(&apart).map(|found| found.apart_ns), Some(980_000_000_000));
}

#[test]
fn a_setting_changed_if_it_has_one_value_on_each_side() {
    type Side<'a> = &'a [Option<&'a str>];
    let cases: [(&str, [Side<'_>; 2], bool); 8] = [
        ("the same", [&[Some("a"), Some("a")], &[Some("a"), Some("a")]], false),
        ("another", [&[Some("a"), Some("a")], &[Some("b"), Some("b")]], true),
        ("none before", [&[None, None], &[Some("b")]], true),
        ("none after", [&[Some("a")], &[None]], true),
        ("two before", [&[Some("a"), Some("b")], &[Some("c"), Some("c")]], false),
        ("two after", [&[Some("a"), Some("a")], &[Some("b"), Some("c")]], false),
        ("two on both", [&[Some("a"), Some("b")], &[Some("c"), Some("d")]], false),
        ("the same two", [&[Some("a"), Some("b")], &[Some("b"), Some("a")]], false),
    ];
    for (name, values, is_changed) in cases {
        let side = |side: Side<'_>| -> Vec<Values> {
            let runs = side.iter().map(|value| {
                let settings = value.map(|value| ("name".to_owned(), value.to_owned()));
                Values { settings: settings.into_iter().collect(), ..run(0, 0.1) }
            });
            runs.collect()
        };
        let first = |at: usize| values[at][0].map(str::to_owned);
        let (before, after) = (first(0), first(1));
        let expected = is_changed.then(|| ChangedSetting { name: "name".into(), before, after });
        assert_eq!(changed(&values.map(side)), Vec::from_iter(expected), "case: {name}");
    }
}

#[test]
fn trials_are_complete_once_each_pair_is() {
    let trials = |complete: &[u32]| Trials {
        settings: vec![],
        commands: [String::new(), String::new()],
        during: false,
        record: false,
        after: None,
        seed: 0,
        duet: None,
        swapped: vec![false, true],
        complete: complete.to_vec(),
    };
    assert!(trials(&[1, 2]).all_complete() && !trials(&[1]).all_complete());
    // The second planned pair is the swapped one, whichever is complete first.
    let duet = |complete: &[u32]| Trials { duet: Some([vec![0], vec![1]]), ..trials(complete) };
    let swapped = [0, 1, 2].map(|at| duet(&[2, 1]).duet_swapped(at));
    assert_eq!(swapped, [Some(true), Some(false), None]);
    assert_eq!([duet(&[0]), duet(&[3]), trials(&[2])].map(|one| one.duet_swapped(0)), [None; 3]);
    let setting = |name: &str, value: &str| TriedSetting {
        name: name.into(),
        file: String::new(),
        before: "1".into(),
        value: value.into(),
        in_effect: None,
    };
    let both = vec![setting("vm.stat_interval", "10"), setting("ksm", "0")];
    let tried = Trials { settings: both, ..trials(&[]) }.tried();
    assert_eq!(tried.as_deref(), Some("vm.stat_interval=10 with ksm=0"));
    assert_eq!(trials(&[]).tried(), None);
}

#[test]
fn sides_of_one_session_each_prove_nothing_and_several_are_compared_by_their_means() {
    // A side is given by its sessions of four runs each: the minute of the hour in which it starts, and its noise in percent.
    let side = |sessions: &[(usize, f64)]| -> Vec<Values> {
        let runs = |&(minute, percent): &(usize, f64)| {
            (0..4).map(move |at| {
                run(60 * minute + 11 * at, 0.01 * (percent + 0.001 * (at % 3) as f64))
            })
        };
        sessions.iter().flat_map(runs).collect()
    };
    type Sessions = &'static [(usize, f64)];
    let cases: [(&str, Sessions, Sessions, Order, Change); 6] = [
        ("one session each", &[(0, 2.0)], &[(30, 1.0)], Order::OneSession, Change::Unproven),
        ("in one session", &[(0, 2.0)], &[(5, 1.0)], Order::Apart, Change::Quieter),
        (
            "in turns, and the host changes as much",
            &[(0, 1.0), (30, 2.0)],
            &[(15, 2.0), (45, 1.0)],
            Order::Sessions,
            Change::NotShown,
        ),
        (
            "in turns",
            &[(0, 2.0), (30, 2.1)],
            &[(15, 1.0), (45, 1.05)],
            Order::Sessions,
            Change::Quieter,
        ),
        (
            "one session of both",
            &[(0, 2.0), (20, 2.0)],
            &[(21, 1.0), (50, 1.0)],
            Order::Apart,
            Change::Quieter,
        ),
        ("the same noise", &[(0, 1.0)], &[(30, 1.0)], Order::OneSession, Change::NotShown),
    ];
    for (name, before, after, order, verdict) in cases {
        let found = compare_values(names(), [side(before), side(after)]);
        assert_eq!((found.order, found.verdict), (order, verdict), "case: {name}");
        let apart = matches!(order, Order::OneSession | Order::Sessions);
        assert_eq!(found.apart_ns.is_some(), apart, "case: {name}");
    }
}

#[test]
fn the_source_that_changed_is_named_and_a_control_that_moved_leaves_it_unproven() {
    let with = |second: usize, tick: f64, beneath: f64| Values {
        sources: Some(BTreeMap::from([
            (("timer-tick".into(), String::new()), tick),
            (("thread".into(), "kworker".into()), 0.001 + 1e-5 * (second % 3) as f64),
            (("vm-or-hardware".into(), String::new()), beneath + 1e-5 * (second % 2) as f64),
        ])),
        cpus: BTreeMap::from([(0, 0.002 + 1e-5 * (second % 3) as f64), (1, 2.0 * tick)]),
        guest: true,
        ..run(second, tick + beneath + 0.001 + 1e-5 * (second % 3) as f64)
    };
    let compared = |after: f64, beneath: f64| {
        let before = (0..5).map(|at| with(at, 0.010, 0.002)).collect();
        let after = (5..10).map(|at| with(at, after, beneath)).collect();
        compare_values(names(), [before, after])
    };
    let found = compared(0.005, 0.002);
    assert_eq!(found.verdict, Change::Quieter);
    let first = &found.sources[0];
    assert_eq!(
        (&*first.source, first.control, first.difference.clear),
        ("timer-tick", false, true)
    );
    assert!(
        found.sources[1..].iter().all(|source| !source.difference.clear),
        "{:?}",
        found.sources
    );
    let clear: Vec<u32> =
        found.cpus.iter().filter(|cpu| cpu.difference.clear).map(|cpu| cpu.cpu).collect();
    assert_eq!(clear, [1]);
    assert_eq!(compared(0.010, 0.002).verdict, Change::NotShown);
    let moved = compared(0.005, 0.008);
    assert_eq!((moved.verdict, moved.control_moved()), (Change::Unproven, true));
    assert!(!found.control_moved());
}

#[test]
fn one_run_on_a_side_is_at_most_two_recordings_that_differ() {
    let with = |noise: f64, within: Option<f64>| vec![Values { within, ..run(0, noise) }];
    let cases = [
        ("alike", [with(0.010, Some(0.1)), with(0.011, Some(0.1))], Change::OneRun),
        ("not alike", [with(0.010, Some(0.1)), with(0.020, Some(0.1))], Change::OneRunDiffers),
        ("nothing known", [with(0.010, None), with(0.020, Some(0.1))], Change::OneRun),
        ("no noise", [with(0.0, None), with(0.020, Some(0.1))], Change::OneRun),
    ];
    for (name, sides, expected) in cases {
        let found = compare_values(names(), sides);
        assert_eq!((found.verdict, found.interval), (expected, None), "case: {name}");
        assert_eq!((found.probability, found.plan.len()), (None, 0), "case: {name}");
        let noise = found.before.noise_of_runs[0] > 0.0;
        let ratio = found.after.noise_of_runs[0] / found.before.noise_of_runs[0];
        assert!(
            found.ratio.map_or(!noise, |found| (found / ratio - 1.0).abs() < 1e-9),
            "case: {name}"
        );
    }
}

#[test]
fn runs_without_noise_have_a_verdict_but_no_ratio() {
    let side = |from: usize, noise: &[f64]| {
        (from..).zip(noise).map(|(at, share)| run(at, *share)).collect()
    };
    let found =
        compare_values(names(), [side(0, &[0.0, 0.0, 1e-6]), side(3, &[0.010, 0.011, 0.012])]);
    assert_eq!((found.verdict, found.ratio), (Change::Noisier, None));
}

#[test]
fn longer_runs_help_where_the_variation_is_within_runs() {
    let plan = |within: f64| {
        let runs = |from: usize, noise: [f64; 4]| -> Vec<Values> {
            let varied = |(at, noise)| Values { within: Some(within), ..run(at, noise) };
            (from..).zip(noise).map(varied).collect()
        };
        let noise = [0.010, 0.012, 0.009, 0.011];
        compare_values(names(), [runs(0, noise), runs(4, noise)]).plan
    };
    let (none, all) = (plan(0.0), plan(0.2));
    assert_eq!(none.len(), 1, "{none:?}");
    // The variation within runs explains all of it, so that runs of four times the length have a quarter of the variance.
    let logarithms = [0.010_f64, 0.012, 0.009, 0.011].map(f64::ln);
    let mean = logarithms.iter().sum::<f64>() / 4.0;
    let variance = logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 3.0;
    let runs =
        [1.0, 4.0, 16.0].map(|length| runs_needed(variance / length, 1.1_f64.ln()).expect("few"));
    let planned: Vec<_> = all.iter().map(|plan| (plan.runs, plan.wall_ns)).collect();
    assert_eq!(
        planned,
        [(runs[0], 10_000_000_000), (runs[1], 40_000_000_000), (runs[2], 160_000_000_000)]
    );
    assert_eq!((none[0].runs, none[0].wall_ns), (all[0].runs, 10_000_000_000));
}

#[test]
fn ranks_as_in_the_tables() {
    let p = |before: &[f64], after: &[f64]| mann_whitney(&[before.to_vec(), after.to_vec()]);
    let close = |found: Option<f64>, expected: f64| (found.expect("few") - expected).abs() < 1e-9;
    // 2 of C(6, 3) = 20 orders; 2 of C(10, 5) = 252.
    assert!(close(p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 0.1));
    assert!(close(p(&[6.0, 7.0, 8.0, 9.0, 10.0], &[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 252.0));
    assert!(close(p(&[1.0, 2.0], &[1.0, 2.0]), 1.0));
    // Two of nine comparisons are lost: as few or fewer have 1, 1 and 2 of the 20 orders.
    assert!(close(p(&[1.0, 2.0, 5.0], &[3.0, 4.0, 6.0]), 2.0 * 4.0 / 20.0));
    assert_eq!(p(&[0.0; 61], &[1.0]), None);
}

/// Returns both sides of a duet: pairs at the same time, whose CPUs differ by a factor and are swapped as by `ab`.
fn duet(pairs: usize, set_factor: f64, ratio: f64, random: &mut Pcg64Mcg) -> [Vec<Values>; 2] {
    let host = series(pairs, 0.5, 0.9, random);
    let mut sides = [vec![], vec![]];
    let mut swapped = false;
    for (pair, host) in host.iter().enumerate() {
        swapped = if pair % 2 == 0 { random.random() } else { !swapped };
        for (side, runs) in sides.iter_mut().enumerate() {
            let second = (side == 1) != swapped;
            let by_set = if second { set_factor } else { 1.0 };
            let by_side = if side == 1 { ratio } else { 1.0 };
            let noise = host * by_set * by_side * (0.1 * normal(random)).exp();
            runs.push(Values { swapped: Some(swapped), ..run(pair, noise) });
        }
    }
    sides
}

#[test]
fn a_duet_takes_off_what_its_cpus_differ_by() {
    let mut random = Pcg64Mcg::seed_from_u64(21);
    for (pairs, set_factor) in [(4, 1.0), (5, 3.0), (10, 3.0), (20, 1.5)] {
        let (mut changed, mut covered) = (0, 0);
        for _ in 0..2_000 {
            let found = compare_values(names(), duet(pairs, set_factor, 1.0, &mut random));
            assert_eq!((found.order, found.other_cpus), (Order::Duet, false));
            changed += i32::from(found.verdict != Change::NotShown);
            let interval =
                compare_values(names(), duet(pairs, set_factor, 1.3, &mut random)).interval;
            let interval = interval.expect("pairs enough");
            covered += i32::from(interval.low <= 1.3 && 1.3 <= interval.high);
        }
        let [changed, covered] = [changed, covered].map(|count| f64::from(count) / 20.0);
        println!(
            "{pairs} pairs, sets differ {set_factor} times: {changed} % changed, {covered} % covered"
        );
        assert!(changed <= 6.5, "{pairs} pairs: {changed} %");
        assert!((93.0..=97.0).contains(&covered), "{pairs} pairs: {covered} %");
    }
    // Fifty-fold differences of the CPUs hide nothing: 10 pairs find 30 %.
    let found = compare_values(names(), duet(10, 50.0, 1.3, &mut random));
    assert_eq!(found.verdict, Change::Noisier, "{:?}", found.interval);
}

/// Three pairs of which none is swapped do not separate the sides from the CPUs.
#[test]
fn a_duet_that_was_never_swapped_shows_nothing() {
    let side = |noise: f64| -> Vec<Values> {
        let unswapped = |at| Values { swapped: Some(false), ..run(at, noise + 1e-4 * at as f64) };
        (0..3).map(unswapped).collect()
    };
    let found = compare_values(names(), [side(0.010), side(0.020)]);
    assert_eq!((found.verdict, found.interval), (Change::OneRun, None));
}

/// Pairs differ by 1 between the sides and by 0.5 between the CPUs, and each is 0.1 off: with four pairs and two
/// coefficients the variance is 4 · 0.01 / 2, and that of the difference a quarter of it.
#[test]
fn a_duet_is_fitted_by_least_squares() {
    let swapped = [false, true, false, true];
    let after = [1.6, 0.4, 1.4, 0.6];
    let contrast = |pairs: usize| {
        let design = Design::Duet(swapped[..pairs].to_vec());
        Contrast::new(&[vec![0.0; pairs], after[..pairs].to_vec()], &design)
    };
    let interval = contrast(4).expect("pairs enough").interval();
    let reach = 4.302_653 * 0.005_f64.sqrt();
    assert!((interval.low - (1.0 - reach)).abs() < 1e-6, "{interval:?}");
    assert!((interval.high - (1.0 + reach)).abs() < 1e-6, "{interval:?}");
    assert_eq!([2, 3].map(|pairs| contrast(pairs).is_some()), [false, true]);
}

/// Values 0, 1, 2 have a correlation of 0, for which Kendall's correction puts 1/3, so that the squared error doubles and
/// six runs are worth three. That of two runs is not estimated.
#[test]
fn the_correlation_of_three_runs_counts_and_that_of_two_does_not() {
    // Runs on a side, squared error of the difference, and quantile of Student's distribution.
    for (runs, squared, quantile) in [(2, 0.5, 4.302_653), (3, 4.0 / 3.0, 12.706_205)] {
        let side: Vec<f64> = (0..runs).map(f64::from).collect();
        let contrast = Contrast::new(&[side.clone(), side], &Design::Apart);
        let interval = contrast.expect("two runs").interval();
        let reach = quantile * f64::sqrt(squared);
        assert!((interval.high - reach).abs() < 1e-5, "{runs} runs: {interval:?}, not {reach}");
    }
}

/// The longest detours of a run are no sample of it: their noise is not compared, however much it differs.
#[test]
fn what_was_kept_of_a_run_proves_nothing() {
    let side = |noise: f64| vec![Values { kept: true, within: Some(0.1), ..run(0, noise) }];
    let found = compare_values(names(), [side(0.010), side(0.020)]);
    assert_eq!((found.order, found.verdict), (Order::Kept, Change::Unproven));
    assert_eq!((found.before.within_runs, found.before.between_runs), (None, None));
    let whole = compare_values(names(), [vec![run(0, 0.01), run(1, 0.02)], vec![run(2, 0.01)]]);
    assert!(whole.before.between_runs.is_some() && whole.after.within_runs.is_none());
}

#[test]
fn runs_that_are_not_whole_are_named() {
    let whole = || vec![run(0, 0.01), run(2, 0.01)];
    assert_eq!(notes(&[whole(), whole()], &names()), Vec::<String>::new());
    let flawed = Values { flaws: vec!["was cut off", "lost detours"], ..run(3, 0.01) };
    let expected =
        "run 2 of after, started at 2026-11-22T20:00:03.000000Z, was cut off and lost detours";
    assert_eq!(notes(&[whole(), vec![run(1, 0.01), flawed]], &names()), [expected]);
}

#[test]
fn the_error_of_a_logarithm_is_that_of_its_interval() {
    // 95 % of normal values lie within 1.959964 standard errors.
    let reach = 1.959_963_984_540_054 * 0.1;
    let interval = Interval { low: 0.02 * f64::exp(-reach), high: 0.02 * f64::exp(reach) };
    let error = one_run::error_of_logarithm(&interval).expect("both ends are positive");
    assert!((error - 0.1).abs() < 1e-7, "{error}");
    assert_eq!(one_run::error_of_logarithm(&Interval { low: 0.0, high: 1.0 }), None);
}

#[test]
fn the_variance_is_pooled_over_both_sides() {
    // Squares around the means 2 and 3: 2 of one degree of freedom, 18 of two.
    let sides = [vec![1.0, 3.0], vec![0.0, 3.0, 6.0]];
    let variance = contrast::pooled_variance(&sides).expect("three degrees of freedom");
    assert!((variance - 20.0 / 3.0).abs() < 1e-12, "{variance}");
    assert_eq!(contrast::pooled_variance(&[vec![1.0], vec![3.0]]), None);
}

#[test]
fn rates_are_compared_over_each_length() {
    let point = |threshold_ns: u64, rate_per_s: f64| CurvePoint {
        threshold_ns,
        detours: 0,
        rate_per_s,
        noise: 0.0,
    };
    let with = |second: usize, curve: Vec<CurvePoint>| Values { curve, ..run(second, 0.01) };
    let before = [vec![point(100, 50.0), point(200, 10.0)], vec![point(100, 70.0)]];
    let after = [vec![point(100, 90.0), point(200, 30.0)], vec![point(100, 90.0), point(50, 1e3)]];
    let [before, after] = [(0, before), (10, after)]
        .map(|(first, curves)| (first..).zip(curves).map(|(at, curve)| with(at, curve)).collect());
    let found = compare_values(names(), [before, after]);
    let rates = found
        .lengths
        .iter()
        .map(|length| (length.threshold_ns, length.difference.before, length.difference.after));
    // A run whose curve ends before has no longer detour; 50 ns is below the threshold of the runs.
    assert_eq!(rates.collect::<Vec<_>>(), [(100, 60.0, 90.0), (200, 5.0, 15.0)]);
    // A twelfth of the detours before exceeds 200 ns, and a sixth after.
    let distance = found.length_distance.expect("both sides have detours");
    assert!((distance - 1.0 / 12.0).abs() < 1e-12, "{distance}");
}

#[test]
fn thresholds_differ_from_a_fifth_on() {
    for (highest, differ) in [(100, false), (120, false), (121, true)] {
        let with = |second: usize, threshold_ns: u64| Values { threshold_ns, ..run(second, 0.01) };
        let before = vec![with(0, 100), with(1, 110)];
        let found = compare_values(names(), [before, vec![with(2, highest), with(3, 100)]]);
        assert_eq!(found.thresholds_ns(), (100, highest.max(110)));
        assert_eq!(found.thresholds_differ(), differ, "up to {highest} ns");
    }
}

#[test]
fn a_thread_of_one_cpu_is_compared_with_that_of_another() {
    let place = tempfile::tempdir().expect("a directory");
    let run = two_cpus::run(two_cpus::SECOND);
    let played = vec![(0.1, 1e-3), (0.4, 2e-3)];
    let recording = two_cpus::record(&place.path().join("run"), &run, &[("thread", played)]);
    let summary = crate::summarize(&recording).expect("it is whole");
    let named = |name: &str| {
        let mut summary = summary.clone();
        let rows = summary.sources.iter_mut().flat_map(|sources| &mut sources.rows);
        rows.for_each(|row| row.name = name.into());
        summary
    };
    for (before, after, name) in [
        ("ksoftirqd/1", "ksoftirqd/3", "ksoftirqd/*"),
        ("loop 1", "loop 0", "loop *"),
        ("sshd", "sshd", "sshd"),
    ] {
        let sides = [named(before), named(after)];
        let [before, after] = sides.each_ref().map(|summary| [ComparedRun { run: &run, summary }]);
        let found = compare(names(), [&before, &after], Beside::default()).expect("two runs");
        let sources: Vec<&str> = found.sources.iter().map(|source| &*source.name).collect();
        assert_eq!(sources, [name], "it is one source on both sides");
        let Difference { before, after, .. } = found.sources[0].difference;
        assert!(before > 0.0 && before == after, "{name}: {before} {after}");
    }
}

#[test]
fn successive_runs_hide_their_correlation_where_a_side_has_two() {
    let apart = |counts: [usize; 2]| {
        let noise = counts.map(|count| (0..count).map(|at| 0.01 + 0.001 * at as f64).collect());
        let [before, after]: [Vec<f64>; 2] = noise;
        let side = |noise: Vec<f64>, from: usize| -> Vec<Values> {
            noise.into_iter().enumerate().map(|(at, noise)| run(from + at, noise)).collect()
        };
        compare_values(names(), [side(before, 0), side(after, 60)])
    };
    for (counts, expected) in [([2, 2], true), ([2, 5], true), ([5, 2], true), ([3, 3], false)] {
        let found = apart(counts);
        assert_eq!(found.order, Order::Apart, "{counts:?}");
        assert_eq!(found.hides_correlation(), expected, "{counts:?}");
    }
}

/// Returns a run with this share of slow time and this calm pace.
fn run_of_pace(second: usize, slow: f64, calm_ns: f64) -> Values {
    let calm_ns = [(0, calm_ns), (1, 3.0 * calm_ns)].into();
    Values { pace: Some(pace::PaceValues::new(slow, calm_ns)), ..run(second, 0.01) }
}

/// Returns eight runs of a side, each next to one of the other side.
fn runs_of_pace(side: usize, slower: f64, longer: f64, random: &mut Pcg64Mcg) -> Vec<Values> {
    let run = |pair: usize| {
        let slow = 0.01 * slower * (1.0 + 0.3 * normal(random)).max(0.0);
        run_of_pace(2 * pair + side, slow, 10.0 * longer * (1.0 + 0.003 * normal(random)))
    };
    (0..8).map(run).collect()
}

/// In pairs, a change of three quantities is found by chance in at most one of twenty comparisons; one of the slow time or of the
/// calm pace is found alone.
#[test]
fn a_change_of_the_pace_is_found_and_no_other() {
    const TRIALS: usize = 1_000;
    let mut random = Pcg64Mcg::seed_from_u64(40);
    // What changes, and how often in percent a change of the slow time and of the calm pace is found, at least and at most.
    let cases = [
        ((1.0, 1.0), (0, 3), (0, 3)),
        ((3.0, 1.0), (95, 100), (0, 7)),
        ((1.0, 1.02), (0, 7), (95, 100)),
    ];
    for ((slower, longer), slow, calm) in cases {
        let mut found = [0, 0];
        for _ in 0..TRIALS {
            let sides = [
                runs_of_pace(0, 1.0, 1.0, &mut random),
                runs_of_pace(1, slower, longer, &mut random),
            ];
            let pace = compare_values(names(), sides).pace.expect("each has one");
            found[0] += usize::from(pace.slow.clear);
            found[1] += usize::from(pace.calm_ns.clear);
        }
        for (found, (least, most)) in found.into_iter().zip([slow, calm]) {
            let percent = 100.0 * found as f64 / TRIALS as f64;
            let is_so = (f64::from(least)..=f64::from(most)).contains(&percent);
            assert!(is_so, "{slower}, {longer}: {percent} % not in {least} to {most}");
        }
    }
    let unknown = [vec![run(0, 0.1)], vec![run_of_pace(1, 0.1, 10.0)]];
    assert_eq!(compare_values(names(), unknown).pace, None, "that of one run is not known");
}
