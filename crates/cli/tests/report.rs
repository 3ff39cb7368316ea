//! `anechoic report` as a user calls it, and its page in a browser if node and Chromium are installed.

use crate::tool::{self, anechoic, arg, command};
use anechoic_lab::builders::{activity, clock, cpu_run, run, trace};
use anechoic_lab::note;
use anechoic_recording::attribution::{Alignment, Attribution};
use anechoic_recording::run::{Run, RunState};
use anechoic_recording::{Activity, ActivityKind, Detour, Recorder, Recording};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Ticks per second: they are nanoseconds.
const SECOND: u64 = 1_000_000_000;
/// The time subtracted from every gap.
const SHORTEST: u64 = 20;
/// Hostile names for a thread, a function, a task and a host.
const THREAD: &str = "<script>window.hit=1</script>";
const FUNCTION: &str = "</script><img src=x onerror=window.hit=1>";
const TASK: &str = "\"><b>x</b>\u{2028}";

/// A recording's detours and their causes.
#[derive(Default)]
struct Made {
    detours: Vec<Detour>,
    activities: Vec<Activity>,
}

impl Made {
    /// Adds a detour with these rows, one after the other.
    fn detour(
        &mut self,
        cpu: u32,
        start_ticks: u64,
        rows: &[(ActivityKind, &str, u64)],
    ) -> &mut [Activity] {
        let index = self.detours.iter().filter(|detour| detour.cpu == cpu).count() as u64;
        let mut at = start_ticks;
        let first = self.activities.len();
        for &(kind, source, ticks) in rows {
            self.activities.push(activity((cpu, index), kind, source, at, ticks));
            at += ticks;
        }
        self.detours.push(Detour { cpu, start_ticks, end_ticks: at + SHORTEST });
        &mut self.activities[first..]
    }

    /// Three seconds of two CPUs: timer ticks, a thread with a hostile name, a large gap.
    fn busy() -> Self {
        use ActivityKind::{Activity, EntryGap, ExitGap, OffCpu, Unexplained};
        let mut made = Self::default();
        for cpu in [0, 1] {
            for at in (1..750).map(|tick| tick * SECOND / 250) {
                let tick = at + u64::from(cpu) * 100;
                match (cpu, at) {
                    (0, at) if at == SECOND * 3 / 2 => {
                        let rows =
                            made.detour(0, tick, &[(Unexplained, "vm-or-hardware", 3_000_000)]);
                        rows[0].steal_ns = Some(2_000_000);
                    }
                    (0, at) if at % (SECOND / 5) == 0 => {
                        let rows = [
                            (EntryGap, "thread", 3_000),
                            (OffCpu, "thread", 900_000 + at / 10_000),
                            (ExitGap, "thread", 2_000),
                        ];
                        let rows = made.detour(0, tick, &rows);
                        rows.iter_mut().for_each(|row| row.name = THREAD.into());
                        rows[1].function = Some(FUNCTION.into());
                        rows[1].sent_by_cpu = Some(1);
                        rows[1].sent_by_task = Some(TASK.into());
                    }
                    _ => {
                        let rows = [
                            (EntryGap, "timer-tick", 5_000),
                            (Activity, "timer-tick", 4_000),
                            (Activity, "softirq", 1_500),
                            (ExitGap, "timer-tick", 4_000),
                        ];
                        let rows = made.detour(cpu, tick, &rows);
                        rows[2].name = "RCU".into();
                    }
                }
            }
        }
        made
    }

    fn write(self, dir: &Path, run: &Run, attributed: bool) {
        let mut recorder = Recorder::create(dir, run).expect("writable");
        for detours in self.detours.chunk_by(|a, b| a.cpu == b.cpu) {
            recorder.append(detours).expect("in order");
        }
        if run.state == RunState::Running {
            recorder.complete_parts().expect("writable");
        } else {
            recorder.finish(run).expect("writable");
        }
        if !attributed {
            return;
        }
        let recording = Recording::open(dir).expect("a recording");
        let mut derived = recording.derive::<Activity>().expect("writable");
        derived.append(&self.activities).expect("in order");
        derived.finish().expect("writable");
        let alignment = Alignment { events: 10_000, ..Alignment::default() };
        let attribution =
            Attribution { tool_version: "0.1.0".into(), alignment, ..Attribution::default() };
        recording.write_attribution(&attribution).expect("writable");
    }
}

