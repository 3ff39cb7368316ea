//! The facts of a series: what it measured, where, and how it ended.

use crate::samples::Fixed;
use anechoic_recording::run::{Ended, Outcome};
use anechoic_recording::{Parameters, Policy, Run, Series};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// If a step in the series differs by a larger share from the calibrated one, its detours have no meaning: the threshold
/// is one and a half steps.
const MOST_CHANGE: f64 = 0.25;

/// The facts of a series: what it measured, where, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SeriesFacts {
    /// Number in the recording.
    pub number: u32,
    /// Method: `fwq`, `ftq`, `tick`, `loops`.
    pub method: String,
    /// Work kernel: `intadd`, `sum`.
    pub variant: String,
    /// CPU that its thread was pinned to; absent if it was not pinned.
    pub cpu: Option<u32>,
    /// Scheduling: `other`, or `fifo PRIORITY`.
    pub policy: Policy,
    /// Fixed work: requested duration of a sample. Fixed time: the window.
    pub grain_ns: u64,
    /// Whether work or time is fixed, which determines the meaning of values.
    pub fixed: Fixed,
    /// Iterations of the kernel in one sample; for fixed time, in one unit of work.
    pub iterations: u64,
    /// Instructions of the kernel's kind in one iteration; 0 if it has none.
    pub instructions: u32,
    /// Calibrated undisturbed duration of these iterations.
    pub calibrated_ns: f64,
    /// Largest number of samples, as requested.
    pub asked: u64,
    /// Number of recorded samples, on which all results are based.
    pub samples: u64,
    /// Number of samples that found no free buffer, or no space on the disk.
    pub lost: u64,
    /// Number of gaps in the numbering of samples: lost ones, and those lost to a full disk or a damaged table.
    pub missing: u64,
    /// Number of samples whose work returned a wrong value; above 0 the machine cannot be trusted.
    pub wrong: u64,
    /// Why the series ended.
    pub ended: Ended,
    /// Start of the series, since the run's start.
    pub start_ns: u64,
    /// Time from the start of its first sample to the end of its last.
    pub wall_ns: u64,
    /// Whether gaps inside samples were watched.
    pub watched: bool,
    /// Undisturbed duration of a step between two counter reads, if gaps were watched.
    pub step_ns: Option<f64>,
    /// By which share a step took longer in the series than in its calibration, which has one CPU busy at a time;
    /// negative if it was shorter. Absent if gaps were not watched, or if the series did not record it.
    #[serde(default)]
    pub step_change: Option<f64>,
    /// Events of its thread that were counted during the series, by name: misses of caches and page faults, of the program
    /// (`_user`) and of the kernel (`_kernel`). Empty if nothing could be counted.
    #[serde(default)]
    pub counts: BTreeMap<String, u64>,
    /// CPUs on which samples ended, with counts; empty for a pinned series.
    pub cpus_seen: Vec<CpuSamples>,
    /// Number of samples that ended on another CPU than the previous one; 0 for a pinned series.
    pub migrations: u64,
}

/// Number of samples of a series that ended on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CpuSamples {
    /// The CPU.
    pub cpu: u32,
    /// Number of samples.
    pub samples: u64,
}

impl SeriesFacts {
    /// Returns the facts of a series before its samples have been read.
    #[must_use]
    pub fn new(series: &Series, outcome: &Outcome, run: &Run) -> Self {
        let (clock, parameters) = (&run.clock, &series.parameters);
        Self {
            number: series.series,
            method: series.method.clone(),
            variant: series.variant.clone(),
            cpu: series.cpu,
            policy: series.policy.clone(),
            grain_ns: clock.ns(series.grain_ticks),
            fixed: series.fixed,
            iterations: parameters.iterations,
            instructions: parameters.instructions,
            calibrated_ns: crate::samples::ns(parameters.calibrated_ticks, clock),
            asked: series.asked,
            samples: 0,
            lost: outcome.lost,
            missing: 0,
            wrong: outcome.wrong,
            ended: outcome.ended,
            start_ns: clock.ns(outcome.first_ticks.saturating_sub(run.start_ticks)),
            wall_ns: clock.ns(outcome.last_ticks.saturating_sub(outcome.first_ticks)),
            watched: parameters.step_ticks.is_some(),
            step_ns: parameters.step_ticks.map(|ticks| crate::samples::ns(ticks, clock)),
            step_change: step_change(parameters, outcome),
            counts: outcome.counts.clone(),
            cpus_seen: vec![],
            migrations: 0,
        }
    }

