//! Tests what `anechoic measure` promises for all methods.

use crate::tool::{self, anechoic, arg, may_trace, signal, start, until_running, wait};
use anechoic_lab::note;
use anechoic_recording::run::{Ended, RunState};
use anechoic_recording::{Activity, ActivityKind, CpuRow, Detour, Recording, Sample};
use anechoic_system::cpus;
use std::collections::BTreeMap;
use std::time::Duration;

fn last_cpu() -> String {
    cpus::allowed().last().expect("a CPU").to_string()
}

fn cpu_rows<R: CpuRow>(recording: &Recording, cpu: u32) -> Vec<R> {
    recording.rows_of_cpu::<R>(cpu).flat_map(|batch| batch.expect("readable")).collect()
}

/// Runs a method and opens its recording.
fn measure(args: &[&str]) -> (tempfile::TempDir, Recording) {
    measure_to(args, 0)
}

/// The same, with the expected exit code.
fn measure_to(args: &[&str], code: i32) -> (tempfile::TempDir, Recording) {
    let dir = tempfile::tempdir().expect("a directory");
    let all = [&["measure"], args, &["-o", arg(dir.path())]].concat();
    let done = anechoic(&all);
    // On a shared host another guest may slow a core by more than a calibration bears.
    let slowed = code == 0 && done.out.contains("differs from its calibration");
    let known = done.code == Some(code) || slowed && matches!(done.code, Some(1 | 3));
    assert!(known, "{args:?}: {:?} {}", done.code, done.err);
    let recording = Recording::open(dir.path()).expect("a recording");
    (dir, recording)
}

/// Samples follow each other without a gap of a single counter tick, each result is right, and every gap in a
/// watched sample is a detour whose parts add up.
#[test]
fn every_method_accounts_for_all_of_its_time() {
    let _alone = tool::alone();
    let traced = may_trace();
    let cases: &[(&[&str], usize)] = &[
        (&["fwq", "--grain", "250us", "--repetitions", "2000"], 1),
        (&["fwq", "--pure", "--grain", "250us", "--repetitions", "2000"], 1),
        (&["ftq", "--window", "200us", "-d", "500ms"], 1),
        (&["tick", "--repetitions", "1000", "--one-by-one"], 3),
        (&["loops", "--samples", "200", "--variants", "all"], 8),
        (&["fwq", "--work", "empty", "--repetitions", "100000"], 1),
    ];
    for (args, kernels) in cases {
        let (_dir, recording) = measure(args);
        let run = recording.run();
        assert_eq!(run.state, RunState::Complete, "{args:?}");
        let series = recording.series().expect("readable");
        assert_eq!(series.len(), kernels * run.cpus.len(), "{args:?}");
        for cpu in &run.cpus {
            // Memory that was not touched before the loop would fault hundreds of times; the kernel may move a page.
            assert!(cpu.page_faults <= 2, "{args:?}: {} page faults", cpu.page_faults);
            assert_eq!(cpu.lost_detours, 0, "{args:?}");
        }
        for (series, outcome) in &series {
            let cpu = series.cpu.expect("pinned");
            let samples = cpu_rows::<Sample>(&recording, cpu).into_iter();
            let samples: Vec<_> = samples.filter(|s| s.series == series.series).collect();
            assert_eq!((outcome.wrong, outcome.lost), (0, 0), "{args:?} {}", series.variant);
            assert_eq!(samples.len() as u64, series.asked, "{args:?} {}", series.variant);
            assert_eq!(outcome.ended, Ended::Complete, "{args:?} {}", series.variant);
            assert!(samples.windows(2).all(|pair| pair[0].end_ticks == pair[1].start_ticks));
            assert!(samples.iter().zip(0..).all(|(sample, index)| sample.index == index));
        }
        if traced {
            parts_add_up(&recording);
            let alignment = recording.attribution().expect("readable").expect("there").alignment;
            assert_eq!(alignment.outside, 0, "{args:?}: {alignment:?}");
        }
    }
}

