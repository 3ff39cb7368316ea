//! The rows of the tables, one type per table.
//!
//! Times are ticks of the run's counter ([`crate::Clock`]); intervals are half open.

mod redacted;
mod words;

use crate::EventKind;
use crate::aliases::Aliases;
use crate::boundaries::Boundaries;
use crate::cell::Cell;
use crate::columns::{Decoder, Encoder};
use crate::event::NameKind;
use crate::field::{Field, numbers};
use crate::parameters::Parameters;
use crate::policy::Policy;
use crate::row::{CpuRow, DerivedRow, EachTable, Row, tables};
use crate::table::{Column, Table};
use parquet::data_type::Int32Type;
use parquet::errors::ParquetError;
use std::sync::Arc;
pub use words::{ActivityKind, DelayKind, Fixed, LossKind, VictimState};

tables! {
    /// A gap of one CPU's loop (measured table `detours`).
    ///
    /// The loop read the counter at `start_ticks` and next at `end_ticks`. The raw gap includes one iteration
    /// of the loop itself; see [`crate::run::CpuRun::shortest_gap_ticks`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Detour: measured "detours", redact nothing, cpu cpu, span start_ticks end_ticks, ordered true {
        /// The CPU.
        cpu: u32,
        /// The last counter value before the gap.
        start_ticks: u64 as rising,
        /// The first counter value after the gap.
        end_ticks: u64 as rising => start_ns since_start start_ticks end_ns since_start end_ticks,
    }

    /// How fast the loop of a CPU went between its detours (measured table `paces`).
    ///
    /// A row is a time in which each millisecond had the pace of those before within 0.4 %, at most a second and the detour at
    /// its end. The rows of a CPU follow each other without a break.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct LoopPace: measured "paces", redact nothing, cpu cpu, span start_ticks end_ticks, ordered true {
        /// The CPU.
        cpu: u32,
        /// Start of the time.
        start_ticks: u64 as rising,
        /// End of the time.
        end_ticks: u64 as rising => start_ns since_start start_ticks end_ns since_start end_ticks,
        /// Time of the iterations that were no detours.
        work_ticks: u64,
        /// Number of these iterations.
        iterations: u64,
    }

    /// A kernel event (measured table `events`).
    ///
    /// The row of the event in [`crate::EVENTS`] defines its `args`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct KernelEvent: measured "events", redact nothing, cpu cpu, span ticks ticks, ordered true {
        /// The CPU that the event happened on.
        cpu: u32,
        /// Time of the event.
        ticks: u64 as rising,
        /// The kind of the event.
        kind: EventKind = "event",
        /// The thread that was current.
        pid: i32,
        /// The arguments, in the order of the event's row; unused ones are 0.
        args: [u64; 3] = "arg0" "arg1" "arg2",
    }

    /// An interval in which events or detours were lost (measured table `losses`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Loss: measured "losses", redact nothing, cpu cpu, span start_ticks end_ticks {
        /// What was lost.
        what: LossKind,
        /// The CPU.
        cpu: u32,
        /// Start of the interval.
        start_ticks: u64 as rising,
        /// End of the interval.
        end_ticks: u64 as rising,
        /// Number of lost rows; 0 if it is unknown or nothing is known to have been lost.
        count: u64,
    }

    /// A counter reading (measured table `counters`).
    ///
    /// Names: `interrupts/KEY` and `softirqs/KEY` (a row of that file in /proc), `schedstat/run_delay_ns`,
    /// `stat/steal_ns`; for the measuring thread `switches/involuntary`, `faults/minor`, `faults/major`,
    /// `victim/run_delay_ns`; `steal_ns` (the run queue's own count, read at a timer tick); and `lengths/total_ns`, the
    /// sum of all lengths that another tool counted.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Counter: measured "counters", redact nothing, cpu cpu, span ticks ticks {
        /// Name of the counter.
        name: String,
        /// The CPU that it counts for.
        cpu: u32,
        /// Time of the reading.
        ticks: u64 as rising,
        /// Value of the counter.
        value: u64,
    }

    /// By how much a counter of the kernel grew since its reading before (measured table `growth`).
    ///
    /// The first reading of a counter has no row. Names are those of [`crate::RATES`]; that of a control group is followed by
    /// a blank and the path of the group.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Growth: measured "growth", redact growth, span start_ticks end_ticks {
        /// Name of the rate.
        name: Arc<str>,
        /// Time of the reading before.
        start_ticks: u64 as rising,
        /// Time of the reading.
        end_ticks: u64 as rising => end_ns since_start end_ticks,
        /// By how much it grew: in ns, or a number.
        value: u64,
    }

    /// How many detours, or latencies, of a range of lengths another tool counted (measured table `lengths`).
    ///
    /// Ranges of a CPU may overlap, where only some quantiles are known.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct LengthCount: measured "lengths", redact nothing, cpu cpu {
        /// The CPU.
        cpu: u32,
        /// Shortest length in the range.
        from_ticks: u64 as rising,
        /// Shortest length that is too long for it.
        to_ticks: u64 as rising,
        /// Number of detours.
        count: u64,
    }

    /// A name that events refer to (measured table `names`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Name: measured "names", redact name, span ticks ticks {
        /// The kind of thing that is named.
        kind: NameKind,
        /// Its number: pid, address or interrupt number.
        key: u64,
        /// Start of the name's validity (0 if it is always valid).
        ticks: u64 as rising,
        /// The name.
        name: String,
    }

    /// A mark with which a recorded program begins an iteration (measured table `marks`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Mark: measured "marks", redact mark, cpu cpu, span ticks ticks {
        /// The CPU that its thread was on.
        cpu: u32,
        /// Time of the mark.
        ticks: u64 as rising => ns since_start ticks,
        /// The thread that passed it.
        thread: i32,
        /// What the program wrote; empty for the entry of a function.
        label: Arc<str>,
    }

    /// A thread of a recorded program left a CPU, or another one that it followed there (measured table `stacks`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Stack: measured "stacks", redact nothing, cpu cpu, span ticks ticks {
        /// The CPU.
        cpu: u32,
        /// When it left: up to some microseconds after the event that says so.
        ticks: u64 as rising => ns since_start ticks,
        /// The thread that left.
        thread: i32,
        /// The number of its call stack, which a row of `names` has: kind `stack`.
        stack: u32,
    }

    /// A repetition of a method (measured table `samples`).
    ///
    /// Samples of one series follow each other without a gap if nothing was lost, so that no time goes
    /// unseen. Samples of ranks that meet are different: a sample is the work of one phase, and from its end
    /// to the start of the next, or to the end of the series, the rank waited for the others. A sample of wake-up latency
    /// is the time from the expiry of a timer until its thread ran; the thread slept before it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Sample: measured "samples", redact nothing, cpu cpu, strand series, span start_ticks end_ticks, ordered true {
        /// Number of its series.
        series: u32,
        /// Number of the sample in its series, from 0; lost samples also have a number.
        index: u64 as rising,
        /// The CPU that it ended on.
        cpu: u32,
        /// Counter value before the work; for fixed time, the start of the window on the grid; of a wake-up, the time for
        /// which its timer was set.
        start_ticks: u64 as rising,
        /// Counter value after the work; for fixed time, the end of the window on the grid.
        end_ticks: u64 as rising => start_ns since_start start_ticks end_ns since_start end_ticks,
        /// Number of units of work done in it; of a wake-up, the number of expiries up to the next for which the thread
        /// could sleep: 1, or more if it was so late that others had passed.
        count: u64,
    }

    /// A set of samples as planned (measured table `series`). [`crate::run::Outcome`] describes how it went.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Series: measured "series", redact series {
        /// Number of the series in the recording, from 0.
        series: u32,
        /// Number of the round; series of one round ran at the same time.
        round: u32,
        /// The method: `fwq`, `ftq`, `tick`, `loops`.
        method: String,
        /// The work kernel: `intadd`, `sum`.
        variant: String,
        /// The CPU that its thread was pinned to; absent if the scheduler chose.
        cpu: Option<u32>,
        /// Its thread.
        tid: i32,
        /// The scheduling policy of its thread.
        policy: Policy,
        /// What is the same in every sample.
        fixed: Fixed,
        /// Fixed work: requested duration of a sample. Fixed time: length of the window.
        grain_ticks: u64,
        /// Largest number of samples, as requested.
        asked: u64,
        /// All other parameters, by name.
        parameters: Parameters,
    }

    /// A kernel activity inside a detour (derived table `activities`).
    ///
    /// The `self_ticks` of all rows of one detour add up exactly to `end - start - shortest gap` of that
    /// detour.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Activity: derived "activities", redact activity, cpu cpu, span start_ticks end_ticks {
        /// The CPU.
        cpu: u32,
        /// Start of the interval, clipped to the detour.
        start_ticks: u64 as rising,
        /// End of the interval, clipped to the detour.
        end_ticks: u64 as rising | start_ns since_start start_ticks end_ns since_start end_ticks,
        /// Time of this row alone, without the rows nested in it.
        self_ticks: u64 | self_ns length self_ticks,
        /// Index of the detour among its CPU's detours, from 0 in time order.
        detour: u64 as rising,
        /// Index of the enclosing row in the same detour (0 is the detour's first row), if nested.
        parent: Option<u32>,
        /// The kind of the interval.
        kind: ActivityKind,
        /// Identifier of the source, from the table of sources. A gap has the source that it is charged to.
        source: Arc<str>,
        /// Which instance of that source: device, softirq vector, thread; empty if there is only one.
        name: Arc<str>,
        /// The kernel function that ran or expired, if known.
        function: Option<Arc<str>>,
        /// The victim's state: the name of a [`VictimState`].
        victim_state: Arc<str>,
        /// The CPU that sent or queued it, if known.
        sent_by_cpu: Option<u32>,
        /// The task that sent, queued, armed or woke it, if known.
        sent_by_task: Option<Arc<str>>,
        /// Hypervisor steal in this row in nanoseconds, if steal was read.
        steal_ns: Option<u64>,
        /// The thread that ran, if one did.
        thread: Option<i32>,
    }

    /// A thread of a recorded program (derived table `threads`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ProgramThread: derived "threads", redact thread, span first_ticks last_ticks {
        /// Its number in this recording, from 0. Another thread may get the same thread id later.
        thread: u32,
        /// Thread id.
        tid: i32,
        /// Its last name.
        name: Arc<str>,
        /// Its last priority as the kernel numbers them; absent if it never was switched in.
        priority: Option<i32>,
        /// The CPUs on which it executed, as a list: `0-1,5`.
        cpus: Arc<str>,
        /// When events first showed it, or when it began.
        first_ticks: u64,
        /// When it ended, or the end of the run.
        last_ticks: u64 => first_ns since_start first_ticks last_ns since_start last_ticks,
        /// The time in which it executed and no interrupt ran on top of it.
        executed_ticks: u64 => executed_ns length executed_ticks,
        /// The time in which interrupts ran on top of it.
        interrupted_ticks: u64 => interrupted_ns length interrupted_ticks,
    }

    /// A time in which a thread of a recorded program waited for a CPU, or for a thread that did (derived table `delays`).
    ///
    /// Delays of one CPU overlap: several threads may wait there. They are in the order in which they ended.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Delay: derived "delays", redact delay, cpu cpu, span start_ticks end_ticks {
        /// The CPU for which it waited; of a blocked thread, the one for which the thread waited that woke it.
        cpu: u32,
        /// When it could have executed.
        start_ticks: u64 as rising,
        /// When it did.
        end_ticks: u64 as rising => start_ns since_start start_ticks end_ns since_start end_ticks,
        /// The number of the thread in the table `threads`.
        thread: u32,
        /// Why it waited.
        kind: DelayKind,
        /// The part in which threads of the same program executed on that CPU.
        own_ticks: u64 => own_ns length own_ticks,
        /// The thread that had the CPU for most of it: 0 is the idle task; absent for interrupts, and if it is not known.
        holder: Option<i32>,
        /// Its name; `interrupts`, or empty if it is not known.
        holder_name: Arc<str>,
        /// Its number in the table `threads`, if it belongs to the program.
        holder_thread: Option<u32>,
        /// For how long it had the CPU.
        held_ticks: u64 => held_ns length held_ticks,
        /// The thread of the program that woke it, by its number in the table `threads`; absent for others and interrupts.
        waker_thread: Option<u32>,
        /// The thread that woke it, of the program or not; absent for interrupts and timers, and in older recordings.
        waker: Option<i32>,
        /// Identifier of the source that woke it: `thread`, `timer`, `device-irq` and so on; absent for other kinds of waits, and in older
        /// recordings.
        waker_source: Option<Arc<str>>,
        /// Which instance of that source: thread, function of the timer, device; empty if there is only one.
        waker_name: Option<Arc<str>>,
        /// For how long it had slept when it was woken.
        slept_ticks: Option<u64>,
        /// Its priority when it was switched in last, as the kernel numbers them; absent if that is not known.
        priority: Option<i32>,
        /// The same of the thread of the program that had the CPU, or of a blocked thread, of the one that woke it.
        other_priority: Option<i32>,
    }

    /// A timer woke a thread of a recorded program (derived table `releases`).
    ///
    /// They are in the order in which they ended.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Release: derived "releases", redact release, cpu cpu, span due_ticks end_ticks {
        /// The CPU on which the thread then executed.
        cpu: u32,
        /// When the timer was to expire.
        due_ticks: u64 as rising,
        /// When the thread had a CPU.
        end_ticks: u64 as rising => due_ns since_start due_ticks end_ns since_start end_ticks,
        /// The number of the thread in the table `threads`.
        thread: u32,
        /// When the timer was set: after `due_ticks` if that time had passed by then.
        armed_ticks: u64 as rising,
        /// How much later than `due_ticks` the kernel could let it expire.
        slack_ticks: u64 => slack_ns length slack_ticks,
        /// When it expired.
        expired_ticks: u64 as rising,
        /// The CPU on which it expired.
        timer_cpu: u32,
        /// When that woke the thread.
        woken_ticks: u64 as rising,
        /// How much later than `end_ticks` it may have had the CPU, because the switch to it was not reported.
        unseen_ticks: u64,
        /// `due_ticks` of the release of the thread before this one; absent for its first, after a loss of events, and if something
        /// other than a timer has woken the thread in between.
        previous_ticks: Option<u64>,
        /// Identifier of the source that took most of the time after the slack.
        source: Arc<str>,
        /// Which instance of it: device, softirq vector, thread; empty if there is only one.
        name: Arc<str>,
        /// How much that took.
        source_ticks: u64 => source_ns length source_ticks,
    }
}

numbers! {
    EventKind as U16, Int32Type, |kind| Cell::Unsigned(u64::from(kind as u16)), |kind| i32::from(kind as u16), event;
}

fn event(stored: i32) -> Result<EventKind, String> {
    let kind = u16::try_from(stored).ok().and_then(EventKind::from_number);
    kind.ok_or_else(|| format!("event number {} does not exist", stored.cast_unsigned()))
}
