//! The thread that is not a loop: it sleeps, and empties what is half full.

use super::kernel_side::KernelSide;
use super::plan::{Plan, Stage};
use super::store::Store;
use crate::timed::buffers::Lane;
use crate::timed::round::Round;
use crate::timed::sinks::Lanes;
use anechoic_kernels::counter;
use anechoic_recording::News;
use anechoic_recording::run::{DrainPolicy, Run, RunState};
use anechoic_system::clock::Anchor;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the housekeeper looks, where a CPU is left for it.
const NAP_FREE: Duration = Duration::from_millis(100);
/// How often it looks where it tells what it finds, which costs more; if it need not disturb a measured CPU for it.
const NAP_WATCHED: Duration = Duration::from_millis(200);
/// How often it looks where it must disturb a measured CPU to do so.
const NAP_MEASURED: Duration = Duration::from_secs(1);
/// Longest time that what was measured is kept in memory alone.
const KEEP: Duration = Duration::from_secs(60);
/// It looks again this long after the end, so that it does not disturb the end itself.
const AFTER_END: Duration = Duration::from_millis(5);

/// Of the time that a round is late already, this part passes until the next look.
const LATE_PARTS: u32 = 16;

/// What the thread that is not a loop does meanwhile: sleep, and empty what is half full.
pub(super) struct Housekeeper<'a, 'b> {
    pub(super) plan: &'a Plan,
    pub(super) stop: &'a AtomicBool,
    pub(super) free: &'a [u32],
    pub(super) lanes: &'a [Lanes<'b>],
    pub(super) begin: Anchor,
    pub(super) drained: Instant,
}

impl Housekeeper<'_, '_> {
    /// Returns when all loops of the round are done, or soon after `stop`. So much time is still to come
    /// `later`, in other rounds.
    pub(super) fn watch(
        &mut self,
        round: &Round,
        later: Duration,
        run: &mut Run,
        kernel: &mut KernelSide,
        store: &mut Store,
        notify: &mut dyn FnMut(Stage),
    ) {
        let may_draw = self.may_draw();
        let nap = match (may_draw, self.plan.watcher) {
            (false, _) => NAP_MEASURED,
            (true, Some(_)) => NAP_WATCHED,
            (true, None) => NAP_FREE,
        };
        let alternate = self.plan.experiment.alternate;
        let nap = alternate.map_or(nap, |period| nap.min(period));
        let nap = self.time_to_fill(round).map_or(nap, |time| nap.min(time / 4));
        let start = round.gate.start.load(Ordering::Acquire);
        let due = start.saturating_add(run.clock.ticks_of(round.expected));
        while !round.gate.over() {
            let now = counter::ordered();
            let left = Duration::from_nanos(run.clock.ns(due.saturating_sub(now)));
            // What takes longer than it should is not looked at all the time.
            let late = Duration::from_nanos(run.clock.ns(now.saturating_sub(due))) / LATE_PARTS;
            kernel.wait(nap.min(left + late + AFTER_END));
            self.drain(left.saturating_add(later), run, kernel, store);
            if self.plan.watcher.is_some() {
                notify(Stage::News(Box::new(self.news(run, kernel, store))));
            }
            if let Some(period) = alternate.filter(|_| now < due) {
                kernel.alternate(period, run, store);
            }
            if let Some(state) = self.reason_to_end(store) {
                round.gate.end.store(counter::ordered(), Ordering::Release);
                run.state = state;
            }
            if may_draw {
                let passed = counter::ordered().saturating_sub(run.start_ticks);
                notify(Stage::Passed(Duration::from_nanos(run.clock.ns(passed))));
            }
        }
    }

    /// What came since the last look.
    fn news(&self, run: &mut Run, kernel: &mut KernelSide, store: &mut Store) -> News {
        let until_ticks = counter::ordered();
        run.drain = DrainPolicy::HighWater;
        self.lanes.iter().for_each(|lanes| store.take(lanes));
        // After the detours: all their events have been written then.
        kernel.drain(run, store);
        let mut news = store.news().unwrap_or_default();
        kernel.tell(&mut news, self.begin);
        News { until_ticks, ..news }
    }

    /// How long samples take to fill a lane.
    fn time_to_fill(&self, round: &Round) -> Option<Duration> {
        let lanes = round.jobs.iter().filter_map(|(lane, _)| self.lanes[*lane].samples.as_ref());
        let room = lanes.map(Lane::room).min()?.min(u32::MAX as usize) as u32;
        round.grain.map(|grain| grain.saturating_mul(room))
    }

    /// Whether a CPU is left that is not measured.
    pub(super) fn may_draw(&self) -> bool {
        !self.free.is_empty()
    }

    /// Empties all buffers once one of them is half full, or when a minute is over and the run is
    /// not about to end: so a run that is killed loses a minute and a half at most, and runs up to
    /// that stay in memory.
    fn drain(&mut self, left: Duration, run: &mut Run, kernel: &mut KernelSide, store: &mut Store) {
        let minute_over = self.drained.elapsed() >= KEEP && left > KEEP / 2;
        let half_full = |lanes: &Lanes<'_>| {
            lanes.gaps.half_full() || lanes.samples.as_ref().is_some_and(Lane::half_full)
        };
        let full = self.lanes.iter().any(half_full);
        if full || minute_over {
            self.lanes.iter().for_each(|lanes| store.take(lanes));
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

    /// How the run ends, where it does so before its time.
    fn reason_to_end(&self, store: &Store) -> Option<RunState> {
        match (self.stop.load(Ordering::Acquire), self.plan.watcher) {
            // Who watches says when it is enough.
            (true, Some(_)) => Some(RunState::Complete),
            (true, None) => Some(RunState::Interrupted("by a signal".to_owned())),
            (false, _) => store.trouble().map(|error| RunState::Interrupted(error.to_string())),
        }
    }
}
