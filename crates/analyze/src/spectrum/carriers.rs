//! The sources of a line: those whose events are in step with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Largest number of sources of one line.
const NAMED: usize = 3;
/// A source is in step if its events' phases are so concentrated that the probability by chance is lower than this
/// (natural logarithm; Rayleigh's test).
const LN_CHANCE: f64 = -16.0;
/// A source in a smaller share of the line's periods is in step with it but does not cause it.
const FEWEST_BEATS: f64 = 0.3;
/// A source whose concentration times the share of periods is smaller does not cause it.
const LEAST_SCORE: f64 = 0.05;
/// Largest distance from the mean phase at which an event fits the period, in cycles.
const FITS: f64 = 0.1;

/// The events of a source, as far as needed here.
#[derive(Debug, Clone, Copy)]
pub struct SourceEvents<'a> {
    /// Identifier of the source, from the table of sources.
    pub source: &'a str,
    /// Name within the source; empty if there is only one.
    pub name: &'a str,
    /// The kernel function that ran, if known.
    pub function: Option<&'a str>,
    /// Starts of its events in order, in seconds.
    pub starts_s: &'a [f64],
    /// Durations of its events, in seconds.
    pub lengths_s: &'a [f64],
}

/// Durations, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Durations {
    /// Number of durations.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// First quartile.
    pub p25_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// Third quartile.
    pub p75_ns: f64,
}

impl Durations {
    /// Returns the distribution of sorted durations in seconds; absent for none.
    pub(super) fn of_sorted_seconds(sorted: &[f64]) -> Option<Self> {
        let last = sorted.len().checked_sub(1)?;
        let at = |share: f64| sorted[(share * last as f64).round() as usize] * 1e9;
        Some(Self {
            count: sorted.len() as u64,
            mean_ns: sorted.iter().sum::<f64>() / sorted.len() as f64 * 1e9,
            p25_ns: at(0.25),
            p50_ns: at(0.5),
            p75_ns: at(0.75),
        })
    }
}

/// A source whose events are in step with a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Carrier {
    /// Identifier of the source, from the table of sources.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// The kernel function that ran, if known.
    pub function: Option<String>,
    /// Number of its events.
    pub events: u64,
    /// Concentration of their phases, with events of one period combined: 0 if evenly spread, 1 if all at one phase.
    pub concentration: f64,
    /// Share of the line's periods that contain one in step.
    pub per_beat: f64,
    /// Share of its events that fit the period: within a tenth of it of their mean phase.
    pub fits: f64,
    /// Durations of the events that fit.
    pub durations: Option<Durations>,
}

/// Returns the sources of a line of `hz` over `span_s` seconds, the best first.
///
/// Events are folded at the line's frequency. A source causes the line if its phases are concentrated beyond chance
/// (Rayleigh's test on the first harmonic) and fill a share of the periods; the best has the largest product of
/// concentration and share, and of two that fill them equally, the one that takes more time. Sources at a multiple or a
/// fraction of the line's rate score lower: their phases cancel, or they fill few periods.
#[must_use]
pub fn carriers(hz: f64, span_s: f64, sources: &[SourceEvents<'_>]) -> Vec<Carrier> {
    let beats = hz * span_s;
    if !beats.is_finite() || beats < 1.0 {
        return vec![];
    }
    let mut found: Vec<(f64, Carrier)> =
        sources.iter().filter_map(|source| carrier(hz, beats, source)).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(NAMED).map(|(_, carrier)| carrier).collect()
}

fn carrier(hz: f64, beats: f64, source: &SourceEvents<'_>) -> Option<(f64, Carrier)> {
    let angle = |start: &f64| TAU * (start * hz).fract();
    let finite: Vec<f64> = source.starts_s.iter().copied().filter(|at| at.is_finite()).collect();
    let sum = |events: &[f64]| {
        let phases = events.iter().map(|start| angle(start).sin_cos());
        phases.fold((0.0, 0.0), |sum, (sine, cosine)| (sum.0 + cosine, sum.1 + sine))
    };
    // What comes within one beat counts as one event of the mean phase: a burst is no beat. Beats begin half a
    // cycle from where most events are, so that none of them falls into the next.
    let all = sum(&finite);
    let begin = (all.1.atan2(all.0) / TAU + 0.5).rem_euclid(1.0);
    let beat_of = |start: &f64| (start * hz - begin).floor();
    let (mut x, mut y, mut with_events) = (0.0, 0.0, 0.0);
    for beat in finite.chunk_by(|a, b| beat_of(a) == beat_of(b)) {
        let (cosine, sine) = sum(beat);
        x += cosine / beat.len() as f64;
        y += sine / beat.len() as f64;
        with_events += 1.0;
    }
    let count = finite.len() as u64;
    let concentration = if count == 0 { 0.0 } else { x.hypot(y) / with_events };
    let per_beat = with_events * concentration / beats;
    let by_chance = -with_events * concentration * concentration > LN_CHANCE;
    if by_chance || per_beat < FEWEST_BEATS || per_beat.min(1.0) * concentration < LEAST_SCORE {
        return None;
    }
    let middle = y.atan2(x);
    let mut lengths = vec![];
    let mut fitting = 0u64;
    for (index, start) in source.starts_s.iter().enumerate().filter(|(_, at)| at.is_finite()) {
        let off = (angle(start) - middle).rem_euclid(TAU);
        if off.min(TAU - off) <= FITS * TAU {
            fitting += 1;
            lengths.extend(source.lengths_s.get(index).filter(|length| length.is_finite()));
        }
    }
    lengths.sort_unstable_by(f64::total_cmp);
    let durations = Durations::of_sorted_seconds(&lengths);
    // Time only decides between sources that fill the beats about equally.
    let median_s = durations.as_ref().map_or(0.0, |durations| durations.p50_ns * 1e-9);
    let filled = (10.0 * per_beat.min(1.0) * concentration).round();
    let score = filled + (median_s * hz).clamp(0.0, 0.4);
    Some((
        score,
        Carrier {
            source: source.source.to_owned(),
            name: source.name.to_owned(),
            function: source.function.map(str::to_owned),
            events: count,
            concentration,
            per_beat,
            fits: fitting as f64 / count as f64,
            durations,
        },
    ))
}