    /// Returns whether the calibration held in the series, so that its step and threshold are right.
    #[must_use]
    pub fn is_calibrated(&self) -> bool {
        self.step_change.is_none_or(|change| change.abs() <= MOST_CHANGE)
    }

    /// Returns whether the series is complete: it ended with all samples or with a steady mean (if that was required),
    /// no sample is lost or missing, and all returned the correct value.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let ended = matches!(self.ended, Ended::Complete | Ended::Steady);
        ended && self.lost == 0 && self.missing == 0 && self.wrong == 0
    }
}

/// Compares the step of the series with the calibrated one, which is part of the calibrated sample.
fn step_change(parameters: &Parameters, outcome: &Outcome) -> Option<f64> {
    let step_share = parameters.step_iterations? as f64 / parameters.iterations as f64;
    let calibrated = parameters.calibrated_ticks as f64 * step_share;
    let change = outcome.step_ticks? as f64 / calibrated - 1.0;
    Some(change).filter(|change| change.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::{builders, sample};
    use anechoic_recording::run::RunState;

    /// A series of 1,000 iterations in 2,590 ticks, with a step of 10 iterations.
    fn facts(step_ticks: Option<u64>) -> SeriesFacts {
        let series = sample::series().swap_remove(0);
        let outcome =
            Outcome { step_ticks, first_ticks: 700, last_ticks: 1_000, ..Outcome::default() };
        let run = Run {
            start_ticks: 500,
            clock: builders::clock(1_000_000_000),
            ..sample::run(RunState::Complete)
        };
        SeriesFacts::new(&series, &outcome, &run)
    }

    #[test]
    fn a_step_that_changed_by_a_quarter_is_no_longer_calibrated() {
        // A calibrated step takes 25.9 ticks.
        let cases = [
            (None, None, true),
            (Some(26), Some(26.0), true),
            (Some(32), Some(32.0), true),
            (Some(33), Some(33.0), false),
            (Some(20), Some(20.0), true),
            (Some(19), Some(19.0), false),
        ];
        for (step_ticks, expected, is_calibrated) in cases {
            let found = facts(step_ticks);
            let change = expected.map(|ticks| ticks / 25.9 - 1.0);
            let near = |(found, change): (f64, f64)| (found - change).abs() < 1e-12;
            assert!(found.step_change.zip(change).is_none_or(near), "{step_ticks:?}: {found:?}");
            assert_eq!(found.step_change.is_some(), change.is_some(), "{step_ticks:?}");
            assert_eq!(found.is_calibrated(), is_calibrated, "{step_ticks:?}");
        }
        assert_eq!((facts(None).start_ns, facts(None).wall_ns), (200, 300));
    }

    #[test]
    fn a_series_is_whole_if_nothing_of_it_is_missing() {
        type Case = (&'static str, fn(&mut SeriesFacts), bool);
        let cases: [Case; 6] = [
            ("complete", |_| {}, true),
            ("steady", |facts| facts.ended = Ended::Steady, true),
            ("unsteady", |facts| facts.ended = Ended::Unsteady, false),
            ("lost", |facts| facts.lost = 1, false),
            ("missing", |facts| facts.missing = 1, false),
            ("wrong", |facts| facts.wrong = 1, false),
        ];
        for (name, spoil, expected) in cases {
            let mut facts = SeriesFacts { ended: Ended::Complete, ..facts(None) };
            spoil(&mut facts);
            assert_eq!(facts.is_whole(), expected, "case: {name}");
        }
    }
}