fn two_cpus() -> Run {
    let cpus = [0, 1].map(|cpu| cpu_run(cpu, (0, 3 * SECOND), SHORTEST));
    let mut run = run("detours", clock(SECOND), cpus.to_vec());
    run.threshold_ticks = 100;
    run.trace = Some(trace());
    run.machine.hypervisor = Some("KVM".into());
    run.machine.host = "<i>host".into();
    run
}

/// A report of these detours; the directory is kept as long as it is needed.
fn report(made: Made, run: &Run, attributed: bool) -> (TempDir, PathBuf, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let (recording, file) = (dir.path().join("recording"), dir.path().join("report.html"));
    made.write(&recording, run, attributed);
    let done = anechoic(&["report", arg(&recording), "-o", arg(&file)]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{}", done.out);
    let text = std::fs::read_to_string(&file).expect("the report");
    let size = format!("{} · {}\n", file.display(), anechoic_report::bytes(text.len() as u64));
    assert_eq!(done.out, size);
    (dir, file, text)
}

#[test]
fn one_file_that_holds_all_it_needs() {
    let (dir, file, text) = report(Made::busy(), &two_cpus(), true);
    for (what, evil) in [("thread", THREAD), ("function", FUNCTION), ("host", "<i>host")] {
        assert!(!text.contains(evil), "the name of the {what} is not escaped");
    }
    // The namespace of SVG looks like an address but is never requested; nothing else may name any address.
    let text_without = text.replace("http://www.w3.org/2000/svg", "");
    let places = text_without.match_indices("://");
    let places: Vec<&str> =
        places.map(|(at, _)| &text_without[at.saturating_sub(5)..at + 30]).collect();
    assert_eq!(places, [""; 0]);
    assert!(text.contains("default-src 'none'"));

    let recording = dir.path().join("recording");
    let again = anechoic(&["report", arg(&recording), "-o", arg(&file)]);
    assert_eq!(again.code, Some(73), "{}", again.err);
    assert!(again.err.contains("use --force to overwrite it"), "{}", again.err);
    let forced = anechoic(&["report", arg(&recording), "-o", arg(&file), "--force"]);
    assert_eq!(forced.code, Some(0), "{}", forced.err);
    assert_eq!(std::fs::read_to_string(&file).expect("the report"), text, "the same bytes");
    let piped = anechoic(&["report", arg(&recording), "-o", "-"]);
    assert_eq!((piped.code, piped.out.as_str()), (Some(0), text.as_str()));
}

#[test]
fn recordings_with_less_in_them() {
    let empty = || Made::default();
    let cut_off = Run { state: RunState::Running, ..two_cpus() };
    let no_cpu = Run { cpus: vec![], ..two_cpus() };
    let untraced = Run { trace: None, ..two_cpus() };
    let cases = [
        ("without attribution", Made::busy(), untraced, false, "suspects", true),
        ("cut off", Made::busy(), cut_off, true, "Cut off before its end", true),
        ("without detours", empty(), two_cpus(), true, "had no detour over", false),
        ("without CPUs", empty(), no_cpu, false, "How reliable the numbers are", false),
    ];
    for (name, made, run, attributed, says, timeline) in cases {
        let (_dir, _, text) = report(made, &run, attributed);
        assert!(text.contains(says), "case: {name}");
        assert_eq!(text.contains("Every detour over time"), timeline, "case: {name}");
    }
}

#[test]
fn runs_together_are_one_file() {
    let dir = tempfile::tempdir().expect("a directory");
    for number in 1..=3 {
        let run = Run { repetition: Some((number, 3)), ..two_cpus() };
        Made::busy().write(&dir.path().join(format!("run{number}")), &run, true);
    }
    let file = dir.path().join("report.html");
    let done = anechoic(&["report", arg(dir.path()), "-o", arg(&file)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let text = std::fs::read_to_string(&file).expect("the report");
    for says in ["3 recordings", "noise over 3 runs", "id=\"r3-timeline\""] {
        assert!(text.contains(says), "{says}");
    }
}

/// A hostile name for a host.
const HOST: &str = "<img src=x onerror=window.hit=1>";

/// A data set of this many hosts with two CPUs each; CPU 1 of the last, which has a hostile name, is far
/// noisier.
fn hosts(data: &Path, count: u32) {
    for number in 1..=count {
        let mut made = Made::busy();
        for (at, detour) in made.detours.iter_mut().enumerate() {
            // No two hosts are alike, or one were a copy.
            detour.end_ticks +=
                u64::from(number * 7 % 11) * 100 + u64::from(number) + at as u64 % 3 * 50;
            if number == count && detour.cpu == 1 {
                detour.end_ticks += 900_000;
            }
        }
        let name = if number == count { HOST.to_owned() } else { format!("node{number:02}") };
        // Without events there is nothing for `merge` to attribute.
        let run = Run { trace: None, ..two_cpus() };
        made.write(&data.join(format!("host={name}")), &run, false);
    }
}

fn report_of(data: &Path, file: &Path) -> (tool::Done, String) {
    let done = anechoic(&["report", arg(data), "-o", arg(file), "--force"]);
    let text = std::fs::read_to_string(file).unwrap_or_default();
    (done, text)
}

#[test]
fn a_data_set_of_hosts_opens_with_the_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let (data, file) = (dir.path().join("data"), dir.path().join("report.html"));
    hosts(&data, 2);
    let (done, text) = report_of(&data, &file);
    assert_eq!(done.code, Some(0), "{}", done.err);
    for says in
        ["2 hosts with 4 CPUs lost ", "id=\"all-hosts\"", "2 recordings", "id=\"r2-timeline\""]
    {
        assert!(text.contains(says), "{says}");
    }
    assert!(!text.contains(HOST), "the name of a host is not escaped");
    let whole = text.find("id=\"all-hosts\"").expect("the whole");
    assert!(whole < text.find("id=\"r1-timeline\"").expect("a part"), "the whole comes first");
    assert!(!data.join("cluster.json").exists(), "a report writes nothing else");
}

/// Returns a page without the data of its charts.
fn without_data(text: &str) -> String {
    let parts = text.split("<script type=\"application/json\"");
    let shown = |(at, part): (usize, &'_ str)| match part.split_once("</script>") {
        Some((_, rest)) if at > 0 => rest.to_owned(),
        _ => part.to_owned(),
    };
    parts.enumerate().map(shown).collect()
}

#[test]
fn more_hosts_than_have_room_are_shown_as_a_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let (data, file) = (dir.path().join("data"), dir.path().join("report.html"));
    hosts(&data, 35);
    let (done, text) = report_of(&data, &file);
    assert_eq!(done.code, Some(0), "{}", done.err);
    for says in [
        "35 hosts with 70 CPUs lost ",
        "This report shows all recordings together only",
        "not of 35",
        "anechoic report ",
        "× the median, p &lt; 10",
        "from 35 recordings",
    ] {
        assert!(text.contains(says), "{says}");
    }
    assert!(!text.contains("id=\"r1\""), "no recording by itself");
    assert!(!text.contains(HOST), "the name of a host is not escaped");

    // The merged result shows the same, and is ignored if the recordings have changed.
    let merged = anechoic(&["merge", arg(&data)]);
    assert!(matches!(merged.code, Some(0 | 1)), "{}", merged.err);
    let (_, again) = report_of(&data, &file);
    assert!(without_data(&again) == without_data(&text), "as merged");
    std::fs::remove_dir_all(data.join("host=node01")).expect("it is there");
    let (_, fewer) = report_of(&data, &file);
    assert!(fewer.contains("34 hosts with 68 CPUs lost "), "a host is gone");

    // A damaged result is ignored. An unreadable host is reported, and the others are shown.
    std::fs::write(data.join("cluster.json"), "{").expect("writable");
    std::fs::write(data.join("host=node02/run.json"), "{").expect("writable");
    let (done, text) = report_of(&data, &file);
    assert_eq!(done.code, Some(65), "{}", done.err);
    assert!(done.is_one_clear_line(), "{}", done.err);
    assert!(text.contains("33 hosts with 66 CPUs lost ") && text.contains("is left out"));
}

/// A real job of two ranks, or of one if there is one CPU.
fn job(dir: &Path) -> PathBuf {
    let recording = dir.join("job");
    let args = ["measure", "bsp", "-q", "-d", "500ms", "--grain", "100us", "--meet"];
    let done = anechoic(&[&args[..], &["barrier,nothing", "-o", arg(&recording)]].concat());
    assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
    recording
}

#[test]
fn a_bulk_synchronous_job() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let recording = job(dir.path());
    let (done, text) = report_of(&recording, &dir.path().join("report.html"));
    assert_eq!(done.code, Some(0), "{}", done.err);
    for says in [
        "id=\"r1-job\"",
        "Predicted and measured slowdown ",
        "100 µs, barrier: ",
        "100 µs, no sync: ",
        "What explains the difference",
        "bulk-synchronous job: slowdown by noise",
        "id=\"r1-timeline\"",
    ] {
        assert!(text.contains(says), "{says}");
    }
}

