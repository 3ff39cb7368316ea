//! What ran in a recording that was saved.

use crate::summary::Breakdown;
use crate::waits::{HolderKind, ThreadRow, threads};
use crate::{share, summarize};
use anechoic_recording::sources::{self, Class, SOFTIRQS};
use anechoic_recording::{EventKind, KernelEvent, Name, NameKind, Problem, Recording};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Number of names that are kept of each list.
const NAMES: usize = 5;

/// A name with its share of all.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NamedShare {
    /// The name of a thread, or of a kind of softirq with the thread that had the CPU.
    pub name: String,
    /// Its share, from 0 to 1.
    pub share: f64,
}

/// How often an interrupt or a softirq came.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InterruptRate {
    /// Identifier of its source.
    pub source: String,
    /// Its name within the source.
    pub name: String,
    /// Number per second, on all CPUs.
    pub per_s: f64,
}

/// A recording of what ran, that was saved.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Saved {
    /// Its directory.
    pub path: String,
    /// Its start, RFC 3339 in UTC, by the clock of the counters where that is known.
    pub start_utc: String,
    /// Its length, in s.
    pub length_s: f64,
    /// Why it was saved, in words; empty if that is not known.
    pub reasons: Vec<String>,
    /// Which threads had CPUs while others waited for these, with their shares of all such time, largest first; at most five.
    pub had_cpus: Vec<NamedShare>,
    /// Interrupts and softirqs that interrupted threads, most first; at most five.
    pub interrupts: Vec<InterruptRate>,
    /// Threads with their shares of all CPU time of threads, largest first; at most five.
    pub executed: Vec<NamedShare>,
    /// Softirqs: the name of the thread that had the CPU and their kind, with their share of all, most first; at most five.
    pub softirqs: Vec<NamedShare>,
    /// Threads to which CPUs were switched, with their share of all switches to threads, most first; at most five.
    pub switched_to: Vec<NamedShare>,
    /// Threads that began others, with their share of all that were begun, most first; at most five.
    pub forked: Vec<NamedShare>,
    /// Where it begins, in s of `CLOCK_BOOTTIME`; absent if the recording does not have it.
    #[serde(skip)]
    pub(super) start_boottime_s: Option<f64>,
}

impl Saved {
    /// Reads a recording of a program, or of all programs; `path` is where it is.
    ///
    /// # Errors
    /// The recording is damaged.
    pub fn read(path: String, recording: &Recording) -> Result<Self, Problem> {
        let run = recording.run();
        let summary = summarize(recording)?;
        let rows = threads(recording)?.unwrap_or_default();
        let counted = Counted::read(recording)?;
        let length_s = run.clock.seconds(run.end_ticks.saturating_sub(run.start_ticks));
        Ok(Self {
            path,
            start_utc: run.start_utc.clone(),
            length_s,
            reasons: vec![],
            had_cpus: largest(holders(&rows)),
            interrupts: interrupts(summary.sources.as_ref(), length_s),
            executed: largest(rows.iter().map(|row| (row.name.clone(), row.executed_ns))),
            softirqs: largest(counted.softirqs.into_iter()),
            switched_to: largest(counted.switched_to.into_iter()),
            forked: largest(counted.forked.into_iter()),
            start_boottime_s: run.end_boottime_ns.map(|ns| ns as f64 / 1e9 - length_s),
        })
    }
}

/// How often something happened, by name.
#[derive(Default)]
struct Counted {
    softirqs: BTreeMap<String, u64>,
    switched_to: BTreeMap<String, u64>,
    forked: BTreeMap<String, u64>,
}

impl Counted {
    /// Counts the events of a recording.
    fn read(recording: &Recording) -> Result<Self, Problem> {
        let (mut names, mut found) = (HashMap::new(), Self::default());
        for name in recording.rows::<Name>().each() {
            let name = name?;
            if name.kind == NameKind::Task {
                names.insert(name.key, name.name);
            }
        }
        let (mut softirqs, mut switches, mut forks) =
            (HashMap::new(), HashMap::new(), HashMap::new());
        for event in recording.rows::<KernelEvent>().each() {
            let event = event?;
            let (pid, number) = (u64::from(event.pid.cast_unsigned()), event.args[0]);
            match event.kind {
                EventKind::SoftirqEntry => *softirqs.entry((pid, number)).or_insert(0) += 1,
                EventKind::Switch if number > 0 => *switches.entry(number).or_insert(0) += 1,
                EventKind::NewTask => *forks.entry(pid).or_insert(0) += 1,
                _ => {}
            }
        }
        for ((pid, vector), count) in softirqs {
            let kind = SOFTIRQS.get(vector as usize).copied().unwrap_or("?");
            *found.softirqs.entry(format!("{kind} in {}", named(&names, pid))).or_insert(0) +=
                count;
        }
        for (pid, count) in switches {
            *found.switched_to.entry(named(&names, pid)).or_insert(0) += count;
        }
        for (pid, count) in forks {
            *found.forked.entry(named(&names, pid)).or_insert(0) += count;
        }
        Ok(found)
    }
}

/// Returns the name of a thread.
fn named(names: &HashMap<u64, String>, pid: u64) -> String {
    match names.get(&pid) {
        _ if pid == 0 => "idle CPU".to_owned(),
        Some(name) => name.clone(),
        None => format!("thread {pid}"),
    }
}

fn holders(rows: &[ThreadRow]) -> impl Iterator<Item = (String, u64)> {
    let behind = rows.iter().flat_map(|row| &row.behind);
    let of_threads = behind.filter(|behind| {
        matches!(behind.holder.kind, HolderKind::OwnThread | HolderKind::OtherThread)
    });
    of_threads.map(|behind| (behind.holder.name.clone(), behind.held_ns))
}

/// Returns the names with the largest sums, and their shares of all.
fn largest(parts: impl Iterator<Item = (String, u64)>) -> Vec<NamedShare> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, part) in parts {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(part);
    }
    let all: u64 = sums.values().sum();
    let mut sums: Vec<(String, u64)> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
    sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sums.truncate(NAMES);
    sums.into_iter().map(|(name, sum)| NamedShare { name, share: share(sum, all) }).collect()
}

/// Returns the interrupts and softirqs that came most often.
fn interrupts(breakdown: Option<&Breakdown>, length_s: f64) -> Vec<InterruptRate> {
    let rows = breakdown.iter().flat_map(|breakdown| &breakdown.rows);
    let of_kernel = rows.filter(|row| {
        sources::find(&row.source).is_some_and(|source| source.class == Class::Interrupt)
    });
    let mut all: Vec<InterruptRate> = of_kernel
        .map(|row| InterruptRate {
            source: row.source.clone(),
            name: row.name.clone(),
            per_s: row.activities as f64 / length_s.max(f64::MIN_POSITIVE),
        })
        .collect();
    all.sort_by(|a, b| b.per_s.total_cmp(&a.per_s));
    all.truncate(NAMES);
    all
}
