//! What a recording of a method says: one [`SeriesResult`] a series.

use crate::coverage::LossSummary;
use crate::facts::Facts;
use crate::samples::distribution::Distribution;
use crate::samples::facts::SeriesFacts;
use crate::samples::figures::Figures;
use crate::samples::fine::FineView;
use crate::samples::pace::Pace;
use crate::samples::steadiness::Steadiness;
use crate::samples::subtraction::Subtraction;
use crate::samples::tick_overhead::TickOverhead;
use crate::spectrum::Spectrum;
use anechoic_recording::run::NotAvailable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that one recording of a method (`fwq`, `ftq`, `tick`, `loops`) says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// What ran where. Its threshold and shortest gap mean nothing here.
    pub run: Facts,
    /// The method.
    pub method: String,
    /// Each series that was begun, by number.
    pub series: Vec<SeriesResult>,
    /// What was lost, by kind, as shares of the time that the series took.
    pub losses: Vec<LossSummary>,
    /// What could not be said, and why; beside `run.not_available`.
    pub not_available: Vec<NotAvailable>,
}

/// Everything that one series says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesResult {
    /// What was measured, where, and how it went.
    pub facts: SeriesFacts,
    /// How the samples are distributed; absent where there are none.
    pub distribution: Option<Distribution>,
    /// Whether the accumulated mean came to rest; absent where there are no samples or their mean is 0.
    pub steadiness: Option<Steadiness>,
    /// What one instruction took; absent where the kernel has none of its kind, or there are no samples.
    pub pace: Option<Pace>,
    /// Values that come again and again; absent where there are no samples.
    pub fine: Option<FineView>,
    /// What is left when direct costs are taken out of the samples; absent where the time is fixed, where the series
    /// was not pinned, and where neither activities nor detours are known.
    pub subtraction: Option<Subtraction>,
    /// What ticks cost; absent as above, and of a recording without attribution.
    pub ticks: Option<TickOverhead>,
    /// The periods in it; absent where they were not asked for, and where there are no samples.
    pub spectrum: Option<Spectrum>,
    /// Data of pictures; empty where there are no samples.
    pub figures: Figures,
}
