//! From what is asked to rounds: which loop does what, together with which others.

use super::calibrate::Pace;
use super::detours::Watching;
use super::fixed_time::Counting;
use super::fixed_work::Working;
use super::job::Job;
use super::loops::ticks;
use super::paces::{OnCpu, Paces, paces};
use super::place::{Place, one_each};
use super::round::Round;
use super::work::Work;
use super::worker::FIFO_PRIORITY;
use super::{Detours, RunError};
use crate::methods::{Experiment, Policy};
use anechoic_kernels::work::{self, Kernel};
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::Run;
use anechoic_recording::{Fixed, Series};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Longest time that a loop goes without a look at the common end.
const SLICE: Duration = Duration::from_millis(20);

/// About what a sample of no work takes.
const EMPTY_SAMPLE: Duration = Duration::from_nanos(30);
/// Nobody waits longer than this for the end of a sample in one piece.
const LONGEST_PURE: Duration = Duration::from_secs(10);

/// What is to be done, by which loops.
pub(super) struct Scheduled {
    /// Where the loop of each lane runs.
    pub(super) places: Vec<Place>,
    pub(super) rounds: Vec<Round>,
    /// Their threads are not known yet.
    pub(super) series: Vec<Series>,
}

/// The one round of a detour run: all CPUs watch.
pub(super) fn detours(asked: &Detours, cpus: &[u32], run: &Run) -> Scheduled {
    let job = |&cpu| {
        Job::Watch(Watching {
            cpu,
            threshold_ticks: run.threshold_ticks,
            slice_ticks: run.clock.ticks(SLICE.as_nanos() as u64),
            fifo: asked.fifo,
        })
    };
    let round = Round::new(
        cpus.iter().map(job).enumerate().collect(),
        asked.duration,
        None,
        asked.injection.as_ref().map(|_| 0),
    );
    Scheduled { places: one_each(cpus), rounds: vec![round], series: Vec::new() }
}

/// Rounds and series of an experiment on `cpus`; the lane after theirs is the one that is not pinned.
/// What the reader must know of it is noted in `run`.
///
/// # Errors
/// [`RunError::NoSamples`], [`RunError::TooLong`], and those of [`paces`].
pub(super) fn samples(
    asked: &Experiment,
    cpus: &[u32],
    run: &mut Run,
    stop: &AtomicBool,
) -> Result<Scheduled, RunError> {
    if asked.samples == 0 {
        return Err(RunError::NoSamples);
    }
    if asked.pure && asked.grain > LONGEST_PURE {
        let (asked_s, most_s) = (asked.grain.as_secs(), LONGEST_PURE.as_secs());
        return Err(RunError::TooLong { asked_s, most_s });
    }
    let Paces { kernels, notes } = paces(asked, cpus, run, stop)?;
    run.notes.extend(notes);
    let mut rounds = Rounds::new(run);
    let lanes: Vec<(usize, Option<u32>)> = cpus.iter().map(|&cpu| Some(cpu)).enumerate().collect();
    let together: Vec<&[(usize, Option<u32>)]> =
        if asked.one_by_one { lanes.chunks(1).collect() } else { vec![&lanes] };
    let unpinned = [(cpus.len(), None)];
    // Those that are not pinned come last: the samples of each CPU stay in order on their way out.
    for lanes in together.into_iter().chain(asked.unpinned.then_some(&unpinned[..])) {
        for &policy in &asked.policies {
            for (kernel, on) in &kernels {
                rounds.under_all_noise(asked, kernel, on, policy, lanes);
            }
        }
    }
    let (rounds, series) = rounds.done();
    let unpinned = asked.unpinned.then_some(Place::Any);
    Ok(Scheduled { places: one_each(cpus).into_iter().chain(unpinned).collect(), rounds, series })
}

/// How the series of one process are numbered among those of all processes on its host: round by round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    /// Of the first series.
    pub(super) first: u32,
    /// Series of a round in this process,
    pub(super) of_process: u32,
    /// and in all of the host.
    pub(super) of_host: u32,
}

impl Numbers {
    fn of(self, series: u32) -> u32 {
        self.first + series / self.of_process * self.of_host + series % self.of_process
    }
}

