//! Folds a signal at a frequency: the excess at each phase, separated into trains and subtracted.

use super::signal::Signal;

/// Phase bins per resolution (the grain) for separating trains.
const BINS_PER_BLUR: f64 = 4.0;
/// Phase bins per resolution for subtracting a train, whose edges are sharp.
const FINE_BINS_PER_BLUR: f64 = 32.0;
/// Smallest number of values in a phase bin.
const FEWEST_IN_BIN: usize = 24;
/// A train must exceed its profile's noise by this many standard errors.
const STANDS_OUT: f64 = 4.0;
/// A train must reach this share of the comb's highest point.
const SMALLEST_SHARE: f64 = 0.1;
/// Phases belong to a train from this share of its height on.
const FLANK: f64 = 0.1;
/// Values below this share of the height are not beats of the train.
const SMALLEST_BEAT: f64 = 0.3;
/// Consecutive values in a train's phases form one beat, up to this share of its period.
const LONGEST_BEAT: f64 = 0.7;

/// Mean excess by phase.
#[derive(Debug, Clone)]
pub(super) struct Profile {
    /// The folding frequency.
    hz: f64,
    /// Mean of each bin; empty bins have their neighbour's.
    means: Vec<f64>,
    /// Standard error of a mean.
    error: f64,
}

/// One of the trains that form a comb.
#[derive(Debug, Clone)]
pub(super) struct Train {
    /// Number of its beats in the comb's period.
    pub(super) times: u32,
    /// Its own excess by the comb's phase, at least 0.
    own: Vec<f64>,
    /// Highest point of that excess.
    peak: f64,
}

#[inline]
fn phase_bin(at: f64, hz: f64, bins: usize) -> usize {
    (((at * hz).fract() * bins as f64) as usize).min(bins - 1)
}

/// Returns the number of bins of a profile. Evenly sampled values in step with the train fill only some of them.
fn bins(signal: &Signal<'_>, hz: f64, per_blur: f64, most: usize) -> usize {
    let wanted = per_blur / (hz * signal.blur_s);
    let filled = signal.values.len() / FEWEST_IN_BIN;
    (wanted.ceil() as usize).min(filled).clamp(16, most)
}

/// Returns means by bin, and the number of values in each.
fn means(signal: &Signal<'_>, hz: f64, bins: usize) -> (Vec<f64>, Vec<u32>) {
    let (mut sums, mut counts) = (vec![0.0; bins], vec![0u32; bins]);
    for (index, value) in signal.values.iter().enumerate() {
        let bin = phase_bin(signal.times.at(index), hz, bins);
        sums[bin] += value;
        counts[bin] += 1;
    }
    for (sum, &count) in sums.iter_mut().zip(&counts) {
        *sum /= f64::from(count.max(1));
    }
    (sums, counts)
}

impl Profile {
    pub(super) fn new(signal: &Signal<'_>, hz: f64) -> Self {
        let bins = bins(signal, hz, BINS_PER_BLUR, 4096);
        let (mut means, counts) = means(signal, hz, bins);
        let filled = counts.iter().filter(|&&count| count > 0).count().max(1);
        let mut squares = 0.0;
        for (index, value) in signal.values.iter().enumerate() {
            let off = value - means[phase_bin(signal.times.at(index), hz, bins)];
            squares += off * off;
        }
        let count = signal.values.len() as f64;
        let error = (squares / count / (count / filled as f64)).sqrt();
        fill(&mut means, &counts);
        Self { hz, means, error }
    }

    /// Separates the profile into the trains of `numbers` (multiples of the base at which lines were found) and that of
    /// the base. What comes `m` times in a period is common to all `m` equal parts of the profile: their minimum at
    /// each phase. A single train has nothing there, however strong its harmonics; a second one at `m` times the base
    /// has itself. The highest multiple is subtracted first; the rest belongs to the base.
    pub(super) fn trains(&self, numbers: &[u32]) -> Vec<Train> {
        let floor = floor(&self.means);
        let mut left: Vec<f64> = self.means.iter().map(|mean| (mean - floor).max(0.0)).collect();
        let least = (STANDS_OUT * self.error).max(SMALLEST_SHARE * peak(&left));
        let mut trains = vec![];
        for &times in numbers.iter().rev().filter(|&&times| times > 1) {
            if self.means.len() < 4 * times as usize {
                continue; // too short to be seen in this profile
            }
            let Some(own) = repeated(&left, times, least) else { continue };
            left.iter_mut().zip(&own).for_each(|(left, own)| *left = (*left - own).max(0.0));
            trains.push(Train { times, peak: peak(&own), own });
        }
        let peak = peak(&left);
        if trains.is_empty() || peak >= least {
            trains.push(Train { times: 1, own: left, peak });
        }
        trains.reverse();
        trains
    }

