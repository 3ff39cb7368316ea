//! Noise over time, ready for a Fourier transform: checked, its giants cut, its mean taken off.

use std::borrow::Cow;

/// Fewer values than this hold no spectrum worth the name.
pub(super) const FEWEST: usize = 512;
/// Of a window that lost this share nothing is left.
const WHOLE: f64 = 0.9;
/// Equal values over which the energy is spread at least (a sixteenth of all, if they are few). Such a cap costs
/// no power: under it a train of ordinary detours stays as it is.
const SPREAD: f64 = 128.0;
/// Largest share of half the sampling rate that is looked at: at half of it a sinusoid has one
/// phase only, and its power another distribution.
const EDGE: f64 = 0.96;
/// Points of the even grid in one cycle of the highest frequency. With four-point interpolation
/// the error of a sinusoid is then below 1 % of its amplitude.
pub(super) const POINTS_PER_CYCLE: f64 = 8.0;
/// Points of such a grid, at most (32 MiB).
const MOST_POINTS: f64 = (1 << 22) as f64;
/// No kernel's timers come faster in step.
pub(super) const HIGHEST_HZ: f64 = 10_000.0;

/// When the values of a signal were taken, in seconds from its start.
#[derive(Debug, Clone)]
pub(super) enum Times<'a> {
    /// One every so many seconds.
    Even(f64),
    /// As they came; never decreasing.
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
    /// Excess as it was, in seconds (or the weight of events).
    pub(super) raw: Cow<'a, [f64]>,
    /// The same, cut at the cap and without its mean; what was found is taken off it.
    pub(super) values: Vec<f64>,
    /// Larger values were cut to this.
    pub(super) cap: f64,
    /// Larger values are giants: no beat of a train.
    pub(super) giant: f64,
    /// From the first value's time to the end of the last.
    pub(super) span_s: f64,
    /// Time from one value to the next, the mean.
    pub(super) grain_s: f64,
    /// Nothing shorter is resolved in it: the grain, or half a cycle of the highest frequency.
    pub(super) blur_s: f64,
    /// No frequency above is looked at.
    pub(super) highest_hz: f64,
}

impl<'a> Signal<'a> {
    /// Values at even steps. The last few are left out where that gives the transform a good length.
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

    /// Values at uneven times: each is what happened from its start to the next.
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

    /// Events at points in time between two instants, spread onto an even grid.
    pub(super) fn of_events(
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

    /// Cuts what is left without the lines found so far once more, lower, if that makes a difference; returns
    /// the ratio of the caps. (To cut before they are taken off would make lines of its own, where
    /// two trains meet.)
    pub(super) fn cut_again(&mut self) -> Option<f64> {
        if self.cap.is_infinite() {
            return None; // events were cut when they were put on their grid
        }
        let low = low_cap(&self.values).filter(|&low| low < 0.5 * self.cap)?;
        let ratio = low / self.cap;
        self.cut(low);
        Some(ratio)
    }

    fn cut(&mut self, cap: f64) {
        self.cap = cap;
        self.values.iter_mut().for_each(|value| *value = value.clamp(-cap, cap));
        self.centre();
    }

    /// The taper at the time of a value: a raised cosine (Hann), which keeps strong lines and slow
    /// drifts from leaking over the rest of the spectrum.
    #[inline]
    pub(super) fn taper(&self, at_s: f64) -> f64 {
        let sine = (std::f64::consts::PI * (at_s / self.span_s)).sin();
        sine * sine
    }

    /// Takes the tapered mean off.
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

/// Windows of which nothing is left, one after the other, are one loss: their time goes to the first of
/// them, where it can be seen for the giant that it is.
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

/// Where to cut lower, for the second look: so that the energy is spread over a sixteenth of all values.
/// Where hundreds of giants are, this brings out what lies under them. Where noise is little, all that is
/// longer than the jitter of the work then counts alike.
fn low_cap(values: &[f64]) -> Option<f64> {
    let low = cap(&in_order(values), sixteenth(values));
    (low > 0.0).then_some(low)
}

fn sixteenth(values: &[f64]) -> f64 {
    (values.len() as f64 / 16.0).max(16.0)
}

fn in_order(values: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes
}

/// Where to cut values, so that giants do not rule the spectrum: the largest cap under which the energy of
/// values in order of size is spread as if over so many equal ones.
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

/// Adds `value` at the place `at` between the points of a grid that closes on itself: the transform
/// of the grid is that of the value where it was, for frequencies of many points a cycle.
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

/// The largest even length of 2, 3 and 5 alone, at most `length` (at least 2).
pub(super) fn good_length_below(length: usize) -> usize {
    (2..=length).rev().find(|&length| is_good(length)).unwrap_or(2)
}

/// The smallest even length of 2, 3 and 5 alone, at least `length`.
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
