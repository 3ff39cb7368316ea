//! How a run was measured, as far as that decides which runs compare.

use anechoic_recording::{Policy, Run, methods};
use schemars::JsonSchema;
use serde::Serialize;

/// Runs whose lengths differ by more than this ratio vary differently.
const SAME_LENGTH: f64 = 1.5;
/// Thresholds that differ by more than this ratio make noise incomparable.
const SAME_THRESHOLD: f64 = 1.2;

/// How a run was measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Kind {
    /// Host name.
    pub host: String,
    /// Method of measurement: `detours`, `fwq`, ….
    pub method: String,
    /// Name of the recorded program; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Measured CPUs; none for a program, which uses those that it gets.
    pub cpus: Vec<u32>,
    /// Length of the run in ns.
    pub wall_ns: u64,
    /// Threshold in ns.
    pub threshold_ns: u64,
    /// Scheduling of the loops.
    pub policy: Policy,
    /// Whether kernel events were recorded.
    pub traced: bool,
    /// Period of switching them on and off, if the tracer's cost was measured.
    pub alternate_ns: Option<u64>,
    /// Whether noise was injected.
    pub injected: bool,
    /// Whether a wake-up ended the run before its time: it has the length that it came to.
    #[serde(skip)]
    pub(crate) ended: bool,
}

impl Kind {
    /// Returns how a run was measured.
    #[must_use]
    pub fn from_run(run: &Run) -> Self {
        Self {
            host: run.machine.host.clone(),
            method: run.method.clone(),
            program: run.program.as_ref().map(|program| program.name.clone()),
            cpus: match &run.program {
                // A program uses the CPUs that it gets, so that they are not the same from run to run.
                Some(program) => program.counted_cpus.clone(),
                None => run.cpus.iter().map(|cpu| cpu.cpu).collect(),
            },
            wall_ns: run.clock.ns(run.end_ticks.saturating_sub(run.start_ticks)),
            threshold_ns: run.clock.ns(run.threshold_ticks),
            policy: run.policy.clone(),
            traced: run.trace.is_some(),
            alternate_ns: run.trace.as_ref().and_then(|trace| trace.alternate_ns),
            injected: !run.injections.is_empty(),
            ended: run.method == methods::WAKEUP && run.ended_at().is_some(),
        }
    }

    /// Returns whether a history has runs of this kind: of detours, of a program or of wake-ups, without noise of our own.
    #[must_use]
    pub fn has_history(&self) -> bool {
        (methods::WHOLE.contains(&&*self.method) || self.is_of_wakeups()) && !self.injected
    }

    /// Returns whether the runs are of wake-ups.
    #[must_use]
    pub fn is_of_wakeups(&self) -> bool {
        self.method == methods::WAKEUP
    }

    /// Returns whether noise of both kinds compares: the same but for lengths and thresholds that hardly differ. Runs of a
    /// program may have any length, and those that a wake-up ended.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let near = |a: u64, b: u64, most: f64| a.max(b) as f64 <= most * a.min(b) as f64;
        // A program takes as long as it does, a watch until what it waits for comes.
        let any_length = self.program.is_some() || self.ended || other.ended;
        let wall_ns = any_length || near(self.wall_ns, other.wall_ns, SAME_LENGTH);
        let threshold_ns = near(self.threshold_ns, other.threshold_ns, SAME_THRESHOLD);
        let (wall, threshold) = (other.wall_ns, other.threshold_ns);
        let same =
            Self { wall_ns: wall, threshold_ns: threshold, ended: other.ended, ..self.clone() };
        wall_ns && threshold_ns && same == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::two_cpus;

    #[test]
    fn only_runs_of_one_length_compare_unless_they_end_when_something_comes() {
        let seconds = |seconds: u64| Kind::from_run(&two_cpus::run(seconds * two_cpus::SECOND));
        let ended = |kind: Kind| Kind { ended: true, ..kind };
        for (name, a, b, expected) in [
            ("alike", seconds(10), seconds(14), true),
            ("too long", seconds(10), seconds(16), false),
            ("ended early", seconds(100), ended(seconds(1)), true),
            ("both", ended(seconds(7)), ended(seconds(1)), true),
        ] {
            assert_eq!((a.is_like(&b), b.is_like(&a)), (expected, expected), "case: {name}");
        }
    }
}
