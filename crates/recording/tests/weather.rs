//! What can go wrong while a recording is written: refused directories, a full disk, a kill.

#![cfg(target_os = "linux")]

use anechoic_lab::note;
use anechoic_lab::sample;
use anechoic_recording::run::RunState;
use anechoic_recording::{Activity, Detour, Loss, Recorder, Recording, Sample, WriteError};
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn detours(recording: &Recording) -> Vec<Detour> {
    recording.rows().collect::<Result<Vec<_>, _>>().unwrap().concat()
}

/// Many detours, starting with number `first`.
fn many(first: u64, count: u64) -> Vec<Detour> {
    // Lengths without a pattern, so that they do not compress.
    let length =
        |i: u64| (i ^ 0x9e37_79b9).wrapping_pow(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34;
    let start = |i: u64| sample::START + (i << 31);
    let row = |i| Detour { cpu: 0, start_ticks: start(i), end_ticks: start(i) + length(i) + 1 };
    (first..first + count).map(row).collect()
}

#[test]
fn directories_that_cannot_be_used_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("empty")).unwrap();
    fs::create_dir(path("used")).unwrap();
    fs::write(path("used/file"), "mine").unwrap();
    fs::write(path("file"), "mine").unwrap();
    let proc = Path::new("/proc/self/recording").to_owned();
    let cases = [
        ("does not exist", path("new/below"), None),
        ("exists and is empty", path("empty"), None),
        ("has a file", path("used"), Some("used is not empty; use a new directory")),
        ("is a file", path("file"), Some("cannot write to")),
        (
            "lies below a file",
            path("file/new"),
            Some("it is not a directory; name another directory"),
        ),
        ("is not writable", proc, Some("cannot write to /proc/self/recording")),
    ];
    for (name, dir, expected) in cases {
        let error = Recorder::create(&dir, &sample::run(RunState::Running)).err();
        let error = error.map(|error| error.to_string());
        match expected {
            None => assert_eq!(error, None, "case: {name}"),
            Some(text) => assert!(error.unwrap().contains(text), "case: {name}"),
        }
    }
    assert_eq!(fs::read_to_string(path("used/file")).unwrap(), "mine");
}

#[test]
fn rows_out_of_order_are_refused_and_the_rest_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::create(dir.path(), &sample::run(RunState::Running)).unwrap();
    recorder.append(&many(5, 2)).unwrap();
    for (name, rows) in [
        ("before those of the last block", many(0, 1)),
        ("within a block", [many(9, 1), many(8, 1)].concat()),
        ("backwards", vec![Detour { cpu: 0, start_ticks: u64::MAX, end_ticks: 3 }]),
    ] {
        let error = recorder.append(&rows).unwrap_err();
        assert!(error.to_string().contains("on CPU 0 are out of order"), "case: {name}: {error}");
    }
    recorder.append(&many(7, 1)).unwrap();
    recorder.finish(&sample::run(RunState::Complete)).unwrap();
    assert_eq!(detours(&Recording::open(dir.path()).unwrap()), many(5, 3));
}

#[test]
fn series_may_overlap_on_their_cpu_but_not_samples_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::create(dir.path(), &sample::run(RunState::Running)).unwrap();
    let row = |(series, start_ticks, end_ticks)| Sample {
        series,
        index: 0,
        cpu: 0,
        start_ticks,
        end_ticks,
        count: 1,
    };
    let copies = [(0, 100, 200), (1, 150, 250), (0, 200, 300), (1, 250, 260)].map(row);
    recorder.append(&copies).unwrap();
    for (name, rows) in [
        ("of the first", vec![row((0, 299, 400))]),
        ("of the second", vec![row((1, 259, 400))]),
        ("within a block", [(2, 10, 20), (0, 300, 310), (2, 19, 30)].map(row).to_vec()),
    ] {
        let error = recorder.append(&rows).unwrap_err();
        assert!(error.to_string().contains("on CPU 0 are out of order"), "case: {name}: {error}");
    }
    recorder.finish(&sample::run(RunState::Complete)).unwrap();
    let recording = Recording::open(dir.path()).unwrap();
    let read = recording.rows::<Sample>().collect::<Result<Vec<_>, _>>().unwrap().concat();
    assert_eq!(read, copies);
}

