//! Converts an experiment to rounds: which loop does what, at the same time as which others.

mod probing;
mod waking;

use super::error::no_samples;
use super::estimates::{expected_of, is_empty, length_of, samples, way_around, within};
use super::paces::{OnCpu, Paces};
use super::plan::Plan;
use super::ranks::Ranks;
use super::wake_cost;
use crate::experiment::{
    Act, Amount, Cell, Experiment, Order, OwnMemory, Pages, Pinning, Policy, Sample, Samples, Work,
};
use crate::mapping::Mapping;
use crate::timed::between::{Meet, PreparedAct};
use crate::timed::job::Job;
use crate::timed::place::LoopPlace;
use crate::timed::round::Round;
use crate::timed::sampling::{Sampling, Step};
use crate::timed::watching::Watching;
use crate::timed::working_set::WorkingSet;
use anechoic_recording::paging::Verified;
use anechoic_recording::run::{NotAvailable, Run};
use anechoic_recording::{Parameters, Problem, ProblemKind, Series};
use anechoic_system::tracefs::Tracefs;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The longest time that a watching loop goes without checking the common end.
const SLICE: Duration = Duration::from_millis(20);
/// The most that storing a gap may take without being one: no kernel is entered and left in less.
const STORING: Duration = Duration::from_nanos(500);
/// How often a watching loop notes how fast it goes.
const PACE_BIN: Duration = Duration::from_millis(1);
/// The longest sample in one piece, because nothing can end it early.
const LONGEST_PURE: Duration = Duration::from_secs(10);
/// The longest time between two counter reads of a waiting rank that is not a detour, where the library's own calls are
/// short: an interrupt is longer. Calls that use a network take longer; beyond the second time they would hide too much.
const WAIT_THRESHOLDS: [Duration; 2] = [Duration::from_micros(2), Duration::from_micros(100)];

/// The rounds of a run, and the loops that take part in them.
pub(super) struct Scheduled {
    /// Where the loop of each lane runs.
    pub(super) places: Vec<LoopPlace>,
    pub(super) rounds: Vec<Round>,
    /// The series; their threads are not known yet.
    pub(super) series: Vec<Series>,
}

/// Builds the rounds and series of a plan. What the reader of the result must know is noted in `run`.
///
/// # Errors
/// Fails if samples cannot be taken as planned, and with the errors of [`Ranks::for_plan`] and
/// [`Paces::calibrate`].
pub(super) fn schedule(
    plan: &Plan,
    run: &mut Run,
    stop: &AtomicBool,
) -> Result<Scheduled, Problem> {
    let experiment = &plan.experiment;
    if experiment.cells.is_empty() || experiment.blocks == 0 {
        return Err(no_samples());
    }
    experiment.cells.iter().try_for_each(check)?;
    let ranks = Ranks::for_plan(plan)?;
    if let Some(ranks) = &ranks {
        run.parallel = Some(ranks.parallel.clone());
    }
    run.notes.extend(experiment.notes.iter().cloned());
    run.not_available.extend(experiment.absent.iter().cloned());
    let refused = refused_pages(experiment, run)?;
    wake_cost::check(experiment)?;
    let paces = Paces::calibrate(experiment, run, stop)?;
    let places = places(experiment);
    let mut rounds = Rounds {
        experiment,
        run,
        paces: &paces,
        ranks: ranks.as_ref(),
        places: &places,
        series: Vec::new(),
        rounds: Vec::new(),
        sets: BTreeMap::new(),
    };
    // Where there are no events, a cell with them would be the same as the one without.
    let without_events = experiment.cells.iter().any(|cell| cell.events_off)
        && (!plan.trace || Tracefs::open().is_err());
    in_order(experiment)
        .into_iter()
        .filter(|cell| !without_events || !repeats(cell))
        .filter(|cell| cell.memory.is_none_or(|memory| !refused.contains(&memory.pages)))
        .try_for_each(|cell| rounds.add(cell))?;
    let Rounds { rounds, series, .. } = rounds;
    Ok(Scheduled { places, rounds, series })
}

