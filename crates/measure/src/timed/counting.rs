//! What is counted for a loop's thread while it does a job.

use super::gate::Gate;
use super::job::Job;
use super::sampling::Ready;
use super::sinks::{Done, Sinks};
use crate::kernel::Kernel;
use anechoic_recording::paging::Allocation;
use anechoic_recording::paging::counts::SYSTEM_CALLS;
use anechoic_recording::run::NotAvailable;
use anechoic_system::perf::{Counted, Counts, SystemCalls};
use std::collections::BTreeMap;

/// The counters of a loop's thread.
#[derive(Debug)]
pub(super) struct Counting {
    counts: Option<Counts>,
    /// The thread's system calls, if it runs a user's function.
    calls: Option<SystemCalls>,
    not_available: Vec<NotAvailable>,
}

impl Counting {
    /// Opens what these jobs of the calling thread need.
    pub(super) fn open<'j>(jobs: impl Iterator<Item = &'j Job> + Clone, is_guest: bool) -> Self {
        let mut sampling = jobs.filter_map(Job::sampling);
        let users = sampling.clone().any(|one| matches!(one.step.kernel, Kernel::User(_)));
        let samples = sampling.clone().next().is_some();
        let has_own = sampling.any(|one| one.memory.is_some());
        let counted = if has_own { Counted::PageWalks } else { Counted::Caches };
        let counts = samples.then(|| Counts::open(counted, is_guest));
        let known = counts.as_ref().map(|counts| counts.not_available.clone());
        let mut not_available = known.unwrap_or_default();
        let calls = users.then(SystemCalls::open).transpose();
        let calls = calls.map_err(|missing| not_available.push(missing)).ok().flatten();
        Counting { counts, calls, not_available }
    }

    /// Returns what cannot be counted.
    pub(super) fn not_available(self) -> Vec<NotAvailable> {
        self.not_available
    }

    /// Runs a job and counts events meanwhile; those in memory of its own are counted there, the others are returned.
    pub(super) fn run(
        &self,
        job: &Job,
        ready: Option<Ready<'_>>,
        gate: &Gate,
        sinks: &mut Sinks<'_, '_>,
        allocation: &mut Option<Allocation>,
    ) -> Option<(Done, BTreeMap<String, u64>)> {
        let before = self.counts.as_ref().map(Counts::read);
        let calls = self.calls.as_ref().and_then(SystemCalls::count);
        let done = job.run(ready, gate, sinks)?;
        let calls = self.calls.as_ref().zip(calls).and_then(|(now, before)| now.since(before));
        let grown = self.counts.as_ref().zip(before);
        let grown = grown.map(|(counts, before)| since(counts.read(), &before));
        let mut grown = grown.unwrap_or_default();
        grown.extend(calls.map(|calls| (SYSTEM_CALLS.to_owned(), calls)));
        if let Some(allocation) = allocation {
            allocation.counts = std::mem::take(&mut grown);
            let samples = done.series.map_or(0, |series| series.samples);
            allocation.counted_iterations =
                job.sampling().map_or(0, |sampling| sampling.iterations_of(samples));
        }
        Some((done, grown))
    }
}

/// Returns how much each count has grown; one that is missing in either reading is left out.
fn since(now: Vec<(&'static str, u64)>, then: &[(&'static str, u64)]) -> BTreeMap<String, u64> {
    let grown = now.into_iter().filter_map(|(name, count)| {
        let (_, before) = then.iter().find(|(counted, _)| *counted == name)?;
        Some((name.to_owned(), count.saturating_sub(*before)))
    });
    grown.collect()
}