/// Rounds and their series, one after the other.
pub(super) struct Rounds<'a> {
    pub(super) run: &'a Run,
    numbers: Numbers,
    series: Vec<Series>,
    rounds: Vec<Round>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        Self::numbered(run, Numbers { first: 0, of_process: 1, of_host: 1 })
    }

    pub(super) fn numbered(run: &'a Run, numbers: Numbers) -> Self {
        Rounds { run, numbers, series: Vec::new(), rounds: Vec::new() }
    }

    pub(super) fn done(self) -> (Vec<Round>, Vec<Series>) {
        (self.rounds, self.series)
    }

    /// The number of the round that comes next.
    pub(super) fn number(&self) -> u32 {
        self.rounds.len() as u32
    }

    pub(super) fn push(&mut self, round: Round) {
        self.rounds.push(round);
    }

    /// Adds a series and gives the number that it got.
    pub(super) fn add_series(&mut self, series: Series) -> u32 {
        let number = self.numbers.of(self.series.len() as u32);
        self.series.push(Series { series: number, ..series });
        number
    }

    /// Adds a round for each noise that is felt on these lanes.
    fn under_all_noise(
        &mut self,
        asked: &Experiment,
        kernel: &'static Kernel,
        on: &BTreeMap<u32, OnCpu>,
        policy: Policy,
        lanes: &[(usize, Option<u32>)],
    ) {
        let mut injection = 0..;
        for noise in &asked.noise {
            let injection = noise.injection.as_ref().and_then(|_| injection.next());
            let felt = lanes.iter().filter(|(_, cpu)| noise.is_felt_on(*cpu));
            let felt: Vec<_> = felt.copied().collect();
            if !felt.is_empty() {
                self.add(asked, kernel, on, (policy, injection), &felt);
            }
        }
    }

    /// Adds a round in which these lanes take the samples of an experiment.
    pub(super) fn add(
        &mut self,
        asked: &Experiment,
        kernel: &'static Kernel,
        on: &BTreeMap<u32, OnCpu>,
        (policy, injection): (Policy, Option<u32>),
        lanes: &[(usize, Option<u32>)],
    ) {
        // Where the scheduler chooses, the first CPU's class says how much work it is.
        let first = on.keys().next().copied();
        let jobs = lanes.iter().filter_map(|&(lane, cpu)| {
            let on = *on.get(&cpu.or(first)?)?;
            Some((lane, self.job(asked, kernel, on, (policy, injection), cpu)))
        });
        let jobs = jobs.collect::<Vec<_>>();
        let samples = asked.samples.min(u32::MAX.into()) as u32;
        let grain = match kernel.family {
            work::Family::Null => EMPTY_SAMPLE,
            _ => asked.grain,
        };
        self.push(Round::new(jobs, grain.saturating_mul(samples), Some(grain), injection));
    }

    /// Adds a series of one rank of a job, one of `copies` on its CPU, and gives the work of its phases.
    pub(super) fn phases(
        &mut self,
        asked: &Experiment,
        kernel: &'static Kernel,
        on: OnCpu,
        policy: Policy,
        (rank, cpu, copies, meeting): (u32, u32, u32, Meeting),
    ) -> Working {
        let series = self.series(asked, kernel, on, (policy, None), Some(cpu));
        let mut series = Series { rank: Some(rank), meeting: Some(meeting), copies, ..series };
        let mut phases = working(asked, kernel, on.pace, 0, Some(cpu), policy);
        if copies > 1 {
            // The other ranks are in every gap: it is no detour.
            (series.step_iterations, series.step_ticks, series.threshold_ticks) =
                (None, None, None);
            phases.work.threshold_ticks = u64::MAX;
        }
        Working { series: self.add_series(series), ..phases }
    }

    /// Adds a series and gives its job.
    fn job(
        &mut self,
        asked: &Experiment,
        kernel: &'static Kernel,
        on: OnCpu,
        (policy, injection): (Policy, Option<u32>),
        cpu: Option<u32>,
    ) -> Job {
        let series = self.series(asked, kernel, on, (policy, injection), cpu);
        let window_ticks = series.grain_ticks;
        let series = self.add_series(series);
        let working = working(asked, kernel, on.pace, series, cpu, policy);
        match asked.method.fixed {
            Fixed::Work => Job::Work(working),
            Fixed::Time => {
                let Working { work: unit, samples, fifo, .. } = working;
                Job::Count(Counting { series, cpu, unit, window_ticks, samples, fifo })
            }
        }
    }

    /// A series of the next round, without its number.
    fn series(
        &self,
        asked: &Experiment,
        kernel: &'static Kernel,
        OnCpu { pace, megacycle_ticks, .. }: OnCpu,
        (policy, injection): (Policy, Option<u32>),
        cpu: Option<u32>,
    ) -> Series {
        // Where the scheduler chooses, nobody knows on which CPU a gap was.
        let step = pace.step.filter(|_| cpu.is_some());
        let fixed = asked.method.fixed;
        let grain_ticks = match kernel.family {
            work::Family::Null if fixed == Fixed::Work => pace.calibrated_ticks,
            _ => ticks(asked.grain, &self.run.clock),
        };
        Series {
            series: 0,
            method: asked.method.id.to_owned(),
            variant: kernel.id.to_owned(),
            cpu,
            tid: 0,
            policy: policy_name(policy == Policy::Fifo),
            grain_ticks,
            fixed,
            iterations: pace.iterations,
            calibrated_ticks: pace.calibrated_ticks,
            instructions: kernel.instructions,
            megaiteration_ticks: pace.megaiteration_ticks,
            megacycle_ticks,
            step_iterations: step.map(|step| step.iterations),
            step_ticks: step.map(|step| step.ticks),
            threshold_ticks: step.map(|step| step.threshold_ticks),
            asked: asked.samples,
            maiv_ppm: asked.maiv_ppm,
            round: self.number(),
            copies: 1,
            injection,
            rank: None,
            meeting: None,
        }
    }
}

/// The work of a sample, or of a unit where the time is fixed.
fn working(
    asked: &Experiment,
    kernel: &'static Kernel,
    pace: Pace,
    series: u32,
    cpu: Option<u32>,
    policy: Policy,
) -> Working {
    // Where the scheduler chooses, nobody knows on which CPU a gap was.
    let threshold = pace.step.filter(|_| cpu.is_some()).map(|step| step.threshold_ticks);
    let iterations = pace.step.map_or(pace.iterations, |step| step.iterations);
    let work = Work::new(kernel, iterations, threshold.unwrap_or(u64::MAX));
    let steps = pace.step.map_or(1, |step| step.in_sample);
    let Experiment { samples, maiv_ppm, .. } = *asked;
    Working { series, cpu, work, steps, samples, maiv_ppm, fifo: policy == Policy::Fifo }
}

/// A policy as recordings tell it.
pub(super) fn policy_name(fifo: bool) -> anechoic_recording::Policy {
    use anechoic_recording::Policy;
    if fifo { Policy::fifo(FIFO_PRIORITY) } else { Policy::other() }
}
