//! What woke the threads of a pool, and how long each then waited for a CPU.

use super::lengths::WaitLengths;
use super::table::ThreadTable;
use crate::folded::folded;
use anechoic_recording::{Clock, Delay, DelayKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

/// Number of wakers of a pool that are kept.
const WAKERS: usize = 8;
/// A quantile is given only if at least this many wakings lie beyond it.
const BEYOND: f64 = 10.0;

/// What woke a thread of a program, how often, and how long it took until the thread had a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WokenBy {
    /// Identifier of the source: `thread`, `timer`, `device-irq`, `softirq` and so on.
    pub source: String,
    /// Which instance of it: the thread or its pool, the function of the timer, the device; empty if there is only one.
    pub name: String,
    /// Whether it is a thread of the program.
    pub own: bool,
    /// How often it woke the thread.
    pub wakings: u64,
    /// The median delay, from the waking until the thread had a CPU, within 2 %, in ns.
    pub p50_ns: u64,
    /// The delay that 99 % of the wakings do not exceed, within 2 %; absent for fewer than 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// The longest delay, in ns.
    pub max_ns: u64,
    /// All delays together, in ns.
    pub delayed_ns: u64,
}

/// A source, which instance of it, and whether that is a thread of the program.
type Waker = (Arc<str>, Arc<str>, bool);

/// The delays after wakings in ticks, by waker.
#[derive(Debug, Default)]
pub(super) struct Wakers(HashMap<Waker, Delays>);

#[derive(Debug, Default)]
struct Delays {
    lengths: WaitLengths,
    ticks: u64,
}

impl Wakers {
    /// Adds a delay, if it follows a waking of which the recording has who did it.
    pub(super) fn add(&mut self, delay: &Delay, table: &ThreadTable) {
        let (DelayKind::Woken, Some(source), Some(name)) =
            (delay.kind, &delay.waker_source, &delay.waker_name)
        else {
            return;
        };
        let is_thread = anechoic_recording::sources::THREAD.is(source);
        let own = delay.waker_thread.filter(|_| is_thread);
        let own = own.and_then(|number| table.thread(number));
        let name = match own {
            Some(own) => Arc::clone(&table.names[own.pool as usize]),
            None => folded(source, name).into(),
        };
        let length = delay.end_ticks.saturating_sub(delay.start_ticks);
        let delays = self.0.entry((Arc::clone(source), name, own.is_some())).or_default();
        delays.lengths.add(length);
        delays.ticks = delays.ticks.saturating_add(length);
    }

    /// Returns the wakers, that of the longest time of all delays first.
    pub(super) fn rows(&self, clock: &Clock) -> Vec<WokenBy> {
        let mut found: Vec<(&Waker, &Delays)> = self.0.iter().collect();
        found.sort_by_key(|(waker, delays)| (Reverse(delays.ticks), *waker));
        found.truncate(WAKERS);
        found.into_iter().map(|(waker, delays)| WokenBy::new(waker, delays, clock)).collect()
    }
}

impl WokenBy {
    fn new((source, name, own): &Waker, delays: &Delays, clock: &Clock) -> Self {
        let wakings = delays.lengths.count();
        let ns = |share: f64| delays.lengths.quantile(share).map(|ticks| clock.ns(ticks));
        Self {
            source: source.to_string(),
            name: name.to_string(),
            own: *own,
            wakings,
            p50_ns: ns(0.5).unwrap_or(0),
            p99_ns: ns(0.99).filter(|_| wakings as f64 * 0.01 >= BEYOND - 1e-6),
            max_ns: ns(1.0).unwrap_or(0),
            delayed_ns: clock.ns(delays.ticks),
        }
    }
}
