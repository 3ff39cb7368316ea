//! What had a CPU for which a thread waited.

use super::table::ThreadTable;
use crate::folded::folded;
use anechoic_recording::{Delay, DelayKind, Run, sources};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A shorter wait after a waking is the cost of the wake-up, whoever had the CPU before.
const WAKE_UP_NS: u64 = 20_000;
/// The idle task.
const IDLE: i32 = 0;

/// The kinds of what had a CPU for which a thread waited.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HolderKind {
    /// Another thread of the same program.
    OwnThread,
    /// A thread of another program, or of the kernel.
    OtherThread,
    /// Interrupts.
    Interrupts,
    /// Nothing, but a CPU quota held the thread back.
    Quota,
    /// Nothing: the CPU was idle, and the thread came late.
    Idle,
    /// Nobody: it is the normal cost of a waking, less than 20 µs.
    WakeUp,
    /// Not known, because events were lost.
    Unknown,
}

/// What had a CPU for which a thread waited.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// Its kind.
    pub kind: HolderKind,
    /// The name of the thread, or of its pool; empty for all other kinds.
    pub name: String,
}

/// The same, while delays are read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Held {
    kind: HolderKind,
    name: Arc<str>,
}

impl Held {
    /// Returns what had the CPU in a delay.
    pub(super) fn in_delay(delay: &Delay, table: &ThreadTable, run: &Run) -> Self {
        let length = delay.end_ticks.saturating_sub(delay.start_ticks);
        let wakes = matches!(delay.kind, DelayKind::Woken | DelayKind::Begun);
        let own = delay.holder_thread.and_then(|number| table.thread(number));
        let limited = run.limits.as_ref().is_some_and(|limits| limits.limited.is_some());
        let kind = match delay.holder {
            _ if wakes && run.clock.ns(length) < WAKE_UP_NS => HolderKind::WakeUp,
            None if delay.holder_name.is_empty() => HolderKind::Unknown,
            None => HolderKind::Interrupts,
            Some(IDLE) if limited && !wakes => HolderKind::Quota,
            Some(IDLE) => HolderKind::Idle,
            Some(_) if delay.holder_thread.is_some() => HolderKind::OwnThread,
            Some(_) => HolderKind::OtherThread,
        };
        let name = match (kind, own) {
            (HolderKind::OwnThread, Some(own)) => Arc::clone(&table.names[own.pool as usize]),
            (HolderKind::OwnThread | HolderKind::OtherThread, _) => {
                match delay.holder_name.contains('/') {
                    true => folded(sources::THREAD.id, &delay.holder_name).into(),
                    false => Arc::clone(&delay.holder_name),
                }
            }
            _ => "".into(),
        };
        Self { kind, name }
    }

    pub(super) fn holder(&self) -> Holder {
        Holder { kind: self.kind, name: self.name.to_string() }
    }
}
