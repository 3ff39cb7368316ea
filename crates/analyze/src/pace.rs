//! How fast the loops went between the detours: time that a CPU lost without being interrupted.

use crate::blocks::{Parts, bounds_of_lasting};
use crate::detours::{DetoursBuilder, parts_of_run};
use crate::fold::CpuLoops;
use crate::levels::{LevelChange, LevelsBuilder};
use crate::loops::watched;
use crate::stats::{Bounds, Interval, most_events};
use anechoic_recording::{Clock, LoopPace, Loops, Problem, Recording, Run, Stint, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is slower than calm by less is calm: the resolution of the recorded pace, and the spread of calm milliseconds.
pub const RESOLUTION: f64 = 0.005;
/// The calm pace is that of this part of a loop's time, the fastest.
const FASTEST: f64 = 0.1;
/// Time that is clearly slow: slower than calm by this.
const CLEARLY: f64 = 0.05;
/// Largest number of times over which slow time is shown.
const STEPS: usize = 60;
/// With a longer threshold, interrupts that are no detours would count as a slower pace.
const MOST_THRESHOLD_NS: u64 = 1_000;
/// Part of the time of a loop of which the pace must be known.
const KNOWN: f64 = 0.99;
/// What a slow time that did not occur is taken to cost at most: a neighbour that takes half of the core for 0.2 s, for example.
const UNSEEN_NS: u64 = 100_000_000;
/// Width of the classes of the pace in its logarithm.
const CLASS: f64 = 1e-4;

/// How fast the loops went between the detours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pace {
    /// Each measured CPU.
    pub cpus: Vec<CpuPace>,
    /// Time lost by a slower pace divided by wall time, over all CPUs.
    pub slow: f64,
    /// Its 95 % interval; absent if the run was too short, if few slow times make it up, or if it reaches over all of the time.
    pub interval: Option<Interval>,
    /// The share that it exceeds with a probability of 97.5 %; absent if the run was too short, or if nothing was slow.
    pub at_least: Option<f64>,
    /// Time lost by detours and by a slower pace together, divided by wall time.
    pub lost: f64,
    /// Its 95 % interval, as above.
    pub lost_interval: Option<Interval>,
    /// Length of the times of [`CpuPace::by_time`], in s; the last one may be shorter.
    pub step_s: f64,
    /// Instants at which the slow time of all CPUs changed its level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelChange>,
}

/// How fast the loop of one CPU went between its detours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuPace {
    /// The CPU.
    pub cpu: u32,
    /// Time of an iteration at the calm pace: the mean within 0.5 % of the pace that the fastest tenth of the time reaches.
    pub calm_ns: f64,
    /// How much longer that is than on the fastest CPU of its class, as a share: 0 for that one.
    pub slower_than_class: f64,
    /// Time lost by a slower pace, divided by wall time. What is slower than calm by less than 0.5 % is calm.
    pub slow: f64,
    /// Its 95 % interval; absent if the run was too short, if few slow times make it up, or if it reaches over all of the time.
    pub interval: Option<Interval>,
    /// The share that it exceeds with a probability of 97.5 %; absent if the run was too short, or if nothing was slow.
    pub at_least: Option<f64>,
    /// The share that it is below with a probability of 95 % or more, if no slow time that did not occur costs more than 0.1 s,
    /// or three times as much as the longest that did; absent if that bounds nothing, as where the pace changed during the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Share of the time between detours in which the CPU was slower than calm by at least 5 %.
    pub clearly_slow: f64,
    /// How much slower than calm it was in the slowest hundredth of the time between detours, at least: 0.3 is 30 %.
    pub p99_slowdown: f64,
    /// Share that a slower pace took of each of up to 60 equal times from the start of the loops on.
    pub by_time: Vec<f64>,
}

