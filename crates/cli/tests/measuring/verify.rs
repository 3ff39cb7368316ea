//! Tests `anechoic inject --verify` for real, and that no noise outlives the command.

use crate::tool::{self, anechoic, arg, calm, ensure, noisy, one_of, signal, start, wait};
use anechoic_lab::note;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Verifies for two seconds on one CPU; returns the exit code and the result for that CPU.
fn verify(cpu: &str, kind: &[&str]) -> (Option<i32>, Value) {
    let dir = tempfile::tempdir().expect("a directory");
    let recordings = dir.path().join("verify");
    let fixed = ["inject", "--verify", "--json", "--for", "2s", "--cpus", cpu, "-q", "--kind"];
    let done = anechoic(&[&fixed[..], kind, &["-o", arg(&recordings)]].concat());
    let result = serde_json::from_str(&done.out);
    (done.code, result.unwrap_or_else(|e| panic!("{e}: {} {}", done.out, done.err)))
}

fn number(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("{name}: {row}"))
}

/// Whatever else this machine does at the same time, delivered noise is detected.
#[test]
fn all_that_comes_is_seen() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let seen = |kind: &[&str]| {
        let (exit, result) = verify(&cpu, kind);
        let row = &result["cpus"][0];
        let (asked, delivered) = (number(row, "asked"), number(row, "delivered"));
        assert!(delivered > 0 && delivered <= asked, "{kind:?}: {row}");
        assert_eq!(asked, delivered + number(row, "overruns"), "{kind:?}: {row}");
        assert_eq!(number(&row["seen"], "found"), delivered, "{kind:?}: {row}");
        assert_eq!(number(&row["seen"], "missing"), 0, "{kind:?}: {row}");
        let expected = result["rate_hz"].as_f64().expect("known") * number(row, "window_ns") as f64;
        assert!((asked as f64 - expected / 1e9).abs() <= 2.0, "{kind:?}: {row}");
        assert!(matches!(exit, Some(0 | 1)), "{kind:?}: {result}");
        ensure(exit == Some(0), calm(row), || format!("durations are off: {row}"))
    };
    let _ = seen(&["interrupt", "--rate", "100hz"]);
    let _ = seen(&["interrupt", "--rate", "10khz"]);
    // Durations must also be right; a busy host makes all of them longer.
    let kernel = ["kernel", "--rate", "200hz", "-d", "50us"];
    one_of(5, || seen(&kernel));
}

/// Only the mean number of random times is known, but everything delivered is detected.
#[test]
fn threads_at_random_times_are_seen() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let kind = ["thread", "--rate", "200hz", "-d", "100us", "--poisson", "--seed", "7"];
    let (exit, result) = verify(&cpu, &kind);
    let row = &result["cpus"][0];
    assert!(matches!(exit, Some(0 | 1)), "{result}");
    let mean = number(row, "window_ns") / number(&result["injected"], "period_ns");
    assert_eq!(number(row, "asked"), mean, "{row}");
    let delivered = number(row, "delivered");
    // The standard deviation of 400 is 20.
    let came = delivered + number(row, "overruns");
    assert!(came.abs_diff(mean) <= 120, "{row}");
    assert_eq!(number(&row["seen"], "found"), delivered, "{row}");
}

/// A part of the requested noise is not all of it.
#[test]
fn a_signal_ends_it_with_a_warning() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let recordings = dir.path().join("verify");
    let noise = ["inject", "--kind", "interrupt", "--rate", "1khz", "--verify", "--for", "60s"];
    let child = start(&[&noise[..], &["--cpus", &cpu, "-o", arg(&recordings)]].concat());
    tool::until_running(&recordings.join("noise"));
    signal(&child, "INT");
    let done = wait(child);
    assert_eq!(done.code, Some(1), "{} {}", done.out, done.err);
}

/// A command whose parent is killed. It ends with the test at the latest.
struct Orphan(PathBuf);

impl Orphan {
    /// Returns the process that `parent` started, once it exists.
    fn started_by(parent: u32) -> Self {
        let children = format!("/proc/{parent}/task/{parent}/children");
        let child = || {
            let pids = fs::read_to_string(&children).ok()?;
            pids.split_whitespace().next().map(|pid| Orphan(Path::new("/proc").join(pid)))
        };
        until(child).expect("it starts the command")
    }

    /// Returns whether it runs; a killed process that was not waited for does not.
    fn lives(&self) -> bool {
        let status = fs::read_to_string(self.0.join("status")).unwrap_or_default();
        status.contains("Name:\tsleep") && !status.contains("State:\tZ")
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        let pid = self.0.file_name().and_then(|pid| pid.to_str());
        if let Some(pid) = pid.filter(|_| self.lives()) {
            tool::command("kill", &["-s", "KILL", pid]);
        }
    }
}

/// Waits for a condition that should soon hold.
fn until<T>(found: impl Fn() -> Option<T>) -> Option<T> {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let now = found();
        if now.is_some() || Instant::now() > end {
            return now;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the injecting threads of the process with that number.
fn injectors(pid: u32) -> usize {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    tasks.filter_map(name).filter(|name| name.starts_with("inject ")).count()
}

/// Returns the timer interrupts of one CPU since the start; `None` if this machine names them differently.
fn timer_interrupts(cpu: &str) -> Option<u64> {
    let all = fs::read_to_string("/proc/interrupts").expect("readable");
    let cpu = format!("CPU{cpu}");
    let column = all.lines().next()?.split_whitespace().position(|head| head == cpu)?;
    let row = all.lines().find_map(|line| line.trim_start().strip_prefix("LOC:"))?;
    row.split_whitespace().nth(column)?.parse().ok()
}

/// Returns how many come in a second.
fn in_a_second(cpu: &str) -> Option<f64> {
    let (start, before) = (Instant::now(), timer_interrupts(cpu)?);
    thread::sleep(Duration::from_secs(1));
    let came = timer_interrupts(cpu)?.saturating_sub(before);
    Some(came as f64 / start.elapsed().as_secs_f64())
}

#[test]
fn no_thread_outlives_a_kill_though_the_command_does() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let noise = ["inject", "--kind", "thread", "--rate", "200hz", "-d", "100us", "--cpus", &cpu];
    let child = start(&[&noise[..], &["--", "sleep", "60"]].concat());
    let pid = child.id();
    let sleep = Orphan::started_by(pid);
    assert!(until(|| (injectors(pid) == 1).then_some(())).is_some(), "one thread for one CPU");
    signal(&child, "KILL");
    let status = { child }.wait().expect("it ends");
    assert_eq!(status.code(), None, "killed");
    assert_eq!(injectors(pid), 0);
    assert!(sleep.lives(), "so its end is not what ended the noise");
}

/// At 20,000 interrupts per second, of which timer ticks and other timers make less than half.
#[test]
fn no_timer_outlives_a_kill_though_the_command_does() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    if timer_interrupts(&cpu).is_none() {
        note::skipped("/proc/interrupts has no LOC");
        return;
    }
    let noise = ["inject", "--kind", "interrupt", "--rate", "20khz", "--cpus", &cpu];
    let child = start(&[&noise[..], &["--", "sleep", "60"]].concat());
    let sleep = Orphan::started_by(child.id());
    let (before, noisy) = (in_a_second(&cpu), Some(10_000.0));
    assert!(before > noisy, "{before:?} a second while it is on");
    signal(&child, "KILL");
    { child }.wait().expect("it ends");
    let after = in_a_second(&cpu);
    assert!(sleep.lives(), "so its end is not what ended the noise");
    assert!(after < noisy, "{after:?} a second after the kill");
}
