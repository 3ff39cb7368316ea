//! Probes of the pace: what was short while work was slow that nothing interrupted.
//!
//! Each probe is compared with itself when it was fastest in the run. What slows all work in the core alike is the clock rate.
//! What slows work beyond that has its own reason: another thread of the core, the cache that CPUs share, or the memory.

mod shortage;
mod windows;

pub use shortage::Shortage;

use crate::blocks::bounds_of_lasting;
use crate::facts::Facts;
use crate::samples::{span, visit};
use crate::stats::{Interval, mean, median};
use anechoic_recording::run::Ended;
use anechoic_recording::{Problem, Recording};
use schemars::JsonSchema;
use serde::Serialize;
use shortage::SHORTAGES;
use windows::{CpuProbes, Paced};

/// Length of the times for which it is decided what was short.
const WINDOW_NS: u64 = 100_000_000;
/// The calm time of a probe is the mean of this part of the windows, the fastest.
const FASTEST: f64 = 0.1;
/// Largest number of times over which a shortage is shown.
const STEPS: u64 = 60;
/// Ticks of a window where only its share counts.
const WHOLE: u64 = 1_000_000;

/// What was short while work was slow that nothing interrupted.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Probed {
    /// Facts of the run.
    pub run: Facts,
    /// Each measured CPU.
    pub cpus: Vec<ProbedCpu>,
    /// Length of the windows for which it is decided what was short, in s.
    pub window_s: f64,
    /// Length of the times of [`Short::by_time`], in s; the last one may be shorter.
    pub step_s: f64,
    /// Number of samples whose work returned a wrong value.
    pub wrong: u64,
    /// Number of samples that belong to no series of the recording.
    pub strays: u64,
}

/// What the probes of one CPU show.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProbedCpu {
    /// The CPU.
    pub cpu: u32,
    /// How its series ended.
    pub ended: Ended,
    /// Number of samples.
    pub samples: u64,
    /// Number of samples that found no room and were lost.
    pub lost: u64,
    /// Number of windows in which each probe has enough samples, so that they could be judged.
    pub windows: u64,
    /// Number of windows that have any sample.
    pub windows_seen: u64,
    /// Mean time from a turn of a probe to its next, in ns.
    pub turn_ns: f64,
    /// Each probe; empty if no window could be judged.
    pub probes: Vec<ProbeTimes>,
    /// What was short, the longest first; empty if nothing was.
    pub short: Vec<Short>,
}

/// How long the work of a probe took.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProbeTimes {
    /// Its name: `chain`, …
    pub name: String,
    /// Time of an operation in the fastest tenth of the windows, in ns.
    pub calm_ns: f64,
    /// How much longer it took on average: 0.1 for 10 %.
    pub slower: f64,
    /// The same in the slowest hundredth of the windows, at least.
    pub p99_slower: f64,
}

/// Time in which something was short on a CPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Short {
    /// What was short.
    pub what: Shortage,
    /// Share of the windows that could be judged.
    pub share: f64,
    /// Its 95 % interval; absent if the run was too short, or if few times make it up.
    pub interval: Option<Interval>,
    /// The probe that shows it best.
    pub probe: String,
    /// How much longer the work of that probe took in these windows, in the middle one: 0.1 for 10 %.
    pub slower: f64,
    /// Share of these windows in which it was short on every measured CPU, of those that could be judged on all; absent for a
    /// single CPU, and without such windows.
    pub on_all: Option<f64>,
    /// Share of each of up to 60 equal times in which it was short; absent where no window could be judged.
    pub by_time: Vec<Option<f64>>,
}

/// Computes what was short from a recording of probes.
///
/// # Errors
/// A file is damaged.
pub fn probed(recording: &Recording) -> Result<Probed, Problem> {
    let run = recording.run();
    let known = recording.series()?;
    let mut cpus: Vec<Option<CpuProbes>> =
        known.iter().map(|(series, _)| CpuProbes::new(series)).collect();
    let mut first: Option<u64> = None;
    visit(recording, &known, |at, samples| {
        let earliest = samples.iter().map(|sample| sample.start_ticks).min();
        if cpus[at].is_some() {
            first = first.min(earliest).or(earliest);
        }
    })?;
    let (first, window_ticks) = (first.unwrap_or(0), run.clock.ticks(WINDOW_NS).max(1));
    let strays = visit(recording, &known, |at, samples| {
        let Some(cpu) = &mut cpus[at] else { return };
        for sample in samples {
            cpu.add(sample.start_ticks.saturating_sub(first) / window_ticks, sample);
        }
    })?;
    let paced: Vec<(&CpuProbes, Paced)> =
        cpus.iter().flatten().map(|cpu| (cpu, cpu.paced())).collect();
    let windows = paced.iter().filter_map(|(_, paced)| paced.windows.keys().next_back());
    let windows = windows.max().map_or(0, |last| last.saturating_add(1));
    let steps = Steps { step: windows.div_ceil(STEPS).max(1), windows };
    let tick_ns = run.clock.seconds(1_000_000_000);
    let outcomes = known.iter().zip(&cpus).filter(|(_, cpu)| cpu.is_some());
    let rows = outcomes.enumerate().map(|(at, ((_, outcome), _))| {
        let (cpu, own) = &paced[at];
        let turns = outcome.samples as f64 / cpu.probes.len() as f64;
        let wall = outcome.last_ticks.saturating_sub(outcome.first_ticks);
        ProbedCpu {
            cpu: cpu.cpu,
            ended: outcome.ended,
            samples: outcome.samples,
            lost: outcome.lost,
            windows: own.windows.len() as u64,
            windows_seen: cpu.seen(),
            turn_ns: wall as f64 / turns.max(1.0) * tick_ns,
            probes: times(cpu, own, tick_ns),
            short: shortages(&paced, at, steps),
        }
    });
    let cpus = rows.collect();
    Ok(Probed {
        run: Facts::new(run, span(&known)),
        cpus,
        window_s: run.clock.seconds(window_ticks),
        step_s: run.clock.seconds(window_ticks) * steps.step as f64,
        wrong: known.iter().map(|(_, outcome)| outcome.wrong).fold(0, u64::saturating_add),
        strays,
    })
}

