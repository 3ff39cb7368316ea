//! From the strongest line to its comb: the base frequency, refined over all harmonics.

use super::background::{LOWEST_BIN, height};
use super::coherence::ln_gamma_tail;
use super::transform::Periodogram;

/// Largest probability by chance of a present harmonic, once its comb is known.
const LN_PRESENT: f64 = -7.0;
/// Smallest base relative to the strongest line, and again relative to that.
const LARGEST_DIVISOR: u32 = 61;
/// Largest number of harmonics that decide whether a lower base is the true one.
const DECIDING: usize = 24;
/// Largest contribution of one of them (as a logarithm of its probability).
const MOST_OF_ONE: f64 = 8.0;
/// Largest probability of all together (natural logarithm) for accepting it.
const LN_LOWER: f64 = -11.0;
/// Largest probability if there is only one.
const LN_LOWER_BY_ONE: f64 = -16.0;
/// Largest number of harmonics examined.
const MOST_HARMONICS: u32 = 400;
/// Distance in bins within which a harmonic's peak is searched.
const REACH: usize = 1;
/// Standard deviation of a peak's frequency, in bins times the square root of its height. (The Cramér-Rao bound is
/// 0.39; taper and interpolation increase it.)
const PEAK_DEVIATION: f64 = 0.75;
/// Error of the interpolation, in bins.
const FLOOR_BINS: f64 = 0.01;

/// A set of lines at multiples of one frequency.
#[derive(Debug, Clone)]
pub(super) struct Comb {
    /// The base frequency.
    pub(super) hz: f64,
    /// Standard deviation of the base.
    pub(super) uncertainty_hz: f64,
    /// The harmonics present, in order: number, height relative to the background.
    pub(super) harmonics: Vec<(u32, f64)>,
}

/// A harmonic found in the spectrum.
struct Peak {
    hz: f64,
    over_background: f64,
}

impl Comb {
    /// Returns the comb of a significant line.
    ///
    /// The line may be any harmonic. A base `1/n` of it, with the smallest `n` first, is accepted if the harmonics that
    /// only it can explain (the multiples of `1/n` that are not multiples of the line) are present too, in total and
    /// not only one or two of them, so that 250 Hz does not become 125 Hz.
    pub(super) fn from_line(spectrum: &Periodogram, line_hz: f64, highest_hz: f64) -> Self {
        let mut hz = line_hz;
        while let Some(lower_hz) = lower_base(spectrum, hz, highest_hz) {
            hz = lower_hz;
        }
        Self::refined(spectrum, hz, line_hz, highest_hz, |_| true)
    }

    /// Returns the comb of one train in it that comes `times` times in the base's period, from its `own` harmonics
    /// (numbers of this comb), because trains whose rates are nearly multiples drift apart.
    pub(super) fn train(
        &self,
        spectrum: &Periodogram,
        times: u32,
        own: &[(u32, f64)],
        highest_hz: f64,
    ) -> Self {
        let base_hz = self.hz * f64::from(times);
        let strongest = own.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let line_hz = strongest.and_then(|&(number, _)| {
            let bin = spectrum.strongest_near(self.hz * f64::from(number), REACH)?;
            Some(spectrum.peak_hz(bin))
        });
        match line_hz {
            Some(line_hz) => Self::refined(spectrum, base_hz, line_hz, highest_hz, |number| {
                own.iter().any(|&(own, _)| own == number * times)
            }),
            None => Self {
                hz: base_hz,
                uncertainty_hz: self.uncertainty_hz * f64::from(times),
                harmonics: vec![],
            },
        }
    }

    /// Returns the number of its harmonic at a frequency, if one is close enough.
    pub(super) fn number_near(&self, hz: f64, bin_hz: f64, bins: f64) -> Option<u32> {
        let number = (hz / self.hz).round();
        let near = bins * bin_hz + number * 3.0 * self.uncertainty_hz;
        (number >= 1.0 && (hz - number * self.hz).abs() <= near).then_some(number as u32)
    }

