//! Directories of suites that are whole, partial, or not those of one suite. Their sets are made up: nothing is measured.

use crate::tool::{Done, anechoic, arg};
use anechoic_lab::builders::{clock, cpu_run, run};
use anechoic_recording::run::{Run, RunState};
use anechoic_recording::{Detour, Loss, LossKind, Recorder};
use anechoic_system::{cpus, machine};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Ticks per second: they are nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// The run of a set that this command measured.
fn run_of_command(command: &str) -> Run {
    let cpus = vec![cpu_run(0, (0, SECOND), 20)];
    let mut run = run("detours", clock(SECOND), cpus);
    run.threshold_ticks = 1_000;
    run.command = command.split(' ').map(str::to_owned).collect();
    run
}

/// A run of the suite of detours, which makes three.
fn selfish_run() -> Run {
    run_of_command("anechoic suite selfish --repeat 3 -o /home/agatha/suite")
}

/// Writes a recording with a detour of 10 µs every 4 ms.
fn write(dir: &Path, run: &Run) {
    write_of(dir, run, 0);
}

/// Writes the same with the detours on this CPU.
fn write_of(dir: &Path, run: &Run, cpu: u32) {
    let mut recorder = Recorder::create(dir, run).expect("writable");
    let starts = (1..250).map(|at| at * SECOND / 250);
    let detours: Vec<Detour> = starts
        .map(|start_ticks| Detour { cpu, start_ticks, end_ticks: start_ticks + 10_000 })
        .collect();
    recorder.append(&detours).expect("in order");
    recorder.finish(run).expect("writable");
}

/// A directory with the three runs of the suite.
fn whole() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for name in ["run-01", "run-02", "run-03"] {
        write(&dir.path().join(name), &selfish_run());
    }
    dir
}

/// What the suite shows of a directory in the terminal, and on the two pages: that of the suite, and that of the report.
fn shown(dir: &Path) -> (Done, [String; 2]) {
    let pages = tempfile::tempdir().expect("a directory");
    let [one, two] = ["suite.html", "report.html"].map(|name| pages.path().join(name));
    let suite = anechoic(&["suite", "selfish", "--show", arg(dir), "--html", arg(&one)]);
    anechoic(&["report", arg(dir), "-o", arg(&two)]);
    (suite, [one, two].map(|page| fs::read_to_string(page).expect("a page")))
}

/// Returns the words of a text or a page without line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_whole_suite_lacks_nothing() {
    let dir = whole();
    let (suite, pages) = shown(dir.path());
    assert_eq!(suite.code, Some(0), "{} {}", suite.out, suite.err);
    for text in pages.iter().chain([&suite.out]) {
        for word in ["set is missing", "sets are missing", " is left out: ", " is not complete"] {
            assert!(!text.contains(word), "{word}");
        }
    }
    assert!(pages.iter().all(|page| page.contains("id=\"paper\"")));
}

/// A set that is missing, damaged, cut short, or of other options is named with the reason by the screen and the pages.
#[test]
fn what_a_suite_lacks_is_named_wherever_it_is_shown() {
    let dir = whole();
    let at = |name: &str| dir.path().join(name);
    fs::remove_dir_all(at("run-02")).expect("removed");
    fs::write(at("run-03").join("run.json"), "{").expect("written");
    let mut short = selfish_run();
    short.state = RunState::Interrupted("SIGINT".into());
    fs::remove_dir_all(at("run-01")).expect("removed");
    write(&at("run-01"), &short);
    write(&at("run-04"), &run_of_command("anechoic suite selfish --repeat 4"));
    let (suite, pages) = shown(dir.path());
    assert_eq!(suite.code, Some(65), "{}", suite.err);
    for text in pages.iter().chain([&suite.out]).map(|text| words(text)) {
        for expected in [
            "1 of 3 sets is missing: run-02. `--resume` measures what is missing.",
            "run-01 is not complete, because it was interrupted: SIGINT.",
            "run-04 is left out: it was measured with other options than the first set.",
            "run-03 is left out: ",
        ] {
            assert!(text.contains(expected), "no '{expected}' in {text:.3000}");
        }
    }
    assert!(pages.iter().all(|page| page.contains("<p class=\"warning\">run-04 is left out")));
    let json = anechoic(&["suite", "selfish", "--show", arg(dir.path()), "-q", "--json"]);
    assert!(json.err.contains("1 of 3 sets is missing: run-02"), "{}", json.err);
}

