//! The periodogram of a signal, and the frequency of a peak between bins.

use super::signal::{POINTS_PER_CYCLE, Signal, Times, good_length_above, spread};
use realfft::RealFftPlanner;

/// Power by frequency, with one bin for each cycle in the signal's duration.
#[derive(Debug, Clone)]
pub(super) struct Periodogram {
    /// Power of each bin; bin 0 is frequency 0.
    pub(super) power: Vec<f64>,
    /// Distance of two bins in Hz.
    pub(super) bin_hz: f64,
}

/// Computes the transforms of one signal, with tables computed once.
pub(super) struct Transform {
    planner: RealFftPlanner<f64>,
}

impl Transform {
    pub(super) fn new() -> Self {
        Self { planner: RealFftPlanner::new() }
    }

    /// Returns the periodogram with a Hann taper.
    ///
    /// For uneven times and many values it equals Lomb's (Lomb 1976; Scargle 1982): away from the sampling rate and its
    /// half, his sums of squared cosines and sines each equal half of the sum of weights, and what remains is the
    /// squared sum at the true times.
    pub(super) fn periodogram(&mut self, signal: &Signal<'_>) -> Periodogram {
        let tapered = |index: usize| {
            let at = signal.times.at(index);
            (at, signal.values[index] * signal.taper(at))
        };
        let count = signal.values.len();
        let mut grid: Vec<f64> = match signal.times {
            Times::Even(_) => (0..count).map(|index| tapered(index).1).collect(),
            Times::Uneven(_) => {
                let points = POINTS_PER_CYCLE * signal.highest_hz * signal.span_s;
                let length = good_length_above((points.ceil() as usize).max(8));
                let mut grid = vec![0.0; length];
                for index in 0..count {
                    let (at, value) = tapered(index);
                    spread(&mut grid, at / signal.span_s * length as f64, value);
                }
                grid
            }
        };
        let transform = self.planner.plan_fft_forward(grid.len());
        let mut bins = transform.make_output_vec();
        transform.process(&mut grid, &mut bins).expect("both lengths are the plan's own");
        let bin_hz = 1.0 / signal.span_s;
        // A little above the highest frequency is kept for comparison with what lies beside it.
        let kept = (signal.highest_hz / 0.97 / bin_hz).ceil() as usize;
        let power = bins.iter().take(kept + 1).map(|bin| bin.norm_sqr()).collect();
        Periodogram { power, bin_hz }
    }
}

impl Periodogram {
    /// Returns the bin of a frequency.
    pub(super) fn bin(&self, hz: f64) -> usize {
        (hz / self.bin_hz).round() as usize
    }

    /// Returns the strongest bin within `reach` bins of a frequency.
    pub(super) fn strongest_near(&self, hz: f64, reach: usize) -> Option<usize> {
        let middle = self.bin(hz);
        let range = middle.saturating_sub(reach).max(1)..=middle + reach;
        let inside = range.filter(|&bin| bin + 1 < self.power.len());
        inside.max_by(|&a, &b| self.power[a].total_cmp(&self.power[b]))
    }

    /// Returns the frequency of the peak around a bin from the bin and its larger neighbour; exact for one sinusoid
    /// with a Hann taper (Grandke, IEEE Trans. Instrum. Meas. 32, 1983).
    pub(super) fn peak_hz(&self, bin: usize) -> f64 {
        let at = |bin: usize| self.power.get(bin).copied().unwrap_or(0.0);
        let (left, right) = (at(bin.wrapping_sub(1)), at(bin + 1));
        let (sign, neighbour) = if right >= left { (1.0, right) } else { (-1.0, left) };
        let ratio = (neighbour / at(bin)).sqrt();
        let offset = if ratio.is_finite() { (2.0 * ratio - 1.0) / (ratio + 1.0) } else { 0.0 };
        (bin as f64 + sign * offset.clamp(-0.5, 1.0)) * self.bin_hz
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_found_to_a_hundredth_of_a_bin() {
        for hz in [50.0, 50.02, 50.05, 50.09, 123.456] {
            let values: Vec<f64> = (0..10_000)
                .map(|i| (std::f64::consts::TAU * hz * f64::from(i) / 1e3).sin())
                .collect();
            let signal = Signal::even(1e-3, &values, 1e9).expect("long enough");
            let spectrum = Transform::new().periodogram(&signal);
            let bin = spectrum.strongest_near(hz, 2).expect("it is inside");
            let found = spectrum.peak_hz(bin);
            assert!((found - hz).abs() < 1e-3, "{hz} Hz: {found} Hz");
        }
    }
}
