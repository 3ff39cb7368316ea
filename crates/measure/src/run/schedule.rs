//! From what is asked to rounds: which loop does what, together with which others.

use super::calibrate::{Pace, Wanted, calibrate, megacycle};
use super::detours::Watching;
use super::fixed_time::Counting;
use super::fixed_work::Working;
use super::job::Job;
use super::round::Round;
use super::work::Work;
use super::worker::FIFO_PRIORITY;
use super::{Detours, RunError};
use crate::cpus;
use crate::methods::{Experiment, Policy};
use anechoic_kernels::work::{self, Kernel};
use anechoic_recording::run::Run;
use anechoic_recording::{Fixed, Series};
use std::collections::HashMap;
use std::thread;
use std::time::Duration;

/// Longest time that a loop goes without a look at the common end.
const SLICE: Duration = Duration::from_millis(20);

/// Nobody waits longer than this for the end of a sample in one piece.
const LONGEST_PURE: Duration = Duration::from_secs(10);

/// The one round of a detour run: all CPUs watch.
pub(super) fn detours(asked: &Detours, cpus: &[u32], run: &Run) -> Vec<Round> {
    let job = |&cpu| {
        Job::Watch(Watching {
            cpu,
            threshold_ticks: run.threshold_ticks,
            slice_ticks: run.clock.ticks(SLICE.as_nanos() as u64),
            fifo: asked.fifo,
        })
    };
    vec![Round::new(cpus.iter().map(job).enumerate().collect(), asked.duration)]
}

/// Rounds and series of an experiment on `cpus`; the lane after theirs is the one that is not pinned.
///
/// Calibrates each kernel on the first CPU of each class. The series' threads are not known yet.
///
/// # Errors
/// [`RunError::Kernel`], [`RunError::NoSamples`], [`RunError::TooLong`], [`RunError::Calibrate`].
pub(super) fn samples(
    asked: &Experiment,
    cpus: &[u32],
    run: &Run,
) -> Result<(Vec<Round>, Vec<Series>), RunError> {
    if asked.samples == 0 {
        return Err(RunError::NoSamples);
    }
    if asked.pure && asked.grain > LONGEST_PURE {
        let (asked_s, most_s) = (asked.grain.as_secs(), LONGEST_PURE.as_secs());
        return Err(RunError::TooLong { asked_s, most_s });
    }
    let kernels: Vec<&'static Kernel> =
        asked.kernels.iter().map(|id| kernel(id)).collect::<Result<_, _>>()?;
    let mut schedule = Schedule { asked, run, series: Vec::new(), rounds: Vec::new() };
    let mut paces = schedule.all_paces(&kernels, cpus, asked.pure)?;
    let watched = |of: &Paces| of.values().all(|(pace, _)| pace.step.is_some());
    let count = paces.iter().filter(|(_, of)| watched(of)).count();
    if count > 0 && count < paces.len() {
        // Where one kernel leaves no room for looks, none is watched: the series stay comparable.
        paces = schedule.all_paces(&kernels, cpus, true)?;
    }
    let lanes: Vec<(usize, Option<u32>)> = cpus.iter().map(|&cpu| Some(cpu)).enumerate().collect();
    let together: Vec<&[(usize, Option<u32>)]> =
        if asked.one_by_one { lanes.chunks(1).collect() } else { vec![&lanes] };
    let unpinned = [(cpus.len(), None)];
    // Those that are not pinned come last: the samples of each CPU stay in order on their way out.
    for lanes in together.into_iter().chain(asked.unpinned.then_some(&unpinned[..])) {
        for &policy in &asked.policies {
            for (kernel, paces) in &paces {
                schedule.round(kernel, paces, policy, lanes);
            }
        }
    }
    Ok((schedule.rounds, schedule.series))
}

fn kernel(id: &str) -> Result<&'static Kernel, RunError> {
    work::find(id).ok_or_else(|| RunError::Kernel { asked: id.to_owned() })
}

struct Schedule<'a> {
    asked: &'a Experiment,
    run: &'a Run,
    series: Vec<Series>,
    rounds: Vec<Round>,
}

/// The kernel whose instructions take a core cycle each.
const CYCLE_KERNEL: &str = "intadd-chain";

/// A kernel's pace on each CPU, with what a million core cycles last there.
type Paces = HashMap<u32, (Pace, u64)>;

