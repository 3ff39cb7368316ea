//! What can be measured on this machine, and what would enable the rest.
//!
//! The check as a whole never fails: what cannot be examined is a row with that finding. It changes nothing
//! on the system; what it tries out (a detached mount, a program that is never attached, the priority of one
//! of our threads) ends with the row.

mod bpf;
mod cpus;
mod memory;
mod perf;
mod rights;
mod timing;
mod tracing;

use crate::clock;
use crate::machine::{self, Root};
use anechoic_recording::check::{Check, Finding, Verdict};
use anechoic_recording::machine::Machine;
use anechoic_recording::{Clock, Problem};

/// The input of the rows.
struct Scene {
    root: Root,
    machine: Machine,
    /// The CPUs that this process may use.
    allowed: Vec<u32>,
    /// The counter, or why there is none.
    clock: Result<Clock, Problem>,
}

impl Scene {
    /// Returns the present value of a row of [`machine::SETTINGS`].
    fn setting(&self, name: &str) -> Option<&str> {
        let setting = self.machine.settings.iter().find(|setting| setting.name == name)?;
        setting.effective.as_deref()
    }
}

/// A row: its subject and its check.
struct Row {
    what: &'static str,
    look: fn(&Scene) -> RowResult,
}

/// All rows, in the order of display.
const ROWS: &[Row] = &[
    Row { what: "counter", look: timing::counter },
    Row { what: "frequency", look: timing::frequency },
    Row { what: "counter read", look: timing::read },
    Row { what: "skew between CPUs", look: timing::skew },
    Row { what: "kernel events", look: tracing::events },
    Row { what: "other tracing", look: tracing::others },
    Row { what: "BPF", look: bpf::programs },
    Row { what: "steal per detour", look: bpf::steal },
    Row { what: "hardware counters", look: perf::hardware },
    Row { what: "software events", look: perf::software },
    Row { what: "huge pages", look: memory::huge_pages },
    Row { what: "locked memory", look: memory::locked },
    Row { what: "real-time priority", look: rights::fifo },
    Row { what: "real-time throttling", look: rights::throttling },
    Row { what: "allowed CPUs", look: cpus::allowed },
    Row { what: "isolated CPUs", look: cpus::isolation },
    Row { what: "SMT", look: cpus::smt },
    Row { what: "virtual machine", look: cpus::hypervisor },
    Row { what: "CPU frequency", look: cpus::governor },
    Row { what: "settings", look: cpus::settings },
];

/// Checks everything, in well under two seconds and with whatever privileges there are.
#[must_use]
pub fn check() -> Check {
    let allowed = crate::cpus::allowed();
    let clock = clock::calibrate(&allowed, true);
    let scene = Scene { root: Root::live(), machine: machine::describe(), allowed, clock };
    let findings = ROWS.iter().map(|row| (row.look)(&scene).finding(row.what)).collect();
    Check {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        findings,
        machine: scene.machine,
        clock: scene.clock.ok(),
    }
}

/// The finding of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RowResult {
    verdict: Verdict,
    found: String,
    remedy: Option<String>,
}

impl RowResult {
    fn good(found: impl Into<String>) -> Self {
        Self { verdict: Verdict::Good, found: found.into(), remedy: None }
    }

    fn fact(found: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fact, found: found.into(), remedy: None }
    }

    fn limited(found: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into());
        Self { verdict: Verdict::Limited, found: found.into(), remedy }
    }

    fn missing(found: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into());
        Self { verdict: Verdict::Missing, found: found.into(), remedy }
    }

    fn refused(problem: Problem) -> Self {
        let found = problem.cause();
        let remedy = Some(problem.remedy).filter(|remedy| !remedy.is_empty());
        Self { verdict: Verdict::Missing, found, remedy }
    }

    fn finding(self, what: &str) -> Finding {
        let Self { verdict, found, remedy } = self;
        Finding { what: what.to_owned(), verdict, found, remedy }
    }
}

#[cfg(test)]
mod tests;
