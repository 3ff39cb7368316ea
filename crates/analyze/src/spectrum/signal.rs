//! Noise over time, prepared for a Fourier transform: checked, giants limited, mean subtracted.

use std::borrow::Cow;

/// Smallest number of values for a spectrum.
pub(super) const FEWEST: usize = 512;
/// A window that lost this share counts as lost completely.
const WHOLE: f64 = 0.9;
/// Smallest number of equal values over which the energy must be spread (a sixteenth of all, if there are few). A cap
/// chosen this way costs no power: a train of ordinary detours stays unchanged below it.
const SPREAD: f64 = 128.0;
/// A lower cap is tried if it removes this share of the noise's energy.
const WORTH_ANOTHER_LOOK: f64 = 30.0;
/// Longest duration of two interrupts together, in seconds.
const INTERRUPT_S: f64 = 50e-6;
/// Largest frequency as a share of half the sampling rate: at half of it a sinusoid has only one phase, and its power
/// another distribution.
const EDGE: f64 = 0.96;
/// Points of the even grid per cycle of the highest frequency; with four-point interpolation the error of a sinusoid is
/// below 1 % of its amplitude.
pub(super) const POINTS_PER_CYCLE: f64 = 8.0;
/// Largest number of points of such a grid (32 MiB).
const MOST_POINTS: f64 = (1 << 22) as f64;
/// Highest rate of any kernel's periodic timers.
pub(super) const HIGHEST_HZ: f64 = 10_000.0;

/// Times of the values of a signal, in seconds from its start.
#[derive(Debug, Clone)]
pub(super) enum Times<'a> {
    /// Evenly spaced by this many seconds.
    Even(f64),
    /// At these times, which never decrease.
    Uneven(Cow<'a, [f64]>),
}

impl Times<'_> {
    #[inline]
    pub(super) fn at(&self, index: usize) -> f64 {
        match self {
            Times::Even(step) => index as f64 * step,
            Times::Uneven(starts) => starts[index],
        }
    }

    pub(super) fn even_step(&self) -> Option<f64> {
        match self {
            Times::Even(step) => Some(*step),
            Times::Uneven(_) => None,
        }
    }
}

/// A series of noise.
#[derive(Debug, Clone)]
pub(super) struct Signal<'a> {
    pub(super) times: Times<'a>,
    /// Raw excess, in seconds (or the weight of events).
    pub(super) raw: Cow<'a, [f64]>,
    /// Excess with giants limited and the mean subtracted; lines are subtracted from it once found.
    pub(super) values: Vec<f64>,
    /// Cap of the values.
    pub(super) cap: f64,
    /// Larger values are giants, which are not beats of a train.
    pub(super) giant: f64,
    /// Time from the first value to the end of the last.
    pub(super) span_s: f64,
    /// Mean distance of values in time.
    pub(super) grain_s: f64,
    /// Resolution: the grain, or half a cycle of the highest frequency.
    pub(super) blur_s: f64,
    /// Highest analysed frequency.
    pub(super) highest_hz: f64,
}

impl<'a> Signal<'a> {
    /// Returns a signal of evenly spaced values. The last few are dropped if that gives the transform a suitable
    /// length.
    pub(super) fn even(step_s: f64, values: &'a [f64], limit_hz: f64) -> Option<Self> {
        let sound = step_s.is_finite() && step_s > 0.0 && values.iter().all(|v| v.is_finite());
        if !sound || values.len() < FEWEST {
            return None;
        }
        let raw = whole_losses(&values[..good_length_below(values.len())], step_s);
        let span_s = step_s * raw.len() as f64;
        let highest_hz = limit_hz.min(EDGE / 2.0 / step_s);
        Some(Self::new(Times::Even(step_s), raw, span_s, step_s, highest_hz))
    }

    /// Returns a signal of values at uneven times; each covers the time to the next.
    pub(super) fn uneven(starts_s: &'a [f64], values: &'a [f64], limit_hz: f64) -> Option<Self> {
        let count = starts_s.len();
        let sound = starts_s.iter().chain(values).all(|value| value.is_finite())
            && starts_s.is_sorted()
            && count == values.len();
        if !sound || count < FEWEST {
            return None;
        }
        let first = starts_s[0];
        let covered = starts_s[count - 1] - first;
        if covered <= 0.0 || !covered.is_finite() {
            return None;
        }
        let grain_s = covered / (count - 1) as f64;
        let starts = match first {
            0.0 => Cow::Borrowed(starts_s),
            _ => Cow::Owned(starts_s.iter().map(|start| start - first).collect()),
        };
        let span_s = covered + grain_s;
        let highest_hz = limit_hz.min(EDGE / 2.0 / median_step(&starts).max(grain_s / 4.0));
        let highest_hz = highest_hz.min(MOST_POINTS / POINTS_PER_CYCLE / span_s);
        Some(Self::new(Times::Uneven(starts), Cow::Borrowed(values), span_s, grain_s, highest_hz))
    }

