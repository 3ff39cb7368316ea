//! The seat of a CPU that measures: its memory, its calibration, and what came of its last loop.

use crate::cpu;
use crate::failure;
use crate::machine::Counters;
use crate::timed::{Buffers, Done, Plan};
use anechoic_kernels::calibration::{Pace, TooShort};
use anechoic_kernels::counter;
use anechoic_kernels::memory::Line;
use core::hint::spin_loop;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The seat of a CPU that measures.
#[derive(Debug)]
pub struct Seat {
    /// The CPU that sits on it.
    pub cpu: usize,
    /// Where the loops store theirs.
    pub buffers: Buffers<'static>,
    /// What kernels work on.
    workspace: *mut [Line],
    /// How the kernel's work fills a sample.
    pub pace: Result<Pace, TooShort>,
    /// How far the trials of the calibration disagreed, in millionths of their median; 0 where two in a row agreed.
    pub doubt_ppm: u64,
    /// Duration of a million chained additions, in ticks.
    pub megacycle_ticks: u64,
    /// Kind of the CPU.
    pub class: u64,
    /// What the loop does.
    pub plan: Plan,
    /// Size of the pages of the working set, and how many bytes of it lie on such pages.
    pub pages: [u64; 2],
    /// How the loop went.
    pub outcome: Outcome,
}

// SAFETY: the workspace is the seat's alone.
unsafe impl Send for Seat {}

/// How a loop went.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    /// What the loop counted.
    pub done: Done,
    /// The CPU's counters before and after it.
    pub counters: [Counters; 2],
    /// Whether interrupts were enabled before or after it.
    pub enabled: bool,
    /// The counter when the last CPU had ended: until then this one stayed busy.
    pub until_ticks: u64,
}

impl Seat {
    pub(crate) fn new(buffers: Buffers<'static>) -> Self {
        Seat {
            cpu: 0,
            buffers,
            workspace: ptr::slice_from_raw_parts_mut(ptr::dangling_mut(), 0),
            pace: Ok(Pace::default()),
            doubt_ppm: 0,
            megacycle_ticks: 0,
            class: 0,
            plan: Plan::default(),
            pages: [0; 2],
            outcome: Outcome::default(),
        }
    }

    /// Gives it memory that kernels may work on.
    pub(crate) fn give(&mut self, workspace: &'static mut [Line]) {
        self.workspace = workspace;
    }

    /// Returns the memory that kernels may work on, beside the rest of the seat.
    ///
    /// # Safety
    /// What was returned before must not be in use any more.
    #[must_use]
    pub unsafe fn workspace(&self) -> &'static mut [Line] {
        // SAFETY: the memory was given to this seat alone, for good; the caller vouches for the rest.
        unsafe { &mut *self.workspace }
    }

    /// Returns the address of that memory.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.workspace.cast::<Line>().addr() as u64
    }

    /// Returns the size of that memory in bytes.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.workspace.len() as u64 * Line::BYTES
    }

    /// Runs a timed loop, once all CPUs have come to the gate, and stays busy until all have ended theirs.
    pub fn timed(&mut self, gate: &Gate, take: impl FnOnce(&mut Buffers<'static>) -> Done) {
        self.buffers.samples.clear();
        self.buffers.gaps.clear();
        let enabled = cpu::interrupts_enabled();
        let before = Counters::read();
        gate.pass();
        let done = take(&mut self.buffers);
        let after = Counters::read();
        let enabled = enabled || cpu::interrupts_enabled();
        let until_ticks = gate.stay();
        self.outcome = Outcome { done, counters: [before, after], enabled, until_ticks };
    }
}

/// Where CPUs wait for each other. Its cache line holds nothing else.
#[derive(Debug)]
#[repr(align(128))]
pub struct Gate {
    missing: AtomicUsize,
    working: AtomicUsize,
}

impl Gate {
    /// Creates a gate for this number of CPUs, which pass it once.
    #[must_use]
    pub fn new(cpus: usize) -> Self {
        Gate { missing: AtomicUsize::new(cpus), working: AtomicUsize::new(cpus) }
    }

    fn pass(&self) {
        self.missing.fetch_sub(1, Ordering::AcqRel);
        while self.missing.load(Ordering::Acquire) > 0 {
            failure::pass_on();
            spin_loop();
        }
    }

    /// Stays busy until all CPUs have ended, so that none measures beside an idle one: reads the counter and stores
    /// nothing. Returns the counter at the end.
    fn stay(&self) -> u64 {
        self.working.fetch_sub(1, Ordering::AcqRel);
        while self.working.load(Ordering::Acquire) > 0 {
            failure::pass_on();
            let _ = counter::now();
        }
        counter::ordered()
    }
}
