//! Damaged, foreign and future recordings give an error that names the file, never a panic.

use anechoic_lab::sample;
use anechoic_recording::run::RunState;
use anechoic_recording::{
    Detour, EachTable, Name, ProblemKind, Recorder, Recording, Row, each_table, find,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Reads a table to its end or first error.
struct Reader<'a>(&'a Recording);

impl EachTable for Reader<'_> {
    type Error = String;

    fn table<R: Row>(&mut self) -> Result<(), String> {
        let mut rows = self.0.rows::<R>();
        let first = rows.find_map(Result::err);
        assert!(rows.next().is_none(), "nothing follows an error or the end");
        first.map_or(Ok(()), |error| Err(error.to_string()))
    }
}

/// Reads like a careful program: opens, and reads every table to its end or first error.
fn read_everything(dir: &Path) -> Result<(), String> {
    let recording = Recording::open(dir).map_err(|error| error.to_string())?;
    each_table(&mut Reader(&recording))?;
    recording.attribution().map_err(|error| error.to_string())?;
    recording
        .rows_of_cpu::<Detour>(1)
        .try_for_each(|rows| rows.map(drop))
        .map_err(|e| e.to_string())
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Damages every file in many ways and passes each state to `judge`, with the file and the damage.
fn damage_all(dir: &Path, flip_every: usize, cut_every: usize, judge: impl Fn(&Path, &str)) {
    for file in files(dir) {
        let good = fs::read(&file).unwrap();
        let masks = [0x01, 0x80, 0xff, 0x10].into_iter().cycle();
        for (at, mask) in (0..good.len()).step_by(flip_every).zip(masks) {
            let mut bad = good.clone();
            bad[at] ^= mask;
            fs::write(&file, bad).unwrap();
            judge(&file, &format!("byte {at} ^ {mask:#x}"));
        }
        for length in (0..good.len()).step_by(cut_every) {
            fs::write(&file, &good[..length]).unwrap();
            judge(&file, &format!("cut to {length}"));
        }
        fs::write(&file, good).unwrap();
    }
}

#[test]
fn damage_never_goes_unnoticed() {
    let dir = tempfile::tempdir().unwrap();
    sample::write(dir.path());
    assert_eq!(read_everything(dir.path()), Ok(()));
    damage_all(dir.path(), 7, 31, |file, what| {
        let error = read_everything(dir.path()).expect_err(&format!("{}: {what}", file.display()));
        let name = file.file_name().unwrap().to_str().unwrap();
        // A damaged list of checksums blames the file whose checksum is wrong.
        assert!(
            error.contains(name) || name == "SHA256SUMS",
            "{}: {what}: {error}",
            file.display()
        );
    });
    assert_eq!(read_everything(dir.path()), Ok(()));
}

#[test]
fn damage_without_checksums_is_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    sample::write(dir.path());
    fs::remove_file(dir.path().join("SHA256SUMS")).unwrap();
    assert_eq!(read_everything(dir.path()), Ok(()));
    let refused = std::cell::Cell::new(0);
    damage_all(dir.path(), 11, 53, |_, _| {
        refused.set(refused.get() + u32::from(read_everything(dir.path()).is_err()));
    });
    assert!(refused.get() > 200, "most damage shows: {}", refused.get());
    assert_eq!(read_everything(dir.path()), Ok(()));
}