/// Returns the share of the time of all CPUs of a run that a slower pace took; absent if the pace is not known.
///
/// # Errors
///
/// A table is damaged.
pub fn slow_share(recording: &Recording) -> Result<Option<f64>, Problem> {
    let Some(slow) = SlowTime::read(recording, &watched(recording)?)? else { return Ok(None) };
    let wall =
        recording.run().cpus.iter().map(|cpu| cpu.last_ticks.saturating_sub(cpu.first_ticks));
    let ticks = slow.0.iter().map(CpuSlow::ticks).fold(0, u64::saturating_add);
    Ok(Some(crate::share(ticks, wall.fold(0, u64::saturating_add))))
}

/// Lost time of all CPUs.
pub(crate) struct SlowTime(Vec<CpuSlow>);

struct CpuSlow {
    cpu: u32,
    calm: f64,
    paces: Paces,
    parts: Parts,
}

/// Time between detours by its pace.
#[derive(Debug, Clone, Default)]
struct Paces {
    /// Ticks and iterations of each class of the pace.
    classes: BTreeMap<i64, (u64, u64)>,
    ticks: u64,
}

impl Paces {
    fn add(&mut self, pace: &LoopPace) {
        let Some(ticks_each) = ticks_each(pace) else { return };
        let class = (ticks_each.ln() / CLASS).floor() as i64;
        let (ticks, iterations) = self.classes.entry(class).or_default();
        *ticks = ticks.saturating_add(pace.work_ticks);
        *iterations = iterations.saturating_add(pace.iterations);
        self.ticks = self.ticks.saturating_add(pace.work_ticks);
    }

    /// Returns the ticks of an iteration at the calm pace.
    fn calm(&self) -> Option<f64> {
        let mut passed = 0.0;
        let fast = self.classes.iter().find(|(_, (ticks, _))| {
            passed += *ticks as f64;
            passed >= FASTEST * self.ticks as f64
        });
        let reach = (RESOLUTION / CLASS) as i64;
        let (class, _) = fast?;
        let near = self.classes.range(class - reach..=class + reach).map(|(_, sums)| *sums);
        let (ticks, iterations) = near.fold((0.0, 0.0), |(ticks, iterations), more| {
            (ticks + more.0 as f64, iterations + more.1 as f64)
        });
        (iterations > 0.0).then(|| ticks / iterations)
    }

    /// Returns the share of the time in which an iteration took this many ticks, or more.
    fn slower(&self, ticks_each: f64) -> f64 {
        let class = (ticks_each.ln() / CLASS).ceil() as i64;
        let slow = self.classes.range(class..).map(|(_, sums)| sums.0 as f64);
        slow.sum::<f64>() / (self.ticks as f64).max(1.0)
    }

    /// Returns the ticks of an iteration that a hundredth of the time reaches.
    fn slowest_hundredth(&self) -> Option<f64> {
        let mut passed = 0.0;
        let slow = self.classes.iter().rev().find(|(_, (ticks, _))| {
            passed += *ticks as f64;
            passed >= 0.01 * self.ticks as f64
        });
        slow.map(|(_, (ticks, iterations))| *ticks as f64 / *iterations as f64)
    }
}

/// Returns the ticks of an iteration; `None` for no iteration.
fn ticks_each(pace: &LoopPace) -> Option<f64> {
    let known = pace.iterations > 0 && pace.work_ticks > 0;
    known.then(|| pace.work_ticks as f64 / pace.iterations as f64)
}

