//! Tests what `anechoic record` finds running, several processes and control groups, against the kernel's own accounts: those
//! of the group (`cpu.stat`) and of each process.

use crate::tool::group::Group;
use crate::tool::{self, anechoic, arg, may_trace, spawn, start, summary, wait};
use anechoic_lab::note;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Starts a process that waits for a line, uses a CPU for some milliseconds with pauses in between, prints how much CPU time
/// that took in s, and waits for another line.
fn busy(ms: u32) -> Child {
    let code = format!(
        "
import signal, sys, time
signal.alarm(60)
sys.stdin.readline()
begun, end = time.process_time(), time.monotonic() + {ms} / 1e3
while time.monotonic() < end:
    sum(range(1000000))
    time.sleep(0.001)
print(time.process_time() - begun, flush=True)
sys.stdin.readline()"
    );
    spawn(Command::new("python3").args(["-c", &code]).stdin(Stdio::piped()))
}

/// Sends a line to a process.
fn go(process: &mut Child) {
    process.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("it goes on");
}

/// Waits until a recording has found its target and waits for its end, by an open file of this kind.
fn until_begun(recording: &Child, kind: &str) {
    let files = format!("/proc/{}/fd", recording.id());
    let is_open = || {
        let files = fs::read_dir(&files).into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|to| to.to_string_lossy().contains(kind))
    };
    for _ in 0..200 {
        if is_open() {
            return sleep(500); // past its reading of the kernel's account
        }
        sleep(50);
    }
    panic!("it has not begun");
}

