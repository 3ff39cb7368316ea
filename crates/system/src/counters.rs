//! The kernel's own counters, read before and after a run. Their increase shows how often everything
//! happened, without privileges and independently of the tracer.

mod interrupts;

use anechoic_recording::NameKind;
use anechoic_recording::rows::{Counter, Name};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// All counters at one time.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// One row per counter and CPU. What the kernel does not show has no row.
    pub counters: Vec<Counter>,
    /// Action names of the numbered interrupts.
    pub names: Vec<Name>,
}

impl Snapshot {
    /// Reads the counters of `cpus`.
    ///
    /// `now` reads the run's counter in ticks and is called just before each file is read. The names of the
    /// rows are those of [`Counter`]; times are in nanoseconds.
    #[must_use]
    pub fn take(cpus: &[u32], now: impl Fn() -> u64) -> Self {
        Self::take_in(Path::new("/proc"), cpus, now)
    }

    /// Reads the counters from the files under `proc`.
    fn take_in(proc: &Path, cpus: &[u32], now: impl Fn() -> u64) -> Self {
        let mut snapshot = Self::default();
        let cpus: &HashSet<u32> = &cpus.iter().copied().collect();
        let read = |file: &str| {
            let ticks = now();
            fs::read(proc.join(file)).ok().map(|text| (ticks, lossy(&text)))
        };
        if let Some((ticks, text)) = read("interrupts") {
            snapshot.add(ticks, "interrupts/", cpus, interrupts::rows(&text));
            snapshot.names = interrupts::names(&text).map(irq_name).collect();
        }
        if let Some((ticks, text)) = read("softirqs") {
            snapshot.add(ticks, "softirqs/", cpus, interrupts::rows(&text));
        }
        if let Some((ticks, text)) = read("schedstat") {
            snapshot.add(ticks, "", cpus, run_delays(&text));
        }
        if let Some((ticks, text)) = read("stat") {
            snapshot.add(ticks, "", cpus, steal(&text, rustix::param::clock_ticks_per_second()));
        }
        snapshot
    }

    /// Adds the rows of these CPUs. On a large machine that may be few of very many.
    fn add<'a>(
        &mut self,
        ticks: u64,
        prefix: &str,
        cpus: &HashSet<u32>,
        rows: impl Iterator<Item = (&'a str, u32, u64)>,
    ) {
        let wanted = rows.filter(|(_, cpu, _)| cpus.contains(cpu));
        self.counters.extend(wanted.map(|(key, cpu, value)| Counter {
            name: format!("{prefix}{key}"),
            cpu,
            ticks,
            value,
        }));
    }
}

/// Returns for how many nanoseconds the calling thread was runnable without running. It is the only measure
/// of time lost to other threads that needs no privileges. `None` if the kernel does not keep it.
#[must_use]
pub fn own_run_delay_ns() -> Option<u64> {
    run_delay(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// What the scheduler counted of a thread, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTimes {
    /// It had a CPU.
    pub ran_ns: u64,
    /// It was runnable without one.
    pub waited_ns: u64,
}

/// Returns the times of the first thread of a process. `None` if it does not exist, or if the kernel does not keep them.
#[must_use]
pub fn run_times(pid: i32) -> Option<RunTimes> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let ran_ns = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(RunTimes { ran_ns, waited_ns: run_delay(&text)? })
}

/// Returns the second number of a thread's `schedstat`.
fn run_delay(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn irq_name((number, name): (u64, String)) -> Name {
    Name { kind: NameKind::Irq, key: number, ticks: 0, name }
}

/// The versions of /proc/schedstat in which the eighth number of a CPU's line is the time that tasks waited
/// in its run queue, in nanoseconds.
const SCHEDSTAT_VERSIONS: std::ops::RangeInclusive<u32> = 15..=17;

/// Reads the time that runnable tasks waited on each CPU, from /proc/schedstat; empty if the version is
/// unknown.
pub(crate) fn run_delays(text: &str) -> impl Iterator<Item = (&'static str, u32, u64)> {
    let version = text.lines().next().and_then(|line| line.strip_prefix("version "));
    let known = version
        .and_then(|version| version.trim().parse().ok())
        .is_some_and(|version| SCHEDSTAT_VERSIONS.contains(&version));
    text.lines().filter(move |_| known).filter_map(|line| {
        let (cpu, value) = cpu_field(line, 8)?;
        Some(("schedstat/run_delay_ns", cpu, value))
    })
}

/// Reads the time stolen from each CPU, from /proc/stat, which counts it in units of 1/`user_hz` s.
fn steal(text: &str, user_hz: u64) -> impl Iterator<Item = (&'static str, u32, u64)> {
    let unit_ns = 1_000_000_000 / user_hz.max(1);
    text.lines().filter_map(move |line| {
        let (cpu, value) = cpu_field(line, 8)?;
        Some(("stat/steal_ns", cpu, value.checked_mul(unit_ns)?))
    })
}

/// Parses the CPU and the `field`th number (from 1) of a line `cpuN number number ...`.
fn cpu_field(line: &str, field: usize) -> Option<(u32, u64)> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let cpu = words.next()?.parse().ok().filter(|_| !line.starts_with("cpu "))?;
    Some((cpu, words.nth(field - 1)?.parse().ok()?))
}

#[cfg(test)]
mod tests;