/// Returns whether a cell, where there are no events, is the same as another one. Wake-ups without events are only there to
/// show what the events cost.
fn repeats(cell: &Cell) -> bool {
    match cell.work {
        Work::Wake(_) => cell.events_off,
        Work::Watch(_) | Work::Sample(_) | Work::Probe(_) => !cell.events_off,
    }
}

/// Refuses samples that cannot be taken.
fn check(cell: &Cell) -> Result<(), Problem> {
    let Some(sample) = cell.sample() else { return Ok(()) };
    if sample.samples == Samples::Count(0) || cell.copies == 0 {
        return Err(no_samples());
    }
    if matches!(sample.amount, Amount::Window(_)) && !cell.between.is_empty() {
        let why = "windows follow each other without a pause";
        return Err(ProblemKind::Usage.problem(why, "measure fixed work instead"));
    }
    match sample.amount {
        Amount::Grain(grain) if !sample.watched && grain > LONGEST_PURE => {
            let (asked_s, most_s) = (grain.as_secs(), LONGEST_PURE.as_secs());
            let why = format!("a repetition of {asked_s} s in one piece cannot be ended early");
            let remedy = format!("remove --pure, or use at most {most_s} s");
            Err(ProblemKind::Usage.problem(why, remedy))
        }
        _ => Ok(()),
    }
}

/// Returns the pages of cells with their own memory that this machine does not give; the reasons are noted in `run`.
///
/// # Errors
/// Fails if no cell is left.
fn refused_pages(experiment: &Experiment, run: &mut Run) -> Result<Vec<Pages>, Problem> {
    /// At least this share of the memory must have the pages.
    const ENOUGH: f64 = 0.9;
    let own = experiment.cells.iter().filter_map(|cell| Some((cell, cell.memory?)));
    let mut smallest: Vec<(Pages, Option<&str>, u64)> = Vec::new();
    for (cell, OwnMemory { pages, .. }) in own {
        let bytes = cell.sample().map_or(0, |sample| sample.kernel.workspace_bytes());
        match smallest.iter_mut().find(|(known, ..)| *known == pages) {
            Some((.., least)) => *least = bytes.min(*least),
            None => smallest.push((pages, cell.name, bytes)),
        }
    }
    let (mut refused, mut first) = (Vec::new(), None);
    for (pages, name, bytes) in &smallest {
        let found = Mapping::obtain(*bytes as usize, *pages).and_then(|mapping| {
            let share = mapping.share_as_asked();
            let name = name.unwrap_or("such pages");
            let (why, remedy) = match mapping.page_sizes().verified {
                Verified::Not => (
                    format!("whether the memory has pages {name} cannot be verified"),
                    "run as root (/proc/kpageflags), or use Linux 6.10 or later",
                ),
                _ => (
                    format!("only {:.0} % of the memory got pages {name}", share * 100.0),
                    "free memory, or: echo 1 > /proc/sys/vm/compact_memory",
                ),
            };
            if share >= ENOUGH {
                Ok(())
            } else {
                Err(ProblemKind::Unavailable.problem(why, remedy))
            }
        });
        if let Err(problem) = found {
            let what = NotAvailable::pages(name.unwrap_or_default());
            run.not_available.push(problem.not_available(what));
            refused.push(*pages);
            first.get_or_insert(problem);
        }
    }
    match first.filter(|_| refused.len() == smallest.len()) {
        Some(problem) => Err(problem),
        None => Ok(refused),
    }
}

fn not_calibrated() -> Problem {
    let why = "a sample has no calibrated amount of work";
    ProblemKind::Unavailable.problem(why, "it is an error in anechoic: report it")
}

/// Returns where the loop of each lane runs: first one on each CPU, then the copies, and last the unpinned
/// loop. In this order the samples of each CPU stay sorted when they are written.
fn places(experiment: &Experiment) -> Vec<LoopPlace> {
    let cpus = experiment.cpus();
    let most_copies = |cpu: u32| {
        let on = experiment.cells.iter().filter(|cell| cell.on.cpus().contains(&cpu));
        on.map(|cell| cell.copies).max().unwrap_or(1)
    };
    let copies =
        cpus.iter().flat_map(|&cpu| (1..most_copies(cpu)).map(move |_| LoopPlace::Copy(cpu)));
    let any = experiment.cells.iter().any(|cell| cell.on == Pinning::Anywhere);
    let own = cpus.iter().map(|&cpu| LoopPlace::Cpu(cpu));
    own.chain(copies).chain(any.then_some(LoopPlace::Any)).collect()
}

