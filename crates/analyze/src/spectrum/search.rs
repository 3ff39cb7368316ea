//! The search for lines: comb after comb, the strongest first.

use super::background::{Height, LOWEST_BIN, height, levels, over_level};
use super::coherence;
use super::comb::Comb;
use super::fold::{Profile, Train, take_off};
use super::line::{Durations, FigurePoint, Line, Spectrum};
use super::signal::{FEWEST, HIGHEST_HZ, Signal};
use super::transform::{Periodogram, Transform};
use std::cmp::Ordering;

/// Lines that are named, at most.
const MOST_LINES: usize = 16;
/// Combs that are taken off, at most.
const MOST_COMBS: usize = 24;
/// Candidates of one look that are tested, at most.
const MOST_CANDIDATES: usize = 24;
/// Tests of coherence of one spectrum, at most: each goes through all values.
const MOST_TESTS: usize = 32;
/// Points of the figure, at most.
const FIGURE_POINTS: usize = 240;
/// Bins lower than this over the rough background are not looked at closely: no line is there.
const WORTH_A_LOOK: f64 = 8.0;
/// A line this much weaker than a comb and in one of its places is what taking it off left over.
const LEFT_OVER: f64 = 0.02;
/// How near that place must be, in bins.
const LEFT_OVER_BINS: f64 = 3.0;
/// The same where harmonics of two combs meet.
const LEFT_WHERE_MET: f64 = 0.01;
/// Powers this much below a comb's are rounding errors.
const ROUNDING: f64 = 1e-14;
/// Harmonics of the faster of two combs that may meet those of the other.
const MOST_MET: i32 = 8;
/// How near such a place must be, in bins.
const MET_BINS: f64 = 1.0;
/// Mirror images of a comb's harmonics that are known again.
const MOST_IMAGES: u32 = 8;

/// Noise over time.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// Fixed time: what was lost in each of a row of windows.
    Windows {
        /// Length of a window, in seconds.
        window_s: f64,
        /// Time lost in each, in seconds: all of it where nothing was left of a window.
        lost_s: &'a [f64],
    },
    /// Fixed work: repetitions one after the other.
    Repetitions {
        /// When each began, in seconds, in order.
        starts_s: &'a [f64],
        /// How much longer than undisturbed each took, in seconds. A constant more or less
        /// changes nothing.
        excess_s: &'a [f64],
    },
    /// Events at points in time.
    Events {
        /// When each happened, in seconds.
        starts_s: &'a [f64],
        /// How long each took, in seconds; without, all count alike.
        lengths_s: Option<&'a [f64]>,
        /// The time in which events were looked for.
        between_s: (f64, f64),
    },
}

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Chance that a series without any period shows any line, in (0, 1).
    pub false_alarm: f64,
    /// No line is looked for above.
    pub highest_hz: f64,
}

impl Default for Options {
    /// 1 % and 10 kHz.
    fn default() -> Self {
        Self { false_alarm: 0.01, highest_hz: HIGHEST_HZ }
    }
}

/// Finds the lines in a series of noise.
///
/// Assumed of noise without a period: that it has no memory longer than a few hundredths of the time
/// looked at. Its spectrum may have any shape that is smooth over some tens of bins (a bin is
/// `1 / time`). Where the input makes no sense (not finite, not in order, too little of it) the
/// result has no lines and says so.
#[must_use]
pub fn lines(input: &Input<'_>, options: &Options) -> Spectrum {
    let limit_hz = options.highest_hz;
    let signal = match *input {
        Input::Windows { window_s, lost_s } => Signal::even(window_s, lost_s, limit_hz),
        Input::Repetitions { starts_s, excess_s } => Signal::uneven(starts_s, excess_s, limit_hz),
        Input::Events { starts_s, lengths_s, between_s } => {
            Signal::of_events(starts_s, lengths_s, between_s, limit_hz)
        }
    };
    let values = match *input {
        Input::Windows { lost_s, .. } => lost_s.len(),
        Input::Repetitions { excess_s, .. } => excess_s.len(),
        Input::Events { starts_s, .. } => starts_s.len(),
    };
    let mut spectrum = Spectrum {
        false_alarm: options.false_alarm,
        values: values as u64,
        span_s: 0.0,
        resolution_hz: None,
        lowest_hz: None,
        highest_hz: None,
        tested: 0,
        threshold: None,
        cap_ns: None,
        lines: vec![],
        figure: vec![],
        not_visible: vec![],
    };
    let Some(mut signal) = signal else {
        let fewest = if matches!(input, Input::Events { .. }) { FEWEST / 4 } else { FEWEST };
        spectrum.not_visible.push(format!(
            "any period: that takes {fewest} values in time order; there are {values}"
        ));
        return spectrum;
    };
    spectrum.span_s = signal.span_s;
    let mut search = Search::new(&signal, options.false_alarm);
    if search.tested == 0 {
        spectrum.not_visible.push("any period: the time is too short for it".to_owned());
        return spectrum;
    }
    search.describe(&signal, input, &mut spectrum);
    search.run(&mut signal);
    spectrum.figure = search.figure;
    let mut lines = search.lines;
    lines.sort_by(|a, b| b.over_background.total_cmp(&a.over_background));
    lines.truncate(MOST_LINES);
    lines.sort_by(|a, b| a.hz.total_cmp(&b.hz));
    if matches!(input, Input::Events { .. }) {
        let without = matches!(input, Input::Events { lengths_s: None, .. });
        for line in &mut lines {
            line.durations = None;
            line.noise = line.noise.filter(|_| !without);
        }
    }
    spectrum.lines = lines;
    spectrum
}