    /// Returns the sorted excesses of the beats of one train: consecutive values in its phases form one beat, minus the
    /// usual value in other phases, and minus the average of the comb's other trains there.
    pub(super) fn beats(&self, signal: &Signal<'_>, trains: &[Train], which: usize) -> Vec<f64> {
        let train = &trains[which];
        let least = (FLANK * train.peak).max(3.0 * self.error).min(0.5 * train.peak);
        let on: Vec<bool> = train.own.iter().map(|&own| own > least).collect();
        let others: Vec<f64> = (0..on.len())
            .map(|bin| {
                let other = |(index, train): (usize, &Train)| {
                    if index == which { 0.0 } else { train.own[bin] }
                };
                trains.iter().enumerate().map(other).sum()
            })
            .collect();
        let usual = outside(signal, self.hz, &on);
        let longest_s = LONGEST_BEAT / (self.hz * f64::from(train.times));
        let (mut sizes, mut row) = (vec![], Row::default());
        for index in 0..signal.values.len() {
            let at = signal.times.at(index);
            let bin = phase_bin(at, self.hz, on.len());
            if row.open && (!on[bin] || at - row.start_s > longest_s) {
                sizes.extend(row.close(SMALLEST_BEAT * train.peak));
            }
            if on[bin] {
                row.add(at, signal.raw[index], usual + others[bin], signal.giant);
            }
        }
        sizes.extend(row.close(SMALLEST_BEAT * train.peak));
        sizes.sort_unstable_by(f64::total_cmp);
        sizes
    }
}

/// Returns the mean excess, with giants limited, of values outside the phases of a train.
fn outside(signal: &Signal<'_>, hz: f64, on: &[bool]) -> f64 {
    let (mut sum, mut count) = (0.0, 0u64);
    for index in 0..signal.values.len() {
        if !on[phase_bin(signal.times.at(index), hz, on.len())] {
            sum += signal.raw[index].clamp(-signal.cap, signal.cap);
            count += 1;
        }
    }
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// Consecutive values.
#[derive(Default)]
struct Row {
    open: bool,
    start_s: f64,
    sum: f64,
    /// Whether one of them is a giant, which has another cause.
    spoilt: bool,
}

impl Row {
    fn add(&mut self, at: f64, raw: f64, others: f64, giant: f64) {
        if !self.open {
            *self = Self { open: true, start_s: at, ..Self::default() };
        }
        self.sum += raw - others;
        self.spoilt |= raw > giant;
    }

    fn close(&mut self, least: f64) -> Option<f64> {
        let closed = std::mem::take(self);
        (closed.open && !closed.spoilt && closed.sum > least).then_some(closed.sum)
    }
}

/// Subtracts everything from a signal that repeats at a frequency, with all harmonics and their images at the sampling
/// rate.
pub(super) fn take_off(signal: &mut Signal<'_>, hz: f64) {
    let bins = bins(signal, hz, FINE_BINS_PER_BLUR, 1 << 14);
    // The profile is taken as straight between bins; the second time takes off what that left.
    for _ in 0..2 {
        let (mut sums, mut weights) = (vec![0.0; bins], vec![0.0; bins]);
        for (index, value) in signal.values.iter().enumerate() {
            let (low, high, part) = between(signal.times.at(index), hz, bins);
            sums[low] += (1.0 - part) * value;
            sums[high] += part * value;
            weights[low] += 1.0 - part;
            weights[high] += part;
        }
        for (sum, weight) in sums.iter_mut().zip(&weights) {
            *sum = if *weight > 0.0 { *sum / weight } else { 0.0 };
        }
        for index in 0..signal.values.len() {
            let (low, high, part) = between(signal.times.at(index), hz, bins);
            signal.values[index] -= (1.0 - part) * sums[low] + part * sums[high];
        }
    }
    signal.centre();
}

/// Returns the two bins around a phase, and its relative position between them.
#[inline]
fn between(at: f64, hz: f64, bins: usize) -> (usize, usize, f64) {
    let place = (at * hz).fract() * bins as f64;
    let low = (place as usize).min(bins - 1);
    let high = if low + 1 == bins { 0 } else { low + 1 };
    (low, high, place - low as f64)
}

/// Fills empty bins with the mean of the nearest filled bin before.
fn fill(means: &mut [f64], counts: &[u32]) {
    let Some(start) = counts.iter().position(|&count| count > 0) else { return };
    let mut last = means[start];
    for offset in 1..means.len() {
        let bin = (start + offset) % means.len();
        if counts[bin] > 0 {
            last = means[bin];
        } else {
            means[bin] = last;
        }
    }
}

/// Returns what all of `times` equal parts of a profile have in common, if it reaches `least` somewhere. Parts need not
/// begin at a bin: each may be off by half a bin.
fn repeated(profile: &[f64], times: u32, least: f64) -> Option<Vec<f64>> {
    let bins = profile.len();
    let part = bins as f64 / f64::from(times);
    let at = |bin: usize, part_number: u32| {
        let place = bin as f64 + part * f64::from(part_number);
        let (low, high) = (place.floor() as usize % bins, place.ceil() as usize % bins);
        profile[low].max(profile[high])
    };
    // Nearly all numbers have nothing in common, which the first parts already show.
    if !(0..bins).any(|bin| (0..times).all(|part| at(bin, part) >= least)) {
        return None;
    }
    let common = |bin| (0..times).map(|part| at(bin, part)).fold(f64::INFINITY, f64::min);
    Some((0..bins).map(common).collect())
}

/// Returns the first quartile, because the trains of a comb fill less than three quarters of its period.
fn floor(profile: &[f64]) -> f64 {
    let mut sorted = profile.to_vec();
    *sorted.select_nth_unstable_by(profile.len() / 4, f64::total_cmp).1
}

fn peak(profile: &[f64]) -> f64 {
    profile.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
