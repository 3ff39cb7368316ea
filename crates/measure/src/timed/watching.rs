//! The job of a detour run: watches the counter until the common end.

use super::buffers::{Arena, BlockExchange, Sink};
use super::gate::Gate;
use super::pacing::{PaceSpan, Pacer};
use super::sinks::{Done, moved};
use anechoic_kernels::counter;
use anechoic_kernels::detour::{Gap, Watch};
use anechoic_recording::Clock;
use std::sync::atomic::Ordering;

/// Number of gaps in the warm-up, all of which are discarded.
const WARM_UP: usize = 1_000;

/// How long one trial stores gaps, all of which are discarded.
const STORING_NS: u64 = 20_000;
/// Number of trials; an interrupt disturbs one of them.
const STORING_TRIALS: u32 = 5;

/// How to watch the counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watching {
    pub(crate) cpu: u32,
    pub(crate) threshold_ticks: u64,
    /// The longest time without checking the common end, in ticks.
    pub(crate) slice_ticks: u64,
    /// The iteration in which something is stored is a detour if it takes longer than this: storing may take longer than
    /// the threshold, and the kernel is not entered and left in less.
    pub(crate) storing_ticks: u64,
    /// How often it notes how fast it goes, in ticks.
    pub(crate) bin_ticks: u64,
    pub(crate) fifo: bool,
}

impl Watching {
    pub(crate) fn warm_up() {
        let mut warm = Watch::begin();
        for _ in 0..WARM_UP {
            std::hint::black_box(warm.next_gap(0, u64::MAX));
        }
    }

    /// Returns how long the loop's iterations are when each follows a gap that is stored, in ticks; 0 if there is no
    /// memory to find out. It is the mean of the least disturbed of some trials.
    pub(crate) fn storing_ticks(clock: &Clock) -> u64 {
        let Ok(mut arena) = Arena::small() else { return 0 };
        let blocks = BlockExchange::new(&mut arena);
        let cpu = counter::current_cpu().unwrap_or(0);
        let mut sink = Sink::new(&blocks, cpu);
        let forever = u64::MAX >> 1;
        let watching = Watching {
            cpu,
            threshold_ticks: 0,
            slice_ticks: forever,
            storing_ticks: 0,
            bin_ticks: forever,
            fifo: false,
        };
        let trials = (0..STORING_TRIALS).filter_map(|_| {
            let gate = Gate::new(1);
            gate.end.store(counter::ordered() + clock.ticks(STORING_NS), Ordering::Relaxed);
            let done = watching.run(&gate, &mut sink, None);
            let iterations = done.watch.map_or(0, |watch| watch.iterations);
            (done.last_ticks - done.first_ticks).checked_div(iterations)
        });
        trials.min().unwrap_or(0)
    }

    /// Runs the measurement itself. How fast it went is stored in `paces`, if that is wanted.
    #[inline(never)]
    pub(crate) fn run(
        &self,
        gate: &Gate,
        sink: &mut Sink<'_, '_, Gap>,
        mut paces: Option<&mut Sink<'_, '_, PaceSpan>>,
    ) -> Done {
        let mut watch = Watch::begin();
        let first_ticks = watch.last;
        let mut jumped_back = false;
        let mut pacer = Pacer::new(self.bin_ticks, first_ticks);
        let mut has_stored = false;
        loop {
            let end = gate.end.load(Ordering::Relaxed);
            let until = end.min(watch.last + self.slice_ticks).min(pacer.until());
            let before = watch;
            let gap = watch.next_gap(if has_stored { 0 } else { self.threshold_ticks }, until);
            if gap.end < gap.start {
                jumped_back = true;
                break; // later gaps could not be ordered
            }
            let least = if has_stored { self.storing_ticks } else { 0 };
            let is_detour = gap.end - gap.start > self.threshold_ticks.max(least);
            if !has_stored {
                let (ended, skipped) = if is_detour { (gap.start, 1) } else { (gap.end, 0) };
                pacer.add(ended - before.last, watch.iterations - before.iterations - skipped);
            }
            has_stored = is_detour;
            if is_detour {
                sink.store(gap);
                if moved(Some(self.cpu), counter::current_cpu()) {
                    break; // the CPU was taken offline, and the loop now runs on another
                }
            }
            if gap.end >= end {
                break;
            }
            if let Some(paces) = paces.as_deref_mut().filter(|_| gap.end >= pacer.until()) {
                pacer.end_bin(gap.end, paces);
                has_stored = true;
            }
        }
        if let Some(paces) = paces {
            pacer.finish(watch.last, paces);
        }
        Done { first_ticks, last_ticks: watch.last, watch: Some(watch), series: None, jumped_back }
    }
}
