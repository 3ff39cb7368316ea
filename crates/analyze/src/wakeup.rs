//! Wake-up latency: how late timers woke threads, by interval, kind of idle and CPU.

mod causes;
mod host;
pub mod hosts;
mod idle;
pub mod kind;
mod latencies;
mod long;
pub mod longest;
pub mod rows;
pub mod stages;
mod stopped;

pub use causes::{Band, Causes, MeanParts, Parts, WakeSource};
pub use host::HostWakeups;
pub use idle::IdleLatency;
pub use kind::Kind;
pub use latencies::Latencies;
pub use long::LongWakeup;
pub(crate) use long::parts;
pub use stages::{Link, Stage, StageTail};
pub use stopped::StoppedWakeup;

use crate::facts::Facts;
use crate::samples::cells::{Cells, value_at};
use crate::samples::figures::survival;
use crate::samples::values::Scale;
use crate::samples::{span, visit};
use crate::stats::Estimate;
use crate::stats::{dispersion, mean, share_of_events};
use anechoic_recording::run::{Outcome, Run};
use anechoic_recording::wakeup::{Sleep, Waker};
use anechoic_recording::{Fixed, Policy, Problem, Recording, Sample, Series};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of the longest wake-ups that are listed.
const WORST: usize = 5;
/// Number of wake-ups of which the longest are found at once: their copies take memory.
const AT_ONCE: usize = 4096;
/// Number of parts of a series whose late wake-ups show whether they come together.
pub(crate) const PARTS: usize = 32;
/// A quantile is given only if at least this many samples lie beyond it.
const BEYOND: f64 = 10.0;

/// How late timers woke threads.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Wakeup {
    /// Facts of the run.
    pub run: Facts,
    /// Nanoseconds of one tick.
    pub tick_ns: f64,
    /// The scheduling policy of the threads.
    pub policy: Policy,
    /// How much later the kernel may let their timers expire, in nanoseconds: a part of their latency. 0 under real-time
    /// policies.
    pub slack_ns: u64,
    /// A wake-up that took longer counts as late, in nanoseconds.
    pub late_ns: u64,
    /// Size of the memory that the threads read after each wake-up, in bytes; absent if they did not.
    pub working_set_bytes: Option<u64>,
    /// The latencies, by interval, kind of idle and CPU; where several CPUs were measured, also of all together. With kernel
    /// events they are of the wake-ups with events.
    pub rows: Vec<Latencies>,
    /// The longest wake-ups of these, the longest first.
    pub worst: Vec<Worst>,
    /// Where their time went; absent without kernel events.
    pub causes: Option<Causes>,
    /// What was to end the run before its time, and the wake-up that did; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedWakeup>,
}

/// A long wake-up.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Worst {
    /// The CPU.
    pub cpu: u32,
    /// When its timer was to expire, since the start of the run in nanoseconds.
    pub at_ns: u64,
    /// Time between two expiries in nanoseconds.
    pub interval_ns: u64,
    /// Whether CPUs were kept out of deep idle states.
    pub shallow: bool,
    /// What woke it by which call; absent where a timer did.
    pub waker: Option<Waker>,
    /// Its latency in nanoseconds.
    pub latency_ns: f64,
    /// Number of expiries that passed meanwhile.
    pub overruns: u64,
    /// Its parts; absent if its events are not known.
    pub parts: Option<Parts>,
    /// Identifier of the source that took most of it; absent likewise.
    pub source: Option<String>,
    /// Which instance of that source.
    pub name: Option<String>,
    /// What went on in it, in time order: the activities that took most; empty if its events are not known.
    pub chain: Vec<Link>,
}

impl Wakeup {
    /// Returns the rows of all CPUs together, and those of a single CPU.
    pub fn whole(&self) -> impl Iterator<Item = &Latencies> {
        let is_all =
            |row: &Latencies, other: &Latencies| other.cpu.is_none() && other.kind() == row.kind();
        let alone = move |row: &Latencies| !self.rows.iter().any(|other| is_all(row, other));
        self.rows.iter().filter(move |row| row.cpu.is_none() || alone(row))
    }

    /// Returns the number of wake-ups.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.whole().map(|row| row.samples).sum()
    }
}

/// What is measured together: a kind on one CPU.
type Key = (Kind, Option<u32>);

