//! `anechoic export`: where its files go, and what it refuses.

use crate::tool::{Done, anechoic, arg};
use anechoic_report::export::{FORMATS, Format, Holds};
use std::fs;
use std::path::{Path, PathBuf};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").join(name)
}

fn export(format: &str, recordings: &[&Path], rest: &[&str]) -> Done {
    let recordings = recordings.iter().map(|path| arg(path));
    let args: Vec<&str> =
        ["export", format].into_iter().chain(recordings).chain(rest.iter().copied()).collect();
    anechoic(&args)
}

/// Names of the files in a directory and below, sorted.
fn files(dir: &Path) -> Vec<String> {
    let mut found = vec![];
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).expect("a directory") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path.strip_prefix(dir).expect("below").display().to_string()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_format_goes_to_a_file_or_to_standard_output_alike() {
    let dir = tempfile::tempdir().expect("a directory");
    let (of_others, formats): (Vec<&Format>, Vec<&Format>) = FORMATS
        .iter()
        .copied()
        .partition(|format| matches!(format.holds, Holds::Stacks | Holds::Wakeups));
    for format in &formats {
        let file = dir.path().join(format.id);
        let to_file = export(format.id, &[&example("before")], &["-o", arg(&file)]);
        assert_eq!((to_file.code, &*to_file.err), (Some(0), ""), "{}", format.id);
        assert!(to_file.out.starts_with(arg(&file)), "{}", to_file.out);
        let printed = export(format.id, &[&example("before")], &[]);
        assert_eq!((printed.code, &*printed.err), (Some(0), ""), "{}", format.id);
        let written = fs::read(&file).expect("written");
        assert_eq!(printed.out, String::from_utf8_lossy(&written), "{}", format.id);
    }
    for format in of_others {
        let file = dir.path().join(format.id);
        let refused = export(format.id, &[&example("before")], &["-o", arg(&file)]);
        assert!(refused.is_one_clear_line(), "{}", refused.err);
        let needed =
            if format.holds == Holds::Stacks { "record --stacks" } else { "measure wakeup" };
        assert!(refused.err.contains(needed), "{}", refused.err);
    }
    assert_eq!(files(dir.path()).len(), formats.len(), "and nothing beside them");
}

#[test]
fn several_files_go_to_a_directory_under_the_names_of_their_recordings() {
    let dir = tempfile::tempdir().expect("a directory");
    let (before, ftq) = (example("before"), example("ftq"));
    let refused = export("csv", &[&before, &ftq], &[]);
    assert_eq!(refused.code, Some(64), "{}", refused.err);
    assert!(refused.err.contains("2 files would be written"), "{}", refused.err);
    assert!(refused.is_one_clear_line());
    let bsp = example("bsp");
    let each_cpu = export("netgauge", &[&bsp], &["-o", arg(&dir.path().join("cpus"))]);
    assert_eq!(each_cpu.code, Some(0), "{}", each_cpu.err);
    let out = dir.path().join("csv");
    let both = export("csv", &[&before, &ftq], &["-o", arg(&out)]);
    assert_eq!(both.code, Some(0), "{}", both.err);
    let expected = ["cpus/bsp-cpu0.txt", "cpus/bsp-cpu1.txt", "csv/before.csv", "csv/ftq.csv"];
    assert_eq!(files(dir.path()), expected);
    let again = export("csv", &[&before, &ftq], &["-o", arg(&out)]);
    assert_eq!(again.code, Some(73));
    assert!(again.err.contains("before.csv already exists; use --force"), "{}", again.err);
    assert_eq!(export("csv", &[&before, &ftq], &["-o", arg(&out), "--force"]).code, Some(0));
}

#[test]
fn what_cannot_be_exported_is_refused_in_one_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let before = example("before");
    let cases: [(&str, &str, &[&str], i32, &str); 5] = [
        ("no such format", "excel", &[], 64, "there is no"),
        ("no such CPU", "csv", &["--cpus", "9"], 64, "has no CPU 9; it has 1"),
        ("CPUs of a summary", "prometheus", &["--cpus", "1"], 64, "has no option --cpus"),
        ("a directory", "csv", &["-o", arg(dir.path())], 64, "is a directory; name a file"),
        ("no place", "csv", &["-o", "/proc/none/x"], 73, "cannot write /proc/none"),
    ];
    for (name, format, rest, code, expected) in cases {
        let done = export(format, &[&before], rest);
        assert_eq!(done.code, Some(code), "case: {name}: {}", done.err);
        assert!(done.err.contains(expected) && done.out.is_empty(), "case: {name}: {}", done.err);
    }
    assert!(files(dir.path()).is_empty());
}

/// The rows of a measured CPU are those of all that have its number. Events come from other CPUs, too.
#[test]
fn every_table_has_the_rows_of_the_chosen_cpu_alone() {
    for (recording, cpu, table, column) in [
        ("before", "1", "detours", 2),
        ("before", "1", "events", 0),
        ("before", "1", "counters", 1),
        ("before", "1", "activities", 0),
        ("bsp", "1", "samples", 2),
        ("bsp", "1", "series", 4),
    ] {
        let rows = |cpus: &[&str]| {
            let done = export("csv", &[&example(recording)], &[&["--table", table], cpus].concat());
            assert_eq!((done.code, &*done.err), (Some(0), ""), "{table}");
            done.out.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        let is_of_cpu = |row: &&String| row.split(',').nth(column) == Some(cpu);
        let all = rows(&[]);
        let own: Vec<&String> = all.iter().filter(is_of_cpu).collect();
        assert!(!own.is_empty(), "{table}");
        assert_eq!(rows(&["--cpus", cpu]).iter().collect::<Vec<_>>(), own, "{table}");
    }
    let refused = export("csv", &[&example("before")], &["--table", "names", "--cpus", "1"]);
    assert_eq!((refused.code, refused.is_one_clear_line()), (Some(64), true), "{}", refused.err);
    // It lost nothing, and has no samples.
    let losses = export("csv", &[&example("before")], &["--table", "losses"]);
    assert_eq!((losses.code, losses.out.lines().count()), (Some(0), 1), "{}", losses.out);
    let samples = export("csv", &[&example("before")], &["--table", "samples"]);
    assert_eq!((samples.code, samples.is_one_clear_line()), (Some(65), true), "{}", samples.err);
}
