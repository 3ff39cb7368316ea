//! The common start and the common end of loops.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What the loops of a round and the thread beside them share.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Loops that come to the start.
    loops: usize,
    /// Whether the loops may come to the start.
    pub(crate) open: AtomicBool,
    /// Loops that are at the start.
    pub(crate) ready: AtomicUsize,
    /// Counter value, shortly before the start, from which on what the kernel counts is the loops'.
    pub(crate) count_from: AtomicU64,
    /// Counter value at which all start; 0 while it is not yet known.
    pub(crate) start: AtomicU64,
    /// Counter value at which all end at the latest; an early end moves it.
    pub(crate) end: AtomicU64,
    /// Loops that are done.
    pub(crate) done: AtomicUsize,
    /// Whether other ranks of the job need not be waited for.
    pub(crate) others_done: AtomicBool,
}

impl Gate {
    pub(crate) fn new(loops: usize) -> Self {
        Gate {
            loops,
            open: AtomicBool::new(false),
            ready: AtomicUsize::new(0),
            count_from: AtomicU64::new(0),
            start: AtomicU64::new(0),
            end: AtomicU64::new(u64::MAX),
            done: AtomicUsize::new(0),
            others_done: AtomicBool::new(true),
        }
    }

    /// Whether all loops are done.
    pub(crate) fn over(&self) -> bool {
        self.done.load(Ordering::Acquire) >= self.loops
    }

    /// Whether no rank of the job measures any more, so that a CPU need not be kept busy.
    pub(crate) fn all_over(&self) -> bool {
        self.over() && self.others_done.load(Ordering::Acquire)
    }

    /// Lets the loops go at once, with an end that is already past: nothing is measured.
    pub(crate) fn call_off(&self) {
        self.end.store(0, Ordering::Release);
        self.start.store(1, Ordering::Release);
        self.open.store(true, Ordering::Release);
    }

    /// Whether it was called off.
    pub(crate) fn is_called_off(&self) -> bool {
        self.end.load(Ordering::Acquire) == 0
    }
}