/// The parts of every detour of a watched series add up to the gap less one step, or to 0: on a core that became
/// slower than it was calibrated, a step takes longer than the threshold.
fn parts_add_up(recording: &Recording) {
    for cpu in &recording.run().cpus {
        let stints = recording.stints(cpu).expect("readable");
        let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
        for activity in cpu_rows::<Activity>(recording, cpu.cpu) {
            *sums.entry(activity.detour).or_insert(0) += activity.self_ticks;
        }
        for (index, detour) in cpu_rows::<Detour>(recording, cpu.cpu).iter().enumerate() {
            let within =
                |ticks| stints.iter().find(|s| (s.first_ticks..=s.last_ticks).contains(&ticks));
            let stint = within(detour.end_ticks).expect("a detour lies in a stint");
            let gap = detour.end_ticks - detour.start_ticks;
            let length = gap.saturating_sub(stint.shortest_gap_ticks);
            let sum = sums.get(&(index as u64));
            assert_eq!(sum, Some(&length), "detour {index} of CPU {}: {detour:?}", cpu.cpu);
        }
    }
}

/// After a million windows the last one ends on the grid, and the counter agrees.
#[test]
fn the_grid_of_windows_does_not_drift() {
    let _alone = tool::alone();
    let cpu = last_cpu();
    let args = ["ftq", "--window", "5us", "-d", "5s", "--cpus", &cpu, "--no-trace"];
    let (_dir, recording) = measure(&args);
    let (series, outcome) = recording.series().expect("readable").remove(0);
    let windows = 1_000_000;
    assert_eq!(outcome.samples, windows);
    let samples = cpu_rows::<Sample>(&recording, cpu.parse().expect("a number"));
    let grid = |index| outcome.first_ticks + index * series.grain_ticks;
    for sample in &samples {
        let expected = (grid(sample.index), grid(sample.index + 1));
        assert_eq!((sample.start_ticks, sample.end_ticks), expected, "window {}", sample.index);
    }
    // The loop's own read when it closed the last window: late by a step or by a detour.
    let late = outcome.last_ticks - grid(windows);
    let step = series.parameters.step_ticks.expect("watched");
    let detours = cpu_rows::<Detour>(&recording, cpu.parse().expect("a number"));
    let in_detour =
        detours.iter().any(|d| d.start_ticks < grid(windows) && d.end_ticks > grid(windows));
    println!("after {windows} windows late by {late} ticks (a step is {step})");
    assert!(late <= 2 * step || in_detour, "{late} ticks late");
    // The work of all windows is the work that fits into the time that was not lost.
    let units: u64 = samples.iter().map(|sample| sample.count).sum();
    let lost: u64 =
        detours.iter().map(|d| (d.end_ticks - d.start_ticks).saturating_sub(step)).sum();
    let busy = (grid(windows) - grid(0) - lost) as f64 / (units * step) as f64;
    // Between two units a debug build calls functions that a release build inlines (1.10 was seen there, 1.05 here).
    let most = if cfg!(debug_assertions) { 1.2 } else { 1.1 };
    assert!(
        (0.9..most).contains(&busy),
        "{units} units of {step} ticks, {lost} ticks lost: {busy}"
    );
}

/// Without counter reads inside samples, the same interrupts are found in the samples that contain them.
#[test]
fn pure_samples_hold_the_same_ticks() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let cpu = last_cpu();
    for pure in [&[][..], &["--pure"]] {
        let args = [&["fwq", "--repetitions", "2000", "--cpus", &cpu], pure].concat();
        let (_dir, recording) = measure(&args);
        let cpu = &recording.run().cpus[0];
        let activities = cpu_rows::<Activity>(&recording, cpu.cpu);
        let is_tick = |a: &&Activity| {
            a.kind == ActivityKind::Activity && &*a.source == "timer-tick" && a.function.is_none()
        };
        let ticks = activities.iter().filter(is_tick).count() as f64;
        let hz = recording.run().machine.tick_hz.expect("a tick");
        let seconds = recording.run().clock.seconds(cpu.last_ticks - cpu.first_ticks);
        let expected = f64::from(hz) * seconds;
        println!("pure {}: {ticks} ticks in {seconds} s", !pure.is_empty());
        assert!((ticks - expected).abs() <= 0.03 * expected + 3.0, "{ticks}, not {expected}");
        let gaps = activities.iter().any(|a| a.kind == ActivityKind::EntryGap);
        assert_eq!(gaps, pure.is_empty(), "gaps are known where they were watched");
    }
}

