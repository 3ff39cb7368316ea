//! The rows of the tables, one type a table.
//!
//! Times are ticks of the run's counter ([`crate::Clock`]); intervals are half open.

use crate::EventKind;
use crate::decode::Decoder;
use crate::encode::Encoder;
use crate::event::NameKind;
use crate::field::{Field, numbers};
use crate::parameters::Parameters;
use crate::policy::Policy;
use crate::row::{CpuRow, DerivedRow, Row, tables};
use crate::table::{Column, Table};
use crate::text::{open_texts, texts};
use parquet::data_type::Int32Type;
use parquet::errors::ParquetError;
use std::sync::Arc;

tables! {
    /// One gap of one CPU's loop (measured table `detours`).
    ///
    /// The loop read the counter at `start_ticks` and next at `end_ticks`. The raw gap contains
    /// one iteration of the loop itself; see [`crate::run::CpuRun::shortest_gap_ticks`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Detour: measured "detours", cpu cpu, span start_ticks end_ticks, ordered true {
        /// The CPU.
        cpu: u32,
        /// The last counter value read before the gap.
        start_ticks: u64 as rising,
        /// The first counter value read after it.
        end_ticks: u64 as rising => start_ns of start_ticks end_ns of end_ticks,
    }

    /// One kernel event (measured table `events`).
    ///
    /// What `args` hold is said by the event's row in [`crate::EVENTS`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct KernelEvent: measured "events", cpu cpu, span ticks ticks, ordered true {
        /// The CPU that the event happened on.
        cpu: u32,
        /// When.
        ticks: u64 as rising,
        /// Which event.
        kind: EventKind = "event",
        /// The thread that was current.
        pid: i32,
        /// The fields that its source needs, in the order of its row; 0 where a row has fewer.
        args: [u64; 3] = "arg0" "arg1" "arg2",
    }

    /// An interval in which events or detours were lost (measured table `losses`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Loss: measured "losses", cpu cpu, span start_ticks end_ticks {
        /// What was lost.
        what: LossKind,
        /// The CPU.
        cpu: u32,
        /// From here,
        start_ticks: u64 as rising,
        /// to here,
        end_ticks: u64 as rising,
        /// that many; 0 where the number is not known or nothing is known to have been lost.
        count: u64,
    }

    /// One counter reading (measured table `counters`).
    ///
    /// Names: `interrupts/KEY` and `softirqs/KEY` (one row of that file of /proc),
    /// `schedstat/run_delay_ns`, `stat/steal_ns`; of the measuring thread
    /// `switches/involuntary`, `faults/minor`, `faults/major`, `victim/run_delay_ns`;
    /// and `steal_ns` (the run queue's own count, read at a tick).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Counter: measured "counters", cpu cpu, span ticks ticks {
        /// Which counter.
        name: String,
        /// The CPU it counts for.
        cpu: u32,
        /// When it was read.
        ticks: u64 as rising,
        /// What it said.
        value: u64,
    }

    /// A name that events refer to (measured table `names`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Name: measured "names", span ticks ticks {
        /// What is named.
        kind: NameKind,
        /// Its number: pid, address or interrupt number.
        key: u64,
        /// The name holds from here on (0 where it always does).
        ticks: u64 as rising,
        /// The name.
        name: String,
    }

    /// One repetition of a method (measured table `samples`).
    ///
    /// Samples of one series follow each other without a gap where nothing was lost, so that no time
    /// is unseen between them. Not those of ranks that meet: a sample is the work of one phase, and from its end
    /// to the start of the next, or to the end of the series, the rank waited for the others.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Sample: measured "samples", cpu cpu, strand series, span start_ticks end_ticks, ordered true {
        /// Number of its series.
        series: u32,
        /// Number of the sample in its series, from 0; lost ones keep theirs.
        index: u64 as rising,
        /// The CPU that it ended on.
        cpu: u32,
        /// Counter before the work; in a fixed-time method the window's beginning on the grid.
        start_ticks: u64 as rising,
        /// Counter after the work; in a fixed-time method the window's end on the grid.
        end_ticks: u64 as rising => start_ns of start_ticks end_ns of end_ticks,
        /// Units of work done in it.
        count: u64,
    }

    /// One set of samples, as planned (measured table `series`). How it went: [`crate::run::Outcome`].
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Series: measured "series" {
        /// Its number in the recording, from 0.
        series: u32,
        /// Series of one round ran at the same time.
        round: u32,
        /// The method: `fwq`, `ftq`, `tick`, `loops`.
        method: String,
        /// The work kernel: `intadd`, `sum`.
        variant: String,
        /// The CPU that its thread was pinned to; absent where the scheduler chose.
        cpu: Option<u32>,
        /// Its thread.
        tid: i32,
        /// How its thread was scheduled.
        policy: Policy,
        /// What is the same in every sample.
        fixed: Fixed,
        /// Fixed work: how long a sample was to last. Fixed time: the window.
        grain_ticks: u64,
        /// Samples that were asked for, at most.
        asked: u64,
        /// What else there is to know of it, by name.
        parameters: Parameters,
    }

    /// One kernel activity inside one detour (derived table `activities`).
    ///
    /// Over all rows of one detour, `self_ticks` add up exactly to
    /// `end - start - shortest gap` of that detour.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Activity: derived "activities", cpu cpu, span start_ticks end_ticks {
        /// The CPU.
        cpu: u32,
        /// Start of the interval, clipped to the detour.
        start_ticks: u64 as rising,
        /// End of the interval, clipped to the detour.
        end_ticks: u64 as rising => start_ns of start_ticks end_ns of end_ticks,
        /// Time that belongs to this row alone, without what was nested in it.
        self_ticks: u64,
        /// Index of the detour among its CPU's detours, from 0 in time order.
        detour: u64 as rising,
        /// Index of the enclosing row in the same detour (0 = first row of the detour), if nested.
        parent: Option<u32>,
        /// What kind of interval.
        kind: ActivityKind,
        /// Identifier of the source, from the table of sources. A gap carries the source that it is charged to.
        source: Arc<str>,
        /// Which of that source's: device, softirq vector, thread; empty where there is one only.
        name: Arc<str>,
        /// The kernel function that ran or expired, where known.
        function: Option<Arc<str>>,
        /// The victim's state: the name of a [`VictimState`].
        victim_state: Arc<str>,
        /// CPU that sent or queued it, where known.
        sent_by_cpu: Option<u32>,
        /// Task that sent, queued, armed or woke it, where known.
        sent_by_task: Option<Arc<str>>,
        /// Nanoseconds of hypervisor steal that fell into this row, where steal was read.
        steal_ns: Option<u64>,
    }
}

