//! The job of a detour run: watches the counter until the common end.

use super::buffers::Sink;
use super::gate::Gate;
use super::sinks::{Done, moved};
use anechoic_kernels::counter;
use anechoic_kernels::detour::{Gap, Watch};
use std::sync::atomic::Ordering;

/// Number of gaps in the warm-up, all of which are discarded.
const WARM_UP: usize = 1_000;

/// How to watch the counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watching {
    pub(crate) cpu: u32,
    pub(crate) threshold_ticks: u64,
    /// The longest time without checking the common end, in ticks.
    pub(crate) slice_ticks: u64,
    pub(crate) fifo: bool,
}

impl Watching {
    pub(crate) fn warm_up() {
        let mut warm = Watch::begin();
        for _ in 0..WARM_UP {
            std::hint::black_box(warm.next_gap(0, u64::MAX));
        }
    }

    /// Runs the measurement itself.
    #[inline(never)]
    pub(crate) fn run(&self, gate: &Gate, sink: &mut Sink<'_, '_, Gap>) -> Done {
        let mut watch = Watch::begin();
        let first_ticks = watch.last;
        let mut jumped_back = false;
        loop {
            let end = gate.end.load(Ordering::Relaxed);
            let until = end.min(watch.last + self.slice_ticks);
            let gap = watch.next_gap(self.threshold_ticks, until);
            if gap.end < gap.start {
                jumped_back = true;
                break; // later gaps could not be ordered
            } else if gap.end - gap.start > self.threshold_ticks {
                sink.store(gap);
                if moved(Some(self.cpu), counter::current_cpu()) {
                    break; // the CPU was taken offline, and the loop now runs on another
                }
            }
            if gap.end >= end {
                break;
            }
        }
        Done { first_ticks, last_ticks: watch.last, watch: Some(watch), series: None, jumped_back }
    }
}