/// The wake-ups of one key.
#[derive(Debug, Default)]
struct Group {
    cells: Cells,
    waker_cpu: Option<u32>,
    samples: u64,
    lost: u64,
    overruns: u64,
    /// Number of late ones in each part of the time.
    late: Vec<f64>,
    /// How long passes over the working set took in each block, in ticks: after a wake-up, and again.
    passes: [Vec<u64>; 2],
    /// Median of each block of each CPU.
    medians: BTreeMap<(Option<u32>, usize), f64>,
}

impl Group {
    fn merge(&mut self, other: &mut Self) {
        self.cells.merge(&mut other.cells);
        self.samples += other.samples;
        self.lost += other.lost;
        self.overruns += other.overruns;
        // The CPUs were measured at the same time, so that their late wake-ups may have one cause.
        self.late.resize(self.late.len().max(other.late.len()), 0.0);
        self.late.iter_mut().zip(&other.late).for_each(|(all, late)| *all += late);
        self.medians.append(&mut other.medians);
        self.passes.iter_mut().zip(&mut other.passes).for_each(|(all, some)| all.append(some));
    }
}

/// A series in progress.
struct Block<'a> {
    series: &'a Series,
    sleep: Sleep,
    /// Number of the block among those of its kind.
    number: usize,
    cells: Cells,
    samples: u64,
    overruns: u64,
    late: Vec<f64>,
}

/// Computes the latencies of a recording of wake-ups, in bounded memory.
///
/// # Errors
/// A file is damaged.
pub fn wakeup(recording: &Recording) -> Result<Wakeup, Problem> {
    let run = recording.run();
    let known = recording.series()?;
    let mut blocks = Block::all(&known);
    let mut groups: BTreeMap<(bool, Key), Group> = BTreeMap::new();
    let mut worst: Vec<(u64, Sample, Sleep)> = Vec::new();
    visit(recording, &known, |at, samples| {
        let Some(block) = &mut blocks[at] else { return };
        let outcome = &known[at].1;
        block.add(samples, outcome, run);
        if !block.series.parameters.events_off {
            for samples in samples.chunks(AT_ONCE) {
                worst.extend(samples.iter().map(|sample| (latency(sample), *sample, block.sleep)));
                // The first of equal ones.
                let rank = |(ticks, sample, _): &(u64, Sample, Sleep)| {
                    (std::cmp::Reverse(*ticks), sample.start_ticks)
                };
                worst.sort_by_key(rank);
                worst.truncate(WORST);
            }
        }
        if block.samples.saturating_add(outcome.lost) >= outcome.samples {
            blocks[at].take().into_iter().for_each(|block| block.finish(outcome, &mut groups));
        }
    })?;
    for (block, (_, outcome)) in blocks.into_iter().zip(&known) {
        block.into_iter().for_each(|block| block.finish(outcome, &mut groups));
    }
    let sleeps =
        |(series, _): &(Series, Outcome)| Some((series.policy.clone(), series.parameters.sleep?));
    let first = known.iter().find_map(sleeps);
    let (slack_ns, late_ns) =
        first.as_ref().map_or((0, 0), |(_, sleep)| (sleep.slack_ns, sleep.late_ns));
    let policy = first.map_or_else(Policy::other, |(policy, _)| policy);

    let mut found = Wakeup {
        tick_ns: run.clock.seconds(1) * 1e9,
        policy,
        slack_ns,
        late_ns,
        working_set_bytes: known.iter().find_map(|(one, _)| one.parameters.working_set_bytes),
        rows: rows(groups, run),
        worst: worst.iter().map(|found| Worst::new(found, run)).collect(),
        run: Facts::new(run, span(&known)),
        causes: None,
        stopped: stopped::stopped(recording)?,
    };
    causes::explain(recording, &mut found)?;
    Ok(found)
}

/// Returns the latency of a wake-up in ticks.
pub(crate) fn latency(sample: &Sample) -> u64 {
    sample.end_ticks.saturating_sub(sample.start_ticks)
}

/// Returns the latency that this share of so many wake-ups does not exceed, if enough lie beyond it.
pub(crate) fn quantile(cells: &mut Cells, wakeups: u64, share: f64) -> Option<u64> {
    let wakeups = wakeups as f64;
    let enough = wakeups > 0.0 && (share <= 0.5 || wakeups * (1.0 - share) >= BEYOND - 1e-6);
    enough.then(|| value_at(cells.cells(), (wakeups * share).ceil() as u64))
}

