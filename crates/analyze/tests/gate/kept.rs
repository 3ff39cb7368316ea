//! The part of a run that is kept before the detour for which it waited is no sample of the run.

use super::{MICRO, SECOND, SECONDS, even, judge};
use anechoic_analyze::gate::{Doubt, Outcome};
use anechoic_lab::two_cpus;
use anechoic_recording::Policy;
use anechoic_recording::Recording;
use anechoic_recording::stop::{Kept, Stop, StopCondition, StoppedBy};
use std::path::Path;

/// A recording of which the last 30 s before a detour of 1.5 ms are kept, of a week in which none was over 1 ms.
fn kept(dir: &Path, change: fn(&mut Stop)) -> Recording {
    kept_under(dir, Policy::other(), change)
}

fn kept_under(dir: &Path, policy: Policy, change: fn(&mut Stop)) -> Recording {
    let start_ticks = (SECONDS - 1) * SECOND;
    let end_ticks = start_ticks + 1_500 * MICRO;
    let mut stop = Stop {
        condition: StopCondition::Longer(1_000_000),
        met: Some(StoppedBy { cpu: 1, start_ticks, end_ticks, second: None, thread: None }),
        kept: Some(Kept { asked_ns: 30_000_000_000, dropped_ns: 601_190_000_000_000 }),
    };
    change(&mut stop);
    let mut run = two_cpus::run(SECONDS * SECOND);
    run.stop_on = Some(stop);
    run.policy = policy;
    let ticks = ("timer-tick", even(100.0, 30e-6, SECONDS));
    let last = ("thread", vec![((SECONDS - 1) as f64 + 0.002, 1.5e-3)]);
    two_cpus::record(dir, &run, &[ticks, last])
}

#[test]
fn what_is_kept_before_an_awaited_detour_is_no_sample() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = kept(&dir.path().join("kept"), |_| ());
    use Outcome::{Fail, Pass, Undecided};
    let cases = [
        // Once in 167 h.
        ("max-rate >1ms=10/h", Pass),
        ("max-rate >1ms=1/h", Pass),
        ("max-rate >1ms=0.5/d", Undecided),
        ("max-rate >1400us=1/h", Pass),
        ("max-rate thread>1ms=1/h", Pass),
        // It is known of no shorter ones how often they came in the week.
        ("max-rate >900us=10/h", Undecided),
        ("max-rate 1/h", Undecided),
        ("max-rate 1000/s", Undecided),
        ("max-noise 90%", Undecided),
        ("max-noise 0.0001%", Undecided),
        // That one took 1.5 ms is a fact; that none took more is one from the condition on.
        ("max-detour 1200us", Fail),
        ("max-detour 2ms", Pass),
        ("max-detour thread=500us", Fail),
        ("max-detour timer-tick=100us", Undecided),
    ];
    for (text, expected) in cases {
        let found = judge(&recording, text);
        assert_eq!(found.outcome, expected, "case: {text}: {found:?}");
        let doubted = found
            .doubts
            .iter()
            .any(|doubtful| doubtful.doubt == Doubt::Kept { longer_than_ns: Some(1_000_000) });
        let known = expected != Undecided || text == "max-rate >1ms=0.5/d";
        assert_eq!(doubted, !known, "case: {text}: {:?}", found.doubts);
    }
    let found = judge(&recording, "max-rate >1ms=10/h");
    let hours = found.decisive().expect("watched").wall_ns as f64 / 3.6e12;
    assert!((hours - 167.0).abs() < 1.0, "{hours}");
    type Change = (&'static str, fn(&mut Stop));
    let changes: [Change; 3] = [
        ("all is kept", |stop| stop.kept = None),
        ("nothing was dropped", |stop| {
            stop.kept = Some(Kept { asked_ns: 60_000_000_000, dropped_ns: 0 });
        }),
        ("the run ended otherwise", |stop| stop.met = None),
    ];
    for (name, change) in changes {
        let recording = kept(&dir.path().join(name), change);
        assert_eq!(judge(&recording, "max-rate 10/s").outcome, Fail, "case: {name}");
        assert_eq!(judge(&recording, "max-rate 200/s").outcome, Pass, "case: {name}");
    }
}

/// Artefacts of a real-time policy were longer and ended nothing, and a program that waited for a share of lost time may have
/// had detours of any length before: no limit of a rate can be judged, also over 1 ms.
#[test]
fn no_rate_is_known_of_what_was_dropped_before_other_conditions() {
    let dir = tempfile::tempdir().expect("a directory");
    let real_time = kept_under(&dir.path().join("fifo"), Policy::fifo(1), |_| ());
    let lost = kept(&dir.path().join("lost"), |stop| stop.condition = StopCondition::Lost(50_000));
    let waits = kept(&dir.path().join("waits"), |stop| stop.condition = StopCondition::Wait(1_000));
    for recording in [real_time, lost, waits] {
        for text in ["max-rate >1ms=10/h", "max-rate 1000/s", "max-detour 2ms", "max-noise 90%"] {
            let found = judge(&recording, text);
            assert_eq!(found.outcome, Outcome::Undecided, "case: {text}");
            let doubts: Vec<&Doubt> = found.doubts.iter().map(|doubtful| &doubtful.doubt).collect();
            assert_eq!(doubts, [&Doubt::Kept { longer_than_ns: None }], "case: {text}");
        }
        let found = judge(&recording, "max-detour 1200us");
        assert_eq!(found.outcome, Outcome::Fail, "it is a fact");
    }
}

/// A run of 167 h in which what it waited for never came: what was dropped is free of that too, and of nothing else.
#[test]
fn what_was_dropped_while_nothing_came_counts_for_longer_detours() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut run = two_cpus::run(SECOND);
    run.policy = Policy::other();
    run.stop_on = Some(Stop {
        condition: StopCondition::Longer(1_000_000),
        met: None,
        kept: Some(Kept { asked_ns: 1_000_000_000, dropped_ns: 601_190_000_000_000 }),
    });
    let quiet =
        two_cpus::record(&dir.path().join("other"), &run, &[("timer-tick", even(100.0, 30e-6, 1))]);
    use Outcome::{Pass, Undecided};
    let cases = [
        ("max-detour 1ms", Pass, 167.0),
        ("max-rate >1ms=1/h", Pass, 167.0),
        // One second of the time in which they may have come is no sample.
        ("max-detour 900us", Undecided, 1.0 / 3_600.0),
        ("max-rate >900us=1/h", Undecided, 1.0 / 3_600.0),
    ];
    for (text, expected, hours) in cases {
        let found = judge(&quiet, text);
        assert_eq!(found.outcome, expected, "case: {text}: {found:?}");
        let seen = found.decisive().map(|finding| finding.wall_ns as f64 / 3.6e12);
        assert!(
            seen.is_none_or(|seen| (seen / hours - 1.0).abs() < 0.02),
            "case: {text}: {seen:?}"
        );
    }
    run.policy = Policy::fifo(1);
    let quiet =
        two_cpus::record(&dir.path().join("fifo"), &run, &[("timer-tick", even(100.0, 30e-6, 1))]);
    let found = judge(&quiet, "max-detour 1ms");
    assert_eq!(found.outcome, Undecided, "artefacts were longer and ended nothing: {found:?}");
}
