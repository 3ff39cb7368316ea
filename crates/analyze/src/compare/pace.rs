//! What a slower pace between the detours took on both sides.

use super::contrast::Design;
use super::parts::{differences, each, in_all};
use super::{ComparedRun, Difference, Values};
use crate::stats::mean;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The pace of the loops on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PaceChange {
    /// Share of the CPU time that a pace slower than calm took between detours.
    pub slow: Difference,
    /// The same and the noise: all time lost.
    pub lost: Difference,
    /// Time of an iteration at the calm pace, in ns: the mean over the CPUs that every run measured.
    pub calm_ns: Difference,
}

/// What one run shows of its pace.
#[derive(Debug, Clone, Default)]
pub(super) struct PaceValues {
    slow: f64,
    lost: f64,
    calm_ns: BTreeMap<u32, f64>,
}

impl PaceValues {
    #[cfg(test)]
    pub(super) fn new(slow: f64, calm_ns: BTreeMap<u32, f64>) -> Self {
        Self { slow, lost: slow, calm_ns }
    }

    /// Returns what a run shows; absent if its pace is not known.
    pub(super) fn from_run(compared: &ComparedRun<'_>) -> Option<Self> {
        let pace = compared.summary.pace.as_ref()?;
        let calm_ns = pace.cpus.iter().map(|cpu| (cpu.cpu, cpu.calm_ns)).collect();
        Some(Self { slow: pace.slow, lost: pace.lost, calm_ns })
    }
}

/// Compares the pace; absent if that of a run is not known, or if no CPU was measured by all.
pub(super) fn pace(sides: &[Vec<Values>; 2], design: &Design) -> Option<PaceChange> {
    if sides.iter().flatten().any(|run| run.pace.is_none()) {
        return None;
    }
    let cpus: Vec<u32> = in_all(sides, |run| known(run).calm_ns.keys().copied().collect());
    let rows = [
        each(sides, |run| known(run).slow),
        each(sides, |run| known(run).lost),
        each(sides, |run| mean_calm_ns(run, &cpus)),
    ];
    let found = differences(&rows, design);
    let [slow, lost, calm_ns] = found[..] else { return None };
    (!cpus.is_empty()).then_some(PaceChange { slow, lost, calm_ns })
}

fn known(run: &Values) -> PaceValues {
    run.pace.clone().unwrap_or_default()
}

/// Returns the mean time of a calm iteration on these CPUs.
fn mean_calm_ns(run: &Values, cpus: &[u32]) -> f64 {
    let calm_ns = known(run).calm_ns;
    let on_cpus: Vec<f64> = cpus.iter().filter_map(|cpu| calm_ns.get(cpu)).copied().collect();
    mean(&on_cpus).unwrap_or_default()
}