#[test]
fn what_is_no_readable_recording_is_said_so() {
    type Damage = fn(&Path);
    let cases: &[(&str, Damage, &str)] = &[
        ("no run.json", |dir| fs::remove_file(dir.join("run.json")).unwrap(), "is not a recording"),
        (
            "newer",
            |dir| edit_run(dir, "\"format_version\": 2", "\"format_version\": 3"),
            "newer anechoic (format 3; this one reads up to 2)",
        ),
        (
            "newer, and all else unknown",
            |dir| fs::write(dir.join("run.json"), r#"{"format_version": 7}"#).unwrap(),
            "format 7",
        ),
        ("no version", |dir| fs::write(dir.join("run.json"), "{}").unwrap(), "no format_version"),
        ("no object", |dir| fs::write(dir.join("run.json"), "[]").unwrap(), "no format_version"),
        (
            "broken JSON",
            |dir| fs::write(dir.join("run.json"), "{").unwrap(),
            "run.json is damaged: EOF",
        ),
        (
            "a field is missing",
            |dir| edit_run(dir, "\"method\"", "\"methods\""),
            "missing field `method`",
        ),
        ("a part is missing", |dir| fs::remove_file(part(dir)).unwrap(), ""),
        (
            "a part in the middle is missing",
            |dir| fs::rename(part(dir), part(dir).with_file_name("part-00001.parquet")).unwrap(),
            "part-00000.parquet is missing",
        ),
        (
            "a part is a directory",
            |dir| {
                fs::remove_file(part(dir)).unwrap();
                fs::create_dir(part(dir)).unwrap()
            },
            "is not a file",
        ),
        (
            "a part is empty",
            |dir| fs::write(part(dir), "").unwrap(),
            "part-00000.parquet is damaged",
        ),
        (
            "a part is of another table",
            |dir| {
                fs::copy(dir.join("names/part-00000.parquet"), part(dir)).unwrap();
            },
            "it has no column cpu",
        ),
    ];
    for (name, damage, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        sample::write(dir.path());
        // Without checksums, so that the reader must detect the damage itself.
        fs::remove_file(dir.path().join("SHA256SUMS")).unwrap();
        damage(dir.path());
        let error = read_everything(dir.path()).err().unwrap_or_default();
        assert!(error.contains(expected), "case: {name}: {error}");
        assert_eq!(error.is_empty(), expected.is_empty(), "case: {name}: {error}");
    }
}

#[test]
fn the_checksums_hold_the_recording_together() {
    type Damage = fn(&Path);
    let cases: &[(&str, Damage, &str)] = &[
        (
            "newer",
            |dir| edit_run(dir, "\"format_version\": 2", "\"format_version\": 3"),
            "run.json does not match",
        ),
        (
            "a part is missing",
            |dir| fs::remove_file(part(dir)).unwrap(),
            "part-00000.parquet is missing",
        ),
        (
            "an unlisted part",
            |dir| {
                fs::copy(part(dir), part(dir).with_file_name("part-00001.parquet")).unwrap();
            },
            "part-00001.parquet is not listed",
        ),
        (
            "an empty list",
            |dir| fs::write(dir.join("SHA256SUMS"), "").unwrap(),
            "run.json is not listed",
        ),
        (
            "no list",
            |dir| fs::write(dir.join("SHA256SUMS"), "none\n").unwrap(),
            "SHA256SUMS is damaged: line 1",
        ),
        ("foreign files", |dir| fs::write(dir.join("notes.txt"), "mine").unwrap(), ""),
    ];
    for (name, damage, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        sample::write(dir.path());
        damage(dir.path());
        let error = read_everything(dir.path()).err().unwrap_or_default();
        assert!(error.contains(expected), "case: {name}: {error}");
        assert_eq!(error.is_empty(), expected.is_empty(), "case: {name}: {error}");
    }
}

fn part(dir: &Path) -> PathBuf {
    dir.join("detours/part-00000.parquet")
}

fn edit_run(dir: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(dir.join("run.json")).unwrap();
    assert!(text.contains(from));
    fs::write(dir.join("run.json"), text.replace(from, to)).unwrap();
}

#[test]
fn recordings_are_found_below_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["run-02", "run-01", "job/host=b", "job/host=a", "a/b/too-deep", ".hidden"];
    for name in names {
        let run = sample::run(RunState::Complete);
        Recorder::create(&dir.path().join(name), &run).unwrap().finish(&run).unwrap();
    }
    let found =
        |path: &Path| find(path).unwrap().iter().map(|r| r.dir().to_owned()).collect::<Vec<_>>();
    let expected =
        ["job/host=a", "job/host=b", "run-01", "run-02"].map(|name| dir.path().join(name));
    assert_eq!(found(dir.path()), expected);
    assert_eq!(found(&expected[2]), [expected[2].clone()]);
    for (name, path) in
        [("empty", "a/b/too-deep/x"), ("absent", "nowhere"), ("a file", "run-01/run.json")]
    {
        let error = find(&dir.path().join(path)).unwrap_err();
        assert_eq!(error.kind, ProblemKind::NoInput, "case: {name}: {error}");
    }
}

/// A file of holes has any size and takes no space; reading all of it would take minutes.
#[test]
fn a_file_larger_than_any_part_is_refused_before_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    sample::write(dir.path());
    let part = dir.path().join("detours/part-00000.parquet");
    let file = fs::OpenOptions::new().write(true).open(&part).unwrap();
    if file.set_len(200 << 30).is_err() {
        return; // the file system has no such files
    }
    let begin = std::time::Instant::now();
    let error = read_everything(dir.path()).unwrap_err();
    assert!(error.contains("no file of a recording has over"), "{error}");
    assert!(begin.elapsed() < std::time::Duration::from_secs(10), "{:?}", begin.elapsed());
    assert!(Recording::open(dir.path()).unwrap().verify().is_err());
}

/// Eighty megabytes of text in a few kilobytes.
#[test]
fn names_that_would_fill_the_memory_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample::run(RunState::Complete);
    let mut recorder = Recorder::create(dir.path(), &run).unwrap();
    let name = |at: u64| Name {
        name: format!("{at:08}{}", "x".repeat(4_000)),
        ..sample::names()[0].clone()
    };
    let names: Vec<Name> = (0..20_000).map(name).collect();
    recorder.append(&names).unwrap();
    recorder.finish(&run).unwrap();
    let error = read_everything(dir.path()).unwrap_err();
    assert!(error.contains("are left of a column's"), "{error}");
}
