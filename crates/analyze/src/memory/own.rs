//! What happens to the caches before a call of a user's own function, and how much longer the call takes.

use super::Experiment;
use crate::stats::{Interval, mean, median, standard_error, student_t_together};
use anechoic_recording::Series;
use anechoic_recording::memory::{Before, MEMORY_EXPERIMENTS, OWN};
use anechoic_recording::run::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

/// A user's own function in the memory experiments.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Own {
    /// The file and the function, as the user wrote them.
    pub work: String,
    /// Size of its workspace in bytes; 0 without one.
    pub bytes: u64,
    /// Its calls in each experiment that was measured, in the order of their definition.
    pub calls: Vec<Calls>,
}

/// Calls of a user's own function in one experiment: one unit of work each. Every experiment is measured in several blocks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Calls {
    /// The experiment.
    pub experiment: String,
    /// Number of calls.
    pub calls: u64,
    /// Median over the blocks of their median call, in ns.
    pub median_ns: f64,
    /// The longest call, in ns.
    pub longest_ns: f64,
    /// How much longer the median call takes than with warm caches: the mean over the blocks, in ns. Absent with warm caches,
    /// and if not every block has both.
    pub added_ns: Option<f64>,
    /// The 95 % interval of the added time, by Student's t over the blocks, in ns. Those of all experiments hold together.
    pub added_95: Option<Interval>,
}

/// Returns the calls of a user's own function, if these are experiments of one.
pub(super) fn own(
    experiments: &[Experiment],
    known: &[(Series, Outcome)],
    tick_ns: f64,
) -> Option<Own> {
    let listed = |found: &Experiment| MEMORY_EXPERIMENTS.iter().find(|one| one.id == found.id);
    let own = experiments.iter().filter_map(|found| Some((found, listed(found)?)));
    let own: Vec<_> = own.filter(|(_, listed)| listed.kernel == OWN).collect();
    let measured = || own.iter().filter(|(found, _)| !found.points.is_empty());
    let together = measured().filter(|(_, listed)| listed.before != Before::Warm).count();
    let calls = measured().map(|(found, listed)| {
        let warm = own
            .iter()
            .find(|(_, other)| other.before == Before::Warm && other.co_runner == listed.co_runner);
        let added = warm
            .filter(|_| listed.before != Before::Warm)
            .and_then(|(warm, _)| added(found, warm, together));
        let mut medians: Vec<f64> = found.points.iter().map(|point| point.median).collect();
        let longest = found.points.iter().map(|point| point.max).fold(0.0, f64::max);
        Calls {
            experiment: found.id.clone(),
            calls: found.points.iter().map(|point| point.samples).sum(),
            median_ns: median(&mut medians) * tick_ns,
            longest_ns: longest * tick_ns,
            added_ns: added.map(|(mean, _)| mean * tick_ns),
            added_95: added.map(|(mean, reach)| Interval {
                low: (mean - reach) * tick_ns,
                high: (mean + reach) * tick_ns,
            }),
        }
    });
    let calls: Vec<Calls> = calls.collect();
    let (series, _) = known.iter().find(|(series, _)| series.parameters.library.is_some())?;
    let bytes = series.parameters.working_set_bytes.unwrap_or(0);
    Some(Own { work: series.variant.clone(), bytes, calls })
}

/// Returns the mean over the blocks by which the median call takes longer, and half of its interval, in ticks. All of
/// `together` intervals hold with 95 %.
fn added(found: &Experiment, warm: &Experiment, together: usize) -> Option<(f64, f64)> {
    let pairs = found.points.iter().zip(&warm.points);
    let differences: Vec<f64> = pairs.map(|(found, warm)| found.median - warm.median).collect();
    let whole = found.points.len() == warm.points.len() && differences.len() > 1;
    let error = standard_error(&differences).filter(|_| whole)?;
    Some((mean(&differences)?, student_t_together(differences.len() as u64 - 1, together) * error))
}
