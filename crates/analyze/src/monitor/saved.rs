//! What ran in a recording that was saved.

use crate::summary::Breakdown;
use crate::waits::{HolderKind, ThreadRow, threads};
use crate::{share, summarize};
use anechoic_recording::sources::{self, Class};
use anechoic_recording::{EventKind, KernelEvent, Name, NameKind, Problem, Recording};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Number of names that are kept of each list.
const NAMES: usize = 5;

/// A recording of what ran, that was saved.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Saved {
    /// Its directory.
    pub path: String,
    /// Its start, RFC 3339 in UTC.
    pub start_utc: String,
    /// Its length, in s.
    pub length_s: f64,
    /// Why it was saved, in words; empty if that is not known.
    pub reasons: Vec<String>,
    /// Which threads had CPUs while others waited for these, with their shares of all such time, largest first; at most five.
    pub had_cpus: Vec<(String, f64)>,
    /// Interrupts and softirqs: identifier of the source, name and number per second, most first; at most five.
    pub interrupts: Vec<(String, String, f64)>,
    /// Threads with their shares of all CPU time of threads, largest first; at most five.
    pub executed: Vec<(String, f64)>,
    /// Softirqs: the name of the thread that had the CPU and their kind, with their share of all, most first; at most five.
    pub softirqs: Vec<(String, f64)>,
    /// Threads to which CPUs were switched, with their share of all switches to threads, most first; at most five.
    pub switched_to: Vec<(String, f64)>,
    /// Threads that began others, with their share of all that were begun, most first; at most five.
    pub forked: Vec<(String, f64)>,
    /// Where it begins, in s since the first reading of what was monitored.
    #[serde(skip)]
    pub(super) start_s: f64,
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
            start_s: 0.0,
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

/// The kinds of softirqs, by number.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

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
fn largest(parts: impl Iterator<Item = (String, u64)>) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, ns) in parts {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(ns);
    }
    let all: u64 = sums.values().sum();
    let mut sums: Vec<(String, u64)> = sums.into_iter().filter(|(_, ns)| *ns > 0).collect();
    sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sums.truncate(NAMES);
    sums.into_iter().map(|(name, ns)| (name, share(ns, all))).collect()
}

/// Returns the interrupts and softirqs that came most often.
fn interrupts(breakdown: Option<&Breakdown>, length_s: f64) -> Vec<(String, String, f64)> {
    let rows = breakdown.iter().flat_map(|breakdown| &breakdown.rows);
    let of_kernel = rows.filter(|row| {
        sources::find(&row.source).is_some_and(|source| source.class == Class::Interrupt)
    });
    let mut all: Vec<(String, String, f64)> = of_kernel
        .map(|row| {
            let per_s = row.activities as f64 / length_s.max(f64::MIN_POSITIVE);
            (row.source.clone(), row.name.clone(), per_s)
        })
        .collect();
    all.sort_by(|a, b| b.2.total_cmp(&a.2));
    all.truncate(NAMES);
    all
}
