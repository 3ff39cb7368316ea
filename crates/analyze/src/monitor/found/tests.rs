use super::*;
use anechoic_lab::builders;
use anechoic_recording::run::{Monitoring, Run, SavedFor};
use anechoic_recording::{Recorder, methods};
use std::path::Path;

const SECOND: u64 = 1_000_000_000;

/// Counters of 300 s from this second of `CLOCK_BOOTTIME` on, by one service. The host takes 60 % of the time in the 101st and in
/// the 201st second.
fn counters(dir: &Path, from_s: u64, start_utc: &str, end_utc: &str, saved: &[&str]) -> Recording {
    let noted = |name: &&str| SavedFor { name: (*name).into(), reasons: vec!["steal".into()] };
    let asked = Monitoring {
        save_on: vec!["steal>50%".into()],
        began_utc: "2026-05-09T07:00:00Z".into(),
        saved: saved.iter().map(noted).collect(),
        ..Monitoring::default()
    };
    let run = Run {
        start_utc: start_utc.into(),
        end_utc: Some(end_utc.into()),
        start_ticks: from_s * SECOND,
        end_ticks: (from_s + 300) * SECOND,
        monitor: Some(asked),
        ..builders::run(
            methods::RATES,
            Clock::in_nanoseconds("CLOCK_BOOTTIME", "nanoseconds"),
            vec![],
        )
    };
    let mut recorder = Recorder::create(dir, &run).expect("a place");
    let row = |second: u64| Growth {
        name: "steal".into(),
        start_ticks: (from_s + second) * SECOND,
        end_ticks: (from_s + second + 1) * SECOND,
        value: if [100, 200].contains(&second) { SECOND / 10 * 6 } else { 0 },
    };
    recorder.append(&(0..300).map(row).collect::<Vec<_>>()).expect("written");
    recorder.finish(&run).expect("complete");
    Recording::open(dir).expect("a recording")
}

/// A recording of ten seconds.
fn saved(start_utc: &str, start_boottime_s: Option<f64>) -> Saved {
    Saved {
        path: "monitor/saved-000001".into(),
        start_utc: start_utc.into(),
        length_s: 10.0,
        reasons: vec![],
        had_cpus: vec![],
        interrupts: vec![],
        executed: vec![],
        softirqs: vec![],
        switched_to: vec![],
        forked: vec![],
        start_boottime_s,
    }
}

/// Counters from 07:00:00 on, which was 1,000 s after the start of the machine; unusual at 1,100 s and 1,200 s. What was saved
/// begins at 1,195 s.
#[test]
fn what_was_saved_is_joined_by_the_clock_that_nobody_sets() {
    let note = Some("1 of 1 saved recordings");
    type Case = (
        &'static str,
        &'static str,
        Option<f64>,
        &'static str,
        [Option<u64>; 2],
        Option<&'static str>,
    );
    let cases: [Case; 6] = [
        ("not set", "07:03:15", Some(1_195.0), "07:05:00", [None, Some(0)], None),
        ("set forward", "08:03:15", Some(1_195.0), "08:05:00", [None, Some(0)], None),
        ("set back, beside another", "07:01:35", Some(1_195.0), "07:03:20", [None, Some(0)], None),
        ("not set, one clock", "07:03:15", None, "07:05:00", [None, Some(0)], None),
        ("set forward, one clock", "08:03:15", None, "08:05:00", [None, None], note),
        ("set back, one clock", "07:01:35", None, "07:03:20", [Some(0), None], note),
    ];
    let at = |time: &str| format!("2026-05-09T{time}Z");
    for (name, start, start_boottime_s, end, expected, noted) in cases {
        let place = tempfile::tempdir().expect("a directory");
        let names = ["saved-000001"];
        let counters = counters(place.path(), 1_000, &at("07:00:00"), &at(end), &names);
        let saved = saved(&at(start), start_boottime_s);
        let found = monitored(&[&counters], vec![saved]).expect("readable");
        let joined: Vec<_> = found.unusual.iter().map(|one| one.saved).collect();
        assert_eq!(joined, expected, "case: {name}");
        assert_eq!(
            found.notes.len(),
            usize::from(noted.is_some()),
            "case: {name}: {:?}",
            found.notes
        );
        assert!(noted.is_none_or(|text| found.notes[0].contains(text)), "case: {name}");
        assert_eq!(found.saved[0].reasons, ["steal"], "case: {name}");
        if start_boottime_s.is_some() {
            assert_eq!(found.saved[0].start_utc, "2026-05-09T07:03:15.000Z", "case: {name}");
        }
    }
}

/// A service that was killed noted nothing: whether the recording is of the same start of the machine is not known.
#[test]
fn what_nobody_noted_is_joined_by_the_time_of_day() {
    let place = tempfile::tempdir().expect("a directory");
    let at = |time: &str| format!("2026-05-09T{time}Z");
    let counters = counters(place.path(), 1_000, &at("07:00:00"), &at("07:05:00"), &[]);
    let of_another_start = saved(&at("07:03:15"), Some(5.0));
    let found = monitored(&[&counters], vec![of_another_start]).expect("readable");
    let joined: Vec<_> = found.unusual.iter().map(|one| one.saved).collect();
    assert_eq!((joined, found.notes), (vec![None, Some(0)], vec![]));
}

/// The clock is set by an hour between two recordings of one service: if back, the second seems to come first. What was saved
/// belongs to the first, and the second notes it.
#[test]
fn a_clock_that_was_set_between_two_recordings() {
    let at = |time: &str| format!("2026-05-09T{time}Z");
    for (name, start, end) in
        [("forward", "08:05:00", "08:10:00"), ("back", "06:05:00", "06:10:00")]
    {
        let place = tempfile::tempdir().expect("a directory");
        let dir = |name: &str| place.path().join(name);
        let first = counters(&dir("a"), 1_000, &at("07:00:00"), &at(start), &[]);
        let second = counters(&dir("b"), 1_300, &at(start), &at(end), &["saved-000001"]);
        let saved = saved(&at("07:03:15"), Some(1_195.0));
        let found = monitored(&[&second, &first], vec![saved]).expect("readable");
        assert_eq!(found.missing, Missing::default(), "case: {name}");
        assert!((found.read_s - 600.0).abs() < 1e-6, "case: {name}");
        let joined: Vec<_> = found.unusual.iter().map(|one| one.saved).collect();
        assert_eq!(joined, [None, Some(0), None, None], "case: {name}");
    }
}
