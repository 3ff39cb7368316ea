//! Peaks that are no lines of their own: what the trains found so far leave when they are taken off.

use super::comb::Comb;
use super::signal::Signal;
use super::transform::Periodogram;
use std::cmp::Ordering;

/// Nearer than this to a harmonic nothing else is told apart from it, in bins.
const BESIDE_BINS: f64 = 3.0;
/// A peak this much weaker than a train, at a mirror image of one of its harmonics, is its.
const MIRRORED: f64 = 0.02;
/// Images of the sampling rate that are known again.
const MOST_IMAGES: u32 = 8;
/// The same where harmonics of two trains meet.
const MET: f64 = 0.01;
/// Harmonics of the faster of two trains that may meet those of the other.
const MOST_MET: i32 = 8;
/// How near such a place must be, in bins.
const MET_BINS: f64 = 1.0;
/// Powers this much below a train's are rounding errors.
const ROUNDING: f64 = 1e-14;

/// A train that was found, and how strong its comb was at its strongest.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) comb: Comb,
    pub(super) power: f64,
}

/// Whether a peak is what trains leave: beside a harmonic of one (no clock is quite even), or, much
/// weaker, at a mirror image of one, or at the sum or difference of harmonics of two (their
/// interrupts meet, and one waits for the other).
pub(super) fn is_left_over(
    found: &[Found],
    signal: &Signal<'_>,
    spectrum: &Periodogram,
    bin: usize,
    hz: f64,
) -> bool {
    let sampling_hz = 1.0 / signal.grain_s;
    let power = spectrum.power[bin];
    let at = |train: &Found, hz: f64, bins: f64| {
        train.comb.number_near(hz.abs(), spectrum.bin_hz, bins).is_some()
    };
    let mirrors = |train: &Found| {
        let mut images = (1..=MOST_IMAGES).map(|image| f64::from(image) * sampling_hz);
        images.any(|rate| at(train, rate + hz, BESIDE_BINS) || at(train, rate - hz, BESIDE_BINS))
    };
    let meets = |fast: &Found, slow: &Found| {
        (-MOST_MET..=MOST_MET).any(|number| {
            let hz = hz - f64::from(number) * fast.comb.hz;
            [0.0, -sampling_hz, sampling_hz].iter().any(|rate| at(slow, hz + rate, MET_BINS))
        })
    };
    let meets_any = |strong: &Found| {
        found.iter().any(|other| match strong.comb.hz.total_cmp(&other.comb.hz) {
            Ordering::Greater => meets(strong, other),
            Ordering::Less => meets(other, strong),
            Ordering::Equal => false,
        })
    };
    found.iter().any(|train| {
        power < ROUNDING * train.power
            || at(train, hz, BESIDE_BINS)
            || power < MIRRORED * train.power && mirrors(train)
            || power < MET * train.power && meets_any(train)
    })
}
