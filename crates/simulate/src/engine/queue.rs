//! The events to come, in the order of their times; among equals, in the order of their creation.
//!
//! A ladder of two rungs: buckets of equal width for the near future, and one heap of events for what is later. A bucket
//! is sorted when its turn comes, so that almost all events are sorted among few others. The width follows the density of
//! events; it does not change their order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event: an operation that is free to start, or a message that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    /// When it happens at the earliest, in ps.
    pub(crate) time: u64,
    /// Its place in the order of creation.
    pub(crate) order: u64,
    /// The rank that it happens on.
    pub(crate) rank: u32,
    /// The operation; for a message, that of the sender.
    pub(crate) operation: u32,
    /// The other rank, or the duration of a short computation in ns.
    pub(crate) peer: u32,
    /// The shape of the operation, by number; the highest bit marks a message.
    pub(crate) shape: u32,
}

/// Events that a bucket should have.
const PER_BUCKET: usize = 32;

/// A queue of events.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The bucket whose turn it is, the next event last.
    present: Vec<Event>,
    /// Events that were added since for the time of this bucket.
    added: BinaryHeap<Reverse<Event>>,
    buckets: Vec<Vec<Event>>,
    /// The bucket whose turn is next.
    next: usize,
    /// The begin of the first bucket, and the width of all as a power of two.
    begin: u64,
    shift: u32,
    /// Events after the last bucket.
    later: Vec<Event>,
}

impl Queue {
    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        let bucket = event.time.saturating_sub(self.begin) >> self.shift;
        if bucket < self.next as u64 {
            self.added.push(Reverse(event));
        } else if let Some(bucket) = self.buckets.get_mut(bucket as usize) {
            bucket.push(event);
        } else {
            self.later.push(event);
        }
    }

    /// Returns the next event and removes it.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        loop {
            match (self.present.last(), self.added.peek()) {
                (Some(present), Some(Reverse(added))) if added < present => {
                    return self.added.pop().map(|Reverse(event)| event);
                }
                (Some(_), _) => return self.present.pop(),
                (None, Some(_)) => return self.added.pop().map(|Reverse(event)| event),
                (None, None) => {}
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// Returns the events of the present bucket that come next, at most this many, the first one last.
    pub(crate) fn coming(&self, most: usize) -> &[Event] {
        &self.present[self.present.len().saturating_sub(most)..]
    }

    /// Makes the next bucket that is not empty the present one. Returns false if there are no more events.
    fn advance(&mut self) -> bool {
        loop {
            while let Some(bucket) = self.buckets.get_mut(self.next) {
                self.next += 1;
                if !bucket.is_empty() {
                    // The vectors change places, so that both keep their memory.
                    std::mem::swap(&mut self.present, bucket);
                    self.present.sort_unstable_by_key(|event| Reverse((event.time, event.order)));
                    return true;
                }
            }
            if self.later.is_empty() {
                return false;
            }
            self.spread();
        }
    }

    /// Spreads the events of later over new buckets.
    fn spread(&mut self) {
        let mut events = std::mem::take(&mut self.later);
        let count = (events.len() / PER_BUCKET).next_power_of_two().max(16);
        self.begin = events.iter().map(|event| event.time).min().unwrap_or(0);
        let span = typical_span(&events, self.begin);
        // All buckets together are at least as long as the span.
        self.shift = u64::BITS - (span / count as u64).leading_zeros();
        self.next = 0;
        self.buckets.resize_with(count, Vec::new);
        let mut kept = 0;
        for at in 0..events.len() {
            let event = events[at];
            let bucket = (event.time - self.begin) >> self.shift;
            match self.buckets.get_mut(bucket as usize) {
                Some(bucket) => bucket.push(event),
                None => {
                    events[kept] = event;
                    kept += 1;
                }
            }
        }
        events.truncate(kept);
        self.later = events;
    }
}

/// Returns after how long from `begin` on three quarters of the events have happened, found from some of them.
fn typical_span(events: &[Event], begin: u64) -> u64 {
    let step = (events.len() / 256).max(1);
    let mut times: Vec<u64> = events.iter().step_by(step).map(|event| event.time - begin).collect();
    times.sort_unstable();
    times[times.len() * 3 / 4]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Events are added while others are taken, as in a simulation, also for earlier times.
        #[test]
        fn events_come_in_the_order_of_a_sorted_list(
            steps in prop::collection::vec((0_u64..5, 0_u64..1_000_000_000, prop::bool::ANY), 1..400)
        ) {
            let (mut queue, mut list, mut now) = (Queue::default(), vec![], 0);
            for (order, &(scale, time, pop)) in steps.iter().enumerate() {
                let time = now + (time >> (6 * scale));
                let event = Event { time, order: order as u64, rank: 0, operation: 0, peer: 0, shape: 0 };
                queue.push(event);
                list.push(event);
                if pop {
                    list.sort_unstable_by_key(|event| Reverse((event.time, event.order)));
                    let expected = list.pop();
                    prop_assert_eq!(queue.pop(), expected);
                    now = expected.map_or(0, |event| event.time.saturating_sub(scale));
                }
            }
            list.sort_unstable_by_key(|event| Reverse((event.time, event.order)));
            while let Some(expected) = list.pop() {
                prop_assert_eq!(queue.pop(), Some(expected));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
