//! One line of comparison: published noise beside the measured one, at the same threshold.

use crate::published::{ALL_CPUS, DETOURS, KARNER, NOISE, NOISE_OVER_NS};
use crate::units::{asked, noise};
use anechoic_analyze::Summary;
use anechoic_analyze::competition::competition;

/// Compares the noise with published values. Nothing if it is not known at their threshold, or unknown because detours were
/// lost, or is the work of other programs.
pub(crate) fn line(summary: &Summary) -> Option<String> {
    let point = summary.curve.iter().find(|point| point.threshold_ns == NOISE_OVER_NS)?;
    if summary.run.program.is_some()
        || summary.total.lost_detours > 0
        || competition(summary).is_some()
    {
        return None;
    }
    let published: Vec<String> = DETOURS
        .iter()
        .filter(|cell| cell.experiment == NOISE && cell.column == ALL_CPUS)
        .filter_map(|cell| {
            Some(format!("{} on {}", noise(cell.value.number()? / 100.0), cell.machine))
        })
        .collect();
    Some(format!(
        "For comparison: detours over {} took {} here; published: {} ({}).",
        asked(NOISE_OVER_NS),
        noise(point.noise),
        published.join(", "),
        KARNER.short,
    ))
}
