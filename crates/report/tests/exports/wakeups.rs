//! What formats hold of wake-ups.

use super::metrics::samples;
use super::perfetto::slices;
use super::{export_of, format};
use anechoic_analyze::counted::{CountedCpu, counted};
use anechoic_analyze::gate::{Outcome, RULES, Requirements, conclude, examine};
use anechoic_lab::wakeups::{Block, record};
use anechoic_recording::import::{COMMON, IMPORTERS};
use anechoic_recording::options::{Answers, OptionRow};
use anechoic_recording::{Problem, Recording};
use anechoic_report::export::Export;
use std::path::Path;

/// Latencies in ns on CPU 2 and 5: with and without events, and one longer than an interval.
fn blocks() -> [Block; 4] {
    let two = Block::new(2, vec![3_999, 4_000, 4_001, 12_000, 3_400_000]);
    let five = Block::new(5, vec![7_500, 9_000]);
    let without = Block { events_off: true, ..Block::new(2, vec![1_000_000; 3]) };
    [two.clone(), five, without, Block::new(2, vec![4_500])]
}

fn exported(dir: &Path, id: &str, blocks: &[Block]) -> Result<Vec<String>, Problem> {
    let recording = record(&dir.join(id), blocks);
    let files = export_of(&recording, id, &[], None)?;
    Ok(files.into_iter().map(|file| String::from_utf8(file).expect("text")).collect())
}

/// Beside the lines that cyclictest 2.4 prints (`-h 20 -t2`), which `import` reads.
#[test]
fn the_histogram_is_cyclictests_and_imports_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = record(&dir.path().join("r"), &blocks());
    let [file] =
        &export_of(&recording, "cyclictest", &[("histogram", "20")], None).expect("wake-ups")[..]
    else {
        panic!("one file")
    };
    let text = String::from_utf8(file.clone()).expect("text");
    let head = "T: 0 (  100) P:80 I:1000 C:      6 Min:      3 Act:    4 Avg:  571 Max:    3400\n\
                T: 1 (  100) P:80 I:1000 C:      2 Min:      7 Act:    9 Avg:    8 Max:       9\n\
                # Histogram\n000000 000000\t000000\n";
    assert!(text.contains(head), "{text}");
    for line in ["000003 000001\t000000", "000004 000003\t000000", "000019 000000\t000000"] {
        assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
    }
    let foot = "\n# Total: 000000005 000000002\n\
                # Min Latencies: 00003 00007\n\
                # Avg Latencies: 00571 00008\n\
                # Max Latencies: 03400 00009\n\
                # Histogram Overflows: 00001 00000\n\
                # Histogram Overflow at cycle number:\n\
                # Thread 0: 00004\n\
                # Thread 1:\n";
    assert!(text.ends_with(foot), "{text}");
    let again = imported(dir.path(), &text, "7,8"); // the file names its CPUs
    let found = counted(&again).expect("counts");
    assert!(found.latencies, "they are no lost time");
    let [two, five] = &found.cpus[..] else { panic!("two CPUs") };
    let us = |cpu: &CountedCpu, share: f64| {
        let length = cpu.lengths.iter().find(|length| length.share >= share).expect("a length");
        (length.ns.at_least / 1_000, length.ns.at_most / 1_000)
    };
    assert_eq!((two.cpu, two.number, five.cpu, five.number), (Some(2), 6, Some(5), 2));
    let within = [us(two, 0.0), us(two, 0.5), us(two, 1.0), us(five, 0.0), us(five, 1.0)];
    assert_eq!(within.map(|(at_least, _)| at_least), [3, 4, 3_400, 7, 9]);
    assert!(within.iter().all(|(at_least, at_most)| at_most - at_least <= 1), "{within:?}");
}

