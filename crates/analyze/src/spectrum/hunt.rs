//! Finds combs one by one: the strongest line, its comb, the trains that form it, then the rest without them.

use super::background::{Height, LOWEST_BIN, height, levels, ln_chance_of, over_level};
use super::carriers::Durations;
use super::coherence;
use super::comb::Comb;
use super::fold::{Profile, Train, take_off};
use super::left_over::{Found, is_left_over};
use super::line::{FigurePoint, Line};
use super::signal::Signal;
use super::transform::{Periodogram, Transform};
use std::ops::Range;

/// Number of passes over one signal: with its cap, and with a lower one.
const LOOKS: f64 = 2.0;
/// Largest number of combs that are subtracted.
const MOST_COMBS: usize = 24;
/// Largest number of candidates tested in one pass.
const MOST_CANDIDATES: usize = 24;
/// Largest number of coherence tests of one spectrum, each of which reads all values.
const MOST_TESTS: usize = 32;
/// Number of harmonics by which the slowest train of a comb is tested.
const FIRST_HARMONICS: usize = 12;
/// Largest number of points of the figure.
const FIGURE_POINTS: usize = 240;
/// Bins lower than this relative to the rough background are not examined.
const WORTH_A_LOOK: f64 = 8.0;

/// The lines found so far, and the limits of the rest.
pub(super) struct Hunt {
    transform: Transform,
    /// Range of tested bins.
    bins: Range<usize>,
    tests_left: usize,
    false_alarm: f64,
    /// Natural logarithm of the largest probability of one bin.
    ln_allowed: f64,
    found: Vec<Found>,
    pub(super) lines: Vec<Line>,
    pub(super) figure: Vec<FigurePoint>,
}

/// A sufficiently strong line.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    bin: usize,
    hz: f64,
    height: Height,
}

impl Hunt {
    /// Returns an empty result with the probability that any line is found in a signal without a period.
    pub(super) fn new(signal: &Signal<'_>, false_alarm: f64) -> Self {
        let false_alarm = false_alarm.clamp(1e-12, 0.5);
        let last = (signal.highest_hz * signal.span_s).floor() as usize;
        let bins = LOWEST_BIN..(last + 1).max(LOWEST_BIN);
        Self {
            transform: Transform::new(),
            tests_left: MOST_TESTS,
            false_alarm,
            // Bonferroni: over all bins and looks together the chance is at most what was asked for.
            ln_allowed: (false_alarm / LOOKS / bins.len().max(1) as f64).ln(),
            bins,
            found: vec![],
            lines: vec![],
            figure: vec![],
        }
    }

    /// Returns the number of tested frequencies.
    pub(super) fn tested(&self) -> usize {
        self.bins.len()
    }

