//! The waits of a recorded program's threads for a CPU, as `max-wait` judges them and `--stop-on 'wait>1ms'` looks for them.

use super::rules::Rule;
use super::{Finding, LargestSource, Outcome};
use crate::folded::folded;
use anechoic_recording::sources::{SCHEDULING_DELAY, THREAD};
use anechoic_recording::{Delay, DelayKind, Problem, Recording};
use std::collections::BTreeMap;

/// The idle task.
const IDLE: i32 = 0;

/// What waits for one CPU show.
#[derive(Debug, Default)]
struct OfCpu {
    longest_ticks: u64,
    /// Number of waits over the limit, and their time.
    long: u64,
    long_ticks: u64,
    /// For how long each source and name had the CPU in these.
    held_ticks: BTreeMap<(&'static str, String), u64>,
}

impl OfCpu {
    fn add(&mut self, delay: &Delay, limit_ticks: u64) {
        let length = delay.end_ticks.saturating_sub(delay.start_ticks);
        // While a thread of the program executes, the others wait for their own.
        let waited = length.saturating_sub(delay.own_ticks);
        self.longest_ticks = self.longest_ticks.max(waited);
        if waited <= limit_ticks {
            return;
        }
        self.long += 1;
        self.long_ticks = self.long_ticks.saturating_add(waited);
        let named = match delay.holder {
            Some(IDLE) => (SCHEDULING_DELAY.id, String::new()),
            Some(_) if delay.holder_thread.is_none() => {
                (THREAD.id, folded(THREAD.id, &delay.holder_name).to_string())
            }
            _ => return,
        };
        let held = self.held_ticks.entry(named).or_default();
        *held = held.saturating_add(delay.held_ticks.min(waited));
    }

    /// Returns who had the CPU for most of the waits over the limit.
    fn largest_source(&self) -> Option<LargestSource> {
        let largest = self.held_ticks.iter().rev().max_by_key(|(_, ticks)| **ticks);
        let ((source, name), ticks) = largest?;
        let share = crate::share(*ticks, self.long_ticks);
        Some(LargestSource { source: (*source).to_owned(), name: name.clone(), share })
    }
}

/// Judges the longest wait for each CPU that counts: woken, preempted or begun, without the time in which threads of the program
/// executed there.
///
/// # Errors
/// The table of delays is damaged.
pub(super) fn findings(rule: &Rule, recording: &Recording) -> Result<Vec<Finding>, Problem> {
    recording.run().cpus.iter().map(|cpu| finding(rule, recording, cpu.cpu)).collect()
}

fn finding(rule: &Rule, recording: &Recording, cpu: u32) -> Result<Finding, Problem> {
    let run = recording.run();
    let limit_ticks = run.clock.ticks(rule.limit as u64);
    let mut waits = OfCpu::default();
    for delay in recording.rows_of_cpu::<Delay>(cpu).each() {
        let delay = delay?;
        if delay.kind != DelayKind::Blocked {
            waits.add(&delay, limit_ticks);
        }
    }
    let value = run.clock.ns(waits.longest_ticks) as f64;
    let outcome = Outcome::from_bounds(rule.limit, value, Some(value));
    let wall_ns = run.clock.ns(run.end_ticks.saturating_sub(run.start_ticks));
    Ok(Finding {
        recording: None,
        cpu: Some(cpu),
        program: None,
        runs: None,
        outcome,
        value,
        at_least: value,
        at_most: Some(value),
        events: waits.long,
        uncertain: 0,
        wall_ns: wall_ns.saturating_add(rule.unseen_ns(run)),
        wakeups: None,
        needed_ns: None,
        doubt: None,
        largest_source: waits.largest_source().filter(|_| outcome == Outcome::Fail),
    })
}