    /// Refines the base from all present harmonics, each of which gives it with the error of its peak divided by its
    /// number: the mean is weighted by number squared times height.
    fn refined(
        spectrum: &Periodogram,
        base_hz: f64,
        line_hz: f64,
        highest_hz: f64,
        counts: impl Fn(u32) -> bool,
    ) -> Self {
        let line = (line_hz / base_hz).round().max(1.0) as u32;
        let first = present(spectrum, line_hz).map_or(1.0, |peak| peak.over_background);
        let mut found = vec![(line, line_hz, first)];
        let mut estimate = Estimate::default();
        estimate.add(line, line_hz, first);
        let last = ((highest_hz / base_hz) as u32).min(MOST_HARMONICS);
        for number in (1..=last).filter(|&number| number != line && counts(number)) {
            // Where a harmonic must be is known from those before it.
            let expected_hz = estimate.hz() * f64::from(number);
            if let Some(peak) = present(spectrum, expected_hz) {
                let strays = (peak.hz - expected_hz).abs() > 0.5 * spectrum.bin_hz;
                if !strays {
                    estimate.add(number, peak.hz, peak.over_background);
                }
                found.push((number, peak.hz, peak.over_background));
            }
        }
        found.sort_by_key(|&(number, ..)| number);
        Self {
            hz: estimate.hz(),
            uncertainty_hz: estimate.uncertainty_hz(&found, spectrum.bin_hz),
            harmonics: found.into_iter().map(|(number, _, height)| (number, height)).collect(),
        }
    }
}

/// A weighted mean of base frequencies.
#[derive(Debug, Default)]
struct Estimate {
    weights: f64,
    sum: f64,
    highest: f64,
}

impl Estimate {
    fn add(&mut self, number: u32, hz: f64, over_background: f64) {
        let number = f64::from(number);
        let weight = number * number * over_background.min(1e4);
        self.weights += weight;
        self.sum += weight * hz / number;
        self.highest = self.highest.max(number);
    }

    fn hz(&self) -> f64 {
        self.sum / self.weights
    }

    /// Returns the standard deviation from the heights, or from the scatter of the harmonics if that is larger.
    fn uncertainty_hz(&self, found: &[(u32, f64, f64)], bin_hz: f64) -> f64 {
        let by_height = PEAK_DEVIATION * bin_hz / self.weights.sqrt();
        let mut squares = 0.0;
        for &(number, hz, height) in found {
            let off = hz - self.hz() * f64::from(number);
            if off.abs() <= 0.5 * bin_hz {
                squares += off * off * height.min(1e4) / (PEAK_DEVIATION * bin_hz).powi(2);
            }
        }
        let scatter = (squares / (found.len() as f64 - 1.0).max(1.0)).sqrt().max(1.0);
        (by_height * scatter).hypot(FLOOR_BINS * bin_hz / self.highest)
    }
}

fn present(spectrum: &Periodogram, hz: f64) -> Option<Peak> {
    let bin = spectrum.strongest_near(hz, REACH)?;
    let height = height(spectrum, bin)?;
    (height.ln_chance < LN_PRESENT)
        .then(|| Peak { hz: spectrum.peak_hz(bin), over_background: height.over_background })
}

/// Returns the highest fraction of a base that explains more than the base does; absent if none does.
fn lower_base(spectrum: &Periodogram, hz: f64, highest_hz: f64) -> Option<f64> {
    let lowest_hz = LOWEST_BIN as f64 * spectrum.bin_hz;
    let fractions = (2..=LARGEST_DIVISOR).map(|divisor| (divisor, hz / f64::from(divisor)));
    let (_, lower_hz) = fractions
        .take_while(|&(_, lower_hz)| lower_hz >= lowest_hz)
        .find(|&(divisor, lower_hz)| explains_more(spectrum, divisor, lower_hz, highest_hz))?;
    Some(lower_hz)
}

fn explains_more(spectrum: &Periodogram, divisor: u32, lower_hz: f64, highest_hz: f64) -> bool {
    let own = (1..).filter(|number: &u32| !number.is_multiple_of(divisor)).take(DECIDING);
    let own = own.map(|number| lower_hz * f64::from(number)).take_while(|&hz| hz <= highest_hz);
    let mut evidence: Vec<f64> = own.map(|hz| evidence(spectrum, hz)).collect();
    evidence.sort_unstable_by(f64::total_cmp);
    match evidence[..] {
        [] => false,
        [one] => -one <= LN_LOWER_BY_ONE,
        _ => {
            // The strongest quarter may be those of another comb, which meets this one at times.
            let counted = &evidence[..evidence.len() - evidence.len() / 4];
            let sum = counted.iter().map(|evidence| evidence.min(MOST_OF_ONE)).sum();
            ln_gamma_tail(counted.len(), sum) <= LN_LOWER
        }
    }
}

/// Returns how improbable the power near a frequency is by chance: the negative logarithm of its probability, at least 0.
fn evidence(spectrum: &Periodogram, hz: f64) -> f64 {
    let bin = spectrum.strongest_near(hz, REACH);
    let height = bin.and_then(|bin| height(spectrum, bin));
    // The strongest of several bins: the chance of one bin, times their number.
    let ln_bins = ((2 * REACH + 1) as f64).ln();
    height.map_or(0.0, |height| -height.ln_chance - ln_bins).max(0.0)
}