/// A set whose own result is a warning makes the exit code 1, and the screen, the page and the document state why.
#[test]
fn a_doubtful_set_is_named_with_the_reason() {
    let (dir, run) = (whole(), selfish_run());
    let doubtful = dir.path().join("run-02");
    fs::remove_dir_all(&doubtful).expect("removed");
    let mut recorder = Recorder::create(&doubtful, &run).expect("writable");
    let (start_ticks, end_ticks) = (SECOND / 2, SECOND);
    let loss = Loss { what: LossKind::Detours, cpu: 0, start_ticks, end_ticks, count: 3 };
    recorder.append(&[loss]).expect("in order");
    recorder.finish(&run).expect("writable");
    let (suite, pages) = shown(dir.path());
    assert_eq!(suite.code, Some(1), "{}", suite.err);
    for text in pages.iter().chain([&suite.out]).map(|text| words(text)) {
        assert!(
            text.contains("The result of run-02 is doubtful; its screen warns first: "),
            "{text:.3000}"
        );
    }
    let json = |args: &[&str]| -> serde_json::Value {
        let done = anechoic(args);
        assert_eq!(done.code, Some(1), "{}", done.err);
        serde_json::from_str(&done.out).expect("one document")
    };
    let own = json(&["suite", "selfish", "--show", arg(dir.path()), "-q", "--json"]);
    assert_eq!(own["sets"][1]["verdict"], "warning", "{own:#}");
    assert_eq!(own["doubts"].as_array().map(Vec::len), Some(1));
    assert_eq!(json(&["summary", arg(dir.path()), "--json"]), own, "the same result");
    let summary = anechoic(&["summary", arg(dir.path())]);
    assert!(
        words(&summary.out).contains("The result of run-02 is doubtful; its screen warns first: "),
        "{}",
        summary.out
    );
}

/// The loops run on one CPU, and jobs on several: what is missing is named by what the loops had.
#[test]
fn a_suite_of_one_cpu_has_sets_on_more() {
    let dir = tempfile::tempdir().expect("a directory");
    let recorded = |name: &str, method: &str, cpus: &[u32]| {
        let mut run = run_of_command("anechoic suite loops --samples 10");
        run.method = method.into();
        run.machine.allowed = "0-2".into();
        run.machine.tick_hz = Some(1_000);
        run.cpus = cpus.iter().map(|&cpu| cpu_run(cpu, (0, SECOND), 20)).collect();
        let recorder = Recorder::create(&dir.path().join(name), &run).expect("writable");
        recorder.finish(&run).expect("writable");
    };
    recorded("1ms", "loops", &[1]);
    recorded("ranks-2", "bsp", &[0, 1]);
    let shown = anechoic(&["suite", "loops", "--show", arg(dir.path()), "-q", "--json"]);
    let missing = "sets are missing: tick-by-2, tick-by-3, deltas, ranks-1, ranks-3, rate-1000, rate-2000, rate-4000.";
    assert!(shown.err.contains(missing), "{}", shown.err);
}

/// A set that was measured otherwise is there: `--resume` would not measure it again.
#[test]
fn a_set_that_was_measured_otherwise_is_left_out_and_not_missing() {
    let dir = whole();
    let set = |name: &str| dir.path().join(name);
    fs::remove_dir_all(set("run-02")).expect("removed");
    write(&set("run-02"), &run_of_command("anechoic suite selfish --repeat 4"));
    let (suite, pages) = shown(dir.path());
    assert_eq!(suite.code, Some(1), "{}", suite.err);
    for text in pages.iter().chain([&suite.out]).map(|text| words(text)) {
        assert!(!text.contains(" missing: "), "{text:.3000}");
        let expected = "run-02 is left out: it was measured with other options than the first set.";
        assert!(text.contains(expected), "no '{expected}' in {text:.3000}");
    }
    let page = dir.path().join("page.html");
    let report = anechoic(&["report", arg(dir.path()), "-o", arg(&page)]);
    assert_eq!(report.code, Some(1), "{}", report.err);
    assert!(report.err.contains("anechoic: run-02 is left out: "), "{}", report.err);
    fs::remove_dir_all(set("run-03")).expect("removed");
    write(&set("run-03"), &Run { command: vec![], ..selfish_run() });
    let own = anechoic(&["suite", "selfish", "--show", arg(dir.path())]);
    assert!(words(&own.out).contains("run-03 is left out: it names no command."), "{}", own.out);
}