/// Returns in which of the equal parts of its block a wake-up lies, by its number.
pub(crate) fn part_of_block(sample: &Sample, block: &Outcome) -> usize {
    let part = u128::from(sample.index) * PARTS as u128 / u128::from(block.samples.max(1));
    (part as usize).min(PARTS - 1)
}

impl Worst {
    fn new((ticks, sample, sleep): &(u64, Sample, Sleep), run: &Run) -> Self {
        Worst {
            cpu: sample.cpu,
            at_ns: run.clock.ns(sample.start_ticks.saturating_sub(run.start_ticks)),
            interval_ns: sleep.interval_ns,
            shallow: sleep.shallow,
            waker: sleep.waker,
            latency_ns: Scale::new(Fixed::Work, &run.clock).value(*ticks as f64),
            overruns: sample.count.saturating_sub(1),
            parts: None,
            source: None,
            name: None,
            chain: vec![],
        }
    }
}

impl<'a> Block<'a> {
    /// Returns the block of each series whose samples are wake-ups.
    fn all(known: &'a [(Series, Outcome)]) -> Vec<Option<Self>> {
        let mut numbers: BTreeMap<(bool, Key), usize> = BTreeMap::new();
        known.iter().map(|(series, _)| Self::next(series, &mut numbers)).collect()
    }

    /// Returns the block of a series, the next of its kind.
    fn next(series: &'a Series, numbers: &mut BTreeMap<(bool, Key), usize>) -> Option<Self> {
        let sleep = series.parameters.sleep?;
        let (cells, late) = (Cells::default(), vec![0.0; PARTS]);
        let block = Block { series, sleep, number: 0, cells, samples: 0, overruns: 0, late };
        let next = numbers.entry(block.key()).or_default();
        *next += 1;
        Some(Block { number: *next, ..block })
    }

    /// Returns whether events were switched off, and what it measures.
    fn key(&self) -> (bool, Key) {
        (self.series.parameters.events_off, (Kind::from(&self.sleep), self.series.cpu))
    }

    /// Adds the block to those of its kind.
    fn finish(self, outcome: &Outcome, groups: &mut BTreeMap<(bool, Key), Group>) {
        groups.entry(self.key()).or_default().take(self, outcome);
    }

    fn add(&mut self, samples: &[Sample], outcome: &Outcome, run: &Run) {
        let ticks: Vec<u64> = samples.iter().map(latency).collect();
        self.cells.add(&ticks);
        let late_ticks = run.clock.ticks(self.sleep.late_ns);
        for (sample, _) in samples.iter().zip(&ticks).filter(|(_, ticks)| **ticks > late_ticks) {
            self.late[part_of_block(sample, outcome)] += 1.0;
        }
        self.samples += samples.len() as u64;
        self.overruns += samples.iter().map(|sample| sample.count.saturating_sub(1)).sum::<u64>();
    }
}

impl Group {
    fn take(&mut self, mut block: Block<'_>, outcome: &Outcome) {
        let median = value_at(block.cells.cells(), block.samples.div_ceil(2));
        if block.samples > 0 {
            self.medians.insert((block.series.cpu, block.number), median as f64);
        }
        self.cells.merge(&mut block.cells);
        self.waker_cpu = block.sleep.waker.map(|waker| waker.cpu);
        self.samples = self.samples.saturating_add(block.samples);
        self.lost = self.lost.saturating_add(outcome.lost);
        self.overruns = self.overruns.saturating_add(block.overruns);
        let passes = outcome.passes.map(|one| [one.woken_ticks, one.again_ticks]);
        let each = self.passes.iter_mut().zip(passes.into_iter().flatten());
        each.for_each(|(all, one)| all.push(one));
        self.late.append(&mut block.late);
    }

    /// Returns the value that this share of the wake-ups does not exceed, if enough lie beyond it.
    fn quantile(&mut self, share: f64) -> Option<u64> {
        quantile(&mut self.cells, self.samples, share)
    }

