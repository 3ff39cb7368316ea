//! Root writes to no pipe, device or directory that another user controls, and still to those that nobody else does.

use crate::redirected::{STRANGER, example, may_be_another, place};
use crate::tool::{ANECHOIC, anechoic, arg, command, run, spawn, wait};
use anechoic_lab::note;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::process::Command;
use std::time::{Duration, Instant};

/// A reader behind a planted pipe would get what is private, and a device would be overwritten.
#[test]
fn force_writes_to_no_strangers_pipe_and_by_no_strangers_link_to_a_device() {
    if !may_be_another() {
        return;
    }
    let dir = place();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("shared")).expect("a directory");
    fs::set_permissions(at("shared"), Permissions::from_mode(0o1777)).expect("own");
    for pipe in ["theirs/pipe", "shared/pipe"] {
        command("mkfifo", &["-m", "666", arg(&at(pipe))]);
        chown(at(pipe), Some(STRANGER), Some(STRANGER)).expect("root may");
    }
    for link in ["theirs/device", "shared/device"] {
        symlink("/dev/null", at(link)).expect("a link");
        lchown(at(link), Some(STRANGER), Some(STRANGER)).expect("root may");
    }
    let (tool, before) = (at("anechoic"), at("before"));
    fs::copy(ANECHOIC, &tool).expect("a copy");
    command("cp", &["-r", arg(&example()), arg(&before)]);
    command("chmod", &["-R", "a+rX", arg(&before)]);
    let (tool, before) = (arg(&tool), arg(&before));
    let forms: [&[&str]; 5] = [
        &["export", "csv", before, "--force", "-o"],
        &["report", before, "--force", "-o"],
        &["summary", before, "--force", "-o"],
        &["gate", before, "--max-noise", "100%", "--force", "--junit"],
        &["gate", before, "--max-noise", "100%", "--markdown"],
    ];
    let root: &[&str] = &["20", tool];
    let other = ["20", "setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", tool];
    for (target, user) in [
        ("theirs/pipe", root),
        ("theirs/device", root),
        ("shared/pipe", root),
        ("shared/device", root),
        ("shared/pipe", &other[..]),
        ("shared/device", &other[..]),
    ] {
        for form in forms {
            let done = command("timeout", &[user, form, &[arg(&at(target))]].concat());
            assert_eq!(done.code, Some(73), "{user:?} {form:?} {target}: {}", done.err);
            assert!(done.err.contains("belongs to user 65534"), "{form:?} {target}: {}", done.err);
        }
    }
}

/// The summary of a job goes to the end of a file that is there, which another user could make a link.
#[test]
fn root_appends_no_summary_through_a_link_of_a_stranger() {
    if !may_be_another() {
        return;
    }
    let dir = place();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("precious"), "precious\n").expect("written");
    symlink(at("precious"), at("theirs/summary.md")).expect("a link");
    lchown(at("theirs/summary.md"), Some(STRANGER), Some(STRANGER)).expect("root may");
    symlink(at("precious"), at("own.md")).expect("a link");
    let precious = || fs::read_to_string(at("precious")).expect("it is there");
    for (target, code, length) in
        [("theirs/summary.md", 73, 1), ("theirs/new.md", 73, 1), ("own.md", 0, 4)]
    {
        let (example, target) = (example(), at(target));
        let gate = ["gate", arg(&example), "--max-noise", "100%", "--markdown", arg(&target)];
        let done = anechoic(&gate);
        assert_eq!(done.code, Some(code), "{target:?}: {}", done.err);
        assert!(precious().starts_with("precious\n"));
        assert!(precious().lines().count() >= length, "{target:?}: {}", precious());
        assert_eq!(precious().lines().count() > 1, code == 0, "{target:?}: {}", precious());
    }
    assert!(!at("theirs/new.md").exists());
}

#[test]
fn force_writes_to_own_pipes_and_to_what_is_open_already() {
    let dir = tempfile::tempdir().expect("a directory");
    let pipe = dir.path().join("pipe");
    command("mkfifo", &[arg(&pipe)]);
    let write = format!("{ANECHOIC} summary {} --force -o", arg(&example()));
    let expected = anechoic(&["summary", arg(&example())]).out;
    assert!(!expected.is_empty());
    let pipe = arg(&pipe);
    for script in [
        format!("{write} /dev/stdout | cat"),
        format!("{write} /dev/fd/3 3>&1 >/dev/null | cat"),
        format!("{write} /proc/self/fd/1 | cat"),
        format!("{write} >(cat) | cat"),
        format!("{write} {pipe} & cat {pipe}"),
    ] {
        let done = command("timeout", &["20", "bash", "-c", &script]);
        assert!(done.out.contains(expected.trim()), "{script}: {} {}", done.out, done.err);
    }
}

/// A primary group that many users share makes them no owners of what root writes.
#[test]
fn under_sudo_only_a_group_of_the_user_alone_is_trusted() {
    if !may_be_another() {
        return;
    }
    let dir = place();
    for (group, expected) in [(4711, 0), (100, 73), (0, 0)] {
        let target = dir.path().join(format!("of-{group}"));
        fs::create_dir(&target).expect("a directory");
        chown(&target, Some(4711), Some(group)).expect("root may");
        fs::set_permissions(&target, Permissions::from_mode(0o775)).expect("own");
        let mut man = Command::new(ANECHOIC);
        man.args(["man", arg(&target)]).env("SUDO_UID", "4711").env("SUDO_GID", group.to_string());
        let done = run(&mut man);
        assert_eq!(done.code, Some(expected), "group {group}: {}", done.err);
    }
}

/// A container with a user namespace of 65,536 users, as podman makes: one of them has the number as which the kernel
/// displays all users of outside.
#[test]
fn root_of_a_user_namespace_writes_below_directories_of_outside() {
    if !may_be_another() {
        return;
    }
    let (dir, tool) = (place(), "anechoic");
    fs::copy(ANECHOIC, dir.path().join(tool)).expect("a copy");
    for (name, owner) in [("root", 100_000), ("user", 101_000)] {
        fs::create_dir(dir.path().join(name)).expect("a directory");
        chown(dir.path().join(name), Some(owner), Some(owner)).expect("root may");
    }
    let mut holder = spawn(Command::new("unshare").args(["-U", "sleep", "60"]));
    let (id, own) = (holder.id(), fs::read_link("/proc/self/ns/user").expect("a namespace"));
    let space = format!("/proc/{id}/ns/user");
    let is_made = || fs::read_link(&space).is_ok_and(|space| space != own);
    let end = Instant::now() + Duration::from_secs(10);
    while !is_made() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    let maps = ["uid", "gid"].map(|kind| format!("/proc/{id}/{kind}_map"));
    if is_made() && maps.iter().all(|map| fs::write(map, "0 100000 65536").is_ok()) {
        for (name, expected) in [("root", 0), ("user", 73)] {
            let at = |name: &str| arg(&dir.path().join(name)).to_owned();
            let done =
                command("nsenter", &["-U", "-t", &id.to_string(), &at(tool), "man", &at(name)]);
            assert_eq!(done.code, Some(expected), "{name}: {}", done.err);
        }
    } else {
        note::skipped("needs a user namespace");
    }
    holder.kill().expect("it sleeps");
    wait(holder);
}