impl SlowTime {
    /// Reads the paces of a recording; `None` if it has none, or not those of all the time, or if its threshold is so long that
    /// interrupts are no detours.
    ///
    /// # Errors
    ///
    /// The table is damaged.
    pub(crate) fn read(recording: &Recording, loops: &Loops) -> Result<Option<Self>, Problem> {
        let run = recording.run();
        let is_short = run.clock.ns(loops.threshold_ticks()) <= MOST_THRESHOLD_NS;
        let is_whole = run.cpus.iter().all(|cpu| cpu.iterations > 0);
        if run.method != methods::DETOURS || run.program.is_some() || !is_short || !is_whole {
            return Ok(None);
        }
        let mut all = vec![];
        for (cpu, stints) in loops.by_cpu(run) {
            let [stint] = stints else { return Ok(None) };
            let (mut paces, mut known_ticks) = (Paces::default(), 0_u64);
            for rows in recording.rows_of_cpu::<LoopPace>(cpu.cpu) {
                for pace in rows? {
                    paces.add(&pace);
                    let span = pace.end_ticks.saturating_sub(pace.start_ticks);
                    known_ticks = known_ticks.saturating_add(span);
                }
            }
            let wall = stint.last_ticks.saturating_sub(stint.first_ticks);
            let is_known = known_ticks as f64 >= KNOWN * wall as f64;
            let Some(calm) = paces.calm().filter(|_| is_known) else { return Ok(None) };
            let here = CpuLoops { run, cpu, stints, loops };
            let mut slow = CpuSlow { cpu: cpu.cpu, calm, paces, parts: parts_of_run(&here) };
            for rows in recording.rows_of_cpu::<LoopPace>(cpu.cpu) {
                rows?.iter().for_each(|pace| slow.add(pace, stint));
            }
            all.push(slow);
        }
        Ok((!all.is_empty()).then_some(Self(all)))
    }

    /// Returns the slow time of a CPU, and the time of its iterations at the calm pace, in ns.
    pub(crate) fn on_cpu(&self, cpu: u32, clock: &Clock) -> Option<(u64, f64)> {
        let slow = self.0.iter().find(|slow| slow.cpu == cpu)?;
        Some((clock.ns(slow.ticks()), calm_ns(slow.calm, clock)))
    }

    /// Returns the result; `detours` are those of the same CPUs.
    pub(crate) fn finish(
        &self,
        run: &Run,
        detours: &[DetoursBuilder],
        levels: &LevelsBuilder,
    ) -> Pace {
        let part_ticks = detours.first().map_or(1, DetoursBuilder::part_ticks);
        let lost: Vec<&[u64]> = detours.iter().map(DetoursBuilder::lost_by_part).collect();
        let slow: Vec<&[u64]> = self
            .0
            .iter()
            .zip(&lost)
            .map(|(cpu, detours)| &cpu.parts.all()[..detours.len().min(cpu.parts.all().len())])
            .collect();
        let both: Vec<Vec<u64>> = slow
            .iter()
            .zip(&lost)
            .map(|(slow, lost)| {
                slow.iter().zip(*lost).map(|(slow, lost)| slow.saturating_add(*lost)).collect()
            })
            .collect();
        let wall = detours.iter().map(DetoursBuilder::wall_ticks).fold(0, u64::saturating_add);
        let slow_ticks = self.0.iter().map(CpuSlow::ticks).fold(0, u64::saturating_add);
        let lost = detours.iter().map(|cpu| cpu.lengths.sum_ticks());
        let lost_ticks = lost.fold(0, u64::saturating_add);
        let no_detour_lost = run.cpus.iter().all(|cpu| cpu.lost_detours == 0);
        let (Bounds { interval, at_least }, _) = bounds_of_lasting(&slow, part_ticks);
        let both: Vec<&[u64]> = both.iter().map(Vec::as_slice).collect();
        Pace {
            cpus: self.cpus(run, detours, &slow),
            slow: crate::share(slow_ticks, wall),
            interval: interval.filter(bounds_it),
            at_least,
            lost: crate::share(slow_ticks.saturating_add(lost_ticks), wall),
            lost_interval: bounds_of_lasting(&both, part_ticks)
                .0
                .interval
                .filter(|interval| no_detour_lost && bounds_it(interval)),
            step_s: run.clock.seconds(part_ticks.saturating_mul(parts_in_step(&slow) as u64)),
            levels: levels.slow_changes(run, detours, &slow),
        }
    }