/// A lost wake-up may have had any length, and counts as late where nothing shows the opposite.
#[test]
fn lost_wake_ups_are_imported_again_and_decide_no_rule() {
    let dir = tempfile::tempdir().expect("a directory");
    let blocks =
        [Block { lost: 3, ..Block::new(2, vec![4_000; 5_000]) }, Block::new(5, vec![9_000])];
    let [text] = &exported(dir.path(), "cyclictest", &blocks).expect("wake-ups")[..] else {
        panic!("one file")
    };
    assert!(text.contains("\n# Lost: 00003 00000\n"), "{text}");
    let again = imported(dir.path(), text, "7,8");
    let cpus: Vec<(u32, u64)> =
        again.run().cpus.iter().map(|cpu| (cpu.cpu, cpu.lost_detours)).collect();
    assert_eq!(cpus, [(2, 3), (5, 0)]);
    let notes = again.run().notes.join("\n");
    assert!(notes.contains("3 wake-ups of CPU 2 were lost"), "{notes}");
    let outcome = |id: &str, text: &str| {
        let row = RULES.iter().find(|row| row.id == id).expect("a rule");
        let rules = [row.read(text).expect("a limit")];
        let needs = Requirements { min_time_ns: 0, ..Requirements::default() };
        let examined = examine(&again, &rules, &needs, &mut |_| {}).expect("counts");
        let gate = conclude(vec![examined], &rules, needs, None, vec![]);
        gate.rules[0].findings.iter().map(|found| found.outcome).collect::<Vec<_>>()
    };
    assert_eq!(outcome("max-wakeup", "50us"), [Outcome::Undecided, Outcome::Pass]);
    assert_eq!(outcome("max-wakeup", "1us"), [Outcome::Fail, Outcome::Fail]);
    // 3 of 5,003 may be late: at most 7.75 of a Poisson mean.
    assert_eq!(outcome("max-late", ">50us=0.15%")[0], Outcome::Undecided);
    assert_eq!(outcome("max-late", ">50us=0.16%")[0], Outcome::Pass);
}

fn imported(dir: &Path, text: &str, cpus: &str) -> Recording {
    let (file, place) = (dir.join("hist.txt"), dir.join("imported"));
    std::fs::write(&file, text).expect("there is space");
    let importer = IMPORTERS.iter().find(|importer| importer.id == "cyclictest").expect("listed");
    let rows: Vec<OptionRow> = importer.options.iter().chain(COMMON).copied().collect();
    let answers = Answers::read(&rows, &[("cpus", cpus)]).expect("an option");
    importer.import(&[file], &answers, &place).expect("it is read");
    Recording::open(&place).expect("just written")
}

#[test]
fn histograms_hold_the_wake_ups_whose_latency_is_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    let [hgrm] = &exported(dir.path(), "hgrm", &blocks()).expect("wake-ups")[..] else { panic!() };
    assert!(hgrm.contains("Total count    =            8]"), "{hgrm}");
    assert!(hgrm.contains("# wake-ups every 1 ms, idle any\n"), "{hgrm}");
    let max = hgrm.split_once("#[Max     =").and_then(|(_, rest)| rest.split(',').next());
    let max: f64 = max.and_then(|max| max.trim().parse().ok()).expect("a number");
    assert!((max - 3_400.0).abs() < 3.4, "{max}");
    let [log] = &exported(dir.path(), "hdr-log", &blocks()).expect("wake-ups")[..] else {
        panic!()
    };
    let tags =
        ["Tag=cpu2,", "Tag=cpu5,"].map(|tag| log.lines().filter(move |line| line.starts_with(tag)));
    assert_eq!(tags.map(Iterator::count), [1, 1], "{log}");
}

#[test]
fn each_kind_of_wake_ups_is_a_file_and_formats_of_lost_time_refuse() {
    let dir = tempfile::tempdir().expect("a directory");
    let fast = Block { interval_ns: 100_000, ..Block::new(2, vec![5_000; 2]) };
    let shallow = Block { shallow: true, ..Block::new(2, vec![2_000]) };
    let blocks = [Block::new(2, vec![4_000]), fast, shallow];
    for id in ["hgrm", "hdr-log", "cyclictest"] {
        let recording = record(&dir.path().join(id), &blocks);
        let answers = Answers::read(format(id).options, &[]).expect("options");
        let exports = format(id).exports(&recording, None, &answers, &|_| {}).expect("wake-ups");
        let suffixes: Vec<String> = exports.iter().map(Export::suffix).collect();
        let expected =
            ["-every-100-us-idle-any", "-every-1-ms-idle-any", "-every-1-ms-idle-shallow"];
        assert_eq!(suffixes, expected, "{id}");
    }
    for id in ["netgauge", "sysjitter", "bencher", "github-benchmark"] {
        let refused = exported(dir.path(), id, &blocks).expect_err(id).to_string();
        assert!(
            refused.contains("it is a recording of wake-ups") && refused.contains("hdr-log"),
            "{refused}"
        );
    }
    let [rows] = &exported(dir.path(), "csv", &blocks).expect("wake-ups")[..] else {
        panic!("one file")
    };
    assert_eq!(rows.lines().count(), 1 + 4, "a row for each wake-up: {rows}");
    for id in ["hgrm", "hdr-log", "cyclictest", "prometheus", "openmetrics", "perfetto"] {
        let none = record(&dir.path().join(format!("none-{id}")), &[]);
        assert!(export_of(&none, id, &[], None).is_ok(), "{id} of nothing");
    }
}

