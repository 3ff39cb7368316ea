//! What sysjitter, oslat and cyclictest wrote: real files in `fixtures/foreign`, and what is wrong with others.

use anechoic_recording::import::{IMPORTERS, TOTAL_LENGTH};
use anechoic_recording::options::Answers;
use anechoic_recording::{Counter, Detour, LengthCount, Problem, Recording, methods};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn foreign(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign").join(name)
}

fn import(id: &str, files: &[PathBuf], given: &[(&str, &str)]) -> (TempDir, Result<u64, Problem>) {
    let importer = IMPORTERS.iter().find(|importer| importer.id == id).expect("a format");
    let answers = Answers::read(&importer.all_options(), given).expect("options");
    let dir = tempfile::tempdir().expect("a directory");
    let done = importer.import(files, &answers, &dir.path().join("r"));
    (dir, done)
}

/// Imports a text that nobody wrote.
fn made(id: &str, text: &str, given: &[(&str, &str)]) -> Result<u64, Problem> {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("made.txt");
    fs::write(&file, text).expect("a file");
    let (kept, done) = import(id, &[file], given);
    assert_eq!(kept.path().join("r").exists(), done.is_ok(), "nothing is left of a failure");
    done
}

/// Counts in ranges of lengths in ns, CPU by CPU.
type Counts = BTreeMap<u32, Vec<(u64, u64, u64)>>;

fn counts(dir: &TempDir) -> (Recording, Counts) {
    let recording = Recording::open(&dir.path().join("r")).expect("a recording");
    recording.verify().expect("whole");
    let mut counts = Counts::new();
    for row in recording.rows::<LengthCount>().flat_map(|rows| rows.expect("readable")) {
        counts.entry(row.cpu).or_default().push((row.from_ticks, row.to_ticks, row.count));
    }
    for cpu in &recording.run().cpus {
        let rows = counts.entry(cpu.cpu).or_default();
        assert_eq!(rows.iter().map(|row| row.2).sum::<u64>(), cpu.detours, "CPU {}", cpu.cpu);
    }
    (recording, counts)
}

#[test]
fn raw_files_of_sysjitter_are_a_recording_with_times() {
    let files = [foreign("sysjitter-raw.0"), foreign("sysjitter-raw.1")];
    let (dir, done) = import("sysjitter", &files, &[]);
    assert_eq!(done.expect("imported"), 154 + 180, "as its table says");
    let recording = Recording::open(&dir.path().join("r")).expect("a recording");
    let run = recording.run();
    assert_eq!((&*run.method, run.threshold_ticks), (methods::DETOURS, 19_999));
    assert_eq!(run.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [0, 1]);
    let walls: Vec<u64> = run.cpus.iter().map(|cpu| cpu.last_ticks / 1_000_000).collect();
    assert_eq!(walls, [1_005, 1_001], "its runtime in ms");
    let rows = recording.rows_of_cpu::<Detour>(0).flat_map(|rows| rows.expect("readable"));
    let total: u64 = rows.map(|row| row.end_ticks - row.start_ticks).sum();
    let table = fs::read_to_string(foreign("sysjitter.txt")).expect("the table of the same run");
    let total_ns = table.lines().find_map(|line| line.strip_prefix("int_total(ns): "));
    let first = total_ns.and_then(|values| values.split(' ').next()).expect("a total");
    let difference = total.abs_diff(first.parse().expect("a number"));
    assert!(difference <= 2 * 154, "each of 154 is rounded to ns: {difference}");
}

#[test]
fn the_table_of_sysjitter_gives_counts_between_its_quantiles() {
    let (dir, done) = import("sysjitter", &[foreign("sysjitter.txt")], &[]);
    assert_eq!(done.expect("imported"), 154 + 180);
    let (recording, counts) = counts(&dir);
    assert_eq!(recording.run().method, methods::LENGTHS);
    let table = fs::read_to_string(foreign("sysjitter.txt")).expect("a table");
    let value = |label: &str, cpu: usize| -> u64 {
        let line = table.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix(": "));
        let word = line.expect("a line").split(' ').nth(cpu).expect("a column");
        word.parse().expect("a number")
    };
    for (cpu, rows) in &counts {
        let at = |label: &str| value(label, *cpu as usize);
        let first = (at("int_min(ns)"), at("int_min(ns)") + 1, 1);
        assert!(rows.contains(&first), "{rows:?}");
        assert_eq!(rows.iter().map(|row| row.1).max(), Some(at("int_max(ns)") + 1));
        let number = at("int_n");
        let below =
            |ns: u64| rows.iter().filter(|row| row.1 <= ns + 1).map(|row| row.2).sum::<u64>();
        assert_eq!(below(at("int_90(ns)")), (number as f64 * 0.9) as u64 + 1, "CPU {cpu}");
    }
    let totals = recording.rows::<Counter>().flat_map(|rows| rows.expect("readable"));
    let totals: Vec<_> = totals.map(|row| (row.name, row.cpu, row.value)).collect();
    let expected =
        [0, 1].map(|cpu| (TOTAL_LENGTH.to_owned(), cpu, value("int_total(ns)", cpu as usize)));
    assert_eq!(totals, expected);
}