/// Returns the cells of all blocks in the order in which they are measured.
fn in_order(experiment: &Experiment) -> Vec<&Cell> {
    let mut random = match experiment.order {
        Order::Listed => None,
        Order::Shuffled { seed } => Some(Pcg64Mcg::seed_from_u64(seed)),
    };
    let mut all = Vec::new();
    for _ in 0..experiment.blocks {
        for group in experiment.cells.chunk_by(|a, b| a.group == b.group) {
            let mut cells: Vec<&Cell> = group.iter().collect();
            if let Some(random) = &mut random {
                cells.shuffle(random);
            }
            all.extend(cells);
        }
    }
    all
}

/// The rounds and series built so far.
struct Rounds<'a> {
    experiment: &'a Experiment,
    run: &'a Run,
    paces: &'a Paces,
    ranks: Option<&'a Ranks>,
    places: &'a [LoopPlace],
    series: Vec<Series>,
    rounds: Vec<Round>,
    /// The working set of each lane that wakes up.
    sets: BTreeMap<usize, Arc<WorkingSet>>,
}

/// A loop of a cell: its lane, and the CPU that it is pinned to.
type Loop = (usize, Option<u32>);

impl Rounds<'_> {
    /// Adds the round of a cell.
    fn add(&mut self, cell: &Cell) -> Result<(), Problem> {
        let noise = cell.noise.as_ref();
        let number = |noise| self.experiment.injections().iter().position(|one| *one == noise);
        let injection = noise.and_then(number).map(|number| number as u32);
        let mut jobs = Vec::new();
        let (mut expected, mut length) = (Duration::ZERO, None);
        for (lane, cpu) in self.loops(cell) {
            let job = match &cell.work {
                Work::Watch(watch) => {
                    expected = watch.duration;
                    Job::Watch(self.watching(cell.policy, cpu.unwrap_or(0)))
                }
                Work::Sample(sample) => {
                    let on = self.paces.pace(sample, cpu).ok_or_else(not_calibrated)?;
                    let one = way_around(cell, length_of(sample, on, &self.run.clock));
                    let samples = samples(sample, on, cell.copies, &self.run.clock);
                    expected = expected_of(cell, sample, one, samples);
                    length = Some(one);
                    let sampling =
                        self.sampling(cell, sample, (on, samples, injection), (lane, cpu));
                    Job::Sample(sampling)
                }
                Work::Wake(wake) => {
                    (expected, length) = (wake.expected(), Some(wake.interval));
                    Job::Wake(self.waking(cell, wake, (lane, cpu))?)
                }
                Work::Probe(probes) => {
                    expected = probes.duration;
                    Job::Probe(self.probing(cell, probes, cpu))
                }
            };
            jobs.push((lane, job));
        }
        let co_runners = cell.co_runner.as_ref().map_or(Vec::new(), |runner| runner.cpus.clone());
        let events_off = cell.events_off;
        let shallow = matches!(cell.work, Work::Wake(wake) if wake.shallow);
        self.rounds.push(Round {
            co_runners,
            events_off,
            shallow,
            ..Round::new(jobs, expected, length, injection)
        });
        Ok(())
    }

    /// Returns the loops of a cell.
    fn loops(&self, cell: &Cell) -> Vec<Loop> {
        let lanes = |wanted: LoopPlace, most: u32| {
            let places = self.places.iter().enumerate().filter(move |(_, place)| **place == wanted);
            places.map(|(lane, place)| (lane, place.cpu())).take(most as usize)
        };
        match &cell.on {
            Pinning::Anywhere => lanes(LoopPlace::Any, 1).collect(),
            Pinning::Cpus(cpus) => {
                let copies = cell.copies - 1;
                let loops_on = |&cpu: &u32| {
                    lanes(LoopPlace::Cpu(cpu), 1).chain(lanes(LoopPlace::Copy(cpu), copies))
                };
                cpus.iter().flat_map(loops_on).collect()
            }
        }
    }

    fn watching(&self, policy: Policy, cpu: u32) -> Watching {
        Watching {
            cpu,
            threshold_ticks: self.run.threshold_ticks,
            slice_ticks: self.run.clock.ticks(SLICE.as_nanos() as u64),
            storing_ticks: self.run.clock.ticks(STORING.as_nanos() as u64),
            bin_ticks: self.run.clock.ticks(PACE_BIN.as_nanos() as u64),
            fifo: policy == Policy::FIFO,
        }
    }

    /// Returns the requested length of a sample. Work that does nothing has its own, unless none was asked for: ranks that
    /// only meet.
    fn grain_ticks(&self, sample: &Sample, calibrated_ticks: u64) -> u64 {
        let asked = sample.amount.length().filter(|time| time.is_zero() || !is_empty(sample));
        asked.map_or(calibrated_ticks, |time| self.run.clock.ticks_of(time))
    }

    /// Adds the series of a loop and returns how it takes its samples.
    fn sampling(
        &mut self,
        cell: &Cell,
        sample: &Sample,
        (on, samples, injection): (OnCpu, u64, Option<u32>),
        (lane, cpu): Loop,
    ) -> Sampling {
        let OnCpu { pace, megacycle_ticks, .. } = on;
        let copies = self.copies(cell, cpu);
        // If others share the CPU or the loop leaves it, the cause of a gap is unknown.
        let step = pace.step.filter(|_| cpu.is_some() && copies == 1 && !cell.wanders());
        let grain_ticks = self.grain_ticks(sample, pace.calibrated_ticks);
        let meeting = cell.meeting();
        let parameters = Parameters {
            iterations: pace.iterations,
            calibrated_ticks: pace.calibrated_ticks,
            instructions: sample.kernel.instructions(),
            megaiteration_ticks: pace.megaiteration_ticks,
            megacycle_ticks,
            copies,
            step_iterations: step.map(|step| step.iterations),
            step_ticks: step.map(|step| step.ticks),
            threshold_ticks: step.map(|step| step.threshold_ticks),
            maiv_ppm: sample.maiv_ppm,
            injection,
            rank: meeting.and(self.ranks).map(|ranks| ranks.rank(lane)),
            meeting,
            working_set_bytes: cell.working_set_bytes(sample.kernel),
            experiment: cell.name.map(str::to_owned),
            other_bytes: cell.between.iter().find_map(|act| Some(act.kernel()?.workspace_bytes())),
            within_ticks: within(sample).map(|(time, _)| self.run.clock.ticks_of(time)),
            ring: cell.ring,
            library: sample.kernel.library().cloned(),
            events_off: cell.events_off,
            ..Parameters::default()
        };
        let number = self.number();
        self.series.push(Series {
            series: number,
            round: self.rounds.len() as u32,
            method: self.experiment.method.to_owned(),
            variant: sample.kernel.id().to_owned(),
            cpu,
            tid: 0,
            policy: cell.policy.recorded(),
            fixed: sample.amount.fixed(),
            grain_ticks,
            asked: samples,
            parameters,
        });
        Sampling {
            series: number,
            cpu,
            step: Step::new(
                sample.kernel,
                pace.step.map_or(pace.iterations, |step| step.iterations),
                step.map_or(u64::MAX, |step| step.threshold_ticks),
            ),
            steps: pace.step.map_or(1, |step| step.in_sample),
            window_ticks: matches!(sample.amount, Amount::Window(_)).then_some(grain_ticks),
            samples,
            within: within(sample).map(|(time, least)| (self.run.clock.ticks_of(time), least)),
            maiv_ppm: sample.maiv_ppm,
            between: self.acts(cell, copies == 1),
            fifo: cell.policy == Policy::FIFO,
            shares_cpu: cell.copies > 1,
            memory: cell.memory,
            ring: cell.ring,
        }
    }

    /// Returns the number of loops of a cell on this CPU, with those of other processes.
    fn copies(&self, cell: &Cell, cpu: Option<u32>) -> u32 {
        let ranks = self.ranks.zip(cpu).map_or(1, |(ranks, cpu)| ranks.copies_on(cpu));
        cell.copies.max(ranks)
    }

    /// Returns the number of the next series among those of all processes on this host, counted round by
    /// round.
    fn number(&self) -> u32 {
        let next = self.series.len() as u32;
        let Some(ranks) = self.ranks else { return next };
        let (of_process, of_host) = (self.places.len().max(1) as u32, ranks.cpus.len() as u32);
        ranks.first as u32 + next / of_process * of_host + next % of_process
    }

    fn acts(&self, cell: &Cell, alone: bool) -> Vec<PreparedAct> {
        cell.between.iter().filter_map(|act| self.act(act, alone)).collect()
    }

    fn act(&self, act: &Act, alone: bool) -> Option<PreparedAct> {
        Some(match *act {
            Act::Meet(meeting) => PreparedAct::Meet(Meet {
                meeting,
                meetings: self.ranks?.meetings.clone(),
                wait_threshold_ticks: self.run.clock.ticks_of(WAIT_THRESHOLDS[0]),
                highest_wait_threshold_ticks: self.run.clock.ticks_of(WAIT_THRESHOLDS[1]),
                alone,
            }),
            Act::Look => PreparedAct::Look,
            Act::Repeat => PreparedAct::Repeat,
            Act::Prepare => PreparedAct::Prepare,
            Act::Sleep(time) => PreparedAct::Sleep(time),
            Act::Work(kernel, iterations) => PreparedAct::Work(kernel, iterations),
            Act::Preempt(how) => PreparedAct::Preempt(how),
            Act::Migrate(cpu) => PreparedAct::Migrate(cpu),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Watch;

    fn cell(group: u32, cpu: u32) -> Cell {
        let watch = Watch { duration: Duration::from_secs(1), threshold_ns: None };
        Cell { group, ..Cell::watching(watch, vec![cpu]) }
    }

    #[test]
    fn cells_are_shuffled_within_their_group_alone() {
        let cells = [(0, 9), (1, 0), (1, 1), (1, 2), (1, 3), (2, 7)];
        let cells = cells.map(|(group, cpu)| cell(group, cpu)).to_vec();
        let order = Order::Shuffled { seed: 1 };
        let shuffled =
            Experiment { blocks: 40, order, ..Experiment::listed("test", cells.clone()) };
        let cpus = |cells: &[&Cell]| cells.iter().map(|cell| cell.on.cpus()[0]).collect::<Vec<_>>();
        let blocks: Vec<Vec<u32>> = in_order(&shuffled).chunks(6).map(cpus).collect();
        assert_eq!(blocks.len(), 40);
        for block in &blocks {
            assert_eq!((block[0], block[5]), (9, 7));
            let mut group = block[1..5].to_vec();
            group.sort_unstable();
            assert_eq!(group, [0, 1, 2, 3]);
        }
        assert!(blocks.iter().any(|block| block[1..5] != [0, 1, 2, 3]), "never shuffled");
        assert_eq!(cpus(&in_order(&shuffled)), blocks.concat(), "the seed repeats the order");
        let listed = Experiment { order: Order::Listed, ..shuffled.clone() };
        assert_eq!(cpus(&in_order(&listed)[..6]), [9, 0, 1, 2, 3, 7]);
    }

    #[test]
    fn lanes_are_cpus_then_copies_then_the_one_that_is_not_pinned() {
        let copies = Cell { copies: 3, ..cell(0, 4) };
        let any = Cell { on: Pinning::Anywhere, ..cell(0, 0) };
        let places = places(&Experiment::listed("test", vec![any, copies, cell(0, 2)]));
        let [own, copy] = [LoopPlace::Cpu(4), LoopPlace::Copy(4)];
        assert_eq!(places, [LoopPlace::Cpu(2), own, copy, copy, LoopPlace::Any]);
    }
}
