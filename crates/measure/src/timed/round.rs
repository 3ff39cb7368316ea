//! A round: a common start, a job for some of the loops, a common end.

use super::gate::Gate;
use super::job::Job;
use anechoic_system::tracefs::Marker;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// State shared by all loops of a run.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    /// Number of loops whose thread is prepared, including failed ones.
    pub(crate) prepared: AtomicUsize,
    /// Number of loops that could not be prepared.
    pub(crate) failed: AtomicUsize,
    /// The thread of each loop, with its lane.
    threads: Mutex<Vec<(usize, i32)>>,
    /// Shows the threads in the trace.
    pub(crate) marker: Marker,
}

impl Hub {
    pub(crate) fn new(marker: Marker) -> Self {
        Hub { marker, ..Hub::default() }
    }

    /// Records the thread of a lane.
    pub(crate) fn begun(&self, lane: usize, tid: i32) {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push((lane, tid));
    }

    /// Records that the thread of a lane is prepared or has failed.
    pub(crate) fn prepared(&self, failed: bool) {
        self.failed.fetch_add(usize::from(failed), Ordering::AcqRel);
        self.prepared.fetch_add(1, Ordering::AcqRel); // also after a failure, so that nobody waits for it
    }

    /// Returns the thread of a lane; 0 before it has begun.
    pub(crate) fn thread_of(&self, lane: usize) -> i32 {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().find(|(of, _)| *of == lane).map_or(0, |(_, tid)| *tid)
    }
}

/// A round: the jobs that run at the same time.
#[derive(Debug)]
pub(crate) struct Round {
    /// The job of each lane that has one.
    pub(crate) jobs: Vec<(usize, Job)>,
    /// Duration without noise.
    pub(crate) expected: Duration,
    /// Length of a sample, if samples are taken.
    pub(crate) grain: Option<Duration>,
    /// The number of the noise that is injected.
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

    /// Returns whether its loops end at a common time.
    pub(crate) fn ends_on_time(&self) -> bool {
        self.jobs.iter().all(|(_, job)| job.ends_on_time())
    }
}