#[test]
fn damage_and_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let nothing = anechoic(&["report", arg(dir.path()), "-o", "-"]);
    assert_eq!(nothing.code, Some(66), "{}", nothing.err);
    let recording = dir.path().join("recording");
    Made::busy().write(&recording, &two_cpus(), true);
    std::fs::write(recording.join("detours/part-00000.parquet"), "x").expect("writable");
    let file = dir.path().join("report.html");
    let damaged = anechoic(&["report", arg(&recording), "-o", arg(&file)]);
    assert_eq!(damaged.code, Some(65), "{}", damaged.err);
    assert!(!file.exists(), "no report of damage");
}

/// A million detours of all lengths, among them one that must not be lost.
#[test]
fn a_million_detours_in_a_small_file() {
    let mut made = Made::default();
    for number in 0..500_000 {
        for cpu in [0, 1] {
            let length = 200 + number * 7_919 % 4_000 + if number % 97 == 0 { 20_000 } else { 0 };
            let start_ticks = number * 6_000 + u64::from(cpu) * 13;
            made.detours.push(Detour {
                cpu,
                start_ticks,
                end_ticks: start_ticks + length.min(5_900),
            });
        }
    }
    made.detours.sort_by_key(|detour| (detour.cpu, detour.start_ticks));
    let last = made.detours.last_mut().expect("detours");
    last.end_ticks = last.start_ticks + 777_777 + SHORTEST;
    let (_dir, _, text) = report(made, &two_cpus(), false);
    assert!(text.len() < 5_000_000, "{} bytes", text.len());
    assert!(text.contains("1,000,000 detours"), "all are counted");
    assert!(text.contains("778 µs"), "the longest is there");
}

