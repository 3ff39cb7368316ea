//! The rows of the tables, one type a table.
//!
//! Times are ticks of the run's counter ([`crate::Clock`]); intervals are half open.

use crate::parallel::Meeting;
use std::sync::Arc;

/// One gap of one CPU's loop (measured table `detours`).
///
/// The loop read the counter at `start_ticks` and next at `end_ticks`. The raw gap contains
/// one iteration of the loop itself; see [`crate::run::CpuRun::shortest_gap_ticks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detour {
    /// The CPU.
    pub cpu: u32,
    /// The last counter value read before the gap.
    pub start_ticks: u64,
    /// The first counter value read after it.
    pub end_ticks: u64,
}

/// One kernel event (measured table `events`).
///
/// What `args` hold is said by the event's row in [`crate::EVENTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelEvent {
    /// The CPU that the event happened on.
    pub cpu: u32,
    /// When.
    pub ticks: u64,
    /// Which event.
    pub kind: crate::EventKind,
    /// The thread that was current.
    pub pid: i32,
    /// The fields that its source needs, in the order of its row; 0 where a row has fewer.
    pub args: [u64; 3],
}

/// An interval in which events or detours were lost (measured table `losses`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// What was lost: `events`, `detours`, `samples`, `steal`; or `untraced`, where tracing was off on purpose.
    pub what: String,
    /// The CPU.
    pub cpu: u32,
    /// From here,
    pub start_ticks: u64,
    /// to here,
    pub end_ticks: u64,
    /// that many; 0 where the number is not known or nothing is known to have been lost.
    pub count: u64,
}

/// One counter reading (measured table `counters`).
///
/// Names: `interrupts/KEY` and `softirqs/KEY` (one row of that file of /proc),
/// `schedstat/run_delay_ns`, `stat/steal_ns`; of the measuring thread
/// `switches/involuntary`, `faults/minor`, `faults/major`, `victim/run_delay_ns`;
/// and `steal_ns` (the run queue's own count, read at a tick).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// Which counter.
    pub name: String,
    /// The CPU it counts for.
    pub cpu: u32,
    /// When it was read.
    pub ticks: u64,
    /// What it said.
    pub value: u64,
}

/// What a [`Name`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NameKind {
    /// A thread's comm, by pid, from `ticks` on.
    Task,
    /// A kernel symbol, by address.
    Symbol,
    /// A device interrupt's action name, by interrupt number.
    Irq,
}

/// One repetition of a method (measured table `samples`).
///
/// Samples of one series follow each other without a gap where nothing was lost, so that no time
/// is unseen between them. Not those of ranks that meet: a sample is the work of one phase, and from its end
/// to the start of the next, or to the end of the series, the rank waited for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Number of its series.
    pub series: u32,
    /// Number of the sample in its series, from 0; lost ones keep theirs.
    pub index: u64,
    /// The CPU that it ended on.
    pub cpu: u32,
    /// Counter before the work; in a fixed-time method the window's beginning on the grid.
    pub start_ticks: u64,
    /// Counter after the work; in a fixed-time method the window's end on the grid.
    pub end_ticks: u64,
    /// Units of work done in it.
    pub count: u64,
}

/// What is the same in every sample of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// The work; its time is measured (FWQ, tick kernels, do-nothing loops).
    Work,
    /// The time; the work done in it is counted (FTQ).
    Time,
}