    /// Returns a signal of events between two instants, distributed onto an even grid.
    pub(super) fn from_events(
        starts_s: &[f64],
        weights: Option<&[f64]>,
        (from, to): (f64, f64),
        limit_hz: f64,
    ) -> Option<Self> {
        let count = starts_s.len();
        let span_s = to - from;
        let sound = span_s.is_finite()
            && span_s > 0.0
            && starts_s.iter().all(|at| (from..=to).contains(at))
            && weights.is_none_or(|w| w.len() == count && w.iter().all(|w| w.is_finite()));
        if !sound || count < FEWEST / 4 {
            return None;
        }
        let highest_hz = limit_hz.min(MOST_POINTS / POINTS_PER_CYCLE / span_s);
        let points = good_length_above((POINTS_PER_CYCLE * highest_hz * span_s).ceil() as usize);
        if points < FEWEST {
            return None;
        }
        let cap = weights.map_or(1.0, |w| cap(&in_order(w), sixteenth(w).min(SPREAD)));
        let step_s = span_s / points as f64;
        let mut grid = vec![0.0; points];
        for (index, at) in starts_s.iter().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[index].clamp(-cap, cap));
            spread(&mut grid, (at - from) / step_s, weight);
        }
        let mut signal = Self {
            times: Times::Even(step_s),
            values: grid.clone(),
            raw: Cow::Owned(grid),
            cap: f64::INFINITY,
            giant: f64::INFINITY,
            span_s,
            grain_s: step_s,
            blur_s: 0.5 / highest_hz,
            highest_hz,
        };
        signal.centre();
        Some(signal)
    }

    fn new(
        times: Times<'a>,
        raw: Cow<'a, [f64]>,
        span_s: f64,
        grain_s: f64,
        highest_hz: f64,
    ) -> Self {
        let cap = cap(&in_order(&raw), sixteenth(&raw).min(SPREAD));
        let mut signal = Self {
            times,
            values: raw.to_vec(),
            raw,
            cap,
            giant: cap,
            span_s,
            grain_s,
            blur_s: grain_s.max(0.5 / highest_hz * EDGE),
            highest_hz,
        };
        signal.cut(cap);
        signal
    }

    /// If hundreds of giants dominate what remains without the lines found so far, restarts with a lower cap, and
    /// returns whether it did.
    pub(super) fn cut_again(&mut self) -> bool {
        let low = low_cap(&self.raw);
        let energy = |values: &[f64], cap: f64| -> f64 {
            values.iter().map(|value| value.clamp(-cap, cap).powi(2)).sum()
        };
        let gain = energy(&self.values, f64::INFINITY) / energy(&self.raw, low);
        let again = self.cap.is_finite() && low < self.cap && gain > WORTH_ANOTHER_LOOK;
        if again {
            self.values.copy_from_slice(&self.raw);
            self.giant = 10.0 * low;
            self.cut(low);
        }
        again
    }

    fn cut(&mut self, cap: f64) {
        self.cap = cap;
        self.values.iter_mut().for_each(|value| *value = value.clamp(-cap, cap));
        self.centre();
    }

    /// Returns the taper at the time of a value: a raised cosine (Hann), which keeps strong lines and slow drift from
    /// leaking over the spectrum.
    #[inline]
    pub(super) fn taper(&self, at_s: f64) -> f64 {
        let sine = (std::f64::consts::PI * (at_s / self.span_s)).sin();
        sine * sine
    }

    /// Subtracts the tapered mean.
    pub(super) fn centre(&mut self) {
        let (mut sum, mut tapers) = (0.0, 0.0);
        for (index, value) in self.values.iter().enumerate() {
            let taper = self.taper(self.times.at(index));
            sum += taper * value;
            tapers += taper;
        }
        let mean = if tapers > 0.0 { sum / tapers } else { 0.0 };
        self.values.iter_mut().for_each(|value| *value -= mean);
    }
}

/// Merges adjacent windows that are lost completely into one loss at the first of them, where it is recognised as a
/// giant.
fn whole_losses(values: &[f64], window_s: f64) -> Cow<'_, [f64]> {
    let whole = |value: &f64| *value >= WHOLE * window_s;
    if !values.windows(2).any(|two| two.iter().all(whole)) {
        return Cow::Borrowed(values);
    }
    let mut merged = values.to_vec();
    let mut first = None;
    for index in 0..merged.len() {
        match (first, whole(&merged[index])) {
            (Some(first), true) => {
                merged[first] += merged[index];
                merged[index] = 0.0;
            }
            (_, true) => first = Some(index),
            _ => first = None,
        }
    }
    Cow::Owned(merged)
}

/// Returns the lower cap: it spreads the energy over a sixteenth of all values but keeps interrupts unchanged. (A cap
/// below two coinciding trains creates lines of its own.)
fn low_cap(values: &[f64]) -> f64 {
    cap(&in_order(values), sixteenth(values)).max(INTERRUPT_S)
}

fn sixteenth(values: &[f64]) -> f64 {
    (values.len() as f64 / 16.0).max(16.0)
}

fn in_order(values: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes
}

