//! Limits on the time that a slower pace takes, at the truth and where nothing was slow.

use super::{judge, judged};
use anechoic_analyze::gate::{Doubt, Finding, Outcome, Requirements};
use anechoic_lab::trains::{exponential, random, unit};
use anechoic_lab::two_cpus::{self, SECOND};
use anechoic_recording::run::Run;
use anechoic_recording::{LoopPace, Recorder, Recording};
use rand_pcg::Pcg64Mcg;
use std::path::Path;

/// Ticks of a calm iteration.
const CALM: f64 = 25.0;
/// How much longer an iteration takes while a neighbour runs: a fifth of the time is lost.
const BUSY: f64 = 1.25;

/// Records how long CPU 1 was calm and how long slow in turn, in seconds; CPU 0 is calm.
fn record(dir: &Path, run: &Run, calm_then_slow: &[f64]) -> Recording {
    let end = run.end_ticks - run.start_ticks;
    let mut recorder = Recorder::create(dir, run).expect("a new directory");
    let row = |cpu, start_ticks: u64, end_ticks: u64, slower: f64| {
        let iterations = ((end_ticks - start_ticks) as f64 / CALM / slower) as u64;
        let work_ticks = (iterations as f64 * CALM * slower).round() as u64;
        LoopPace { cpu, start_ticks, end_ticks, work_ticks, iterations }
    };
    recorder.append(&[row(0, 0, end, 1.0)]).expect("in order");
    let mut at = 0;
    for (number, seconds) in calm_then_slow.iter().enumerate() {
        let to = (at + (seconds * SECOND as f64) as u64).min(end);
        let slower = if number % 2 == 0 { 1.0 } else { BUSY };
        if to - at > 1_000 {
            recorder.append(&[row(1, at, to, slower)]).expect("in order");
            at = to;
        }
    }
    if at < end {
        recorder.append(&[row(1, at, end, 1.0)]).expect("in order");
    }
    recorder.finish(run).expect("there is space");
    Recording::open(dir).expect("just written")
}

fn run(seconds: f64) -> Run {
    two_cpus::run((seconds * SECOND as f64) as u64)
}

fn finding(recording: &Recording, text: &str) -> Finding {
    judge(recording, text).findings.remove(1)
}

/// Where nothing was slow, as many slow times of 0.1 s as agree with none may be missing: three.
#[test]
fn what_was_never_slow_passes_after_a_while() {
    let dir = tempfile::tempdir().expect("a directory");
    let silent = record(&dir.path().join("silent"), &run(30.0), &[]);
    let found = finding(&silent, "max-slow 1.01%");
    assert_eq!((found.outcome, found.value), (Outcome::Pass, 0.0), "{found:?}");
    let most = found.at_most.expect("a bound");
    assert!((most / 0.01 - 1.0).abs() < 0.01, "{most}");
    let close = finding(&silent, "max-slow 0.5%");
    let needed = close.needed_ns.expect("it is undecided") as f64;
    assert!((needed / 60e9 - 1.0).abs() < 0.01, "{needed}");
    let times = neighbours(Law::Exponential, 5.0, 30.0, &mut random(41));
    let slow = record(&dir.path().join("slow"), &run(30.0), &times);
    let truth = 100.0 * (1.0 - 1.0 / BUSY) * times.iter().skip(1).step_by(2).sum::<f64>() / 30.0;
    let cases = [(0.7, Outcome::Fail), (1.01, Outcome::Undecided), (1.5, Outcome::Pass)];
    for (limit, outcome) in cases {
        let found = finding(&slow, &format!("max-slow {}%", limit * truth));
        assert_eq!(found.outcome, outcome, "{limit} of {truth} %: {found:?}");
        assert!((100.0 * found.value - truth).abs() < 0.01, "{truth} %: {found:?}");
    }
}

/// Half of the run calm and half slow: nothing bounds how much it is on average, and a longer run of the same kind would not
/// either.
#[test]
fn a_pace_that_changed_once_is_not_bounded() {
    let dir = tempfile::tempdir().expect("a directory");
    let changed = record(&dir.path().join("changed"), &run(30.0), &[15.0, 15.0]);
    let found = finding(&changed, "max-slow 12%");
    let expected = (Outcome::Undecided, None, None);
    assert_eq!((found.outcome, found.at_most, found.needed_ns), expected, "{found:?}");
    assert!((found.value - 0.1).abs() < 1e-4, "{found:?}");
}

#[test]
fn without_paces_nothing_is_decided() {
    let dir = tempfile::tempdir().expect("a directory");
    let older = two_cpus::record(&dir.path().join("older"), &run(30.0), &[]);
    let found = judged(&older, &["max-slow 50%"], Requirements::default()).rules.remove(0);
    assert_eq!((found.outcome, &found.doubts[0].doubt), (Outcome::Undecided, &Doubt::NoPace));
}

/// How long a neighbour runs.
#[derive(Debug, Clone, Copy)]
enum Law {
    Fixed,
    Exponential,
    Pareto,
}

impl Law {
    fn seconds(self, random: &mut Pcg64Mcg) -> f64 {
        match self {
            Self::Fixed => 0.1,
            Self::Exponential => exponential(0.1, random),
            // A mean of three times the shortest.
            Self::Pareto => 0.1 / 3.0 * unit(random).powf(-1.0 / 1.5),
        }
    }
}

/// Returns how long it was calm and how long slow in turn, one neighbour after the other; `rate` of them a second of calm.
fn neighbours(law: Law, rate: f64, seconds: f64, random: &mut Pcg64Mcg) -> Vec<f64> {
    // What was before the run has no effect on it.
    let mut at = -50.0;
    let mut all = vec![];
    while at < seconds {
        let calm = exponential(1.0 / rate, random);
        let slow = law.seconds(random);
        let inside = |from: f64, to: f64| (to.min(seconds) - from.max(0.0)).max(0.0);
        all.extend([inside(at, at + calm), inside(at + calm, at + calm + slow)]);
        at += calm + slow;
    }
    all
}

/// A limit at the truth is passed and exceeded in at most one of twenty runs of ten seconds, however few neighbours come.
#[test]
fn a_limit_at_the_truth_is_neither_passed_nor_exceeded() {
    const RUNS: u32 = 100;
    let dir = tempfile::tempdir().expect("a directory");
    let mut random = random(40);
    for law in [Law::Fixed, Law::Exponential, Law::Pareto] {
        for expected in [0.05, 0.5, 1.0, 3.0, 10.0, 30.0] {
            let rate = expected / 10.0;
            // The shares of calm and slow time are those of their means.
            let truth = 100.0 * (1.0 - 1.0 / BUSY) * 0.1 / (0.1 + 1.0 / rate);
            let (mut passed, mut failed) = (0, 0);
            for _ in 0..RUNS {
                let path = dir.path().join("run");
                let recording =
                    record(&path, &run(10.0), &neighbours(law, rate, 10.0, &mut random));
                let found = finding(&recording, &format!("max-slow {truth}%"));
                passed += u32::from(found.outcome == Outcome::Pass);
                failed += u32::from(found.outcome == Outcome::Fail);
                std::fs::remove_dir_all(&path).expect("it was there");
            }
            // Two and a half standard deviations more than one in twenty.
            let most = RUNS / 20 + 5;
            let counts = format!("{law:?}, {expected}: {passed} passed, {failed} failed");
            assert!(passed <= most && failed <= most, "{counts} of {RUNS}");
        }
    }
}
