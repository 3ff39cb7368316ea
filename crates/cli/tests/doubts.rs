//! What a run knew that makes its noise doubtful stands in every later result.

use crate::tool::{Done, anechoic, arg};
use anechoic_lab::two_cpus::{self, SECOND, SHORTEST};
use anechoic_recording::run::Run;
use anechoic_recording::stop::{Kept, Stop, StopCondition, StoppedBy};
use anechoic_recording::{Counter, Detour, Recorder};
use std::path::Path;

/// Length of the runs in seconds.
const LENGTH_S: u64 = 4;

/// Writes a run of two CPUs, without kernel events, in which the loops lost this share of the time, in slices of some
/// milliseconds, and waited for their CPUs for this share by the kernel's account.
fn write(dir: &Path, day: u32, lost: f64, waited: f64, change: impl Fn(&mut Run)) {
    let mut run = two_cpus::run(LENGTH_S * SECOND);
    run.start_utc = format!("2026-05-{day:02}T03:00:00.000000Z");
    run.end_utc = Some(format!("2026-05-{day:02}T03:00:04.000000Z"));
    run.machine.host = "made-up".into();
    run.trace = None;
    change(&mut run);
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    for cpu in [0, 1] {
        let slice = SECOND / 100;
        let detour = |at: u64| {
            // Slices differ, as those of a scheduler do.
            let length = (lost * slice as f64 * (0.9 + 0.02 * (at % 11) as f64)) as u64;
            Detour { cpu, start_ticks: at * slice, end_ticks: at * slice + length + SHORTEST }
        };
        recorder.append(&(0..100 * LENGTH_S).map(detour).collect::<Vec<_>>()).expect("in order");
        let waited_ns = (waited * LENGTH_S as f64 * 1e9) as u64;
        let reading =
            |(ticks, value)| Counter { name: "victim/run_delay_ns".into(), cpu, ticks, value };
        let readings = [(0, 0), (LENGTH_S * SECOND, waited_ns)].map(reading);
        recorder.append(&readings).expect("in order");
    }
    recorder.finish(&run).expect("there is space");
}

fn beside_another(run: &mut Run) {
    let note = "another anechoic (process 7) measured CPUs 0-1 at the same time, and each disturbed the other";
    run.notes.push(note.into());
}

