//! What happens at the same time: a common start, a job for some of the loops, a common end.

use super::gate::Gate;
use super::job::Job;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What all loops of a run share.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    /// Loops whose thread is prepared, the failed ones included.
    pub(crate) prepared: AtomicUsize,
    /// Loops that could not be prepared.
    pub(crate) failed: AtomicUsize,
    /// Thread of each loop, by its lane.
    threads: Mutex<Vec<(usize, i32)>>,
}

impl Hub {
    /// Notes that the thread of a lane is prepared, or has failed to.
    pub(crate) fn prepared(&self, lane: usize, tid: i32, failed: bool) {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push((lane, tid));
        self.failed.fetch_add(usize::from(failed), Ordering::AcqRel);
        self.prepared.fetch_add(1, Ordering::AcqRel); // also after a failure: nobody waits in vain
    }

    /// Thread of a lane; 0 before it is prepared.
    pub(crate) fn thread_of(&self, lane: usize) -> i32 {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().find(|(of, _)| *of == lane).map_or(0, |(_, tid)| *tid)
    }
}

/// One round: the jobs that run together.
#[derive(Debug)]
pub(crate) struct Round {
    /// The job of each lane that has one.
    pub(crate) jobs: Vec<(usize, Job)>,
    /// How long it will take, undisturbed.
    pub(crate) expected: Duration,
    /// Length of a sample, where samples are taken.
    pub(crate) grain: Option<Duration>,
    /// The noise that is injected meanwhile, by its number.
    pub(crate) injection: Option<u32>,
    pub(crate) gate: Gate,
}

impl Round {
    pub(crate) fn new(
        jobs: Vec<(usize, Job)>,
        expected: Duration,
        grain: Option<Duration>,
        injection: Option<u32>,
    ) -> Self {
        let gate = Gate::new(jobs.len());
        Round { jobs, expected, grain, injection, gate }
    }

    pub(crate) fn job_of(&self, lane: usize) -> Option<&Job> {
        self.jobs.iter().find(|(of, _)| *of == lane).map(|(_, job)| job)
    }

    /// Whether its loops end at one time.
    pub(crate) fn ends_on_time(&self) -> bool {
        self.jobs.iter().all(|(_, job)| job.ends_on_time())
    }
}