texts! {
    /// What is the same in every sample of a series.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Fixed {
        /// The work; its time is measured (FWQ, tick kernels, do-nothing loops).
        Work = "work",
        /// The time; the work done in it is counted (FTQ).
        Time = "time",
    }
}

texts! {
    /// What an [`Activity`] row stands for in its detour.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ActivityKind {
        /// From the detour's start to the first kernel event: trap and, in a guest, VM exit.
        EntryGap = "entry_gap",
        /// Between two activities of one detour, with nothing open.
        InnerGap = "inner_gap",
        /// From the last kernel event to the detour's end.
        ExitGap = "exit_gap",
        /// A kernel activity between its entry and exit events.
        Activity = "activity",
        /// The victim was off the CPU: another thread ran, or the victim was not runnable.
        OffCpu = "off_cpu",
        /// No kernel event was seen in the whole detour.
        Unexplained = "unexplained",
        /// The detour lies in a loss interval or an untraced one: nothing can be said. Or, as a part of a
        /// detour, threads were switched unseen there.
        NotAttributable = "not_attributable",
    }
}

open_texts! {
    /// What a [`Loss`] is a loss of.
    pub enum LossKind {
        /// Kernel events.
        Events = "events",
        /// Detours.
        Detours = "detours",
        /// Samples.
        Samples = "samples",
        /// Readings of the hypervisor's steal.
        Steal = "steal",
        /// Nothing was lost: kernel events were off on purpose.
        Untraced = "untraced",
    }
}

texts! {
    /// What the measured thread could do when an activity began.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum VictimState {
        /// It is current.
        Running = "running",
        /// It could run, and something else does.
        Runnable = "runnable",
        /// A signal or debugger holds it.
        Stopped = "stopped",
        /// It waits.
        Blocked = "blocked",
    }
}

numbers! {
    EventKind as U16, Int32Type, |kind| i32::from(kind as u16), event;
}

fn event(stored: i32) -> Result<EventKind, String> {
    let kind = u16::try_from(stored).ok().and_then(EventKind::from_number);
    kind.ok_or_else(|| format!("event number {} does not exist", stored.cast_unsigned()))
}