#[test]
fn metrics_are_those_of_the_summary_by_interval_and_idle() {
    let dir = tempfile::tempdir().expect("a directory");
    let shallow = Block { shallow: true, lost: 3, ..Block::new(2, vec![2_000; 9]) };
    let blocks = [&blocks()[..], &[shallow]].concat();
    let [text] = &exported(dir.path(), "prometheus", &blocks).expect("wake-ups")[..] else {
        panic!()
    };
    for line in [
        "anechoic_run_info{method=\"wakeup\",version=\"0.1.0\"} 1",
        "anechoic_wakeup_latency_seconds{interval_seconds=\"0.001\",idle=\"any\",quantile=\"1\"} 0.0034",
        "anechoic_wakeup_latency_seconds_count{interval_seconds=\"0.001\",idle=\"any\"} 8",
        "anechoic_wakeup_latency_seconds_count{interval_seconds=\"0.001\",idle=\"shallow\"} 9",
        "anechoic_wakeup_late_limit_seconds 0.0001",
        "anechoic_late_wakeups{interval_seconds=\"0.001\",idle=\"any\"} 1",
        "anechoic_late_wakeup_ratio{interval_seconds=\"0.001\",idle=\"any\"} 0.125",
        "anechoic_wakeup_overruns{interval_seconds=\"0.001\",idle=\"any\"} 3",
        "anechoic_lost_wakeups{interval_seconds=\"0.001\",idle=\"shallow\"} 3",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert!(!text.contains("quantile=\"0.99\""), "it needs 1,000 wake-ups");
    let found = samples(text);
    assert!(found.len() > 20 && !text.contains("cpu="), "{text}");
    let recording = record(&dir.path().join("per-cpu"), &blocks);
    let files = export_of(&recording, "prometheus", &[("per-cpu", "")], None).expect("metrics");
    let with = String::from_utf8(files.concat()).expect("text");
    // Those of each CPU come beside the totals, under names of their own.
    for line in text.lines().filter(|line| line.starts_with("anechoic_wakeup_")) {
        assert!(with.lines().any(|found| found == line), "{line}: {with}");
    }
    for line in [
        "anechoic_cpu_wakeup_latency_seconds_count{interval_seconds=\"0.001\",idle=\"any\",cpu=\"2\"} 6",
        "anechoic_cpu_wakeup_latency_seconds_count{interval_seconds=\"0.001\",idle=\"any\",cpu=\"5\"} 2",
        "anechoic_cpu_late_wakeups{interval_seconds=\"0.001\",idle=\"any\",cpu=\"2\"} 1",
    ] {
        assert!(with.lines().any(|found| found == line), "{line}: {with}");
    }
}

#[test]
fn each_wake_up_with_events_is_a_slice() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = record(&dir.path().join("r"), &blocks());
    let file = export_of(&recording, "perfetto", &[], None).expect("wake-ups").concat();
    let (found, arrows) = slices(&file);
    let of_cpu = |cpu: &str| found.iter().filter(|slice| slice.0 == cpu).collect::<Vec<_>>();
    assert_eq!((of_cpu("CPU 2, wake-ups").len(), of_cpu("CPU 5, wake-ups").len()), (6, 2));
    let longest = found.iter().max_by_key(|(.., from, to, _)| to - from).expect("slices");
    assert_eq!((&*longest.1, longest.3 - longest.2), ("wake-up", 3_400_000));
    assert!(arrows.is_empty());
}
