//! Peaks that are not lines but residues of trains that were subtracted.

use super::comb::Comb;
use super::signal::Signal;
use super::transform::Periodogram;
use std::cmp::Ordering;

/// Distance in bins within which nothing can be separated from a harmonic.
const BESIDE_BINS: f64 = 3.0;
/// A peak weaker by this factor than a train, at an image of one of its harmonics, belongs to it.
const MIRRORED: f64 = 0.02;
/// Number of images of the sampling rate that are recognised.
const MOST_IMAGES: u32 = 8;
/// Factor for peaks where harmonics of two trains coincide.
const MET: f64 = 0.01;
/// Harmonics of the faster of two trains that may coincide with those of the other.
const MOST_MET: i32 = 8;
/// Tolerance of such a place, in bins.
const MET_BINS: f64 = 1.0;
/// Powers weaker by this factor than a train's are rounding errors.
const ROUNDING: f64 = 1e-14;

/// A train that was found, and the largest strength of its comb.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) comb: Comb,
    pub(super) power: f64,
}

/// Returns whether a peak is a residue of trains: beside a harmonic of one (no clock is perfectly even), or, much
/// weaker, at an image of one, or at the sum or difference of harmonics of two (their interrupts coincide, and one
/// waits for the other).
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
