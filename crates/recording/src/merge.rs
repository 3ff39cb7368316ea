//! Merges the events of all CPUs in time order.

use crate::problem::Problem;
use crate::rows::KernelEvent;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Rows of one table and CPU, in time order.
pub type Feed<'a, T> = Box<dyn Iterator<Item = Result<T, Problem>> + 'a>;

/// The order of merging: the time of a stream's next event, its CPU, and the number of the stream.
type Turn = Reverse<(u64, u32, usize)>;

/// Merges streams that are each in time order; equal times are ordered by CPU, then by stream.
pub struct Merge<'a> {
    streams: Vec<(Feed<'a, KernelEvent>, KernelEvent)>,
    turns: BinaryHeap<Turn>,
}

fn turn(event: &KernelEvent, stream: usize) -> Turn {
    Reverse((event.ticks, event.cpu, stream))
}

impl<'a> Merge<'a> {
    /// Starts with the first event of each stream.
    ///
    /// # Errors
    /// Fails if the first event of a stream cannot be read.
    pub fn new(feeds: Vec<Feed<'a, KernelEvent>>) -> Result<Self, Problem> {
        let mut merge = Self { streams: Vec::new(), turns: BinaryHeap::new() };
        for mut feed in feeds {
            if let Some(first) = feed.next().transpose()? {
                merge.turns.push(turn(&first, merge.streams.len()));
                merge.streams.push((feed, first));
            }
        }
        Ok(merge)
    }

    /// Returns the next event of all streams.
    ///
    /// # Errors
    /// Fails if a stream cannot be read.
    pub fn next_event(&mut self) -> Result<Option<KernelEvent>, Problem> {
        let Some(mut top) = self.turns.peek_mut() else { return Ok(None) };
        let index = top.0.2;
        let (feed, head) = &mut self.streams[index];
        let event = *head;
        match feed.next().transpose()? {
            Some(next) => {
                *head = next;
                *top = turn(&next, index);
            }
            None => {
                PeekMut::pop(top);
            }
        }
        Ok(Some(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;

    #[test]
    fn streams_come_out_in_time_order() {
        let event = |cpu, ticks, pid| KernelEvent {
            cpu,
            ticks,
            kind: EventKind::Waking,
            pid,
            args: [0; 3],
        };
        let feed = |events: Vec<KernelEvent>| {
            Box::new(events.into_iter().map(Ok)) as Feed<'static, KernelEvent>
        };
        let mut merge = Merge::new(vec![
            feed(vec![event(1, 10, 0), event(1, 10, 1), event(1, 30, 2)]),
            feed(vec![]),
            feed(vec![event(0, 10, 3), event(0, 40, 4)]),
        ])
        .unwrap();
        let mut seen = Vec::new();
        while let Some(event) = merge.next_event().unwrap() {
            seen.push((event.ticks, event.cpu, event.pid));
        }
        assert_eq!(seen, [(10, 0, 3), (10, 1, 0), (10, 1, 1), (30, 1, 2), (40, 0, 4)]);
    }
}
