//! The sources of a line: those whose events are in step with it.

use schemars::JsonSchema;
use serde::Serialize;
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
/// A source that takes more than this share of the time in step may cause a line of which it fills fewer periods.
const MOST_TIME: f64 = 0.5;
/// The smallest share of periods in that case.
const FEWEST_LONG_BEATS: f64 = 0.1;
/// Largest divisor of the line's frequency at which a source may have a train of its own.
const SLOWEST: u32 = 16;
/// Share of periods that a train fills.
const TRAIN: f64 = 0.6;
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    pub(super) fn from_sorted_seconds(sorted: &[f64]) -> Option<Self> {
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    /// Share of all time that its events in step took, beyond those that fit by chance.
    #[serde(default)]
    pub noise: f64,
    /// Durations of the events that fit.
    pub durations: Option<Durations>,
}

/// Returns the sources of a line of `hz` over `span_s` seconds, the best first. `noise` is the line's share of all time,
/// if that is known.
///
/// Events are folded at the line's frequency. A source can cause the line if its phases are concentrated beyond chance
/// (Rayleigh's test on the first harmonic), and if it is present in a share of the periods or takes most of the time
/// that is in step. A line is carried by what took the time in its beats, not by what is present in most: the best is
/// the source whose time in step is nearest to that of the line or, where that is unknown, the largest; of sources
/// without times the one that fills the beats best.
#[must_use]
pub fn carriers(
    hz: f64,
    span_s: f64,
    noise: Option<f64>,
    sources: &[SourceEvents<'_>],
) -> Vec<Carrier> {
    let beats = hz * span_s;
    if !beats.is_finite() || beats < 1.0 {
        return vec![];
    }
    let found: Vec<_> =
        sources.iter().filter_map(|source| Some((source, carrier(hz, beats, source)?))).collect();
    let all: f64 = found.iter().map(|(_, carrier)| carrier.noise).sum();
    let causes = |(source, carrier): &(&SourceEvents<'_>, Carrier)| {
        let long = carrier.noise > MOST_TIME * all && carrier.per_beat >= FEWEST_LONG_BEATS;
        is_present(carrier) || (long && !is_slower(hz, beats, source))
    };
    let found = found.into_iter().filter(causes);
    let mut found: Vec<Carrier> = found.map(|(_, carrier)| carrier).collect();
    // The distance of the times in logarithms, where they are known.
    let far = |carrier: &Carrier| match noise {
        Some(noise) if noise > 0.0 && all > 0.0 => (carrier.noise / noise).ln().abs(),
        _ => -carrier.noise,
    };
    let filled = |carrier: &Carrier| carrier.per_beat.min(1.0) * carrier.concentration;
    found.sort_by(|a, b| far(a).total_cmp(&far(b)).then(filled(b).total_cmp(&filled(a))));
    found.truncate(NAMED);
    found
}

/// Returns whether enough periods of the line contain an event of the source in step.
fn is_present(carrier: &Carrier) -> bool {
    let filled = carrier.per_beat.min(1.0) * carrier.concentration;
    carrier.per_beat >= FEWEST_BEATS && filled >= LEAST_SCORE
}

/// Returns whether a source is a train of a whole fraction of the line's frequency, and so in step with it by itself.
fn is_slower(hz: f64, beats: f64, source: &SourceEvents<'_>) -> bool {
    (2..=SLOWEST).map(f64::from).any(|part| {
        let found = carrier(hz / part, beats / part, source);
        found.is_some_and(|carrier| carrier.per_beat >= TRAIN)
    })
}

fn carrier(hz: f64, beats: f64, source: &SourceEvents<'_>) -> Option<Carrier> {
    let finite: Vec<f64> = source.starts_s.iter().copied().filter(|at| at.is_finite()).collect();
    // What comes within one beat counts as one event of the mean phase: a burst is no beat. Beats begin half a
    // cycle from where most events are, so that none of them falls into the next.
    let all = resultant(&finite, hz);
    let begin = (all.1.atan2(all.0) / TAU + 0.5).rem_euclid(1.0);
    let beat_of = |start: &f64| (start * hz - begin).floor();
    let (mut x, mut y, mut with_events) = (0.0, 0.0, 0.0);
    for beat in finite.chunk_by(|a, b| beat_of(a) == beat_of(b)) {
        let (cosine, sine) = resultant(beat, hz);
        x += cosine / beat.len() as f64;
        y += sine / beat.len() as f64;
        with_events += 1.0;
    }
    let count = finite.len() as u64;
    let concentration = if count == 0 { 0.0 } else { x.hypot(y) / with_events };
    let per_beat = with_events * concentration / beats;
    if -with_events * concentration * concentration > LN_CHANCE {
        return None;
    }
    let middle = y.atan2(x);
    let mut lengths = vec![];
    let (mut fitting, mut others_s) = (0u64, 0.0);
    for (index, start) in source.starts_s.iter().enumerate().filter(|(_, at)| at.is_finite()) {
        let off = (angle(*start, hz) - middle).rem_euclid(TAU);
        let length = source.lengths_s.get(index).copied().filter(|length| length.is_finite());
        if off.min(TAU - off) <= FITS * TAU {
            fitting += 1;
            lengths.extend(length);
        } else {
            others_s += length.unwrap_or(0.0);
        }
    }
    let by_chance_s = others_s * 2.0 * FITS / (1.0 - 2.0 * FITS);
    let in_step_s = (lengths.iter().sum::<f64>() - by_chance_s).max(0.0);
    lengths.sort_unstable_by(f64::total_cmp);
    Some(Carrier {
        source: source.source.to_owned(),
        name: source.name.to_owned(),
        function: source.function.map(str::to_owned),
        events: count,
        concentration,
        per_beat,
        fits: fitting as f64 / count as f64,
        noise: in_step_s * hz / beats,
        durations: Durations::from_sorted_seconds(&lengths),
    })
}

/// Returns the sum of the unit vectors of the phases of these events at a frequency.
fn resultant(events: &[f64], hz: f64) -> (f64, f64) {
    let phases = events.iter().map(|start| angle(*start, hz).sin_cos());
    phases.fold((0.0, 0.0), |sum, (sine, cosine)| (sum.0 + cosine, sum.1 + sine))
}

/// Returns the phase of an instant at a frequency, in radians.
fn angle(start_s: f64, hz: f64) -> f64 {
    TAU * (start_s * hz).fract()
}