/// Returns the cap that keeps giants from dominating the spectrum: the largest one under which the energy of the sorted
/// values is spread as if over this many equal ones.
fn cap(sizes: &[f64], wanted: f64) -> f64 {
    let (mut squares, mut fourths) = (0.0, 0.0);
    let scale = sizes.last().copied().unwrap_or(0.0);
    if scale <= 0.0 {
        return 0.0;
    }
    // Under a cap at the value of a rank, it and all above count as that value.
    let mut cap = sizes[0];
    for (rank, size) in sizes.iter().enumerate() {
        let size = size / scale; // so that no power overflows or vanishes
        let above = (sizes.len() - rank) as f64;
        let energy = squares + above * size * size;
        let spread = energy * energy / (fourths + above * size.powi(4));
        if spread >= wanted {
            cap = size * scale;
        }
        squares += size * size;
        fourths += size.powi(4);
    }
    cap
}

fn median_step(starts: &[f64]) -> f64 {
    let mut steps: Vec<f64> = starts.windows(2).map(|two| two[1] - two[0]).collect();
    let middle = steps.len() / 2;
    *steps.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Adds `value` at position `at` between the points of a circular grid, so that the transform of the grid equals that
/// of the value at its true place, for frequencies with many points per cycle.
///
/// Four-point Lagrange "extirpolation", Press & Rybicki, Astrophysical Journal 338, 1989.
#[inline]
pub(super) fn spread(grid: &mut [f64], at: f64, value: f64) {
    let length = grid.len();
    let left = at.floor();
    let u = at - left;
    let (down, up, far) = (u + 1.0, u - 1.0, u - 2.0);
    let weights =
        [-u * up * far / 6.0, down * up * far / 2.0, -down * u * far / 2.0, down * u * up / 6.0];
    let first = left as usize + length - 1;
    for (offset, weight) in weights.into_iter().enumerate() {
        grid[(first + offset) % length] += weight * value;
    }
}

/// Returns the largest even product of 2, 3 and 5 that is at most `length` (at least 2).
pub(super) fn good_length_below(length: usize) -> usize {
    (2..=length).rev().find(|&length| is_good(length)).unwrap_or(2)
}

/// Returns the smallest even product of 2, 3 and 5 that is at least `length`.
pub(super) fn good_length_above(length: usize) -> usize {
    (length.max(2)..).find(|&length| is_good(length)).unwrap_or(2)
}

fn is_good(length: usize) -> bool {
    let mut rest = length;
    for factor in [2, 3, 5] {
        while rest.is_multiple_of(factor) {
            rest /= factor;
        }
    }
    rest == 1 && length.is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn giants_are_cut_and_ordinary_values_are_not() {
        let ordinary: Vec<f64> = (0..3200).map(|i| f64::from(i % 7)).collect();
        let mut giants = ordinary.clone();
        giants[100..110].fill(1e4);
        let cut = |values: &[f64]| cap(&in_order(values), sixteenth(values).min(SPREAD));
        let cases = [
            ("ordinary", cut(&ordinary), 5.9..=6.0),
            ("ten giants", cut(&giants), 5.9..=200.0),
            ("all alike", cut(&[2.0; 1000]), 2.0..=2.0),
            ("nothing", cut(&[0.0; 1000]), 0.0..=0.0),
            ("too large to be squared", cut(&[1e300; 1000]), 1e300..=1e300),
        ];
        for (name, cap, expected) in cases {
            assert!(expected.contains(&cap), "case: {name}: {cap}");
        }
    }

    #[test]
    fn a_value_between_points_has_the_transform_of_where_it_was() {
        let length = 64usize;
        for at in [0.0, 0.3, 17.5, 62.9, 63.99] {
            let mut grid = vec![0.0; length];
            spread(&mut grid, at, 1.0);
            // The highest frequency that is used: eight points a cycle.
            for bin in 1..=length / 8 {
                let angle = TAU * bin as f64 / length as f64;
                let (mut x, mut y) = (-(angle * at).cos(), -(angle * at).sin());
                for (point, value) in grid.iter().enumerate() {
                    x += value * (angle * point as f64).cos();
                    y += value * (angle * point as f64).sin();
                }
                assert!(x.hypot(y) < 0.012, "{at} in bin {bin}: off by {}", x.hypot(y));
            }
        }
    }

    #[test]
    fn windows_without_any_work_are_one_loss() {
        let lost = [0.0, 0.4, 1.0, 1.0, 0.95, 0.2, 1.0, 0.0];
        let expected = [0.0, 0.4, 2.95, 0.0, 0.0, 0.2, 1.0, 0.0];
        let merged = whole_losses(&lost, 1.0);
        assert!(merged.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{merged:?}");
    }

    #[test]
    fn lengths_that_are_transformed_quickly() {
        for (length, below, above) in
            [(2, 2, 2), (7, 6, 8), (1000, 1000, 1000), (100_003, 100_000, 101_250)]
        {
            assert_eq!((good_length_below(length), good_length_above(length)), (below, above));
        }
    }
}