#[test]
fn oslat_counts_detours_above_the_undisturbed_loop() {
    let (dir, done) = import("oslat", &[foreign("oslat.json")], &[]);
    let (recording, found) = counts(&dir);
    let rows = &found[&1];
    assert_eq!(done.expect("imported"), rows.iter().map(|row| row.2).sum::<u64>());
    assert_eq!(rows[0], (1_001, 2_001, 231), "the bucket that oslat calls 2");
    assert!(
        rows.contains(&(9_946_001, 9_947_001, 1)) && rows.contains(&(31_001, 9_947_001, 329)),
        "{rows:?}"
    );
    let run = recording.run();
    assert_eq!((run.threshold_ticks, run.cpus[0].last_ticks), (1_000, 1_999_000_000));
    let (dir, done) = import("oslat", &[foreign("oslat.json")], &[("over", "5us")]);
    let (recording, _) = counts(&dir);
    assert_eq!((done.expect("imported"), recording.run().threshold_ticks), (385, 5_000));
    let (dir, _) = import("oslat", &[foreign("oslat.txt")], &[]);
    let (_, found) = counts(&dir);
    assert_eq!(found[&0][0], (1_001, 2_001, 129));
    assert_eq!(found[&1].last(), Some(&(12_052_001, 12_053_001, 1)));
    let (dir, _) = import("oslat", &[foreign("oslat-bias.txt")], &[]);
    let (_, found) = counts(&dir);
    assert_eq!(found[&1][0], (1_001, 3_001, 126), "with a bias a bucket may begin a unit earlier");
}

#[test]
fn cyclictest_counts_latencies_in_each_of_its_forms() {
    for name in ["cyclictest.json", "cyclictest.txt"] {
        let (dir, done) = import("cyclictest", &[foreign(name)], &[]);
        let (recording, found) = counts(&dir);
        let run = recording.run();
        assert_eq!((&*run.method, run.cpus.len()), (methods::LATENCIES, 2), "{name}");
        assert_eq!(done.expect("imported"), found.values().flatten().map(|row| row.2).sum::<u64>());
        assert_eq!(found[&0][0].0, 31_000, "{name}: the shortest latency");
        assert!(found[&1].contains(&(8_212_000, 8_213_000, 1)), "{name}: the longest");
        let over: u64 = found[&1].iter().filter(|row| row.1 > 400_000).map(|row| row.2).sum();
        assert_eq!(over, 27, "{name}: what its histogram had no room for");
    }
    let (dir, _) = import("cyclictest", &[foreign("cyclictest-verbose.txt")], &[("cpus", "1")]);
    let (_, found) = counts(&dir);
    assert_eq!(found[&1].iter().map(|row| row.2).sum::<u64>(), 20);
    assert!(found[&1].contains(&(90_000, 91_000, 4)), "{found:?}");
    let (dir, _) = import("cyclictest", &[foreign("cyclictest-status.txt")], &[]);
    let (recording, found) = counts(&dir);
    let expected = [(32_000, 33_000, 1), (32_000, 7_984_000, 947), (7_983_000, 7_984_000, 1)];
    assert_eq!(found[&0], expected, "only the number, the shortest and the longest are known");
    assert_eq!(recording.run().cpus[0].last_ticks, 949_000_000, "cycles of 1 ms");
}

/// `cyclictest -N` prints ns and says so nowhere.
#[test]
fn printed_latencies_that_cannot_be_in_micros_need_a_unit() {
    let line = |min: u64, max: u64| {
        format!("T: 0 (77) P:80 I:1000 C:     20 Min: {min} Act: {min} Avg: {min} Max: {max}\n")
    };
    let cases = [
        ("in µs", 3, 20_000, None),
        ("longest", 3, 20_001, Some("is longer than its 20 cycles of 1000 µs together")),
        ("shortest", 1_001, 9_000, Some("is longer than its interval of 1000 µs")),
        ("as long as the interval", 1_000, 9_000, None),
    ];
    for (name, min, max, expected) in cases {
        let refused = made("cyclictest", &line(min, max), &[]).err().map(|why| why.to_string());
        assert_eq!(refused.is_some(), expected.is_some(), "case: {name}: {refused:?}");
        let (refused, expected) = (refused.unwrap_or_default(), expected.unwrap_or_default());
        assert!(refused.contains(expected), "case: {name}: {refused}");
        assert!(expected.is_empty() || refused.contains("--unit ns"), "case: {name}: {refused}");
        for unit in ["ns", "us"] {
            let done = made("cyclictest", &line(min, max), &[("unit", unit)]);
            assert_eq!(done.expect("a unit was given"), 20, "case: {name}, {unit}");
        }
    }
}

