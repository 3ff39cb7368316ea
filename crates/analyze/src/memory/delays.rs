//! Whether a migration costs more than a preemption, with idle CPUs and beside a co-runner (Bastoni et al. 2010).

use super::Experiment;
use crate::stats::median;
use anechoic_recording::memory::{Before, MEMORY_EXPERIMENTS, Preemptor};
use schemars::JsonSchema;
use serde::Serialize;

/// The time per access after a migration beside that after a preemption by a thread that writes much memory.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Delays {
    /// The experiment of the migration.
    pub migration: String,
    /// The experiment of the preemption.
    pub preemption: String,
    /// Whether the other CPUs ran a co-runner.
    pub co_runner: bool,
    /// Number of working sets that the last-level cache holds and that both measured.
    pub points: u64,
    /// Number of them in which the median time after the migration is longer.
    pub dearer: u64,
    /// Median over them of the median time after the migration divided by that after the preemption.
    pub ratio: f64,
}

/// Compares every measured migration with the preemption of the same kernel; `last` is the size of the last-level cache.
pub(super) fn compare(experiments: &[Experiment], last: Option<u64>) -> Vec<Delays> {
    let measured = |id: &str| experiments.iter().find(|experiment| experiment.id == id);
    let migrations =
        MEMORY_EXPERIMENTS.iter().filter(|listed| matches!(listed.before, Before::Migrated(_)));
    let delays = migrations.filter_map(|migration| {
        let preempted = Before::Preempted { by: Preemptor::Writes, long: true };
        let preemption = MEMORY_EXPERIMENTS.iter().find(|listed| {
            listed.before == preempted
                && (listed.kernel, listed.co_runner) == (migration.kernel, migration.co_runner)
        })?;
        let (migrated, preempted) = (measured(&migration.id)?, measured(&preemption.id)?);
        let ratio = |bytes: u64, migrated: f64| {
            let base = preempted.points.iter().find(|point| point.bytes == bytes)?;
            (base.median > 0.0).then(|| migrated / base.median)
        };
        let held =
            migrated.points.iter().filter(|point| last.is_none_or(|last| point.bytes <= last));
        let mut ratios: Vec<f64> =
            held.filter_map(|point| ratio(point.bytes, point.median)).collect();
        (!ratios.is_empty()).then(|| Delays {
            migration: migration.id.clone(),
            preemption: preemption.id.clone(),
            co_runner: migration.co_runner,
            points: ratios.len() as u64,
            dearer: ratios.iter().filter(|&&ratio| ratio > 1.0).count() as u64,
            ratio: median(&mut ratios),
        })
    });
    delays.collect()
}