/// Writes the runs of a suite as they would be measured here on this CPU.
fn as_measured_here(dir: &Path, cpu: u32) {
    let mut run = run_of_command(&format!("anechoic suite selfish --repeat 3 -c {cpu}"));
    run.machine = machine::describe();
    run.tool_version = env!("CARGO_PKG_VERSION").to_owned();
    run.cpus[0].cpu = cpu;
    for name in ["run-01", "run-02", "run-03"] {
        write_of(&dir.join(name), &run, cpu);
    }
}

/// Resumes that suite, of which all sets exist.
fn resumed(dir: &Path, cpu: u32) -> Done {
    let cpu = cpu.to_string();
    anechoic(&["suite", "selfish", "--repeat=3", "-c", &cpu, "-o", arg(dir), "--resume"])
}

/// Where all sets exist nothing is measured; a damaged one hides none after it, and what else is there is named.
#[test]
fn resuming_shows_every_kept_set_and_names_the_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let cpu = cpus::allowed()[0];
    as_measured_here(dir.path(), cpu);
    let done = resumed(dir.path(), cpu);
    assert_eq!(done.code, Some(0), "{} {}", done.out, done.err);
    assert!(words(&done.out).contains("in 3 runs"), "{}", done.out);
    write(&dir.path().join("run-04"), &selfish_run());
    let done = resumed(dir.path(), cpu);
    assert_eq!(done.code, Some(1), "{} {}", done.out, done.err);
    assert!(words(&done.out).contains("run-04 is left out: it was measured"), "{}", done.out);
    fs::remove_dir_all(dir.path().join("run-04")).expect("removed");
    fs::write(dir.path().join("run-01/detours/part-00000.parquet"), "x").expect("written");
    let done = resumed(dir.path(), cpu);
    assert_eq!(done.code, Some(65), "{} {}", done.out, done.err);
    let text = words(&done.out);
    assert!(text.contains("run-01 is left out: ") && text.contains("in 2 runs"), "{text}");
}

/// A set with a damaged table hides no other.
#[test]
fn a_set_whose_rows_are_damaged_is_left_out_and_named() {
    let dir = whole();
    fs::write(dir.path().join("run-02/detours/part-00000.parquet"), "x").expect("written");
    let (suite, pages) = shown(dir.path());
    assert_eq!(suite.code, Some(65), "{}", suite.err);
    for text in pages.iter().chain([&suite.out]).map(|text| words(text)) {
        assert!(text.contains("run-02 is left out: "), "{text:.3000}");
        assert!(text.contains("in 2 runs"), "the others are shown");
    }
}

/// Hosts that alternate, names of directories that the suite did not choose, and paths: none is on a redacted page.
#[test]
fn a_redacted_page_of_a_suite_names_no_owner() {
    let dir = tempfile::tempdir().expect("a directory");
    let run_on = |host: &str| {
        let mut run = selfish_run();
        run.machine.host = host.into();
        run
    };
    let sets = [
        ("run-01", "morse"),
        ("run-02", "lewis"),
        ("run-03", "morse"),
        ("secret-project", "morse"),
        ("secret-twin", "lewis"),
    ];
    for (name, host) in sets {
        write(&dir.path().join(name), &run_on(host));
    }
    fs::create_dir(dir.path().join("secret-damage")).expect("a directory");
    fs::write(dir.path().join("secret-damage/run.json"), "{").expect("written");
    let page = dir.path().join("page.html");
    let done = anechoic(&["report", arg(dir.path()), "--redact", "-o", arg(&page)]);
    let text = fs::read_to_string(page).expect("a page");
    assert!(text.contains("id=\"paper\"") && text.contains("in 3 runs"), "{}", done.err);
    assert!(words(&text).contains("run-02 is left out: it was measured on another machine"));
    assert!(text.contains("recording-006 is left out: "), "the damaged one has no name");
    for name in ["morse", "lewis", "secret", "agatha", arg(dir.path())] {
        assert!(!text.contains(name), "{name}");
    }
    let own = anechoic(&["suite", "selfish", "--show", arg(dir.path())]);
    assert!(words(&own.out).contains("secret-twin is left out: "), "{}", own.out);
}
