//! Collects the samples of one series for its spectrum, in bounded memory.

use super::line::Spectrum;
use super::search::{Input, Options, lines};
use anechoic_recording::{Clock, Fixed, Sample, Series};

/// Largest number of kept samples.
const MOST: usize = 1 << 20;
/// Samples are combined up to this duration, so that 10 kHz stays visible.
const LONGEST_TOGETHER_NS: u64 = 50_000;

/// The samples of a series: the first million, with short ones combined.
#[derive(Debug)]
pub(crate) struct Collected<'a> {
    series: &'a Series,
    first_ticks: u64,
    /// Start since the first sample's, and duration or count.
    samples: Vec<(u64, u64)>,
    /// Number of samples combined into one value.
    together: u64,
    /// Number of samples in the last value so far.
    open: u64,
    /// End of the last kept sample, since the first sample's start.
    covered_ticks: u64,
    left_out: u64,
    next_index: Option<u64>,
    holes: bool,
}

impl<'a> Collected<'a> {
    pub(crate) fn new(series: &'a Series) -> Self {
        Self {
            series,
            first_ticks: 0,
            samples: vec![],
            together: 1,
            open: 0,
            covered_ticks: 0,
            left_out: 0,
            next_index: None,
            holes: false,
        }
    }

    /// Adds the next sample.
    pub(crate) fn add(&mut self, sample: &Sample, clock: &Clock) {
        if self.samples.is_empty() {
            self.first_ticks = sample.start_ticks;
        }
        let filled = self.open == 0 || self.open == self.together;
        if filled && self.samples.len() == MOST && !self.halve(clock) {
            self.left_out += 1;
            return;
        }
        self.holes |= self.next_index.is_some_and(|next| next != sample.index);
        self.next_index = Some(sample.index.saturating_add(1));
        let start = sample.start_ticks.saturating_sub(self.first_ticks);
        let end = sample.end_ticks.saturating_sub(self.first_ticks);
        self.covered_ticks = self.covered_ticks.max(end);
        let value = match self.series.fixed {
            Fixed::Work => sample.end_ticks.saturating_sub(sample.start_ticks),
            Fixed::Time => sample.count,
        };
        match self.samples.last_mut() {
            Some(last) if self.open < self.together => {
                last.1 = last.1.saturating_add(value);
                self.open += 1;
            }
            _ => {
                self.samples.push((start, value));
                self.open = 1;
            }
        }
    }

    /// Combines pairs; returns false if that would hide the frequencies of interest.
    fn halve(&mut self, clock: &Clock) -> bool {
        let grain_ticks = self.covered_ticks / self.samples.len() as u64;
        if clock.ns(grain_ticks.saturating_mul(2)) > LONGEST_TOGETHER_NS {
            return false;
        }
        let pair = |two: &[(u64, u64)]| {
            (two[0].0, two.iter().fold(0u64, |sum, sample| sum.saturating_add(sample.1)))
        };
        self.samples = self.samples.chunks(2).map(pair).collect();
        self.together *= 2;
        self.open = self.together;
        true
    }

    /// Returns the time of the spectrum: from the first sample to the end of the last one kept.
    pub(crate) fn window(&self) -> (u64, u64) {
        (self.first_ticks, self.first_ticks.saturating_add(self.covered_ticks))
    }

    /// Returns the spectrum of the kept samples.
    pub(crate) fn finish(mut self, clock: &Clock) -> Spectrum {
        if self.open < self.together {
            self.samples.pop(); // shorter than the others
        }
        let starts_s: Vec<f64> = self.samples.iter().map(|s| clock.seconds(s.0)).collect();
        let noise_s = match self.series.fixed {
            Fixed::Work => self.excess_s(clock),
            Fixed::Time => self.lost_s(clock),
        };
        let window_ticks = self.series.grain_ticks.saturating_mul(self.together);
        let even = self.series.fixed == Fixed::Time && !self.holes && window_ticks > 0;
        let input = if even {
            Input::Windows { window_s: clock.seconds(window_ticks), lost_s: &noise_s }
        } else {
            Input::Repetitions { starts_s: &starts_s, excess_s: &noise_s }
        };
        let mut spectrum = lines(&input, &Options::default());
        if self.together > 1 {
            spectrum.not_visible.push(format!(
                "periods shorter than a value: {} samples are combined into one",
                self.together
            ));
        }
        if self.left_out > 0 {
            spectrum.not_visible.push(format!(
                "the time after the first {:.0} s: {} samples were left out to bound memory",
                clock.seconds(self.covered_ticks),
                self.left_out
            ));
        }
        spectrum
    }

    /// Returns the excess of each sample over the third decile, because few samples are undisturbed and shorter.
    fn excess_s(&self, clock: &Clock) -> Vec<f64> {
        let usual = self.quantile(0.3);
        let off = |value: u64| match value.checked_sub(usual) {
            Some(more) => clock.seconds(more),
            None => -clock.seconds(usual - value),
        };
        self.samples.iter().map(|sample| off(sample.1)).collect()
    }

    /// The time that the missing work would have taken. As much work as in the seventh decile is all
    /// that there can be.
    fn lost_s(&self, clock: &Clock) -> Vec<f64> {
        let usual = self.quantile(0.7);
        let window_s = clock.seconds(self.series.grain_ticks.saturating_mul(self.together));
        let unit_s = if usual == 0 { 0.0 } else { window_s / usual as f64 };
        self.samples.iter().map(|sample| (usual as f64 - sample.1 as f64) * unit_s).collect()
    }

    fn quantile(&self, share: f64) -> u64 {
        let mut values: Vec<u64> = self.samples.iter().map(|sample| sample.1).collect();
        let at = (values.len() as f64 * share) as usize;
        if at >= values.len() {
            return 0;
        }
        *values.select_nth_unstable(at).1
    }
}