fn sleep(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Returns why what the events of a recording show is not this CPU time, if it is not.
fn objection(dir: &Path, used_ms: f64) -> Option<String> {
    let account = &summary(dir)["run"]["program"]["account"];
    let ms = |key: &str| number(&account[key]) / 1e6;
    let current = ms("executed_ns") + ms("interrupted_ns");
    let tolerance = (used_ms / 100.0).max(5.0);
    let least = used_ms - ms("waking_ns") - tolerance;
    let most = used_ms + ms("unseen_ns") + ms("steal_ns") + tolerance;
    println!("{current} ms of {used_ms} ms, the kernel's account is {} ms", ms("kernel_ns"));
    (!(least..=most).contains(&current)).then(|| format!("not {used_ms} ms: {account:#}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

/// Two processes begin in the group. One leaves it after a while, another that is busy already comes.
#[test]
fn a_control_group_has_the_cpu_time_that_the_kernel_counts_for_it() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(group) = Group::make("time") else { return };
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("r");
    let (mut stays, mut leaves, mut comes) = (busy(900), busy(2_500), busy(1_500));
    group.take(&stays);
    group.take(&leaves);
    let name = group.path().file_name().and_then(|name| name.to_str()).expect("a name");
    let recording = start(&["record", "-q", "-o", arg(&dir), "--cgroup", name]);
    until_begun(&recording, "inotify");
    let before = group.cpu_ms(); // all wait for their lines
    [&mut stays, &mut leaves, &mut comes].into_iter().for_each(go);
    sleep(500);
    group.take(&comes);
    sleep(500);
    group.give_away(&leaves);
    sleep(1_000);
    go(&mut stays);
    go(&mut comes);
    let done = wait(recording);
    let used_ms = group.cpu_ms() - before;
    leaves.kill().expect("it was started");
    for process in [stays, leaves, comes] {
        wait(process);
    }
    assert_eq!(done.code, Some(0), "it ends with the last process: {done:?}");
    assert_eq!(objection(&dir, used_ms), None);
    let program = &summary(&dir)["run"]["program"];
    assert_eq!(program["name"], name);
    assert_eq!(program["threads"], 3, "{program:#}");
    assert_eq!(program["account"]["outside_ns"], 0, "{program:#}");
    if used_ms < 200.0 {
        note::not_judged(format!("it hardly got a CPU: {used_ms} ms"));
    }
}

/// A process in the recorded group is held back by its quota, and another one enters a group inside it that has a quota, too.
#[test]
fn each_quota_of_a_recorded_control_group_is_named() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(group) = Group::with_quota() else { return };
    let Some(inside) = group.inside() else {
        return note::skipped("groups inside have no quota of their own");
    };
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("r");
    let mut both = [busy(2_500), busy(2_000)];
    both.iter().for_each(|process| group.take(process));
    let first = [&group, &inside].map(Group::throttled_ns);
    let recording = start(&["record", "-o", arg(&dir), "--cgroup", arg(group.path()), "-d", "4s"]);
    sleep(1_500);
    let before = [&group, &inside].map(Group::throttled_ns);
    both.iter_mut().for_each(go);
    inside.take(&both[1]);
    let done = wait(recording);
    let held = [&group, &inside].map(Group::throttled_ns);
    both.iter_mut().for_each(go);
    both.into_iter().for_each(|process| drop(wait(process)));
    let limits = &summary(&dir)["run"]["limits"];
    let also = limits["also_limited"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut named = vec![(&limits["limited"], &limits["throttled_ns"])];
    named.extend(also.iter().map(|other| (&other["cgroup"], &other["throttled_ns"])));
    let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for (at, group) in [&group, &inside].into_iter().enumerate() {
        let (truth, name) = (held[at] - before[at], arg(group.path()));
        let most = held[at] - first[at];
        let found = named.iter().find(|(cgroup, _)| *cgroup == name);
        let found = found.map_or(0.0, |(_, ns)| number(ns));
        // The tool looks once a second which groups there are.
        assert!((truth - 1.2e9..most + 1.0).contains(&found), "{found} of {truth}: {done:#?}");
        assert!(truth < 1.5e9 || words.contains(&format!("{name} (20.0 % of one CPU)")), "{words}");
    }
}

#[test]
fn several_processes_have_the_cpu_time_that_they_used() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("r");
    let mut both = [busy(700), busy(500)];
    sleep(300);
    let pids = both.each_ref().map(|process| process.id().to_string());
    let recording =
        start(&["record", "-q", "-o", arg(&dir), "--pid", &pids.join(","), "--duration", "4s"]);
    until_begun(&recording, "pidfd");
    both.iter_mut().for_each(go);
    let done = wait(recording);
    both.iter_mut().for_each(go);
    let times = both.map(|process| wait(process).out.trim().parse::<f64>().expect("a time"));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(objection(&dir, 1e3 * times.iter().sum::<f64>()), None);
    let program = &summary(&dir)["run"]["program"];
    assert_eq!(program["name"], "python3 and python3");
    assert_eq!(program["threads"], 2, "{program:#}");
    assert_eq!(program["account"]["outside_ns"], 0, "{program:#}");
}

#[test]
fn a_control_group_without_processes_is_refused_and_one_that_becomes_empty_ends() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(group) = Group::make("empty") else { return };
    let path = arg(group.path());
    let empty = anechoic(&["record", "--no-save", "--cgroup", path]);
    assert!(empty.code == Some(66) && empty.is_one_clear_line(), "{empty:?}");
    assert!(empty.err.contains(path), "{}", empty.err);
    let process = busy(1);
    group.take(&process);
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("r");
    let recording = start(&["record", "-q", "-o", arg(&dir), "--cgroup", path]);
    until_begun(&recording, "inotify");
    drop(group); // ends the process, and removes the group
    let done = wait(recording);
    wait(process);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(summary(&dir)["run"]["state"], "complete");
    for (option, name, expected) in [
        ("--cgroup", "anechoic-nowhere", "anechoic-nowhere"),
        ("--unit", "anechoic-nowhere", "anechoic-nowhere.service"),
        ("--container", "0123456789ab", "0123456789ab"),
        ("--container", "01234", "six digits"),
    ] {
        let done = anechoic(&["record", "--no-save", option, name]);
        assert_eq!(done.code, Some(66), "{option} {name}: {}", done.err);
        assert!(done.is_one_clear_line() && done.err.contains(expected), "{}", done.err);
    }
}
