//! The common start and end of loops.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// State shared by the loops of a round and the thread that conducts them.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Number of loops that take part.
    loops: usize,
    /// Whether the loops may come to the start.
    pub(crate) open: AtomicBool,
    /// Number of loops that wait for the start.
    pub(crate) ready: AtomicUsize,
    /// Counter value, shortly before the start, from which the kernel's counts belong to the loops.
    pub(crate) count_from: AtomicU64,
    /// Counter value at which all loops start; 0 until it is known.
    pub(crate) start: AtomicU64,
    /// Counter value at which all loops must end; an early end lowers it.
    pub(crate) end: AtomicU64,
    /// Number of loops that have ended.
    pub(crate) done: AtomicUsize,
    /// Whether there are no other ranks of the job to wait for.
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

    /// Returns whether all loops have ended.
    pub(crate) fn over(&self) -> bool {
        self.done.load(Ordering::Acquire) >= self.loops
    }

    /// Returns whether no rank of the job measures any more, so that a CPU need not be kept busy.
    pub(crate) fn all_over(&self) -> bool {
        self.over() && self.others_done.load(Ordering::Acquire)
    }

    /// Lets the loops go at once, with an end in the past, so that nothing is measured.
    pub(crate) fn call_off(&self) {
        self.end.store(0, Ordering::Release);
        self.start.store(1, Ordering::Release);
        self.open.store(true, Ordering::Release);
    }

    /// Returns whether the round was called off.
    pub(crate) fn is_called_off(&self) -> bool {
        self.end.load(Ordering::Acquire) == 0
    }
}
