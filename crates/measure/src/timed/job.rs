//! What a loop does in a round.

use super::gate::Gate;
use super::probing::Probing;
use super::sampling::{Ready, Sampling, Workspaces};
use super::sinks::{Done, Sinks};
use super::waker::Calls;
use super::waking::{self, Waking};
use super::watching::Watching;
use crate::scheduling::FIFO_PRIORITY;
use anechoic_recording::Problem;
use std::sync::Arc;

/// What a loop does in a round.
#[derive(Debug)]
pub(crate) enum Job {
    /// Watches the counter.
    Watch(Watching),
    /// Takes samples of a kernel's work.
    Sample(Sampling),
    /// Sleeps, and notes when it is woken.
    Wake(Waking),
    /// Probes what slows work that nothing interrupts.
    Probe(Probing),
}

impl Job {
    /// Returns its priority under SCHED_FIFO; none under the ordinary policy.
    pub(crate) fn priority(&self) -> Option<i32> {
        match self {
            Job::Watch(job) => job.fifo.then_some(FIFO_PRIORITY),
            Job::Sample(job) => job.fifo.then_some(FIFO_PRIORITY),
            Job::Wake(job) => job.priority,
            Job::Probe(job) => job.fifo.then_some(FIFO_PRIORITY),
        }
    }

    /// Returns its series, if it has one.
    pub(crate) fn series(&self) -> Option<u32> {
        match self {
            Job::Watch(_) => None,
            Job::Sample(job) => Some(job.series),
            Job::Wake(job) => Some(job.series),
            Job::Probe(job) => Some(job.series),
        }
    }

    /// Returns what it shares with the thread that wakes it, if one does.
    pub(crate) fn calls(&self) -> Option<&Arc<Calls>> {
        match self {
            Job::Watch(_) | Job::Sample(_) | Job::Probe(_) => None,
            Job::Wake(job) => job.waker.as_ref().map(|(_, calls)| calls),
        }
    }

    /// Returns how it takes samples, if it does.
    pub(crate) fn sampling(&self) -> Option<&Sampling> {
        match self {
            Job::Watch(_) | Job::Wake(_) | Job::Probe(_) => None,
            Job::Sample(job) => Some(job),
        }
    }

    /// Returns whether a loop that has ended keeps its CPU busy until the others end; not if they share its
    /// CPU, and not where the CPU was idle between samples.
    pub(crate) fn keeps_busy(&self) -> bool {
        match self {
            Job::Watch(_) | Job::Probe(_) => true,
            Job::Sample(job) => !job.shares_cpu,
            Job::Wake(_) => false,
        }
    }

    /// Returns whether the loop leaves its CPU between samples.
    pub(crate) fn wanders(&self) -> bool {
        self.sampling().is_some_and(Sampling::wanders)
    }

    /// Returns whether the loop waits for other loops between samples.
    pub(crate) fn meets(&self) -> bool {
        self.sampling().is_some_and(Sampling::meets)
    }

    /// Returns whether its loops end at a common time, so that a late one is not waited for.
    pub(crate) fn ends_on_time(&self) -> bool {
        !matches!(self, Job::Sample(_))
    }

    /// Prepares memory and touches what the job will use.
    ///
    /// # Errors
    /// Fails if the kernel gives no memory for a job that has its own.
    pub(crate) fn prepare<'m>(
        &self,
        workspaces: &'m mut Workspaces,
    ) -> Result<Option<Ready<'m>>, Problem> {
        match self {
            Job::Watch(_) => {
                Watching::warm_up();
                Ok(None)
            }
            Job::Sample(job) => job.prepare(workspaces).map(Some),
            Job::Wake(_) => {
                waking::warm_up();
                Ok(None)
            }
            Job::Probe(job) => job.prepare().map(|()| None),
        }
    }

    /// Prepares memory and runs the timed loop once, so that everything it needs has been touched.
    pub(crate) fn warm_up(&self, workspaces: &mut Workspaces, sinks: &mut Sinks<'_, '_>) {
        if let (Job::Sample(job), Ok(Some(ready))) = (self, self.prepare(workspaces)) {
            job.warm_up(ready, sinks);
        }
    }

    pub(crate) fn run(
        &self,
        ready: Option<Ready<'_>>,
        gate: &Gate,
        sinks: &mut Sinks<'_, '_>,
    ) -> Option<Done> {
        match self {
            Job::Watch(job) => Some(job.run(gate, &mut sinks.gaps, sinks.paces.as_mut())),
            Job::Sample(job) => ready.map(|ready| job.run(ready, gate, sinks)),
            Job::Wake(job) => Some(job.run(gate, sinks)),
            Job::Probe(job) => Some(job.run(gate, sinks)),
        }
    }
}
