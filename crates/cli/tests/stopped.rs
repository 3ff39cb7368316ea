//! What is left of a run of seven days that kept the last ten seconds before a long detour: no command takes it for a
//! sample of the seven days.

use crate::tool::{anechoic, arg};
use anechoic_lab::two_cpus::{self, SECOND};
use anechoic_recording::Policy;
use anechoic_recording::stop::{Kept, Stop, StoppedBy};
use serde_json::Value;
use std::path::Path;

/// How long the run had watched before the part that is kept, in seconds.
const DROPPED: u64 = 601_190;

/// Writes ten seconds with detours of 30 µs, and at their end one of 1.5 ms, for which the run waited if it is `stopped`.
fn write(dir: &Path, stopped: bool, policy: Policy) {
    let mut run = two_cpus::run(10 * SECOND);
    run.policy = policy;
    let long = (9.998, 1.5e-3);
    let start_ticks = (long.0 * SECOND as f64) as u64;
    let minute = if stopped { 1 } else { 2 };
    run.start_utc = format!("2026-05-09T07:{minute:02}:00.000000Z");
    run.stop_on = stopped.then(|| Stop {
        condition: "detour>1ms".parse().expect("a condition"),
        met: Some(StoppedBy {
            cpu: 1,
            start_ticks,
            end_ticks: start_ticks + 3 * SECOND / 2_000,
            second: None,
            thread: None,
        }),
        kept: Some(Kept { asked_ns: 10_000_000_000, dropped_ns: DROPPED * 1_000_000_000 }),
    });
    let length = if stopped { 3e-5 } else { 3.1e-5 };
    let ticks = (0..999).map(|tick| (0.005 + tick as f64 / 100.0, length));
    let _ = two_cpus::record(dir, &run, &[("timer-tick", ticks.collect()), ("thread", vec![long])]);
}

#[test]
fn the_part_before_a_stop_is_taken_for_no_sample() {
    let place = tempfile::tempdir().expect("a directory");
    let [stopped, sampled] = ["stopped", "sampled"].map(|name| place.path().join(name));
    write(&stopped, true, Policy::other());
    write(&sampled, false, Policy::other());
    let (stopped, sampled) = (arg(&stopped), arg(&sampled));
    let [out, merged] = ["out.csv", "merged"].map(|name| place.path().join(name));
    let no_sample = "only the part before the detour that ended the run (detour>1ms) is kept";
    let cases: [(&[&str], &str); 7] = [
        (&["summary", stopped], "The detour is the first over 1 ms in 7 days"),
        (&["compare", stopped, sampled], "is only the part before the detour that it waited for"),
        (&["history", stopped, sampled], "kept only the part before what ended it"),
        (&["merge", stopped, sampled, "-o", arg(&merged)], "which is no sample of the run"),
        (&["predict", "phases", stopped, "--grain", "10ms", "--ranks", "100"], no_sample),
        (&["predict", "laws", stopped], no_sample),
        (&["export", "csv", stopped, "-o", arg(&out)], "which is no sample of the run"),
    ];
    for (command, expected) in cases {
        let done = anechoic(command);
        // Screens break lines anywhere.
        let words = format!("{} {}", done.out, done.err);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(expected), "{command:?}: {words}");
        let fair: Vec<&str> =
            command.iter().map(|word| if *word == stopped { sampled } else { word }).collect();
        if !command.contains(&sampled) && command[0] != "export" {
            let done = anechoic(&fair);
            assert!(!format!("{}{}", done.out, done.err).contains("the part before"), "{fair:?}");
        }
    }
    // Two of a side would show how much runs differ, if they were samples.
    let [again, other] = ["again", "other"].map(|name| place.path().join(name));
    write(&again, true, Policy::other());
    write(&other, false, Policy::other());
    let (both, fair) = (format!("{stopped},{}", arg(&again)), format!("{sampled},{}", arg(&other)));
    let done = anechoic(&["compare", &both, &fair, "--json"]);
    let found: Value = serde_json::from_str(&done.out).expect(&done.err);
    assert_eq!(
        (done.code, &found["verdict"], &found["order"]),
        (Some(3), &"unproven".into(), &"kept".into())
    );
    for (side, is_sample) in [("before", false), ("after", true)] {
        assert_eq!(found[side]["between_runs"].is_number(), is_sample, "{side}: {}", found[side]);
    }
    let shown = anechoic(&["compare", &both, sampled]).out;
    assert!(!shown.contains("±") || !shown.contains("between runs"), "{shown}");
    assert!(
        shown.contains("No change is proven: ") && shown.contains("without --stop-on"),
        "{shown}"
    );
    let done = anechoic(&["export", "prometheus", stopped]);
    assert!(done.out.contains("anechoic_run_sound 0"), "{}", done.out);
}

/// One detour over 1 ms in 601,200 s of two CPUs; that of shorter ones is known of ten seconds. Real-time loops may have had
/// holes of that length before, which ended nothing.
#[test]
fn lengths_that_the_run_waited_for_have_the_rate_of_all_the_time() {
    let all_s = (DROPPED + 10) as f64;
    for (policy, watched_s) in [(Policy::other(), all_s), (Policy::fifo(1), 10.0)] {
        let place = tempfile::tempdir().expect("a directory");
        write(place.path(), true, policy);
        let done = anechoic(&["summary", arg(place.path()), "--json"]);
        let found: Value = serde_json::from_str(&done.out).expect(&done.err);
        let points = found["curve"].as_array().expect("a curve");
        for (over_ns, watched_s) in [(1_000_000, watched_s), (500_000, 10.0)] {
            let point = points.iter().find(|point| point["threshold_ns"] == over_ns);
            let rate = point.expect("a point")["rate_per_s"].as_f64().expect("a number");
            let expected = 1.0 / (2.0 * watched_s);
            assert!((rate / expected - 1.0).abs() < 1e-3, "{over_ns}: {rate}, not {expected}");
        }
    }
}
