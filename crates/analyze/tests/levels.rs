//! Changes of the level of noise within a run, of made-up recordings whose truth is known.

use anechoic_analyze::levels::LevelChange;
use anechoic_analyze::summarize;
use anechoic_lab::trains::{Interruption, Train, random, scattered};
use anechoic_lab::two_cpus::{self, SECOND};

/// Length of a run in seconds.
const RUN_S: f64 = 10.0;

/// Returns the changes in a run of two CPUs, of which CPU 1 had these interruptions, and CPU 0 none.
fn changes(sources: &[(&str, Vec<Interruption>)]) -> Vec<LevelChange> {
    let place = tempfile::tempdir().expect("a place for it");
    let run = two_cpus::run(RUN_S as u64 * SECOND);
    let recording = two_cpus::record(&place.path().join("run"), &run, sources);
    summarize(&recording).expect("a summary").levels
}

/// Returns interruptions of 100 µs, 200 a second, between two times.
fn busy(from_s: f64, to_s: f64) -> Vec<Interruption> {
    (0..)
        .map(|at| from_s + f64::from(at) * 5e-3)
        .take_while(|at| *at < to_s)
        .map(|at| (at, 1e-4))
        .collect()
}

/// Ticks, and rare events of all lengths: at most 1 % of calm runs have a change, so of 40 hardly three.
#[test]
fn calm_runs_have_one_level() {
    let found = (0..40).filter(|&seed| {
        let mut random = random(seed);
        let ticks = Train::ticks(250.0).play(RUN_S, &mut random);
        let rare = scattered(2.0, RUN_S, &mut random);
        !changes(&[("timer-tick", ticks), ("thread:rare", rare)]).is_empty()
    });
    let found = found.count();
    assert!(found <= 2, "{found} of 40");
}

#[test]
fn a_thread_that_begins_is_the_change() {
    let ticks = Train::ticks(250.0).play(RUN_S, &mut random(1));
    let found = changes(&[("timer-tick", ticks), ("thread:late", busy(3.3, RUN_S))]);
    let [change] = &found[..] else { panic!("{found:?}") };
    let interval = change.interval_s;
    assert!(
        (change.at_s - 3.3).abs() <= 0.02 && interval.low <= 3.3 && 3.3 <= interval.high,
        "{change:?}"
    );
    // 250 ticks of 20 to 25 µs, and 200 times 100 µs, a second, of which one of two CPUs has all.
    assert!((0.0022..0.0033).contains(&change.before), "{change:?}");
    assert!((change.after - change.before - 0.01).abs() < 2e-4, "{change:?}");
    let [source] = &change.sources[..] else { panic!("{change:?}") };
    assert_eq!((&*source.source, &*source.name), ("thread", "late"));
    assert!(source.before < 1e-5 && (source.after - 0.01).abs() < 1e-4, "{source:?}");
    assert_eq!(change.cpu, Some(1));
}

#[test]
fn what_begins_and_ends_are_two_changes() {
    let ticks = Train::ticks(250.0).play(RUN_S, &mut random(2));
    let found = changes(&[("timer-tick", ticks), ("thread:guest", busy(2.0, 6.5))]);
    let times: Vec<f64> = found.iter().map(|change| (change.at_s * 10.0).round() / 10.0).collect();
    assert_eq!(times, [2.0, 6.5], "{found:?}");
    assert!(found[0].after > found[0].before && found[1].after < found[1].before);
    assert_eq!(found[0].after, found[1].before);
    assert!(found.iter().all(|change| change.sources[0].name == "guest"), "{found:?}");
}

/// Of a source that takes the place of another the noise does not change, and nothing is said.
#[test]
fn the_same_noise_has_one_level() {
    let found = changes(&[("thread:first", busy(0.0, 5.0)), ("thread:second", busy(5.0, RUN_S))]);
    assert_eq!(found, []);
}