    /// Returns the ticks of an iteration on the fastest CPU of each class.
    fn calm_by_class<'a>(&self, run: &'a Run) -> BTreeMap<&'a str, f64> {
        let mut fastest = BTreeMap::new();
        for (cpu, slow) in run.cpus.iter().zip(&self.0) {
            let calm = fastest.entry(&*cpu.class).or_insert(slow.calm);
            *calm = slow.calm.min(*calm);
        }
        fastest
    }

    fn cpus(&self, run: &Run, detours: &[DetoursBuilder], slow: &[&[u64]]) -> Vec<CpuPace> {
        let (step, fastest) = (parts_in_step(slow), self.calm_by_class(run));
        let measured = run.cpus.iter().zip(&self.0).zip(detours).zip(slow);
        let rows = measured.map(|(((row, cpu), detours), slow)| {
            let (Bounds { interval, at_least }, most) =
                bounds_of_lasting(&[slow], detours.part_ticks());
            let most = interval.map_or(most, |interval| interval.high);
            let slowest = cpu.paces.slowest_hundredth().unwrap_or(cpu.calm);
            CpuPace {
                cpu: cpu.cpu,
                calm_ns: calm_ns(cpu.calm, &run.clock),
                slower_than_class: cpu.calm / fastest.get(&*row.class).unwrap_or(&cpu.calm) - 1.0,
                slow: crate::share(cpu.ticks(), detours.wall_ticks()),
                interval: interval.filter(bounds_it),
                at_least,
                at_most: Some(most.max(most_unseen(run.clock.ns(detours.wall_ticks()))))
                    .filter(|most| *most < 1.0),
                clearly_slow: cpu.paces.slower(cpu.calm * (1.0 + CLEARLY)),
                p99_slowdown: (slowest / cpu.calm - 1.0).max(0.0),
                by_time: by_time(slow, step, detours.part_ticks()),
            }
        });
        rows.collect()
    }
}

/// Returns how many of the parts of these CPUs make one of the times over which their slow time is shown.
fn parts_in_step(slow: &[&[u64]]) -> usize {
    let parts = slow.iter().map(|cpu| cpu.len()).max().unwrap_or(0);
    parts.div_ceil(STEPS).max(1)
}

/// Returns whether an interval says anything: where the pace changed during the run, it may reach over all of the time.
fn bounds_it(interval: &Interval) -> bool {
    interval.high < 1.0
}

/// Returns the largest share of this time that slow times take with a probability of 95 % if none of them occurred.
pub(crate) fn most_unseen(wall_ns: u64) -> f64 {
    most_events(0.0, 1.0) * UNSEEN_NS as f64 / wall_ns.max(1) as f64
}

/// Returns for how long a CPU must be watched so that slow times that did not occur take at most this share of the time.
pub(crate) fn needed_ns(share: f64) -> Option<u64> {
    let ns = most_events(0.0, 1.0) * UNSEEN_NS as f64 / share;
    (ns < u64::MAX as f64).then_some(ns.ceil() as u64)
}

fn by_time(slow: &[u64], step: usize, part_ticks: u64) -> Vec<f64> {
    let steps = slow.chunks(step).map(|parts| {
        let ticks = parts.iter().copied().fold(0, u64::saturating_add);
        crate::share(ticks, part_ticks.saturating_mul(parts.len() as u64))
    });
    steps.collect()
}

fn calm_ns(ticks: f64, clock: &Clock) -> f64 {
    crate::rounded(ticks * clock.seconds(1_000_000_000))
}

impl CpuSlow {
    /// Adds how much longer the iterations took than at the calm pace.
    fn add(&mut self, pace: &LoopPace, stint: &Stint) {
        let Some(ticks_each) = ticks_each(pace) else { return };
        if ticks_each <= self.calm * (1.0 + RESOLUTION) {
            return;
        }
        let lost = pace.work_ticks as f64 - self.calm * pace.iterations as f64;
        let [start, end] =
            [pace.start_ticks, pace.end_ticks].map(|ticks| ticks.saturating_sub(stint.first_ticks));
        self.parts.spread(start, end, lost.max(0.0) as u64);
    }

    fn ticks(&self) -> u64 {
        self.parts.all().iter().copied().fold(0, u64::saturating_add)
    }
}
