//! A round: a common start, a job for some of the loops, a common end.

use super::gate::Gate;
use super::job::Job;
use crate::mapping::{HUGE_PAGE, Obtained, Pages};
use anechoic_recording::run::OwnThread;
use anechoic_system::tracefs::Marker;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
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
    /// The pages of each loop's own workspace, with its lane.
    pages: Mutex<Vec<(usize, Obtained)>>,
    /// The threads that take the CPUs of loops, as they know themselves.
    beside: Mutex<Vec<OwnThread>>,
    /// Why a loop can measure nothing more, if one cannot.
    given_up: OnceLock<String>,
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

    /// Records the pages of a lane's own workspace.
    pub(crate) fn obtained(&self, lane: usize, pages: Obtained) {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).push((lane, pages));
    }

    /// Returns the pages of a lane's own workspace.
    pub(crate) fn pages_of(&self, lane: usize) -> Obtained {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages
            .iter()
            .find(|(known, _)| *known == lane)
            .map_or_else(Obtained::default, |(_, pages)| *pages)
    }

    /// Notes workspaces that are not locked, or that do not have the pages that were asked for.
    pub(crate) fn note_on_pages(&self, asked: Pages) -> Vec<String> {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let unlocked = pages.iter().any(|(_, pages)| !pages.locked);
        let unlocked = unlocked
            .then(|| "workspaces are touched but not locked (limit on locked memory)".to_owned());
        // A small workspace has no room for a huge page.
        let small = pages
            .iter()
            .map(|(_, pages)| pages)
            .find(|pages| pages.bytes >= HUGE_PAGE && pages.differs(asked));
        let differs = small.map(|Obtained { bytes, huge_bytes, .. }| {
            format!(
                "{} MiB of the {} MiB of the workspace are on 2 MiB pages",
                huge_bytes >> 20,
                bytes >> 20
            )
        });
        unlocked.into_iter().chain(differs).collect()
    }

    /// Records threads that take the CPU of a loop.
    pub(crate) fn take_its_cpu(&self, threads: Vec<OwnThread>) {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner).extend(threads);
    }

    /// Returns the threads that take the CPUs of loops.
    pub(crate) fn beside(&self) -> Vec<OwnThread> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records why a loop can measure nothing more; the first reason counts.
    pub(crate) fn give_up(&self, why: String) {
        let _ = self.given_up.set(why);
    }

    /// Returns why a loop can measure nothing more, if one cannot.
    pub(crate) fn given_up(&self) -> Option<&String> {
        self.given_up.get()
    }

    /// Records that the thread of a lane is prepared or has failed.
    pub(crate) fn prepared(&self, failed: bool) {
        self.failed.fetch_add(usize::from(failed), Ordering::AcqRel);
        self.prepared.fetch_add(1, Ordering::AcqRel); // also after a failure, so that nobody waits for it
    }

    /// Returns the thread of a lane; 0 before it has begun.
    pub(crate) fn thread_of(&self, lane: usize) -> i32 {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().find(|(known, _)| *known == lane).map_or(0, |(_, tid)| *tid)
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
    /// The CPUs whose co-runners run.
    pub(crate) co_runners: Vec<u32>,
    /// Whether kernel events are switched off.
    pub(crate) events_off: bool,
    /// Whether CPUs are kept out of deep idle states.
    pub(crate) shallow: bool,
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
        let (co_runners, events_off, shallow) = (Vec::new(), false, false);
        Round { jobs, expected, grain, injection, co_runners, events_off, shallow, gate }
    }

    pub(crate) fn job_of(&self, lane: usize) -> Option<&Job> {
        self.jobs.iter().find(|(known, _)| *known == lane).map(|(_, job)| job)
    }

    /// Returns whether its loops end at a common time.
    pub(crate) fn ends_on_time(&self) -> bool {
        self.jobs.iter().all(|(_, job)| job.ends_on_time())
    }
}
