//! The waits of threads that then woke those of a pool.

use super::Times;
use super::holder::Held;
use anechoic_recording::Delay;
use std::collections::{BTreeMap, HashMap};

/// Number of waits of a thread for a CPU that are kept one by one: no earlier one of it counts when it wakes another thread.
const RECENT: usize = 8;

/// The pool of the thread that woke, what it waited for, and whether it has a lower priority.
pub(super) type Kind = (u32, Held, bool);

/// What threads waited that then woke threads of one pool. A wait counts once, however many of the pool sleep meanwhile.
#[derive(Default)]
pub(super) struct Blockers {
    /// The last waits by thread and CPU, each by its end: a sleep may begin in a wait, but never ends in one.
    recent: HashMap<(u32, u32), BTreeMap<u64, (u64, Kind)>>,
    sums: HashMap<Kind, Times>,
}

impl Blockers {
    /// Adds a wait of the thread `waker`; those on one CPU come in the order in which it woke others.
    pub(super) fn add(&mut self, waker: u32, delay: &Delay, kind: Kind) {
        let length = delay.end_ticks.saturating_sub(delay.start_ticks);
        let recent = self.recent.entry((waker, delay.cpu)).or_default();
        let longest = recent.entry(delay.end_ticks).or_insert_with(|| (length, kind.clone()));
        let inversion = longest.1.2 || kind.2;
        if length > longest.0 {
            *longest = (length, kind);
        }
        longest.1.2 = inversion;
        if recent.len() > RECENT
            && let Some((_, (length, kind))) = recent.pop_first()
        {
            self.sums.entry(kind).or_default().add(length);
        }
    }

    /// Returns what they add up to.
    pub(super) fn sums(&self) -> HashMap<Kind, Times> {
        let mut sums = self.sums.clone();
        for (length, kind) in self.recent.values().flat_map(BTreeMap::values) {
            sums.entry(kind.clone()).or_default().add(*length);
        }
        sums
    }
}
