//! Recordings made of files that other tools wrote.

use anechoic_recording::import::{COMMON, IMPORTERS, Importer};
use anechoic_recording::options::{Answers, OptionRow};
use anechoic_recording::{Detour, Problem, ProblemKind, Recording};
use proptest::prelude::*;
use std::fs;
use tempfile::TempDir;

fn importer(id: &str) -> &'static Importer {
    IMPORTERS.iter().find(|importer| importer.id == id).expect("a format")
}

/// Imports a text; the directory holds the recording as `r`.
fn import(id: &str, text: &[u8], given: &[(&str, &str)]) -> (TempDir, Result<u64, Problem>) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file.txt");
    fs::write(&file, text).expect("a file");
    let rows: Vec<OptionRow> = importer(id).options.iter().chain(COMMON).copied().collect();
    let answers = Answers::read(&rows, given).expect("options");
    let done = importer(id).import(&[file], &answers, &dir.path().join("r"));
    (dir, done)
}

/// Imports a text and returns CPU, start and lost time of its detours, in nanoseconds.
fn detours(id: &str, text: &str, given: &[(&str, &str)]) -> Vec<(u32, u64, u64)> {
    let (dir, done) = import(id, text.as_bytes(), given);
    let recording = Recording::open(&dir.path().join("r")).expect("a recording");
    recording.verify().expect("whole");
    let loops = recording.loops().expect("loops");
    let mut found = vec![];
    for (cpu, stints) in loops.by_cpu(recording.run()) {
        let mut detours = recording.detours_of(cpu.cpu, stints);
        while let Some(detour) = detours.next_detour().expect("readable") {
            found.push((detour.cpu, detour.start_ticks, detour.lost_ticks));
        }
    }
    assert_eq!(done.expect("imported"), found.len() as u64);
    found
}

/// Options with their values, and detours with CPU, start and lost time.
type Given<'a> = &'a [(&'a str, &'a str)];
type Found<'a> = &'a [(u32, u64, u64)];

#[test]
fn tables_of_start_and_duration_are_read() {
    let cases: [(&str, &str, Given<'_>, Found<'_>); 7] = [
        ("plain", "5,100\n200,7\n", &[], &[(0, 5, 100), (0, 200, 7)]),
        (
            "another unit and CPU",
            "5 0.25\n7.5 1\n",
            &[("unit", "us"), ("cpu", "3")],
            &[(3, 5_000, 250), (3, 7_500, 1_000)],
        ),
        (
            "named columns",
            "cpu;duration;what;start\n1;9;x;70\n0;8;y;60\n",
            &[],
            &[(0, 60, 8), (1, 70, 9)],
        ),
        (
            "our own",
            "start_ns,duration_ns,cpu,source,name\r\n1,2,0,thread,\"a, b\"\r\n",
            &[],
            &[(0, 1, 2)],
        ),
        ("comments and empty lines", "# made by x\n\n1\t2\n", &[], &[(0, 1, 2)]),
        ("without a last line feed", "1 2\n9 3", &[], &[(0, 1, 2), (0, 9, 3)]),
        (
            "rounded to overlap",
            "0 0.0016\n0.001 0.001\n",
            &[("unit", "us")],
            &[(0, 0, 2), (0, 2, 1)],
        ),
    ];
    for (name, text, given, expected) in cases {
        assert_eq!(detours("csv", text, given), expected, "case: {name}");
    }
}

#[test]
fn netgauge_text_is_read_with_its_iteration() {
    let text = "# Selfish Benchmark\n# Minimal cycle length [ns]: 9.810000 \n# Time [ns]\tselfish duration [ns]\n\
                0.00\t120.40\n1000.00\t95.20\n# CPU overhead due to noise: 19.51%\n\
                # Measurement period: 0.00 s\n";
    let (dir, done) = import("netgauge", text.as_bytes(), &[("duration", "1ms"), ("host", "n7")]);
    assert_eq!(done.expect("imported"), 2);
    let recording = Recording::open(&dir.path().join("r")).expect("a recording");
    let rows: Vec<Detour> =
        recording.rows::<Detour>().flat_map(|rows| rows.expect("readable")).collect();
    let spans: Vec<_> = rows.iter().map(|row| (row.start_ticks, row.end_ticks)).collect();
    assert_eq!(spans, [(0, 130), (1_000, 1_105)], "with the iteration");
    let run = recording.run();
    assert_eq!(
        (run.machine.host.as_str(), run.end_ticks, run.threshold_ticks),
        ("n7", 1_000_000, 104)
    );
    assert_eq!(detours("netgauge", text, &[]), [(0, 0, 120), (0, 1_000, 95)]);
}

/// Writes runs as netgauge does one after the other into one file: starts and whole lengths in nanoseconds of each run,
/// of which the first is subtracted from the starts, and the loop's iteration from the lengths.
fn by_netgauge(runs: &[&[(f64, f64)]], iteration: f64) -> String {
    let run = |detours: &&[(f64, f64)]| {
        let first = detours[0].0;
        let lines = detours
            .iter()
            .map(|(start, whole)| format!("{:.2}\t{:.2}\n", start - first, whole - iteration));
        let lines: String = lines.collect();
        let lost: f64 = detours.iter().map(|(_, whole)| whole - iteration).sum();
        let (last, whole) = detours[detours.len() - 1];
        let period = last + whole - first;
        format!(
            "# Benchmark Method: selfish\n# Selfish Benchmark\n# Minimal cycle length [ns]: {iteration:.6} \n# \n{lines}\
             # CPU overhead due to noise: {:.2}%\n# Measurement period: {:.2} s\n",
            100.0 * lost / period,
            period / 1e9
        )
    };
    runs.iter().map(run).collect()
}

