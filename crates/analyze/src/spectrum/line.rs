//! The result of a spectrum, and a line in it.

use super::carriers::{Carrier, Durations};
use super::regular::Regular;
use schemars::JsonSchema;
use serde::Serialize;

/// The periodic part of a series of noise.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Spectrum {
    /// Requested probability that a series without any period shows a line.
    pub false_alarm: f64,
    /// Number of values (windows, repetitions, events) that were analysed.
    pub values: u64,
    /// Time that they cover, in seconds.
    pub span_s: f64,
    /// Smallest distance of two separate lines, in Hz; absent if no frequency can be analysed.
    pub resolution_hz: Option<f64>,
    /// Lowest analysed frequency; absent if none can be.
    pub lowest_hz: Option<f64>,
    /// Highest analysed frequency; absent if none can be.
    pub highest_hz: Option<f64>,
    /// Number of tested frequencies.
    pub tested: u64,
    /// Power relative to the background from which on there is a line; it depends slightly on the frequency.
    pub threshold: Option<f64>,
    /// Excesses were limited to this many ns; absent if none was larger, or for events.
    pub cap_ns: Option<f64>,
    /// The lines by frequency; the strongest 16 if there are more.
    pub lines: Vec<Line>,
    /// Power relative to the background before anything was subtracted: the maximum of each of at most 240 bands.
    pub figure: Vec<FigurePoint>,
    /// Sources of which the kernel's events come at even intervals, and that carry no line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regular: Vec<Regular>,
    /// Limits of the spectrum.
    pub not_visible: Vec<String>,
}

/// A period.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// Frequency; for a train of interrupts the fundamental.
    pub hz: f64,
    /// Standard deviation of the frequency, without the error of the clock.
    pub uncertainty_hz: f64,
    /// Number of harmonics present, including the fundamental.
    pub harmonics: u32,
    /// Frequency of the strongest harmonic.
    pub strongest_hz: f64,
    /// Power of the strongest harmonic relative to the local background.
    pub over_background: f64,
    /// Largest probability that a series without any period shows such a strong line; for trains that share a comb,
    /// that of the comb.
    pub chance: f64,
    /// Its time as a share of all time; absent for events without lengths, and if it does not stand out from the rest.
    pub noise: Option<f64>,
    /// Lengths of the excesses that cause it; absent for events.
    pub durations: Option<Durations>,
    /// Sources that cause it, the best first, at most three; empty if none is known.
    pub carriers: Vec<Carrier>,
}

/// A point of the figure of a spectrum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FigurePoint {
    /// Frequency of the strongest power in its band.
    pub hz: f64,
    /// Power relative to its background.
    pub over_background: f64,
}