/// Returns the width and the height of a PNG in dots, and its dots per metre.
fn dots(path: &Path) -> (u32, u32, u32) {
    let bytes = std::fs::read(path).expect("a file");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "{}", path.display());
    let physical = bytes.windows(4).position(|four| four == b"pHYs").expect("a size on paper");
    (number(16), number(20), number(physical + 4))
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into())
        .collect();
    names.sort();
    names
}

/// A reader that closes the pipe has all it wanted: no error, no message.
#[test]
fn a_pipe_may_be_closed() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = dir.path().join("recording");
    Made::busy().write(&recording, &two_cpus(), true);
    for words in ["summary --json", "summary", "sources", "sources --json"] {
        let piped = format!("\"$0\" {words} \"$1\" | true");
        let done = command("sh", &["-c", &piped, tool::ANECHOIC, arg(&recording)]);
        assert_eq!(done.err, "", "{words}");
    }
}

#[test]
fn figures_for_a_paper() {
    let dir = tempfile::tempdir().expect("a directory");
    let (recording, figures) = (dir.path().join("recording"), dir.path().join("new/figures"));
    Made::busy().write(&recording, &two_cpus(), true);
    let report = ["report", arg(&recording), "--figures", arg(&figures)];
    let done = anechoic(&report);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{}", done.out);
    assert_eq!(names(dir.path()), ["new", "recording"], "no report was asked for");
    let captions = std::fs::read_to_string(figures.join("captions.txt")).expect("captions");
    let svgs: Vec<String> =
        names(&figures).into_iter().filter(|name| name.ends_with(".svg")).collect();
    let expected = ["01-timeline.svg", "02-lengths-histogram.svg", "03-lengths-survival.svg"];
    assert_eq!(svgs[..3], expected, "{}", done.out);
    let with_fonts = !done.out.contains("no PNG files");
    for name in &svgs {
        let stem = name.trim_end_matches(".svg");
        assert!(done.out.contains(stem) && captions.contains(stem), "{stem}: {}", done.out);
        let svg = std::fs::read_to_string(figures.join(name)).expect("text");
        assert!(svg.contains("mm\" viewBox=") && !svg.contains(THREAD), "{name}");
        if with_fonts {
            let (wide, _, a_metre) = dots(&figures.join(format!("{stem}.png")));
            // 8.5 and 17.5 cm at 300 dpi.
            assert!([1004, 2067].contains(&wide) && a_metre == 11_811, "{name}: {wide} {a_metre}");
        }
    }

    let before = std::fs::read(figures.join(&svgs[0])).expect("a figure");
    std::fs::write(figures.join("captions.txt"), "mine").expect("writable");
    let again = anechoic(&report);
    assert_eq!(again.code, Some(73), "{}", again.out);
    assert!(again.is_one_clear_line() && again.err.contains("--force"), "{}", again.err);
    std::fs::remove_file(figures.join("captions.txt")).expect("writable");
    std::fs::write(figures.join(&svgs[1]), "mine").expect("writable");
    let again = anechoic(&report);
    assert_eq!(again.code, Some(73), "a figure alone is not overwritten either: {}", again.out);
    assert!(!figures.join("captions.txt").exists(), "all or nothing");
    assert!(!done.out.contains("from before"), "{}", done.out);
    std::fs::write(figures.join("09-older.svg"), "mine").expect("writable");
    let forced = anechoic(&[&report[..], &["--force"]].concat());
    assert_eq!(forced.code, Some(0), "{}", forced.err);
    assert_eq!(std::fs::read(figures.join(&svgs[0])).expect("a figure"), before, "the same bytes");
    assert!(forced.out.contains("belong to this report: 09-older.svg\n"), "{}", forced.out);
}

