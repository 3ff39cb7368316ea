//! The thread that is not a loop: it sleeps, and empties what is half full.

use super::buffers::Lane;
use super::kernel_side::KernelSide;
use super::store::Store;
use super::victim::Rendezvous;
use super::{Plan, Stage};
use crate::clock::Anchor;
use crate::cpus;
use anechoic_kernels::counter;
use anechoic_recording::run::{DrainPolicy, Run, RunState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the housekeeper looks, where a CPU is left for it.
const NAP_FREE: Duration = Duration::from_millis(100);
/// How often it looks where it must disturb a measured CPU to do so.
const NAP_MEASURED: Duration = Duration::from_secs(1);
/// Longest time that what was measured is kept in memory alone.
const KEEP: Duration = Duration::from_secs(60);
/// It looks again this long after the end, so that it does not disturb the end itself.
const AFTER_END: Duration = Duration::from_millis(5);

/// CPUs that this process may use and that are not measured.
pub(super) fn free_cpus(measured: &[u32]) -> Vec<u32> {
    cpus::allowed().into_iter().filter(|cpu| !measured.contains(cpu)).collect()
}

/// The thread that is not a loop stays off the measured CPUs, and goes back when dropped.
pub(super) struct Home(Vec<u32>);

impl Home {
    pub(super) fn move_to(free: &[u32]) -> Self {
        let home = cpus::allowed();
        if !free.is_empty() {
            let _ = cpus::pin(free); // a thread that stays where it is only disturbs more
        }
        Home(home)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = cpus::pin(&self.0);
    }
}

/// What the thread that is not a loop does meanwhile: sleep, and empty what is half full.
pub(super) struct Housekeeper<'a, 'b> {
    pub(super) plan: &'a Plan,
    pub(super) stop: &'a AtomicBool,
    pub(super) free: &'a [u32],
    pub(super) meet: &'a Rendezvous,
    pub(super) lanes: &'a [Lane<'b>],
    pub(super) begin: Anchor,
    pub(super) drained: Instant,
}

impl Housekeeper<'_, '_> {
    /// Returns when all loops are done, or soon after `stop`.
    pub(super) fn watch(
        &mut self,
        run: &mut Run,
        kernel: &mut KernelSide,
        store: &mut Store,
        notify: &mut dyn FnMut(Stage),
    ) {
        let may_draw = !self.free.is_empty();
        let nap = if may_draw { NAP_FREE } else { NAP_MEASURED };
        let nap = self.plan.alternate.map_or(nap, |period| nap.min(period));
        notify(Stage::Started { total: self.plan.duration, may_draw });
        let start = self.meet.start.load(Ordering::Acquire);
        while self.meet.done.load(Ordering::Acquire) < self.lanes.len() {
            let now = counter::ordered();
            let left = Duration::from_nanos(run.clock.ns(run.end_ticks.saturating_sub(now)));
            kernel.wait(nap.min(left + AFTER_END));
            self.drain(left, run, kernel, store);
            if let Some(period) = self.plan.alternate.filter(|_| now < run.end_ticks) {
                kernel.alternate(period, run, store);
            }
            if let Some(why) = self.reason_to_end(store) {
                self.meet.end.store(counter::ordered(), Ordering::Release);
                run.state = RunState::Interrupted(why);
            }
            if may_draw {
                let passed = counter::ordered().saturating_sub(start);
                notify(Stage::Passed(Duration::from_nanos(run.clock.ns(passed))));
            }
        }
    }

    /// Empties all buffers once one of them is half full, or when a minute is over and the run is
    /// not about to end: so a run that is killed loses a minute and a half at most, and runs up to
    /// that stay in memory.
    fn drain(&mut self, left: Duration, run: &mut Run, kernel: &mut KernelSide, store: &mut Store) {
        let minute_over = self.drained.elapsed() >= KEEP && left > KEEP / 2;
        let full = self.lanes.iter().any(Lane::half_full);
        if full || minute_over {
            self.lanes.iter().for_each(|lane| store.detours(lane));
        }
        if kernel.half_full() || minute_over {
            kernel.drain(run, store);
        }
        if minute_over {
            kernel.drain_steal(self.begin, store);
            store.complete_parts();
            self.drained = Instant::now();
        }
        if full || kernel.half_full() || minute_over {
            run.drain = DrainPolicy::HighWater;
        }
    }

    fn reason_to_end(&self, store: &Store) -> Option<String> {
        if self.stop.load(Ordering::Acquire) {
            return Some("by a signal".to_owned());
        }
        store.trouble().map(|error| error.to_string())
    }
}