/// The requested policies are the policies that ran.
#[test]
fn policies_and_places_are_as_asked() {
    let _alone = tool::alone();
    let cpu = last_cpu();
    let fifo = [
        "loops",
        "--variants",
        "sum",
        "--samples",
        "300",
        "--policy",
        "other,fifo",
        "--cpus",
        &cpu,
    ];
    if tool::may_be_real_time() {
        let (_dir, recording) = measure(&fifo);
        let series = recording.series().expect("readable");
        let policies: Vec<&str> = series.iter().map(|(s, _)| s.policy.as_str()).collect();
        assert_eq!(policies, ["other", "fifo 1"]);
    }
    let (_dir, recording) =
        measure(&["tick", "--kernel", "intadd", "--repetitions", "3000", "--unpinned"]);
    let series = recording.series().expect("readable");
    let (unpinned, outcome) = series.last().expect("one");
    assert_eq!((unpinned.cpu, unpinned.parameters.step_ticks), (None, None));
    let rows = recording.rows::<Sample>().flat_map(|batch| batch.expect("readable"));
    let samples: Vec<Sample> = rows.filter(|s| s.series == unpinned.series).collect();
    assert_eq!(samples.len() as u64, outcome.samples);
    let allowed = cpus::allowed();
    assert!(samples.iter().all(|sample| allowed.contains(&sample.cpu)));
}

/// A series ends once its mean is steady, and reports that; otherwise it takes all its samples.
#[test]
fn long_repetitions_end_by_the_stopping_rule() {
    let _alone = tool::alone();
    let cpu = last_cpu();
    let rule = |maiv: &str, code| {
        let args =
            ["fwq", "--grain", "2ms", "--repetitions", "640", "--maiv", maiv, "--cpus", &cpu];
        let (_dir, recording) = measure_to(&args, code);
        let (_, outcome) = recording.series().expect("readable").remove(0);
        (outcome.samples, outcome.ended)
    };
    let (samples, ended) = rule("50%", 0);
    assert!(ended == Ended::Steady && (5..640).contains(&samples), "{samples} {ended:?}");
    assert_eq!(rule("0.0001%", 1), (640, Ended::Unsteady));
}

/// A loop that is moved to another CPU, as when its CPU goes offline, ends its series there. Its samples
/// stay, and so do those of the other CPU's loop.
#[test]
fn a_loop_that_is_moved_ends_its_series() {
    let _alone = tool::alone();
    let allowed = cpus::allowed();
    let [first, .., last] = allowed[..] else { return note::skipped("needs two CPUs") };
    let dir = tempfile::tempdir().expect("a directory");
    let child =
        start(&["measure", "fwq", "--repetitions", "4000", "--json", "-o", arg(dir.path())]);
    until_running(dir.path());
    let run = std::fs::read_to_string(dir.path().join("run.json")).expect("a run");
    let run: serde_json::Value = serde_json::from_str(&run).expect("JSON");
    let cpus = run["cpus"].as_array().expect("CPUs");
    let thread = cpus.iter().find(|cpu| cpu["cpu"] == last).expect("measured")["tid"].to_string();
    // It may fail when it shows the new CPU, because the thread may be gone by then.
    let moved = tool::command("taskset", &["-pc", &first.to_string(), &thread]);
    let done = wait(child);
    assert_eq!(done.code, Some(1), "{}", done.err);
    let ended = done.out.contains(&format!("the loop of CPU {last} was moved to another CPU"));
    assert!(ended, "{} {}", moved.err, done.out);
    let recording = Recording::open(dir.path()).expect("a recording");
    for (series, outcome) in recording.series().expect("readable") {
        let cpu = series.cpu.expect("pinned");
        let kept = cpu_rows::<Sample>(&recording, cpu).len() as u64;
        assert_eq!(kept, outcome.samples, "CPU {cpu}");
        let expected = if cpu == last { Ended::Offline } else { Ended::Complete };
        assert_eq!(outcome.ended, expected, "CPU {cpu}");
        assert!(kept > 0, "CPU {cpu}");
    }
}