#[test]
fn figures_beside_the_report() {
    let dir = tempfile::tempdir().expect("a directory");
    let (recording, figures) = (dir.path().join("recording"), dir.path().join("figures"));
    let file = dir.path().join("both.html");
    Made::busy().write(&recording, &two_cpus(), true);
    let both = ["report", arg(&recording), "--figures", arg(&figures), "-o"];
    let done = anechoic(&[&both[..], &[arg(&file)]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(file.exists() && done.out.contains("both.html") && done.out.contains("captions.txt"));
    let piped = anechoic(&[&both[..], &["-", "--force"]].concat());
    let text = std::fs::read_to_string(&file).expect("the report");
    assert_eq!(piped.out, text, "only the report goes there");
    assert!(piped.err.contains("captions.txt"), "{}", piped.err);
    // A file at the path of the directory.
    let done = anechoic(&["report", arg(&recording), "--figures", arg(&file)]);
    assert!(done.code == Some(73) && done.is_one_clear_line(), "{:?} {}", done.code, done.err);
}

#[test]
fn without_fonts_there_are_no_dots() {
    let dir = tempfile::tempdir().expect("a directory");
    let (recording, figures) = (dir.path().join("recording"), dir.path().join("figures"));
    Made::busy().write(&recording, &two_cpus(), true);
    let fonts = dir.path().join("fonts.conf");
    let none = format!("<fontconfig><dir>{}</dir></fontconfig>", dir.path().display());
    std::fs::write(&fonts, none).expect("writable");
    let output = Command::new(tool::ANECHOIC)
        .args(["report", arg(&recording), "--figures", arg(&figures)])
        .env("FONTCONFIG_FILE", &fonts)
        .env("HOME", dir.path())
        .output()
        .expect("the binary runs");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(out.contains("no PNG files: no font is installed"), "{out}");
    let found = names(&figures);
    assert!(found.len() > 3 && !found.iter().any(|name| name.ends_with(".png")), "{found:?}");
}

/// Reports of real measurements, by any method.
#[test]
fn figures_of_real_recordings() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let runs: [(&[&str], &str); 2] = [
        (&["run", "-d", "1s", "-q"], "01-timeline.svg"),
        (&["measure", "ftq", "-d", "1s", "-q"], "samples-survival.svg"),
    ];
    for (number, (args, expected)) in runs.into_iter().enumerate() {
        let recording = dir.path().join(format!("recording{number}"));
        let figures = dir.path().join(format!("figures{number}"));
        let measured = anechoic(&[args, &["-o", arg(&recording)]].concat());
        // Where the CPU slows down while it measures, the work is worth no verdict: the figures are made all the same.
        assert!(matches!(measured.code, Some(0 | 1 | 3)), "{args:?}: {}", measured.err);
        let done = anechoic(&["report", arg(&recording), "--figures", arg(&figures)]);
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.err);
        let found = names(&figures);
        assert!(found.iter().any(|name| name.ends_with(expected)), "{args:?}: {found:?}");
        for name in found.iter().filter(|name| name.ends_with(".svg")) {
            let svg = std::fs::read_to_string(figures.join(name)).expect("text");
            assert!(svg.len() < 500_000 && svg.ends_with("</svg>\n"), "{name}");
        }
    }
}

