//! Whom the start of a run waits for: real-time threads that have the CPUs to be measured.

use super::plan::Stage;
use anechoic_system::holder::{Holder, holders};
use std::thread;
use std::time::{Duration, Instant};

/// A thread that is runnable again after this time keeps its CPU.
const AGAIN: Duration = Duration::from_millis(20);
/// A start that takes longer than this is reported, and then again and again.
const REPORTED: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// The wait for the CPUs of a run.
#[derive(Debug)]
pub(super) struct Waits<'c> {
    cpus: &'c [u32],
    since: Instant,
    /// When it is reported next.
    next: Duration,
    /// Who had the CPUs at the last look.
    holders: Vec<Holder>,
}

impl<'c> Waits<'c> {
    pub(super) fn begin(cpus: &'c [u32]) -> Self {
        Self { cpus, since: Instant::now(), next: REPORTED[0], holders: vec![] }
    }

    /// Reports who keeps the CPUs, if anybody does.
    pub(super) fn look(&mut self, notify: &mut dyn FnMut(Stage)) {
        self.holders = holders(self.cpus);
        if !self.holders.is_empty() {
            thread::sleep(AGAIN);
            let again = holders(self.cpus);
            self.holders.retain(|holder| again.contains(holder));
        }
        if !self.holders.is_empty() {
            let holders = self.holders.clone();
            notify(Stage::Waiting { holders, waited: self.since.elapsed() });
        }
    }

    /// Does the same if the wait has become long.
    pub(super) fn look_now_and_then(&mut self, notify: &mut dyn FnMut(Stage)) {
        if self.since.elapsed() >= self.next {
            self.next = self.since.elapsed() + REPORTED[1];
            self.look(notify);
        }
    }

    /// Adds to a reason who has the CPUs, if that is known.
    pub(super) fn named(&self, why: String) -> String {
        let named: Vec<String> = self.holders.iter().map(Holder::to_string).collect();
        if named.is_empty() { why } else { format!("{why}: {}", named.join(", ")) }
    }
}
