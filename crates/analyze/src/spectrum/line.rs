//! What is said of a spectrum and of a line in it.

use super::carriers::{Carrier, Durations};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The periodic part of a series of noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spectrum {
    /// Chance that a series without any period shows any line, as asked for.
    pub false_alarm: f64,
    /// Values (windows, repetitions, events) that were looked at.
    pub values: u64,
    /// The time that they cover, in seconds.
    pub span_s: f64,
    /// Distance at which two lines are told apart; absent where nothing can be seen.
    pub resolution_hz: Option<f64>,
    /// No line is looked for below; absent where nothing can be seen.
    pub lowest_hz: Option<f64>,
    /// No line is looked for above; absent where nothing can be seen.
    pub highest_hz: Option<f64>,
    /// Frequencies that were tested.
    pub tested: u64,
    /// A power this many times its background would be a line; it depends on the frequency a little.
    pub threshold: Option<f64>,
    /// Larger excesses were cut to this, in nanoseconds; absent where none was, or for events.
    pub cap_ns: Option<f64>,
    /// The lines, by frequency; of more than 16 the strongest.
    pub lines: Vec<Line>,
    /// Power over the background against frequency, before anything was taken off: the maximum of
    /// each of 240 bands at most.
    pub figure: Vec<FigurePoint>,
    /// What cannot be seen here, and why.
    pub not_visible: Vec<String>,
}

/// A period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// Its frequency (of a train of interrupts: the fundamental).
    pub hz: f64,
    /// Standard deviation of that. The clock's own error is not in it.
    pub uncertainty_hz: f64,
    /// Harmonics that are there, the fundamental included.
    pub harmonics: u32,
    /// The strongest harmonic,
    pub strongest_hz: f64,
    /// and its power over the local background.
    pub over_background: f64,
    /// Chance that a series without any period shows so strong a line, at most; of trains that
    /// share a comb, the comb's.
    pub chance: f64,
    /// Time that it takes, as a share of all time; absent for events without lengths, and where what it takes does
    /// not stand out of the rest.
    pub noise: Option<f64>,
    /// How long the excesses that carry it are; absent for events.
    pub durations: Option<Durations>,
    /// What carries it, the best first, three at most; empty where nothing is known to.
    pub carriers: Vec<Carrier>,
}

/// A point of the figure of a spectrum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigurePoint {
    /// Frequency of the strongest power in its band.
    pub hz: f64,
    /// That power over its background.
    pub over_background: f64,
}