/// One set of samples, as planned (measured table `series`). How it went: [`crate::run::Outcome`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// Its number in the recording, from 0.
    pub series: u32,
    /// The method: `fwq`, `ftq`, `tick`, `loops`.
    pub method: String,
    /// The work kernel: `intadd`, `sum`.
    pub variant: String,
    /// The CPU that its thread was pinned to; absent where the scheduler chose.
    pub cpu: Option<u32>,
    /// Its thread.
    pub tid: i32,
    /// Scheduling: `other`, or `fifo PRIORITY`.
    pub policy: String,
    /// Fixed work: how long a sample was to last. Fixed time: the window.
    pub grain_ticks: u64,
    /// What is the same in every sample.
    pub fixed: Fixed,
    /// Iterations of the kernel in one sample; of fixed time, in one unit of work.
    pub iterations: u64,
    /// What that many iterations took undisturbed when they were calibrated.
    pub calibrated_ticks: u64,
    /// Instructions of the kernel's kind in one iteration.
    pub instructions: u32,
    /// What a million iterations took undisturbed at the calibration, in ticks, without looks at the counter.
    pub megaiteration_ticks: u64,
    /// What a million additions took on such a CPU, each waiting for the one before, just before the
    /// start: a core cycle each.
    pub megacycle_ticks: u64,
    /// Iterations between two looks at the counter, where gaps inside samples were watched.
    pub step_iterations: Option<u64>,
    /// What such a step takes undisturbed: taken off every gap.
    pub step_ticks: Option<u64>,
    /// A step longer than this is a detour.
    pub threshold_ticks: Option<u64>,
    /// Samples that were asked for, at most.
    pub asked: u64,
    /// Largest relative movement of the accumulated mean, in millionths, at which the series may
    /// end early (FAME's MAIV); absent where all samples were wanted.
    pub maiv_ppm: Option<u32>,
    /// Series of one round ran at the same time.
    pub round: u32,
    /// How many copies of the work ran on its CPU at the same time, this one included.
    pub copies: u32,
    /// Which of [`crate::Run::injections`] was on; absent where none was.
    pub injection: Option<u32>,
    /// The rank of a parallel job that took its samples; absent where there was no job.
    pub rank: Option<u32>,
    /// How its ranks met between two samples.
    pub meeting: Option<Meeting>,
}

/// A name that events refer to (measured table `names`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// What is named.
    pub kind: NameKind,
    /// Its number: pid, address or interrupt number.
    pub key: u64,
    /// The name holds from here on (0 where it always does).
    pub ticks: u64,
    /// The name.
    pub name: String,
}

/// What an [`Activity`] row stands for in its detour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActivityKind {
    /// From the detour's start to the first kernel event: trap and, in a guest, VM exit.
    EntryGap,
    /// Between two activities of one detour, with nothing open.
    InnerGap,
    /// From the last kernel event to the detour's end.
    ExitGap,
    /// A kernel activity between its entry and exit events.
    Activity,
    /// The victim was off the CPU: another thread ran, or the victim was not runnable.
    OffCpu,
    /// No kernel event was seen in the whole detour.
    Unexplained,
    /// The detour lies in a loss interval or an untraced one: nothing can be said. Or, as a part of a
    /// detour, threads were switched unseen there.
    NotAttributable,
}

/// One kernel activity inside one detour (derived table `activities`).
///
/// Over all rows of one detour, `self_ticks` add up exactly to
/// `end - start - shortest gap` of that detour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The CPU.
    pub cpu: u32,
    /// Start of the interval, clipped to the detour.
    pub start_ticks: u64,
    /// End of the interval, clipped to the detour.
    pub end_ticks: u64,
    /// Time that belongs to this row alone, without what was nested in it.
    pub self_ticks: u64,
    /// Index of the detour among its CPU's detours, from 0 in time order.
    pub detour: u64,
    /// Index of the enclosing row in the same detour (0 = first row of the detour), if nested.
    pub parent: Option<u32>,
    /// What kind of interval.
    pub kind: ActivityKind,
    /// Identifier of the source, from the table of sources. A gap carries the source that it is charged to.
    pub source: Arc<str>,
    /// Which of that source's: device, softirq vector, thread; empty where there is one only.
    pub name: Arc<str>,
    /// The kernel function that ran or expired, where known.
    pub function: Option<Arc<str>>,
    /// The victim's state: `running`, `runnable`, `stopped`, `blocked`.
    pub victim_state: Arc<str>,
    /// CPU that sent or queued it, where known.
    pub sent_by_cpu: Option<u32>,
    /// Task that sent, queued, armed or woke it, where known.
    pub sent_by_task: Option<Arc<str>>,
    /// Nanoseconds of hypervisor steal that fell into this row, where steal was read.
    pub steal_ns: Option<u64>,
}