    fn row(
        &mut self,
        (Kind { interval_ns, shallow, call }, cpu): Key,
        without: Option<&Group>,
        scale: &Scale,
    ) -> Latencies {
        let value = |ticks: u64| scale.value(ticks as f64);
        let late: f64 = self.late.iter().sum();
        let samples = self.samples;
        let [pass_ns, pass_again_ns] = self.passes.each_mut().map(|blocks| {
            blocks.sort_unstable();
            blocks.get(blocks.len() / 2).copied().map(value)
        });
        Latencies {
            interval_ns,
            shallow,
            call,
            cpu,
            waker_cpu: self.waker_cpu,
            samples,
            lost: self.lost,
            overruns: self.overruns,
            min_ns: self.cells.cells().first().map(|cell| value(cell.value)),
            p50_ns: self.quantile(0.5).map(value),
            p99_ns: self.quantile(0.99).map(value),
            p999_ns: self.quantile(0.999).map(value),
            max_ns: self.cells.cells().last().map(|cell| value(cell.value)),
            late: late as u64,
            late_share: (samples > 0).then(|| share_of_events(&self.late, samples)),
            late_dispersion: dispersion(&self.late),
            p50_of_blocks_ns: self
                .medians_of_blocks()
                .into_iter()
                .map(|at| scale.value(at))
                .collect(),
            events_ns: without.and_then(|without| self.beyond(without, scale)),
            pass_ns,
            pass_again_ns,
            survival: survival(self.cells.cells(), samples, scale),
        }
    }

    /// Returns the median of each block, a mean over CPUs.
    fn medians_of_blocks(&self) -> Vec<f64> {
        let mut blocks: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for ((_, block), median) in &self.medians {
            blocks.entry(*block).or_default().push(*median);
        }
        blocks.values().filter_map(|medians| mean(medians)).collect()
    }

    /// Returns what its medians are beyond those of the same blocks without events.
    fn beyond(&self, without: &Group, scale: &Scale) -> Option<Estimate> {
        let more = self
            .medians
            .iter()
            .filter_map(|(block, with)| Some(scale.value(*with - *without.medians.get(block)?)));
        Estimate::from_blocks(&more.collect::<Vec<_>>())
    }
}

fn rows(mut groups: BTreeMap<(bool, Key), Group>, run: &Run) -> Vec<Latencies> {
    let scale = Scale::new(Fixed::Work, &run.clock);
    let mut without = groups.split_off(&(true, (Kind::FIRST, None)));
    let mut rows: Vec<Latencies> = Vec::new();
    let (mut all, mut all_without) = (Group::default(), Group::default());
    let mut of_several = 0;
    let mut groups = groups.into_iter().peekable();
    while let Some(((_, key), mut group)) = groups.next() {
        let mut control = without.remove(&(true, key));
        rows.push(group.row(key, control.as_ref(), &scale));
        all.merge(&mut group);
        control.iter_mut().for_each(|control| all_without.merge(control));
        of_several += 1;
        let goes_on = groups.peek().is_some_and(|((_, next), _)| next.0 == key.0);
        if !goes_on {
            let (mut group, control) = (std::mem::take(&mut all), std::mem::take(&mut all_without));
            if of_several > 1 {
                rows.push(group.row((key.0, None), Some(&control), &scale));
            }
            of_several = 0;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    /// The truth is the rate with which late wake-ups are drawn, one by one or in bursts, as a disturbance makes them.
    #[test]
    fn the_bounds_of_the_share_of_late_wake_ups_cover_the_true_share() {
        const SAMPLES: u64 = 32_000;
        let mut random = Pcg64Mcg::seed_from_u64(5);
        for (expected, burst) in [(0.2, 1), (1.0, 1), (5.0, 1), (30.0, 1), (30.0, 5), (200.0, 10)] {
            let truth = expected / SAMPLES as f64;
            let (mut below, mut above) = (0, 0);
            for _ in 0..400 {
                let mut late = vec![0.0; PARTS * 5];
                let parts = late.len();
                let share = expected / f64::from(burst) / 1_000.0;
                for _ in 0..1_000 {
                    if random.random::<f64>() < share {
                        late[random.random_range(0..parts)] += f64::from(burst);
                    }
                }
                let bounds = share_of_events(&late, SAMPLES);
                below += u32::from(truth < bounds.low);
                above += u32::from(truth > bounds.high);
            }
            let most = if burst > 1 { 60 } else { 36 }; // 20 are expected of 400; bursts show only in their spread
            assert!(
                below <= most && above <= most,
                "{expected} in bursts of {burst}: {below} {above}"
            );
        }
        let none = share_of_events(&[0.0; 160], 1_000);
        assert!(none.low == 0.0 && (none.high - 0.003).abs() < 1e-4, "the rule of three: {none:?}");
        assert!(share_of_events(&[1.0; 4], 4).high <= 1.0);
    }
}