#[test]
fn what_needs_times_is_refused() {
    let (dir, _) = import("oslat", &[foreign("oslat.json")], &[]);
    let (recording, _) = counts(&dir);
    let problem = recording.loops().expect_err("there are no times");
    assert!(problem.to_string().contains("only counts by length"), "{problem}");
    let both = [foreign("sysjitter-raw.0"), foreign("sysjitter.txt")];
    let (_, done) = import("sysjitter", &both, &[]);
    assert!(done.expect_err("both").to_string().contains("has no times"));
}

#[test]
fn what_is_wrong_is_named() {
    let cases: [(&str, &str, &str, &str); 13] = [
        ("no line", "sysjitter", "core_i: 0\n", "it has no line runtime(ns)"),
        ("no number", "sysjitter", "core_i: a\n", "line 1: 'a' is no number"),
        ("twice", "sysjitter", "core_i: 0\ncore_i: 0\n", "line 2: there are two lines core_i"),
        (
            "falling quantiles",
            "sysjitter",
            "core_i: 0\nthreshold(ns): 5\nruntime(ns): 9\nint_total(ns): 1\nint_n: 2\nint_min(ns): 9\nint_median(ns): 7\nint_90(ns): 7\nint_99(ns): 7\nint_999(ns): 7\nint_9999(ns): 7\nint_99999(ns): 7\nint_max(ns): 7\n",
            "its quantiles fall from 9 to 7 ns",
        ),
        ("columns", "sysjitter", "1 2\n", "line 1: it has 2 columns, not 4"),
        ("sorted", "sysjitter", "900 1 1 5\n100 1 5\n", "is in order after `sort -n`"),
        ("before the start", "sysjitter", "5 0 9 9\n", "begins before the measurement"),
        ("no JSON", "oslat", "{\"thread\": 5}", "invalid type"),
        ("cut off", "oslat", "{\"thread\": {", "EOF while parsing"),
        ("no result", "oslat", "oslat V 2.40\n", "it has no detour"),
        (
            "columns",
            "oslat",
            "        Core:\t 0 1\n    001 (us):\t 5\n",
            "it has 1 values, for 2 CPUs",
        ),
        ("nothing counted", "oslat", "Core:\t 0\n001 (us):\t 0\n", "it counted nothing on CPU 0"),
        (
            "no longest",
            "cyclictest",
            "000001 5\n# Histogram Overflows: 00002\n",
            "how long the longest",
        ),
    ];
    for (name, id, text, expected) in cases {
        let problem = made(id, text, &[]).expect_err(name);
        assert!(problem.to_string().contains(expected), "case: {name}: {problem}");
    }
    assert!(made("cyclictest", "{\"resolution_in_ns\":0,\"thread\":{}}", &[]).is_err());
}

#[test]
fn counts_that_cannot_be_are_refused() {
    let oslat = |min: u64, max: u64, histogram: &str| {
        format!(
            r#"{{"thread":{{"0":{{"cpu":0,"min":{min},"max":{max},"duration":1,"histogram":{{{histogram}}}}}}}}}"#
        )
    };
    let huge = oslat(1, u64::MAX, r#""1.0":1,"2.0":1"#);
    let problem = made("oslat", &huge, &[]).expect_err("ten years");
    assert!(problem.why.contains("ten years"), "{problem}");

    // A bucket without rounds is neither the loop nor a detour.
    let empty = oslat(1, 9, r#""1":0,"2":1000,"3":7,"9":0"#);
    assert_eq!(made("oslat", &empty, &[]).expect("imported"), 7);

    // What is longer than the last bucket begins is not known one by one.
    let problem = import("oslat", &[foreign("oslat.json")], &[("over", "50us")]).1;
    let problem = problem.expect_err("beyond the last bucket");
    assert!(problem.why.contains("in one bucket"), "{problem}");
}

#[test]
fn files_that_cannot_be_joined_are_refused() {
    let twice = [foreign("oslat.json"), foreign("oslat.txt")];
    let problem = import("oslat", &twice, &[]).1.expect_err("one CPU in two files");
    assert!(problem.why.contains("another file has counts"), "{problem}");

    let dir = tempfile::tempdir().expect("a directory");
    let table = fs::read_to_string(foreign("sysjitter.txt")).expect("a file");
    let raw = dir.path().join("raw.7");
    let another = fs::read_to_string(foreign("sysjitter-raw.0")).expect("a file");
    fs::write(&raw, another.replace("cpu: 0", "cpu: 7")).expect("written");
    let file = dir.path().join("table.txt");
    fs::write(&file, table).expect("written");
    let problem = import("sysjitter", &[raw, file], &[]).1.expect_err("times and counts");
    assert!(problem.why.contains("no times"), "{problem}");
}