    /// Returns the height relative to the background from which on a bin is a line, if there are enough bins beside it.
    pub(super) fn threshold(&self) -> f64 {
        let (mut low, mut high) = (0.0f64, 1e6f64);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let rare = ln_chance_of(middle) <= self.ln_allowed;
            *(if rare { &mut high } else { &mut low }) = middle;
        }
        high
    }

    /// Finds all lines: with the signal's cap and, if giants dominate then, with a lower one. A line found in both
    /// passes is reported as without the giants.
    pub(super) fn run(&mut self, signal: &mut Signal<'_>) {
        self.look(signal);
        if signal.cut_again() {
            let first = std::mem::take(&mut self.lines);
            self.found.clear();
            self.tests_left = MOST_TESTS;
            self.look(signal);
            let near = |a: &Line, b: &Line| (a.hz - b.hz).abs() < 2.0 / signal.span_s;
            let again = std::mem::take(&mut self.lines);
            let only_first = first.into_iter().filter(|a| !again.iter().any(|b| near(a, b)));
            self.lines = only_first.collect();
            self.lines.extend(again);
        }
    }

    /// Finds the lines with one cap, and subtracts them from the signal.
    fn look(&mut self, signal: &mut Signal<'_>) {
        for round in 0..MOST_COMBS {
            let spectrum = self.transform.periodogram(signal);
            let levels = levels(&spectrum);
            if round == 0 && self.figure.is_empty() {
                self.figure = figure(&spectrum, &levels, &self.bins);
            }
            let candidates = self.candidates(&spectrum, &levels);
            let strongest = candidates.into_iter().take(MOST_CANDIDATES).find_map(|candidate| {
                let Candidate { bin, hz, .. } = candidate;
                if is_left_over(&self.found, signal, &spectrum, bin, hz) {
                    return None;
                }
                self.tests_left = self.tests_left.checked_sub(1)?;
                let comb = Comb::from_line(&spectrum, hz, signal.highest_hz);
                coherence::in_step(signal, hz, comb.hz).then_some((candidate, comb))
            });
            let Some((candidate, comb)) = strongest else { break };
            let trains = self.report(signal, &spectrum, &comb, candidate);
            // The fastest first: what a slower one shares with it is then its own.
            trains.iter().rev().for_each(|train| take_off(signal, train.hz));
            let power = spectrum.power[candidate.bin];
            self.found.extend(trains.into_iter().map(|comb| Found { comb, power }));
        }
    }

    /// Returns sufficiently improbable peaks, the highest relative to the background first.
    fn candidates(&self, spectrum: &Periodogram, levels: &[f64]) -> Vec<Candidate> {
        let power = &spectrum.power;
        let mut found: Vec<Candidate> = self
            .bins
            .clone()
            .filter(|&bin| bin + 1 < power.len())
            .filter(|&bin| power[bin] >= power[bin - 1] && power[bin] >= power[bin + 1])
            .filter(|&bin| over_level(spectrum, levels, bin) > WORTH_A_LOOK)
            .filter_map(|bin| self.candidate(spectrum, bin))
            .collect();
        found.sort_by(|a, b| b.height.over_background.total_cmp(&a.height.over_background));
        found
    }

    /// Returns the peak in a bin; absent if it is not improbable enough.
    fn candidate(&self, spectrum: &Periodogram, bin: usize) -> Option<Candidate> {
        let height = height(spectrum, bin)?;
        let rare = height.ln_chance <= self.ln_allowed;
        rare.then(|| Candidate { bin, hz: spectrum.peak_hz(bin), height })
    }

    /// Makes a line of every train of a comb, and returns the trains, the slowest first.
    fn report(
        &mut self,
        signal: &Signal<'_>,
        spectrum: &Periodogram,
        comb: &Comb,
        candidate: Candidate,
    ) -> Vec<Comb> {
        let numbers: Vec<u32> = comb.harmonics.iter().map(|&(number, _)| number).collect();
        let profile = Profile::new(signal, comb.hz);
        let trains = profile.trains(&numbers);
        let chance = candidate.height.ln_chance - self.ln_allowed + self.false_alarm.ln();
        let chance = chance.exp().min(1.0);
        let threshold = self.threshold();
        let mut combs = vec![];
        for (which, train) in trains.iter().enumerate() {
            let own = own_harmonics(comb, &trains, which);
            let strong = own.iter().any(|&(_, height)| height >= threshold);
            if trains.len() > 1 && train.times == 1 && !(strong && has_its_own(&trains, &own)) {
                continue; // where the others of the comb meet, no train of its own
            }
            let its = comb.train(spectrum, train.times, &own, signal.highest_hz);
            let beats = profile.beats(signal, &trains, which);
            let strongest = own.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
            let strongest = strongest
                .map_or((candidate.hz, candidate.height.over_background), |s| {
                    (comb.hz * f64::from(s.0), s.1)
                });
            self.lines.push(Line {
                hz: its.hz,
                uncertainty_hz: its.uncertainty_hz,
                harmonics: (own.len() as u32).max(1),
                strongest_hz: strongest.0,
                over_background: strongest.1,
                chance,
                // Of a line whose beats do not stand out nothing is known.
                noise: (!beats.is_empty()).then(|| beats.iter().sum::<f64>() / signal.span_s),
                durations: Durations::from_sorted_seconds(&beats),
                carriers: vec![],
            });
            combs.push(its);
        }
        combs
    }
}

/// Returns the harmonics of one train: multiples of its rate. Those shared with another train of the comb count for the
/// faster one, because the slower one has others.
fn own_harmonics(comb: &Comb, trains: &[Train], which: usize) -> Vec<(u32, f64)> {
    let times = trains[which].times;
    let faster: Vec<u32> =
        trains.iter().map(|train| train.times).filter(|&other| other > times).collect();
    let own = |&(number, _): &(u32, f64)| {
        number.is_multiple_of(times) && !faster.iter().any(|&other| number.is_multiple_of(other))
    };
    comb.harmonics.iter().copied().filter(own).collect()
}

/// Returns whether a third of the first harmonics that only the slowest train of a comb can explain are present.
fn has_its_own(trains: &[Train], own: &[(u32, f64)]) -> bool {
    let faster = |number: &u32| {
        trains.iter().any(|train| train.times > 1 && number.is_multiple_of(train.times))
    };
    let first = (1..).filter(|number| !faster(number)).take(FIRST_HARMONICS);
    let last = first.last().unwrap_or(0);
    let there = own.iter().filter(|&&(number, _)| number <= last).count();
    3 * there >= FIRST_HARMONICS.min(own.len())
}

fn figure(spectrum: &Periodogram, levels: &[f64], bins: &Range<usize>) -> Vec<FigurePoint> {
    let last = bins.end.min(spectrum.power.len());
    let band = last.saturating_sub(bins.start).div_ceil(FIGURE_POINTS).max(1);
    let mut points = vec![];
    for start in (bins.start..last).step_by(band) {
        let over = |bin: usize| (bin, over_level(spectrum, levels, bin));
        let inside = (start..(start + band).min(last)).map(over);
        if let Some((bin, over_background)) = inside.max_by(|a, b| a.1.total_cmp(&b.1)) {
            points.push(FigurePoint { hz: bin as f64 * spectrum.bin_hz, over_background });
        }
    }
    points
}
