//! What happens at the same time: a common start, a job for some of the loops, a common end.

use super::job::Job;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What all loops of a run share.
#[derive(Debug, Default)]
pub(super) struct Hub {
    /// Loops whose thread is prepared, the failed ones included.
    pub(super) prepared: AtomicUsize,
    /// Loops that could not be prepared.
    pub(super) failed: AtomicUsize,
    /// Thread of each loop, by its lane.
    threads: Mutex<Vec<(usize, i32)>>,
}

impl Hub {
    /// Notes that the thread of a lane is prepared, or has failed to.
    pub(super) fn prepared(&self, lane: usize, tid: i32, failed: bool) {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push((lane, tid));
        self.failed.fetch_add(usize::from(failed), Ordering::AcqRel);
        self.prepared.fetch_add(1, Ordering::AcqRel); // also after a failure: nobody waits in vain
    }

    /// Thread of a lane; 0 before it is prepared.
    pub(super) fn thread_of(&self, lane: usize) -> i32 {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().find(|(of, _)| *of == lane).map_or(0, |(_, tid)| *tid)
    }
}

/// One round: the jobs that run together.
#[derive(Debug)]
pub(super) struct Round {
    /// The job of each lane that has one.
    pub(super) jobs: Vec<(usize, Job)>,
    /// How long it will take, undisturbed.
    pub(super) expected: Duration,
    /// Length of a sample, where samples are taken.
    pub(super) grain: Option<Duration>,
    /// The noise that is injected meanwhile, by its number.
    pub(super) injection: Option<u32>,
    /// Whether the loops may come to the start.
    pub(super) open: AtomicBool,
    /// Loops that are at the start.
    pub(super) ready: AtomicUsize,
    /// Counter value, shortly before the start, from which on what the kernel counts is the loops'.
    pub(super) count_from: AtomicU64,
    /// Counter value at which all start; 0 while it is not yet known.
    pub(super) start: AtomicU64,
    /// Counter value at which all end at the latest; an early end moves it.
    pub(super) end: AtomicU64,
    /// Loops that are done.
    pub(super) done: AtomicUsize,
    /// Whether other ranks of the job need not be waited for.
    pub(super) others_done: AtomicBool,
}

impl Round {
    pub(super) fn new(
        jobs: Vec<(usize, Job)>,
        expected: Duration,
        grain: Option<Duration>,
        injection: Option<u32>,
    ) -> Self {
        Round {
            jobs,
            expected,
            grain,
            injection,
            open: AtomicBool::new(false),
            ready: AtomicUsize::new(0),
            count_from: AtomicU64::new(0),
            start: AtomicU64::new(0),
            end: AtomicU64::new(u64::MAX),
            done: AtomicUsize::new(0),
            others_done: AtomicBool::new(true),
        }
    }

    pub(super) fn job_of(&self, lane: usize) -> Option<&Job> {
        self.jobs.iter().find(|(of, _)| *of == lane).map(|(_, job)| job)
    }

    /// Whether all its loops are done.
    pub(super) fn over(&self) -> bool {
        self.done.load(Ordering::Acquire) >= self.jobs.len()
    }

    /// Whether no rank of the job measures any more, so that a CPU need not be kept busy.
    pub(super) fn all_over(&self) -> bool {
        self.over() && self.others_done.load(Ordering::Acquire)
    }

    /// Lets the loops go at once, with an end that is already past: nothing is measured.
    pub(super) fn call_off(&self) {
        self.end.store(0, Ordering::Release);
        self.start.store(1, Ordering::Release);
        self.open.store(true, Ordering::Release);
    }

    /// Whether it was called off.
    pub(super) fn is_called_off(&self) -> bool {
        self.end.load(Ordering::Acquire) == 0
    }
}