/// Samples that come faster than they can be stored are counted, with the intervals of their loss.
#[test]
fn lost_samples_are_counted() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let args = ["measure", "fwq", "--work", "empty", "--repetitions", "60000000", "--no-trace"];
    let done = anechoic(&[&args[..], &["-q", "--json", "-o", arg(dir.path())]].concat());
    let recording = Recording::open(dir.path()).expect("a recording");
    let mut all_lost = 0;
    for (series, outcome) in recording.series().expect("readable") {
        let samples = cpu_rows::<Sample>(&recording, series.cpu.expect("pinned"));
        assert_eq!(samples.len() as u64 + outcome.lost, outcome.samples);
        assert_eq!(outcome.samples, 60_000_000);
        assert!(samples.windows(2).all(|pair| pair[0].index < pair[1].index));
        all_lost += outcome.lost;
    }
    let losses = recording.rows::<anechoic_recording::Loss>().flat_map(|rows| rows.expect("rows"));
    let told: u64 = losses.filter(|loss| loss.what == "samples").map(|loss| loss.count).sum();
    println!("{all_lost} samples lost, {told} told");
    assert_eq!(told, all_lost);
    assert_eq!(done.code, Some(i32::from(all_lost > 0)), "{}", done.err);
}

/// Samples too short for counter reads inside them are reported.
#[test]
fn samples_too_short_to_be_watched_are_told() {
    let _alone = tool::alone();
    let args = ["tick", "--kernel", "intdiv", "--repetition", "5us", "--repetitions", "20000"];
    let (_dir, recording) = measure(&[&args[..], &["--cpus", &last_cpu()]].concat());
    assert_eq!(recording.series().expect("readable")[0].0.parameters.step_ticks, None);
    let notes = recording.run().notes.join("; ");
    assert!(notes.contains("were not recorded") && notes.contains("intdiv"), "{notes}");
}

/// A signal ends a sample that would last for days, within one step of its work.
#[test]
fn a_long_sample_ends_at_a_signal() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let child =
        start(&["measure", "fwq", "--grain", "100h", "--repetitions", "1", "-o", arg(dir.path())]);
    until_running(dir.path());
    signal(&child, "TERM");
    let done = wait(child);
    assert_eq!(done.code, Some(3), "no sample was taken: {} {}", done.out, done.err);
}

/// A series ended by a signal keeps its samples and reports how it ended; after a kill the recording opens.
#[test]
fn what_was_measured_until_a_signal_is_kept() {
    let _alone = tool::alone();
    let args = |dir: &std::path::Path| {
        let args = ["measure", "fwq", "--repetitions", "1000000", "-q", "-o"];
        args.iter().map(|&a| a.to_owned()).chain([arg(dir).to_owned()]).collect::<Vec<_>>()
    };
    for (name, code) in [("TERM", Some(1)), ("KILL", None)] {
        let dir = tempfile::tempdir().expect("a directory");
        let args = args(dir.path());
        let child = start(&args.iter().map(String::as_str).collect::<Vec<_>>());
        until_running(dir.path());
        std::thread::sleep(Duration::from_secs(1));
        signal(&child, name);
        let done = wait(child);
        assert_eq!(done.code, code, "{name}: {}", done.err);
        let recording = Recording::open(dir.path()).expect("a recording");
        if name == "KILL" {
            assert!(recording.cut_off());
            assert!(!rows_of_series(&recording).is_empty(), "what was planned is known");
            let shown = anechoic(&["summary", arg(dir.path())]);
            assert_eq!(shown.code, Some(3), "nothing was saved yet: {} {}", shown.out, shown.err);
            continue;
        }
        let series = recording.series().expect("readable");
        assert_eq!(series.len(), recording.run().cpus.len());
        for (series, outcome) in series {
            assert_eq!(outcome.ended, Ended::Interrupted, "series {}", series.series);
            assert!((1..900_000).contains(&outcome.samples), "{outcome:?}");
            let cpu = series.cpu.expect("pinned");
            assert_eq!(cpu_rows::<Sample>(&recording, cpu).len() as u64, outcome.samples);
        }
    }
}

fn rows_of_series(recording: &Recording) -> Vec<anechoic_recording::Series> {
    recording.rows().flat_map(|batch| batch.expect("readable")).collect()
}