/// A comb that was found, and how strong it was at its strongest.
struct Found {
    comb: Comb,
    power: f64,
}

struct Search {
    transform: Transform,
    /// Bins that are tested.
    bins: std::ops::Range<usize>,
    tested: usize,
    tests_left: usize,
    /// Natural logarithm of the chance that one bin may have.
    ln_allowed: f64,
    found: Vec<Found>,
    lines: Vec<Line>,
    figure: Vec<FigurePoint>,
}

/// A line that is strong enough.
struct Candidate {
    bin: usize,
    height: Height,
}

impl Search {
    fn new(signal: &Signal<'_>, false_alarm: f64) -> Self {
        let last = (signal.highest_hz * signal.span_s).floor() as usize;
        let tested = (last + 1).saturating_sub(LOWEST_BIN);
        Self {
            transform: Transform::new(),
            bins: LOWEST_BIN..last + 1,
            tested,
            tests_left: MOST_TESTS,
            // Bonferroni: over all bins together the chance is at most what was asked for.
            ln_allowed: (false_alarm.clamp(1e-12, 0.5) / tested.max(1) as f64).ln(),
            found: vec![],
            lines: vec![],
            figure: vec![],
        }
    }

    fn describe(&self, signal: &Signal<'_>, input: &Input<'_>, spectrum: &mut Spectrum) {
        let bin_hz = 1.0 / signal.span_s;
        // Under a Hann taper two lines of equal strength are apart at two bins.
        spectrum.resolution_hz = Some(2.0 * bin_hz);
        let (lowest_hz, highest_hz) = (LOWEST_BIN as f64 * bin_hz, signal.highest_hz);
        spectrum.lowest_hz = Some(lowest_hz);
        spectrum.highest_hz = Some(highest_hz);
        spectrum.tested = self.tested as u64;
        spectrum.threshold = Some(threshold(self.ln_allowed));
        let cut = signal.cap.is_finite() && signal.raw.iter().any(|raw| raw.abs() > signal.cap);
        spectrum.cap_ns = cut.then_some(signal.cap * 1e9);
        spectrum.not_visible.push(format!(
            "below {lowest_hz:.2} Hz: {:.1} s hold fewer than {LOWEST_BIN} such periods; measure for longer",
            signal.span_s
        ));
        spectrum.not_visible.push(match input {
            Input::Events { .. } => format!("above {highest_hz:.0} Hz: not looked at"),
            _ => format!(
                "above {highest_hz:.0} Hz: a value covers {:.0} µs, and two to a period is the limit; a faster train \
                 can show as a slower line; take a shorter grain or window",
                signal.grain_s * 1e6
            ),
        });
    }

    fn run(&mut self, signal: &mut Signal<'_>) {
        for round in 0..MOST_COMBS {
            let spectrum = self.transform.of(signal);
            let levels = levels(&spectrum);
            if round == 0 {
                self.figure = figure(&spectrum, &levels, &self.bins);
            }
            let candidates = self.candidates(&spectrum, &levels);
            let strongest = candidates.into_iter().take(MOST_CANDIDATES).find_map(|candidate| {
                let hz = spectrum.peak_hz(candidate.bin);
                if self.is_left_over(signal, &spectrum, candidate.bin, hz) {
                    return None;
                }
                self.tests_left = self.tests_left.checked_sub(1)?;
                let comb = Comb::of(&spectrum, hz, signal.highest_hz);
                coherence::in_step(signal, hz, comb.hz).then_some((candidate, hz, comb))
            });
            let Some((candidate, hz, comb)) = strongest else { break };
            self.report(signal, &comb, &candidate, hz);
            take_off(signal, comb.hz);
            self.found.push(Found { comb, power: spectrum.power[candidate.bin] });
        }
    }