/// Returns whether a command exists and runs.
fn runs(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn in_a_browser() {
    let browser =
        ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| runs(name));
    let Some(browser) = browser.filter(|_| runs("node") && runs("npm")) else {
        return note::skipped("no node, npm or chromium");
    };
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/browser");
    if !tests.join("node_modules/playwright-core").exists() {
        let fetched = Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&tests)
            .output()
            .expect("npm runs");
        if !fetched.status.success() {
            let why = String::from_utf8_lossy(&fetched.stderr);
            return note::skipped(format_args!("playwright-core could not be fetched: {why}"));
        }
    }
    let which =
        Command::new("sh").args(["-c", &format!("command -v {browser}")]).output().expect("sh");
    let _alone = tool::alone();
    let (dir, file, _) = report(Made::busy(), &two_cpus(), true);
    let [many, parallel] = ["hosts.html", "job.html"].map(|name| dir.path().join(name));
    hosts(&dir.path().join("data"), 33);
    report_of(&dir.path().join("data"), &many);
    report_of(&job(dir.path()), &parallel);
    let done = Command::new("node")
        .args(["--test", "report.test.js", "whole.test.js"])
        .current_dir(&tests)
        .env("REPORT", &file)
        .env("HOSTS", &many)
        .env("JOB", &parallel)
        .env("CHROMIUM", String::from_utf8_lossy(&which.stdout).trim())
        .output()
        .expect("node runs");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}\n{err}");
}