impl Schedule<'_> {
    fn all_paces(
        &self,
        kernels: &[&'static Kernel],
        cpus: &[u32],
        pure: bool,
    ) -> Result<Vec<(&'static Kernel, Paces)>, RunError> {
        kernels.iter().map(|&kernel| Ok((kernel, self.paces(kernel, cpus, pure)?))).collect()
    }

    /// The kernel's pace on each of the CPUs: measured on the first of each class.
    fn paces(&self, kernel: &'static Kernel, cpus: &[u32], pure: bool) -> Result<Paces, RunError> {
        let class = |cpu: u32| {
            let known = self.run.machine.cpus.iter().find(|known| known.cpu == cpu);
            known.map_or("", |known| known.class.as_str())
        };
        let wanted = Wanted {
            fixed: self.asked.method.fixed,
            grain_ns: self.asked.grain.as_nanos() as u64,
            pure,
        };
        let chain = self::kernel(CYCLE_KERNEL)?;
        let mut of_class: HashMap<&str, (Pace, u64)> = HashMap::new();
        let mut of_cpu = HashMap::new();
        for &cpu in cpus {
            let pace = match of_class.get(class(cpu)) {
                Some(pace) => *pace,
                None => {
                    let clock = &self.run.clock;
                    let pace = on_cpu(cpu, || {
                        let pace = calibrate(kernel, cpu, wanted, clock)?;
                        Ok::<_, RunError>((pace, megacycle(chain, cpu, clock)?))
                    })??;
                    of_class.insert(class(cpu), pace);
                    pace
                }
            };
            of_cpu.insert(cpu, pace);
        }
        Ok(of_cpu)
    }

    fn round(
        &mut self,
        kernel: &'static Kernel,
        paces: &Paces,
        policy: Policy,
        lanes: &[(usize, Option<u32>)],
    ) {
        let any = paces.values().next().copied();
        let jobs = lanes.iter().filter_map(|&(lane, cpu)| {
            let pace = cpu.map_or(any, |cpu| paces.get(&cpu).copied())?;
            Some((lane, self.job(kernel, pace, policy, cpu)))
        });
        let jobs = jobs.collect::<Vec<_>>();
        let expected = self.asked.grain.saturating_mul(self.asked.samples.min(1 << 31) as u32);
        self.rounds.push(Round::new(jobs, expected));
    }

    /// Adds a series and gives its job.
    fn job(
        &mut self,
        kernel: &'static Kernel,
        (pace, megacycle_ticks): (Pace, u64),
        policy: Policy,
        cpu: Option<u32>,
    ) -> Job {
        let asked = self.asked;
        // Where the scheduler chooses, nobody knows on which CPU a gap was.
        let step = pace.step.filter(|_| cpu.is_some());
        let fixed = asked.method.fixed;
        let fifo = policy == Policy::Fifo;
        let grain_ticks = match kernel.family {
            work::Family::Null if fixed == Fixed::Work => pace.calibrated_ticks,
            _ => self.run.clock.ticks(asked.grain.as_nanos() as u64),
        };
        let series = self.series.len() as u32;
        self.series.push(Series {
            series,
            method: asked.method.id.to_owned(),
            variant: kernel.id.to_owned(),
            cpu,
            tid: 0,
            policy: policy_name(fifo),
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
        });
        let threshold = step.map_or(u64::MAX, |step| step.threshold_ticks);
        let iterations = pace.step.map_or(pace.iterations, |step| step.iterations);
        let work = Work::new(kernel, iterations, threshold);
        let (samples, maiv_ppm) = (asked.samples, asked.maiv_ppm);
        match fixed {
            Fixed::Work => {
                let steps = pace.step.map_or(1, |step| step.in_sample);
                Job::Work(Working { series, cpu, work, steps, samples, maiv_ppm, fifo })
            }
            Fixed::Time => {
                let window_ticks = grain_ticks;
                Job::Count(Counting { series, cpu, unit: work, window_ticks, samples, fifo })
            }
        }
    }
}

/// A policy as recordings tell it.
pub(super) fn policy_name(fifo: bool) -> String {
    if fifo { format!("fifo {FIFO_PRIORITY}") } else { "other".to_owned() }
}

/// Runs `measure` on a thread that is pinned to `cpu`.
fn on_cpu<T: Send>(cpu: u32, measure: impl FnOnce() -> T + Send) -> Result<T, cpus::CpuError> {
    let pinned = || cpus::pin(&[cpu]).map(|()| measure());
    thread::scope(|scope| {
        let done = scope.spawn(pinned).join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