#[test]
fn parts_follow_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::create(dir.path(), &sample::run(RunState::Running)).unwrap();
    for i in 0..3 {
        recorder.append(&many(i * 10, 10)).unwrap();
        recorder.complete_parts().unwrap();
        assert_eq!(recorder.safe_rows::<Detour>(), (i + 1) * 10);
    }
    recorder.append(&many(30, 300_000)).unwrap();
    // Not finished: complete parts are readable while the run goes on.
    let recording = Recording::open(dir.path()).unwrap();
    assert!(recording.cut_off());
    assert_eq!(detours(&recording), many(0, 30));
    recorder.finish(&sample::run(RunState::Interrupted("SIGINT".into()))).unwrap();
    let recording = Recording::open(dir.path()).unwrap();
    let groups: Vec<_> = recording.rows::<Detour>().map(|rows| rows.unwrap().len()).collect();
    assert_eq!(groups, [10, 10, 10, 131_072, 131_072, 37_856]);
    assert_eq!(detours(&recording), many(0, 300_030));
    assert!(!dir.path().join(".reserve").exists());
}

/// The child process of the next test: writes until it is killed.
#[test]
#[ignore = "runs as a child of a_killed_writer_loses_no_complete_part"]
fn write_until_killed() {
    let dir = std::env::var_os("ANECHOIC_TEST_DIR").expect("the parent says where");
    let mut recorder = Recorder::create(dir.as_ref(), &sample::run(RunState::Running)).unwrap();
    for i in 0.. {
        recorder.append(&many(i * 20_000, 20_000)).unwrap();
        if i % 3 == 2 {
            recorder.complete_parts().unwrap();
        }
    }
}

#[test]
fn a_killed_writer_loses_no_complete_part() {
    let place = tempfile::tempdir().unwrap();
    for delay_ms in [0, 7, 23, 40] {
        let dir = place.path().join(delay_ms.to_string());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["weather::write_until_killed", "--exact", "--ignored"])
            .env("ANECHOIC_TEST_DIR", &dir)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !dir.join("detours/part-00001.parquet").exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the child writes");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(delay_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        let recording = Recording::open(&dir).unwrap();
        assert!(recording.cut_off());
        let rows = detours(&recording);
        assert!(rows.len() >= 120_000 && rows.len().is_multiple_of(60_000), "{} rows", rows.len());
        assert_eq!(rows, many(0, rows.len() as u64));
    }
}

#[test]
fn a_full_disk_keeps_what_was_complete() {
    let Some((_disk, disk)) = tiny_disk("8m") else { return };
    let dir = disk.join("recording");
    let mut recorder = Recorder::create(&dir, &sample::run(RunState::Running)).unwrap();
    let mut appended = 0;
    let error = loop {
        match recorder.append(&many(appended, 50_000)) {
            Ok(()) => appended += 50_000,
            Err(error) => break error,
        }
    };
    let WriteError::Full { safe_rows, .. } = error else { panic!("{error}") };
    assert!(safe_rows >= 100_000 && safe_rows + 50_000 >= appended, "{safe_rows} of {appended}");
    assert_eq!(recorder.safe_rows::<Detour>(), safe_rows);
    assert_eq!(detours(&Recording::open(&dir).unwrap()), many(0, safe_rows));
    // Fill the rest of the disk with another file.
    let _ = fs::write(disk.join("filler"), vec![1; 8 << 20]);
    assert!(matches!(recorder.append(&sample::losses()), Err(WriteError::Full { .. })));
    // The reserved space lets the run end properly.
    recorder.finish(&sample::run(RunState::Interrupted("disk full".into()))).unwrap();
    let recording = Recording::open(&dir).unwrap();
    recording.verify().unwrap();
    assert_eq!(recording.run().state, RunState::Interrupted("disk full".into()));
    assert_eq!(detours(&recording), many(0, safe_rows));
    assert_eq!(recording.rows::<Loss>().count(), 0);
}

