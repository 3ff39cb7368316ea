//! How long the work of each probe of a CPU took, window by window.

use super::FASTEST;
use super::shortage::{Shortage, Slowdowns};
use crate::stats::mean;
use anechoic_recording::probes::Probe;
use anechoic_recording::{Sample, Series};
use std::collections::BTreeMap;

/// Fewest samples of a probe in a window.
const FEWEST: u64 = 3;
/// Most probes of a series: a damaged list has more.
const MOST_PROBES: usize = 64;

/// Sum, sum of squares and number of the times of a probe in a window.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    sum: f64,
    squares: f64,
    count: u64,
}

impl Times {
    fn mean(self) -> f64 {
        self.sum / self.count as f64
    }

    /// Returns the standard error of the mean, as a share of it.
    fn error(self) -> f64 {
        let (mean, count) = (self.mean(), self.count as f64);
        let variance = (self.squares / count - mean * mean).max(0.0) / (count - 1.0).max(1.0);
        variance.sqrt() / mean.max(1.0)
    }
}

/// The probes of one CPU.
#[derive(Debug)]
pub(super) struct CpuProbes {
    pub(super) cpu: u32,
    pub(super) probes: Vec<Probe>,
    windows: BTreeMap<u64, Vec<Times>>,
}

/// How slow each probe of a CPU was, window by window, and what was short.
#[derive(Debug)]
pub(super) struct Paced {
    /// The calm time of each probe, in ticks.
    pub(super) calm: Vec<f64>,
    /// Of each window that could be judged the time of each probe divided by the calm one, and what was short.
    pub(super) windows: BTreeMap<u64, (Vec<f64>, Vec<Shortage>)>,
}

impl CpuProbes {
    /// Returns those of a series without samples; absent if it has no probes.
    pub(super) fn new(series: &Series) -> Option<Self> {
        let probes = series.parameters.probes.as_ref()?;
        let is_known = (1..=MOST_PROBES).contains(&probes.len());
        let cpu = series.cpu.unwrap_or(0);
        is_known.then(|| Self { cpu, probes: probes.clone(), windows: BTreeMap::new() })
    }

    /// Adds a sample, which began in this window.
    pub(super) fn add(&mut self, window: u64, sample: &Sample) {
        let all = self.windows.entry(window);
        let all = all.or_insert_with(|| vec![Times::default(); self.probes.len()]);
        let times = &mut all[(sample.index % self.probes.len() as u64) as usize];
        let ticks = sample.count as f64;
        times.sum += ticks;
        times.squares += ticks * ticks;
        times.count += 1;
    }

    /// Returns the number of windows that have a sample.
    pub(super) fn seen(&self) -> u64 {
        self.windows.len() as u64
    }

    /// Judges each window in which every probe has enough samples.
    pub(super) fn paced(&self) -> Paced {
        let is_known = |times: &Vec<Times>| times.iter().all(|times| times.count >= FEWEST);
        let known = self.windows.iter().filter(|(_, times)| is_known(times));
        let known: Vec<(u64, &Vec<Times>)> = known.map(|(at, times)| (*at, times)).collect();
        let probes = || 0..self.probes.len();
        let calm: Vec<f64> =
            probes().map(|probe| fastest(&sorted(&known, probe, Times::mean))).collect();
        let errors: Vec<f64> =
            probes().map(|probe| middle(&sorted(&known, probe, Times::error))).collect();
        let mut windows = BTreeMap::new();
        for (at, times) in known {
            let times = times.iter().zip(&calm);
            let slower: Vec<f64> =
                times.map(|(times, calm)| times.mean() / calm.max(1.0)).collect();
            let short = Slowdowns::new(&self.probes, &slower, &errors).short();
            windows.insert(at, (slower, short));
        }
        Paced { calm, windows }
    }
}

impl Paced {
    /// Returns whether something was short in a window; absent if that cannot be judged.
    pub(super) fn was_short(&self, window: u64, what: Shortage) -> Option<bool> {
        self.windows.get(&window).map(|(_, short)| short.contains(&what))
    }
}

/// Returns a value of a probe in each of these windows, the smallest first.
fn sorted(windows: &[(u64, &Vec<Times>)], probe: usize, value: fn(Times) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = windows.iter().map(|(_, times)| value(times[probe])).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the mean of the fastest tenth of sorted times; 0 without times.
fn fastest(times: &[f64]) -> f64 {
    let fastest = ((times.len() as f64 * FASTEST) as usize).max(1).min(times.len());
    mean(&times[..fastest]).unwrap_or(0.0)
}

fn middle(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
