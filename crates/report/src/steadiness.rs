//! Whether the mean of a series came to rest.

use crate::units::noise;
use anechoic_analyze::samples::SeriesResult;

/// How far the accumulated mean still moved over the last half, and whether it may; of few samples that cannot be told.
pub(crate) fn moved(series: &SeriesResult) -> String {
    let Some(steadiness) = series.steadiness else { return "–".into() };
    match steadiness.steady {
        None => "too few".into(),
        Some(true) => format!("{} ✓", noise(steadiness.variation)),
        Some(false) => format!("{} ✗", noise(steadiness.variation)),
    }
}
