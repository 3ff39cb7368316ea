//! The housekeeper thread: it sleeps, and empties buffers that are half full.

use super::kernel_side::KernelSide;
use super::patience::{Patience, release};
use super::plan::{Plan, Stage};
use super::stop_watch::OwnWork;
use super::store::Store;
use crate::timed::buffers::BlockExchange;
use crate::timed::round::{Hub, Round};
use crate::timed::sinks::LoopBuffers;
use anechoic_kernels::counter;
use anechoic_recording::News;
use anechoic_recording::in_words;
use anechoic_recording::run::{DrainPolicy, Run, RunState};
use anechoic_system::clock::Anchor;
use rustix::thread::sched_getcpu;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The housekeeper's sleep if an unmeasured CPU is left for it.
const NAP_FREE: Duration = Duration::from_millis(100);
/// Its sleep on an unmeasured CPU if it also reports what it finds, which costs more.
const NAP_WATCHED: Duration = Duration::from_millis(200);
/// Its sleep if it must disturb a measured CPU.
const NAP_MEASURED: Duration = Duration::from_secs(1);
/// The longest time that data is kept in memory only, if saving it must disturb a measured CPU.
const KEEP: Duration = Duration::from_secs(60);
/// The same if an unmeasured CPU is left for saving.
const KEEP_FREE: Duration = Duration::from_secs(10);
/// In a long run both times grow to its elapsed time divided by this, because each saving makes files: 8 h have some
/// 250 savings.
const KEEP_PARTS: u32 = 50;
/// It wakes up this long after the end, so that it does not disturb the end itself.
const AFTER_END: Duration = Duration::from_millis(5);

/// If a round is late, the next check comes after one in this many parts of the delay.
const LATE_PARTS: u32 = 16;

/// The work of the housekeeper during a round: sleep, and empty buffers that are half full.
pub(super) struct Housekeeper<'a, 'b> {
    pub(super) plan: &'a Plan,
    pub(super) stop: &'a AtomicBool,
    pub(super) free: &'a [u32],
    pub(super) lanes: &'a [LoopBuffers<'b>],
    pub(super) hub: &'a Hub,
    pub(super) begin: Anchor,
    pub(super) drained: Instant,
    /// How long the rounds so far took, relative to their expected time.
    pub(super) pace: f64,
}

impl Housekeeper<'_, '_> {
    /// Returns when all loops of the round have ended, or soon after `stop`. `later` is the time of the
    /// rounds after it.
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
        let (mut patience, mut held) = (Patience::begin(self.stop), None);
        while !round.gate.over() {
            let now = counter::ordered();
            if let Some(why) = patience.over(round.ends_on_time() && now > due) {
                held = Some(why);
                let lanes = round.jobs.iter().map(|(lane, _)| *lane);
                release(self.hub, lanes.map(|lane| (lane, self.lanes[lane].place.cpu())));
                patience = Patience::begin(self.stop);
            }
            let left = Duration::from_nanos(run.clock.ns(due.saturating_sub(now)));
            // A late round is checked less and less often.
            let late = Duration::from_nanos(run.clock.ns(now.saturating_sub(due))) / LATE_PARTS;
            match (&run.state, self.stop.load(Ordering::Acquire)) {
                (RunState::Running, false) => kernel.wait(nap.min(left + late + AFTER_END)),
                // The loops must end, and nothing is disturbed any more.
                _ => thread::sleep(AFTER_END),
            }
            let (from_ticks, cpu) = (counter::ordered(), sched_getcpu() as u32);
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
                let passed = Duration::from_nanos(run.clock.ns(passed));
                let left = left.saturating_add(later).mul_f64(self.pace);
                notify(Stage::Passed { passed, left });
            }
            store.own_work(OwnWork { cpu, from_ticks, until_ticks: counter::ordered() });
        }
        if let (Some(why), RunState::Running | RunState::Complete) = (held, &run.state) {
            run.state = RunState::Interrupted(why); // loops that were moved away did not measure to the end
        }
    }

    /// Returns what was measured since the last call.
    fn news(&self, run: &mut Run, kernel: &mut KernelSide, store: &mut Store) -> News {
        let until_ticks = counter::ordered();
        run.drain = DrainPolicy::HighWater;
        self.lanes.iter().for_each(|lanes| store.take(lanes, true));
        // The kernel is drained after the detours, because all their events have been written by then.
        kernel.drain(run, store);
        store.judge();
        let mut news = store.news().unwrap_or_default();
        kernel.add_news(&mut news, self.begin);
        News { until_ticks, ..news }
    }

    /// Returns how long samples take to fill a lane.
    fn time_to_fill(&self, round: &Round) -> Option<Duration> {
        let lanes = round.jobs.iter().filter_map(|(lane, _)| self.lanes[*lane].samples.as_ref());
        let room = lanes.map(BlockExchange::room).min()?.min(u32::MAX as usize) as u32;
        round.grain.map(|grain| grain.saturating_mul(room))
    }

    /// Returns whether a CPU is left that is not measured.
    pub(super) fn may_draw(&self) -> bool {
        !self.free.is_empty()
    }

    /// Empties all buffers once one of them is half full, or when data has been in memory for the longest time, unless
    /// the run is about to end. A run that is killed thus loses at most one and a half times that time.
    fn drain(&mut self, left: Duration, run: &mut Run, kernel: &mut KernelSide, store: &mut Store) {
        let keep = if self.may_draw() { KEEP_FREE } else { KEEP };
        let passed = counter::ordered().saturating_sub(run.start_ticks);
        let keep = keep.max(Duration::from_nanos(run.clock.ns(passed)) / KEEP_PARTS);
        let over = store.part_is_over(counter::ordered());
        let due = over.unwrap_or(self.drained.elapsed() >= keep && left > keep / 2);
        let half_full = |lanes: &LoopBuffers<'_>| {
            lanes.gaps.half_full()
                || lanes.samples.as_ref().is_some_and(BlockExchange::half_full)
                || lanes.paces.as_ref().is_some_and(BlockExchange::half_full)
        };
        let full = self.lanes.iter().any(half_full);
        let looks = self.plan.stop_on.is_some();
        if full || due || looks {
            self.lanes.iter().for_each(|lanes| store.take(lanes, due || looks));
        }
        if kernel.half_full() || due || store.suspects() {
            kernel.drain(run, store);
        }
        store.judge();
        if full || kernel.half_full() || due {
            run.drain = DrainPolicy::HighWater;
        }
        if due {
            kernel.drain_steal(self.begin, store);
            match over {
                None => store.checkpoint(run),
                Some(_) if store.stopped_by().is_some() => {} // what is kept now is what is needed
                Some(_) => kernel.begin_part(&self.plan.measured(), None, run, store),
            }
            self.drained = Instant::now();
        }
    }

    /// Returns how the run ends, if it ends early.
    fn reason_to_end(&self, store: &Store) -> Option<RunState> {
        if store.stopped_by().is_some() {
            return Some(RunState::Complete); // it has what it was asked for
        }
        match (self.stop.load(Ordering::Acquire), self.plan.watcher) {
            // The watcher decides when the run has been long enough.
            (true, Some(_)) => Some(RunState::Complete),
            (true, None) => Some(RunState::Interrupted("by a signal".to_owned())),
            (false, _) => store.trouble().map(|error| RunState::Interrupted(in_words(error))),
        }
    }
}