/// Returns the first lines of a screen in one line.
fn top(done: &Done) -> String {
    let lines: Vec<&str> = done.out.lines().take(14).collect();
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

const COMPETITION: &str = "for 40 % of the time the loops waited for their CPUs, because other threads ran there or a CPU quota was used up: that is competition, not operating-system noise";
const ANOTHER: &str = "another anechoic measured the same CPUs at the same time";

#[test]
fn a_gate_is_undecided_where_something_else_had_the_cpus() {
    let place = tempfile::tempdir().expect("a directory");
    let rules = ["--max-noise", "5%", "--max-detour", "1ms", "--max-rate", ">1ms=1/s"];
    type Case = (&'static str, f64, fn(&mut Run), i32, &'static str);
    let cases: [Case; 5] = [
        ("competition", 0.4, |_| (), 3, COMPETITION),
        ("another", 0.0, beside_another, 3, ANOTHER),
        (
            "emulated",
            0.0,
            |run| run.machine.model = "QEMU TCG CPU".into(),
            3,
            "emulated in software",
        ),
        ("fifo", 0.4, |run| run.policy = anechoic_recording::Policy::fifo(1), 2, "FAIL"),
        ("noise", 0.0, |_| (), 2, "FAIL"),
    ];
    for (name, waited, change, code, expected) in cases {
        let dir = place.path().join(name);
        write(&dir, 1, 0.4, waited, change);
        let done = anechoic(&[&["gate", arg(&dir)][..], &rules].concat());
        assert_eq!(done.code, Some(code), "case: {name}: {}", done.out);
        assert!(done.out.contains(expected), "case: {name}: {}", done.out);
        assert_eq!(done.out.contains("FAIL"), code == 2, "case: {name}: {}", done.out);
    }
}

#[test]
fn emulation_is_stated_once() {
    let place = tempfile::tempdir().expect("a directory");
    let data = place.path();
    let emulated = |run: &mut Run| run.machine.model = "QEMU TCG CPU".into();
    let (first, second) = (data.join("host=a"), data.join("host=b"));
    write(&first, 1, 0.4, 0.4, emulated);
    write(&second, 2, 0.01, 0.0, |_| ());
    let commands: [(&[&str], i32); 3] = [
        (&["gate", arg(&first), "--max-noise", "5%", "--min-time", "1h"], 3),
        (&["merge", arg(data)], 1),
        (&["history", arg(data)], 0),
    ];
    for (command, code) in commands {
        let done = anechoic(command);
        assert_eq!(done.code, Some(code), "{command:?}: {}{}", done.out, done.err);
        let shown = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let stated = shown.matches("processor was emulated in software").count();
        assert_eq!(stated, 1, "{command:?}: {}", done.out);
    }
}

/// A run that ended at its condition is whole unless it dropped the time before.
#[test]
fn a_run_that_reached_its_number_of_detours_is_whole() {
    let place = tempfile::tempdir().expect("a directory");
    let ended = |kept: Option<Kept>| {
        move |run: &mut Run| {
            let met = Some(StoppedBy {
                cpu: 1,
                start_ticks: SECOND,
                end_ticks: SECOND + 100,
                second: None,
                thread: None,
            });
            run.stop_on = Some(Stop { condition: StopCondition::Longer(1_000), met, kept });
        }
    };
    let counted = |run: &mut Run| {
        ended(None)(run);
        run.stop_on.iter_mut().for_each(|stop| stop.condition = StopCondition::Count(800));
    };
    let part = Some(Kept { asked_ns: 4_000_000_000, dropped_ns: 60_000_000_000 });
    let cases = [("number", None, false), ("all", None, false), ("part", part, true)];
    for (name, kept, expected) in cases {
        let data = place.path().join(name);
        for (host, day) in [("host=a", 1), ("host=b", 2)] {
            match name {
                "number" => write(&data.join(host), day, 0.01, 0.0, counted),
                _ => write(&data.join(host), day, 0.01, 0.0, ended(kept)),
            }
        }
        let done = anechoic(&["merge", arg(&data)]);
        let shown = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(shown.contains("no sample"), expected, "case: {name}: {}", done.out);
    }
}

#[test]
fn merge_and_history_state_doubts_near_the_top() {
    let place = tempfile::tempdir().expect("a directory");
    let data = place.path();
    write(&data.join("host=a"), 1, 0.4, 0.4, |_| ());
    write(&data.join("host=b"), 2, 0.4, 0.3, beside_another);
    write(&data.join("host=c"), 3, 0.01, 0.0, |_| ());
    let merged = anechoic(&["merge", arg(data)]);
    assert_eq!(merged.code, Some(1), "{}{}", merged.out, merged.err);
    let top_of = top(&merged);
    assert!(top_of.contains(&format!("a, b (the most): {COMPETITION}")), "{}", merged.out);
    assert!(top_of.contains(&format!("b: {ANOTHER}")), "{}", merged.out);
    let history = anechoic(&["history", arg(data)]);
    assert_eq!(history.code, Some(0), "{}{}", history.out, history.err);
    let top_of = top(&history);
    assert!(top_of.contains(&format!("2 of 3 runs (the most): {COMPETITION}")), "{}", history.out);
    assert!(top_of.contains(&format!("1 of 3 runs: {ANOTHER}")), "{}", history.out);
}

#[test]
fn exports_carry_doubts_as_metrics_comments_and_exit_code() {
    let place = tempfile::tempdir().expect("a directory");
    let (doubtful, sound) = (place.path().join("doubtful"), place.path().join("sound"));
    write(&doubtful, 1, 0.4, 0.4, beside_another);
    write(&sound, 1, 0.01, 0.0, |_| ());
    for format in ["prometheus", "openmetrics"] {
        let done = anechoic(&["export", format, arg(&doubtful)]);
        assert_eq!(done.code, Some(1), "{}", done.err);
        for line in [
            "anechoic_run_sound 0",
            "anechoic_run_doubt{reason=\"competition\"} 1",
            "anechoic_run_doubt{reason=\"measured_together\"} 1",
            "anechoic_run_doubt{reason=\"losses\"} 0",
        ] {
            assert!(
                done.out.lines().any(|printed| printed == line),
                "{format}: {line}: {}",
                done.out
            );
        }
        assert!(done.err.contains(COMPETITION) && done.err.contains(ANOTHER), "{}", done.err);
        let done = anechoic(&["export", format, arg(&sound)]);
        assert_eq!((done.code, &*done.err), (Some(0), ""));
        assert!(done.out.contains("\nanechoic_run_sound 1\n"), "{}", done.out);
        assert!(!done.out.contains("anechoic_run_doubt{reason=\"competition\"} 1"), "{}", done.out);
    }
    let netgauge = anechoic(&["export", "netgauge", arg(&doubtful), "--cpus", "1"]);
    assert_eq!(netgauge.code, Some(1), "{}", netgauge.err);
    for doubt in [ANOTHER, COMPETITION] {
        let begin: String = format!("# note: {doubt}").chars().take(150).collect();
        assert!(netgauge.out.contains(&begin), "{}", &netgauge.out[..600]);
    }
    let csv = anechoic(&["export", "csv", arg(&doubtful)]);
    assert_eq!(csv.code, Some(1));
    assert!(csv.err.contains(ANOTHER) && csv.err.contains(COMPETITION), "{}", csv.err);
    assert!(
        csv.out.starts_with("start_ns,") && !csv.out.contains('#'),
        "readers stand no comments"
    );
    for format in ["csv", "sysjitter"] {
        let done = anechoic(&["export", format, arg(&sound), "--cpus", "1"]);
        assert_eq!((done.code, &*done.err), (Some(0), ""), "{format}");
    }
}