/// Returns the lost and the measured time of the recordings of a directory by their place, in seconds.
fn seconds(dir: &std::path::Path, places: &[&str]) -> Vec<(f64, f64)> {
    let one = |place: &&str| {
        let recording = Recording::open(&dir.join(place)).expect("a recording");
        let (cpu, run) = (&recording.run().cpus[0], recording.run());
        let rows = recording.rows::<Detour>().flat_map(|rows| rows.expect("readable"));
        let lost: u64 =
            rows.map(|row| row.end_ticks - row.start_ticks - cpu.shortest_gap_ticks).sum();
        assert!(run.end_utc.is_some(), "the file has a date");
        (lost as f64 / 1e9, (cpu.last_ticks - cpu.first_ticks) as f64 / 1e9)
    };
    places.iter().map(one).collect()
}

#[test]
fn runs_that_netgauge_appended_are_recordings_that_agree_with_its_own_totals() {
    let first = [(7e6, 1e6), (2e9, 5e7), (3.5e9, 300.0)];
    let second = [(1e3, 2e5), (1e9, 1e8)];
    let text = by_netgauge(&[&first, &second], 9.81);
    let (dir, done) = import("netgauge", text.as_bytes(), &[]);
    assert_eq!(done.expect("imported"), 5);
    let expected = [(0.051, 3.493), (0.1002, 1.099_999)];
    for (found, expected) in
        seconds(&dir.path().join("r"), &["run-001", "run-002"]).iter().zip(expected)
    {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(near(found.0, expected.0) && near(found.1, expected.1), "{found:?} {expected:?}");
    }
    let start = |place: &str| {
        Recording::open(&dir.path().join("r").join(place))
            .expect("a recording")
            .run()
            .start_utc
            .clone()
    };
    assert!(start("run-001") < start("run-002"), "in the order of the file");

    let cases = [
        ("the end is missing", text.replace("999999000.00\t", "#"), "run 2 states a measurement"),
        ("a detour is missing", text.replace("1993000000.00\t", "#"), "run 1 states an overhead"),
        (
            "an endless iteration",
            text.replace("9.810000", "18446744073709551615"),
            "run 1 states a measurement",
        ),
        ("no number", text.replace("period: 3.49", "period: x"), "'x' is no number"),
    ];
    for (name, text, expected) in cases {
        let (dir, done) = import("netgauge", text.as_bytes(), &[]);
        let problem = done.expect_err(name);
        assert!(problem.to_string().contains(expected), "case: {name}: {problem}");
        assert!(!dir.path().join("r").exists(), "case: {name}: nothing is left");
    }
}

/// A directory in which something is stays as it is.
#[test]
fn a_directory_that_is_not_empty_is_refused_and_kept() {
    let runs: [&[(f64, f64)]; 2] = [&[(0.0, 500.0), (1e6, 500.0)]; 2];
    for number in [1, 2] {
        let place = tempfile::tempdir().expect("a directory");
        fs::write(place.path().join("mine"), "x").expect("a file");
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), by_netgauge(&runs[..number], 10.0)).expect("a file");
        let rows: Vec<OptionRow> = importer("netgauge").all_options();
        let answers = Answers::read(&rows, &[]).expect("options");
        let done = importer("netgauge").import(&[file.path().to_owned()], &answers, place.path());
        assert!(done.is_err(), "{number} runs");
        assert!(place.path().join("mine").exists(), "{number} runs");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let long = format!("1 2\n{}\n", "9".repeat(70_000));
    let cases: [(&str, &str, &[u8], &str); 12] = [
        ("empty", "csv", b"", "it has no detour"),
        ("only comments", "netgauge", b"# x\n", "it has no detour"),
        ("one column", "csv", b"1 2\n3\n", "line 2: it has 1 columns"),
        ("no number", "csv", b"1,2\n3,x\n", "line 2: 'x' is no time"),
        ("negative", "csv", b"-1,2\n", "line 1: '-1' is negative"),
        (
            "out of order",
            "csv",
            b"5,100\n50,1\n",
            "line 2: this detour begins 55 ns before the previous one on CPU 0 ends",
        ),
        ("no such column", "csv", b"start,length\n", "line 1: no column is called duration"),
        ("no CPU", "csv", b"start,duration,cpu\n1,2,9999\n", "line 2: there is no CPU 9999"),
        ("no text", "csv", b"1,2\n\xff\xfe,3\n", "line 2: the line is no text"),
        ("too long", "csv", long.as_bytes(), "line 2: the line is too long"),
        (
            "an endless iteration",
            "netgauge",
            b"# Minimal cycle length [ns]: 18446744073709551615\n1\t2\n",
            "longer than ten years",
        ),
        ("three fields", "netgauge", b"1\t2\t3\n", "line 1: a line has a start and a duration"),
    ];
    for (name, id, text, expected) in cases {
        let (dir, done) = import(id, text, &[]);
        let problem = done.expect_err(name);
        assert!(problem.to_string().contains(expected), "case: {name}: {problem}");
        assert_eq!(problem.kind, ProblemKind::Data, "case: {name}");
        assert!(!dir.path().join("r").exists(), "case: {name}: nothing is left");
    }
    let (dir, done) = import("csv", b"1,2\n9,5000\n", &[("duration", "2us")]);
    assert_eq!(done.expect_err("too short").kind, ProblemKind::Usage);
    assert!(!dir.path().join("r").exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn no_text_makes_an_importer_panic(text in "([0-9.,;\\-# \tecpurationsl]{0,20}\n){0,12}", bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        for importer in IMPORTERS {
            for text in [text.as_bytes(), &bytes] {
                let (dir, done) = import(importer.id, text, &[]);
                if done.is_ok() {
                    Recording::open(&dir.path().join("r")).expect("a recording").verify().expect("whole");
                }
            }
        }
    }
}
