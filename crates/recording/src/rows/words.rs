//! The words that cells of the tables hold.

use crate::text::{open_texts, texts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

texts! {
    /// Why a thread of a program waited.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum DelayKind {
        /// It was woken.
        Woken = "woken",
        /// It was preempted, or yielded.
        Preempted = "preempted",
        /// It began.
        Begun = "begun",
        /// It slept until another thread of the program woke it, which itself had waited in that time.
        Blocked = "blocked",
    }
}

texts! {
    /// What is the same in every sample of a series.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Fixed {
        /// The work is fixed: a sample's value is its time in ns.
        Work = "work",
        /// The time is fixed: a sample's value is the work done in it, in units.
        Time = "time",
    }
}

texts! {
    /// What an [`Activity`] row covers in its detour.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum ActivityKind {
        /// From the start of the detour to the first kernel event: trap and, in a guest, VM exit.
        EntryGap = "entry_gap",
        /// Between two activities of a detour, with nothing open.
        InnerGap = "inner_gap",
        /// From the last kernel event to the end of the detour.
        ExitGap = "exit_gap",
        /// A kernel activity between its entry and exit events.
        Activity = "activity",
        /// The victim was off the CPU: another thread ran, or the victim was not runnable.
        OffCpu = "off_cpu",
        /// The whole detour, because it has no kernel event.
        Unexplained = "unexplained",
        /// The detour lies in an interval of loss or without tracing, so nothing is known; or, in a part of a
        /// detour, threads were switched without an event.
        NotAttributable = "not_attributable",
    }
}

open_texts! {
    /// The kind of data that was lost.
    pub enum LossKind {
        /// Kernel events.
        Events = "events",
        /// Detours.
        Detours = "detours",
        /// Samples.
        Samples = "samples",
        /// Readings of the hypervisor's steal.
        Steal = "steal",
        /// Nothing was lost: kernel events were switched off on purpose.
        Untraced = "untraced",
    }
}

texts! {
    /// What the measured thread could do when an activity began.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum VictimState {
        /// It is the current thread.
        Running = "running",
        /// It could run, but something else runs.
        Runnable = "runnable",
        /// A signal or debugger stopped it.
        Stopped = "stopped",
        /// It waits.
        Blocked = "blocked",
    }
}