/// The times over which shortages are shown.
#[derive(Debug, Clone, Copy)]
struct Steps {
    /// Number of windows in each.
    step: u64,
    /// Number of all windows.
    windows: u64,
}

/// Returns how long the work of each probe took; nothing if no window could be judged.
fn times(cpu: &CpuProbes, own: &Paced, tick_ns: f64) -> Vec<ProbeTimes> {
    if own.windows.is_empty() {
        return vec![];
    }
    let rows = cpu.probes.iter().enumerate().map(|(number, probe)| {
        let slower = own.windows.values().map(|(slower, _)| slower[number] - 1.0);
        let mut slower: Vec<f64> = slower.collect();
        slower.sort_by(f64::total_cmp);
        ProbeTimes {
            name: probe.name.clone(),
            calm_ns: crate::rounded(own.calm[number] * tick_ns / probe.operations.max(1) as f64),
            slower: mean(&slower).unwrap_or(0.0),
            p99_slower: slowest_hundredth(&slower),
        }
    });
    rows.collect()
}

/// Returns the value that a hundredth of these sorted ones reaches; of fewer than a hundred the largest.
fn slowest_hundredth(sorted: &[f64]) -> f64 {
    let hundredth = sorted.len() / 100;
    sorted.iter().rev().nth(hundredth.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Returns what was short on the CPU with this number in the list, the longest first.
fn shortages(all: &[(&CpuProbes, Paced)], at: usize, steps: Steps) -> Vec<Short> {
    let found = SHORTAGES.iter().filter_map(|what| shortage(*what, all, at, steps));
    let mut found: Vec<Short> = found.collect();
    found.sort_by(|one, other| other.share.total_cmp(&one.share));
    found
}

/// Returns for how long something was short; absent if it never was.
fn shortage(what: Shortage, all: &[(&CpuProbes, Paced)], at: usize, steps: Steps) -> Option<Short> {
    let (cpu, own) = &all[at];
    let is_short = |(_, short): &(Vec<f64>, Vec<Shortage>)| short.contains(&what);
    let short: Vec<u64> =
        own.windows.iter().filter(|(_, window)| is_short(window)).map(|(at, _)| *at).collect();
    if short.is_empty() {
        return None;
    }
    let parts: Vec<u64> =
        own.windows.values().map(|window| if is_short(window) { WHOLE } else { 0 }).collect();
    let (bounds, _) = bounds_of_lasting(&[&parts], WHOLE);
    let (probe, slower) = telling(what, cpu, own, &short)?;
    Some(Short {
        what,
        share: short.len() as f64 / own.windows.len() as f64,
        interval: bounds.interval,
        probe,
        slower,
        on_all: on_all(what, all, &short),
        by_time: by_time(what, own, steps),
    })
}

/// Returns the probe that shows best that something was short in these windows, and how much slower it was in the middle one.
fn telling(what: Shortage, cpu: &CpuProbes, own: &Paced, short: &[u64]) -> Option<(String, f64)> {
    let probes = cpu.probes.iter().enumerate();
    let telling = probes.filter(|(_, probe)| what.telling_probes().contains(&&*probe.name));
    let slower = telling.filter_map(|(number, probe)| {
        let in_windows = short.iter().filter_map(|at| own.windows.get(at));
        let mut slower: Vec<f64> = in_windows.map(|(slower, _)| slower[number] - 1.0).collect();
        (!slower.is_empty()).then(|| (probe.name.clone(), median(&mut slower)))
    });
    slower.max_by(|one, other| one.1.total_cmp(&other.1))
}

fn on_all(what: Shortage, all: &[(&CpuProbes, Paced)], short: &[u64]) -> Option<f64> {
    let judged = short.iter().filter_map(|window| {
        let on_each: Option<Vec<bool>> =
            all.iter().map(|(_, cpu)| cpu.was_short(*window, what)).collect();
        Some(on_each?.into_iter().all(|is_short| is_short))
    });
    let judged: Vec<bool> = judged.collect();
    let together = judged.iter().filter(|is_short| **is_short).count();
    (all.len() > 1 && !judged.is_empty()).then(|| together as f64 / judged.len() as f64)
}

fn by_time(what: Shortage, own: &Paced, steps: Steps) -> Vec<Option<f64>> {
    let times = (0..steps.windows.div_ceil(steps.step)).map(|step| {
        let from = step * steps.step;
        let windows = own.windows.range(from..from.saturating_add(steps.step));
        let judged: Vec<bool> = windows.map(|(_, (_, short))| short.contains(&what)).collect();
        let short = judged.iter().filter(|is_short| **is_short).count();
        (!judged.is_empty()).then(|| short as f64 / judged.len() as f64)
    });
    times.collect()
}