    /// Peaks that are improbable enough, the highest over the background first.
    fn candidates(&self, spectrum: &Periodogram, levels: &[f64]) -> Vec<Candidate> {
        let power = &spectrum.power;
        let mut found: Vec<Candidate> = self
            .bins
            .clone()
            .filter(|&bin| bin + 1 < power.len())
            .filter(|&bin| power[bin] >= power[bin - 1] && power[bin] >= power[bin + 1])
            .filter(|&bin| over_level(spectrum, levels, bin) > WORTH_A_LOOK)
            .filter_map(|bin| Some(Candidate { bin, height: height(spectrum, bin)? }))
            .filter(|candidate| candidate.height.ln_chance <= self.ln_allowed)
            .collect();
        found.sort_by(|a, b| b.height.over_background.total_cmp(&a.height.over_background));
        found
    }

    /// Whether a peak is what the combs found so far leave: much weaker than one of them, and at one
    /// of its harmonics, or at the sum or difference of harmonics of two (their interrupts meet, and one
    /// waits for the other), or at a mirror image of such.
    fn is_left_over(
        &self,
        signal: &Signal<'_>,
        spectrum: &Periodogram,
        bin: usize,
        hz: f64,
    ) -> bool {
        let sampling_hz = 1.0 / signal.grain_s;
        let power = spectrum.power[bin];
        let at = |found: &Found, hz: f64, bins: f64| {
            found.comb.number_near(hz.abs(), spectrum.bin_hz, bins).is_some()
        };
        let image_of = |found: &Found| {
            let mut images = (0..=MOST_IMAGES).map(|image| f64::from(image) * sampling_hz);
            images.any(|rate| {
                at(found, rate + hz, LEFT_OVER_BINS) || at(found, rate - hz, LEFT_OVER_BINS)
            })
        };
        let meets = |fast: &Found, slow: &Found| {
            (-MOST_MET..=MOST_MET).any(|number| {
                let hz = hz - f64::from(number) * fast.comb.hz;
                [0.0, -sampling_hz, sampling_hz].iter().any(|rate| at(slow, hz + rate, MET_BINS))
            })
        };
        self.found.iter().any(|strong| {
            let met = power < LEFT_WHERE_MET * strong.power
                && self.found.iter().any(|other| match strong.comb.hz.total_cmp(&other.comb.hz) {
                    Ordering::Greater => meets(strong, other),
                    Ordering::Less => meets(other, strong),
                    Ordering::Equal => false,
                });
            power < ROUNDING * strong.power
                || met
                || power < LEFT_OVER * strong.power && image_of(strong)
        })
    }

    fn report(&mut self, signal: &Signal<'_>, comb: &Comb, candidate: &Candidate, line_hz: f64) {
        let numbers: Vec<u32> = comb.harmonics.iter().map(|&(number, _)| number).collect();
        let profile = Profile::of(signal, comb.hz);
        let trains = profile.trains(&numbers);
        let chance = (candidate.height.ln_chance + (self.tested as f64).ln()).exp().min(1.0);
        for which in 0..trains.len() {
            let beats = profile.beats(signal, &trains, which);
            let own = own_harmonics(comb, &trains, which);
            let line_number = (line_hz / comb.hz).round() as u32;
            let strongest = own
                .iter()
                .copied()
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .unwrap_or((line_number, candidate.height.over_background));
            let times = f64::from(trains[which].times);
            self.lines.push(Line {
                hz: comb.hz * times,
                uncertainty_hz: comb.uncertainty_hz * times,
                harmonics: (own.len() as u32).max(1),
                strongest_hz: comb.hz * f64::from(strongest.0),
                over_background: strongest.1,
                chance,
                noise: Some(beats.mean / signal.grain_s),
                durations: Durations::of_sorted_seconds(&beats.sizes),
                carriers: vec![],
            });
        }
    }
}

/// The harmonics of one train: multiples of its rate. Those that another train of the comb shares
/// count for the faster one, the slower having others.
fn own_harmonics(comb: &Comb, trains: &[Train], which: usize) -> Vec<(u32, f64)> {
    let times = trains[which].times;
    let faster: Vec<u32> =
        trains.iter().map(|train| train.times).filter(|&other| other > times).collect();
    comb.harmonics
        .iter()
        .copied()
        .filter(|(number, _)| {
            number % times == 0 && !faster.iter().any(|&other| number % other == 0)
        })
        .collect()
}

/// How high a bin must be with all cells on both sides: `chance` of the ratio, solved by bisection.
fn threshold(ln_allowed: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1e6f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if super::background::ln_chance_of(middle) > ln_allowed {
            low = middle
        } else {
            high = middle
        }
    }
    high
}

fn figure(
    spectrum: &Periodogram,
    levels: &[f64],
    bins: &std::ops::Range<usize>,
) -> Vec<FigurePoint> {
    let last = bins.end.min(spectrum.power.len());
    let band = (last.saturating_sub(bins.start)).div_ceil(FIGURE_POINTS).max(1);
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
