//! How late timers released the threads of a recorded program, as `max-release` judges it.

use super::rules::Rule;
use super::{Finding, LargestSource, Outcome};
use crate::folded::folded;
use crate::waits::cause;
use anechoic_recording::{Problem, Recording, Release};
use std::collections::BTreeMap;

/// The releases of one CPU, in ticks.
#[derive(Debug, Default)]
struct OfCpu {
    /// The longest: at least, and at most where a switch was not reported.
    longest: u64,
    longest_unseen: u64,
    /// Number of releases over the limit, and their time.
    long: u64,
    long_ticks: u64,
    sources: BTreeMap<(String, String), u64>,
}

impl OfCpu {
    fn add(&mut self, row: &Release, limit_ticks: u64) {
        let length = row.end_ticks.saturating_sub(row.due_ticks);
        self.longest = self.longest.max(length);
        self.longest_unseen = self.longest_unseen.max(length.saturating_add(row.unseen_ticks));
        if length <= limit_ticks {
            return;
        }
        self.long += 1;
        self.long_ticks = self.long_ticks.saturating_add(length);
        let (source, name, ticks) = cause(row);
        let named = (source.to_string(), folded(&source, &name).to_string());
        let taken = self.sources.entry(named).or_default();
        *taken = taken.saturating_add(ticks);
    }

    fn largest_source(&self) -> Option<LargestSource> {
        let largest = self.sources.iter().rev().max_by_key(|(_, ticks)| **ticks);
        let ((source, name), ticks) = largest?;
        let share = crate::share(*ticks, self.long_ticks);
        Some(LargestSource { source: source.clone(), name: name.clone(), share })
    }
}

/// Judges the longest release on each CPU that counts; empty if there was none at all.
///
/// # Errors
/// The table of releases is damaged.
pub(super) fn findings(rule: &Rule, recording: &Recording) -> Result<Vec<Finding>, Problem> {
    let run = recording.run();
    let limit_ticks = run.clock.ticks(rule.limit as u64);
    let mut findings = Vec::new();
    for cpu in &run.cpus {
        let mut found = OfCpu::default();
        for row in recording.rows_of_cpu::<Release>(cpu.cpu).each() {
            found.add(&row?, limit_ticks);
        }
        if found.longest_unseen == 0 {
            continue; // no thread was released here
        }
        let [value, at_most] =
            [found.longest, found.longest_unseen].map(|it| run.clock.ns(it) as f64);
        let outcome = Outcome::from_bounds(rule.limit, value, Some(at_most));
        findings.push(Finding {
            recording: None,
            cpu: Some(cpu.cpu),
            program: None,
            runs: None,
            outcome,
            value,
            at_least: value,
            at_most: Some(at_most),
            events: found.long,
            uncertain: 0,
            wall_ns: run.clock.ns(run.end_ticks.saturating_sub(run.start_ticks)),
            wakeups: None,
            needed_ns: None,
            doubt: None,
            largest_source: found.largest_source().filter(|_| outcome == Outcome::Fail),
        });
    }
    Ok(findings)
}
