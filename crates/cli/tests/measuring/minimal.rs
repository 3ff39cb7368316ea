//! `anechoic minimal` as the first process: of a PID namespace, which a test can end.

use crate::tool::{ANECHOIC, anechoic, arg, command, may_trace};
use anechoic_recording::run::RunState;
use anechoic_recording::{Recording, find};
use std::fs;
use std::path::Path;

/// Runs it as the first process of a namespace, with its recordings in `dir`.
fn first_process(dir: &Path, words: &[&str]) -> Option<i32> {
    let own = ["--pid", "--fork", "--mount", "--kill-child", ANECHOIC, "minimal", "-o", arg(dir)];
    let done = command("timeout", &[&["60", "unshare"], &own[..], words].concat());
    assert!(done.err.contains("the machine ends afterwards"), "{}", done.err);
    done.code
}

/// Returns the only recording below a directory.
fn only(dir: &Path) -> Recording {
    let mut found = find(dir).expect("a directory");
    assert_eq!(found.len(), 1, "{}", dir.display());
    found.remove(0)
}

#[test]
fn the_first_process_measures_and_writes_its_recording() {
    if !may_trace() {
        return;
    }
    let parent = tempfile::tempdir().expect("a directory");
    let dir = parent.path().join("new");
    let run = ["run", "--quiet", "--duration", "300ms", "--cpus", "1"];
    let words = ["--at-end", "exit", "--then", "ls >after"];
    assert_eq!(first_process(&dir, &[&words[..], &run].concat()), Some(0));
    let recording = only(&dir);
    let run = recording.run();
    assert_eq!(run.state, RunState::Complete);
    assert!(run.trace.is_some(), "kernel events: {:?}", run.not_available);
    let log = fs::read_to_string(dir.join("minimal.log")).expect("a log");
    assert!(log.contains("1 CPU"), "{log}");
    let after = fs::read_to_string(dir.join("after")).expect("what followed");
    assert!(after.contains("minimal.log"), "after the measurement: {after}");

    // What cannot be measured ends it with the reason in the log.
    let dir = parent.path().join("wrong");
    let wrong = ["--at-end", "exit", "run", "--cpus", "99999"];
    assert_eq!(first_process(&dir, &wrong), Some(64));
    let log = fs::read_to_string(dir.join("minimal.log")).expect("a log");
    assert!(log.contains("99999"), "{log}");
}

#[test]
fn a_restart_ends_what_it_is_the_first_process_of() {
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let run = ["run", "--quiet", "--duration", "300ms", "--cpus", "1"];
    let code = first_process(dir.path(), &run);
    assert_ne!(code, Some(0), "the namespace was ended");
    assert_ne!(code, Some(124), "in time");
    assert_eq!(only(dir.path()).run().state, RunState::Complete);
}

#[test]
fn started_by_hand_it_says_how_to_boot_it() {
    let done = anechoic(&["minimal", "--at-end", "power-off", "measure", "fwq", "--cpus", "1"]);
    let line =
        format!("panic=30 init={ANECHOIC} -- minimal --at-end power-off measure fwq --cpus 1");
    assert!(done.out.contains(&line), "{}", done.out);
    assert!(done.out.contains("kexec -l") && !done.out.contains("BOOT_IMAGE="), "{}", done.out);
    assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
    let quotes = anechoic(&["minimal", "--then", "echo \"a\""]);
    assert_eq!(quotes.code, Some(64), "{}", quotes.err);
    let quotes = anechoic(&["minimal", "--then", "echo 'a'"]).out;
    assert!(quotes.contains(r#"--then "echo '\''a'\''" run"#), "{quotes}");
    assert!(quotes.contains("Not from the menu of the boot loader"), "{quotes}");
}

#[test]
fn an_initramfs_comes_with_the_commands_that_boot_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let (image, kernel) = (dir.path().join("noise.img"), dir.path().join("vmlinuz"));
    fs::write(&kernel, "a kernel").expect("a file");
    let words =
        ["minimal", "--initramfs", arg(&image), "--kernel", arg(&kernel), "--at-end", "power-off"];
    let done = anechoic(&words);
    assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
    let archive = fs::read(&image).expect("an archive");
    assert!(
        archive.starts_with(b"070701")
            && archive.len() as u64 > fs::metadata(ANECHOIC).expect("a file").len()
    );
    let own = "panic=30 -- minimal --at-end power-off --send /dev/ttyS1 run --duration 60s";
    let expected = [
        format!("console=ttyS0 {own}"),
        format!("kexec -l {} --initrd={}", kernel.display(), image.display()),
        format!("-kernel {} -initrd {}", kernel.display(), image.display()),
    ];
    for text in expected {
        assert!(done.out.contains(&text), "{text}: {}", done.out);
    }
    let cases = [
        (&words[..], 73, "already exists"),
        (&["minimal", "--initramfs", "x", "--then", "sync"], 64, "exclude each other"),
        (&["minimal", "--kernel", "x"], 64, "--initramfs"),
        (&["minimal", "--force", "--initramfs", arg(&image), "--kernel", "/absent"], 65, "/absent"),
    ];
    for (words, code, text) in cases {
        let done = anechoic(words);
        assert_eq!(done.code, Some(code), "{words:?}: {}", done.err);
        assert!(done.err.contains(text), "{words:?}: {}", done.err);
    }
}
