//! The results of a recording of a method, with one [`SeriesResult`] for each series.

use crate::Breakdown;
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
use serde::Serialize;

/// The results of one recording of a method (`fwq`, `ftq`, `tick`, `loops`).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// Facts of the run; its threshold and shortest gap have no meaning here.
    pub run: Facts,
    /// Method of measurement.
    pub method: String,
    /// All series that were started, by number.
    pub series: Vec<SeriesResult>,
    /// What took the time of the detours in the samples; absent if detours were not watched, or without attribution.
    #[serde(default)]
    pub sources: Option<Breakdown>,
    /// Losses by kind, as shares of the time of the series.
    pub losses: Vec<LossSummary>,
    /// Results that are not available, and why; in addition to `run.not_available`.
    pub not_available: Vec<NotAvailable>,
}

/// The results of one series.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SeriesResult {
    /// Facts of the series.
    pub facts: SeriesFacts,
    /// Distribution of the samples; absent without samples.
    pub distribution: Option<Distribution>,
    /// Whether the accumulated mean became steady; absent without samples, or if their mean is 0.
    pub steadiness: Option<Steadiness>,
    /// Speed of the kernel; absent if it has no instructions of its kind, or without samples.
    pub pace: Option<Pace>,
    /// Most frequent exact values; absent without samples.
    pub fine: Option<FineView>,
    /// Spread after subtracting the time of the kernel; absent if the time is fixed, the series was not pinned, or
    /// neither activities nor detours are known.
    pub subtraction: Option<Subtraction>,
    /// Cost of ticks; absent likewise, and without attribution.
    pub ticks: Option<TickOverhead>,
    /// Periods of the samples; absent if they were not requested, or without samples.
    pub spectrum: Option<Spectrum>,
    /// Data of figures; empty without samples.
    pub figures: Figures,
}