/// A file system may be out of files while it has space.
#[test]
fn a_disk_without_room_for_another_file_keeps_the_end_of_the_run() {
    let Some((_disk, disk)) = tiny_disk("32m") else { return };
    let dir = disk.join("recording");
    let mut recorder = Recorder::create(&dir, &sample::run(RunState::Running)).unwrap();
    recorder.append(&many(0, 1_000)).unwrap();
    let filled = (0..1 << 20).find(|i| fs::write(disk.join(format!("filler-{i}")), "").is_err());
    assert!(filled.is_some(), "the disk has room for any number of files");
    assert!(matches!(recorder.append(&sample::samples(0)), Err(WriteError::Full { .. })));
    recorder.release_reserve();
    recorder.complete_parts().unwrap();
    recorder.append(&sample::losses()).unwrap();
    recorder.finish(&sample::run(RunState::Interrupted("no files".into()))).unwrap();
    let recording = Recording::open(&dir).unwrap();
    recording.verify().unwrap();
    assert_eq!(recording.run().state, RunState::Interrupted("no files".into()));
    assert_eq!(detours(&recording), many(0, 1_000));
    assert!(recording.rows::<Loss>().count() > 0);
}

#[test]
fn a_derived_table_is_replaced_whole_or_not_at_all() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("r");
    sample::write(&dir);
    let read = || {
        let recording = Recording::open(&dir).unwrap();
        recording.verify().unwrap();
        recording.rows::<Activity>().collect::<Result<Vec<_>, _>>().unwrap().concat()
    };
    let old = [sample::activities(0), sample::activities(1)].concat();
    let recording = Recording::open(&dir).unwrap();
    let mut dropped = recording.derive::<Activity>().unwrap();
    dropped.append(&sample::activities(1)).unwrap();
    drop(dropped);
    assert_eq!(read(), old);
    let mut writer = recording.derive::<Activity>().unwrap();
    writer.append(&sample::activities(1)).unwrap();
    assert_eq!(read(), old, "not before it is finished");
    writer.finish().unwrap();
    assert_eq!(read(), sample::activities(1));
    recording.derive::<Activity>().unwrap().finish().unwrap();
    assert_eq!(read(), []);
    let mut names: Vec<_> = fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names[0], "SHA256SUMS", "nothing hidden is left: {names:?}");
}

#[test]
fn a_kill_between_two_names_leaves_a_recording_that_opens() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("r");
    sample::write(&dir);
    // The end of a run: the checksums are those of the final run.json, which is not renamed yet.
    let (run, staged) = (dir.join("run.json"), dir.join(".run.json.tmp"));
    fs::rename(&run, &staged).unwrap();
    fs::write(&run, "what was there while the run went on").unwrap();
    assert_eq!(Recording::open(&dir).unwrap().run().state, RunState::Complete);
    fs::rename(&staged, &run).unwrap();
    // A derived table that is being replaced has no checksum.
    let sums = fs::read_to_string(dir.join("SHA256SUMS")).unwrap();
    let without: Vec<_> =
        sums.split_inclusive('\n').filter(|l| !l.contains("activities")).collect();
    fs::write(dir.join("SHA256SUMS"), without.concat()).unwrap();
    let recording = Recording::open(&dir).unwrap();
    assert_eq!(recording.rows::<Activity>().map(|rows| rows.unwrap().len()).sum::<usize>(), 14);
}

/// A file system of `size` that no path leads to but its own descriptor's, so that nothing of it can stay;
/// `None`, with the reason printed, where that is not allowed.
fn tiny_disk(size: &str) -> Option<(OwnedFd, PathBuf)> {
    use rustix::mount::{self, FsMountFlags, FsOpenFlags, MountAttrFlags};
    let mounted = mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).and_then(|disk| {
        mount::fsconfig_set_string(disk.as_fd(), "size", size)?;
        mount::fsconfig_set_string(disk.as_fd(), "nr_inodes", "1000")?;
        mount::fsconfig_create(disk.as_fd())?;
        mount::fsmount(disk.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    });
    match mounted {
        Ok(disk) => {
            let path = PathBuf::from(format!("/proc/self/fd/{}", disk.as_raw_fd()));
            Some((disk, path))
        }
        Err(error) => {
            note::skipped(format_args!("cannot mount a tmpfs to fill up: {error}"));
            None
        }
    }
}
