//! Selects the detours that keep all their parts: the longest, and one for each source, CPU and length.

use super::durations::bin;
use super::{Story, StoryRow};
use anechoic_recording::{Activity, Clock};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// Length bins per factor of ten, each with one example.
const PER_DECADE: usize = 10;

/// Rank of a story by length; of equal ones the earlier counts as longer.
type Rank = (u64, Reverse<u64>, Reverse<u32>);

/// Collects the notable stories.
#[derive(Debug)]
pub(super) struct Stories {
    most_longest: usize,
    most_examples: usize,
    /// The longest stories, with the shortest on top of the heap.
    longest: BinaryHeap<Reverse<(Rank, usize)>>,
    /// Kinds with an example: CPU, source, bin of length.
    known: HashSet<(u32, u32, usize)>,
    /// Stories by index in the heap; absent if replaced by a longer one.
    kept: Vec<Option<Story>>,
    examples: Vec<Story>,
}

impl Stories {
    /// Returns an empty collection of at most `most` stories.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most_longest: most / 2,
            most_examples: most - most / 2,
            longest: BinaryHeap::new(),
            known: HashSet::new(),
            kept: vec![],
            examples: vec![],
        }
    }

    /// Adds a detour if it is notable; `make` builds its story.
    pub(super) fn offer(
        &mut self,
        (cpu, start_ns, length_ns, source): (u32, u64, u64, u32),
        make: impl FnOnce() -> Story,
    ) {
        let rank = (length_ns, Reverse(start_ns), Reverse(cpu));
        let full = self.longest.len() >= self.most_longest;
        let least = self.longest.peek().map(|Reverse((least, _))| *least);
        if self.most_longest > 0 && (!full || least.is_some_and(|least| rank > least)) {
            let place = if full { self.evict() } else { None };
            let place = place.unwrap_or_else(|| {
                self.kept.push(None);
                self.kept.len() - 1
            });
            self.kept[place] = Some(make());
            self.longest.push(Reverse((rank, place)));
        } else if self.is_new_kind(cpu, source, length_ns) {
            self.examples.push(make());
        }
    }

    /// Removes the shortest of the longest, which stays as an example if there is none of its kind; returns its index.
    fn evict(&mut self) -> Option<usize> {
        let Reverse((_, place)) = self.longest.pop()?;
        let story = self.kept[place].take();
        if let Some(story) = story
            && self.is_new_kind(story.cpu, story.source, story.length_ns)
        {
            self.examples.push(story);
        }
        Some(place)
    }

    /// Returns whether an example of this kind is wanted, and marks it as present.
    fn is_new_kind(&mut self, cpu: u32, source: u32, length_ns: u64) -> bool {
        self.examples.len() < self.most_examples
            && self.known.insert((cpu, source, bin(length_ns, PER_DECADE)))
    }

    /// Returns the stories by CPU and time.
    pub(super) fn finish(self) -> Vec<Story> {
        let mut stories = self.examples;
        stories.extend(self.kept.into_iter().flatten());
        stories.sort_by_key(|story| (story.cpu, story.start_ns));
        stories
    }
}

/// Returns the rows of a story from the activities of its detour with these source numbers, at most `most` of them, the
/// number of omitted rows, and their time.
pub(crate) fn rows(
    activities: &[Activity],
    sources: &[u32],
    detour_start: u64,
    clock: &Clock,
    most: usize,
) -> (Vec<StoryRow>, u64, u64) {
    let mut depths: Vec<u32> = Vec::with_capacity(activities.len());
    for activity in activities {
        let parent = activity.parent.and_then(|row| depths.get(row as usize));
        depths.push(parent.map_or(0, |depth| depth.saturating_add(1)));
    }
    let mut order: Vec<usize> = (0..activities.len()).collect();
    order.sort_by_key(|&row| (Reverse(activities[row].self_ticks), row));
    let left_out = order.split_off(order.len().min(most));
    let more_ticks =
        left_out.iter().map(|&row| activities[row].self_ticks).fold(0, u64::saturating_add);
    order.sort_unstable();
    let shown = order.into_iter();
    let rows = shown.map(|at| row(&activities[at], depths[at], sources[at], detour_start, clock));
    (rows.collect(), left_out.len() as u64, clock.ns(more_ticks))
}

fn row(activity: &Activity, depth: u32, source: u32, detour_start: u64, clock: &Clock) -> StoryRow {
    StoryRow {
        kind: activity.kind,
        depth,
        source,
        function: activity.function.clone(),
        sent_by_cpu: activity.sent_by_cpu,
        sent_by_task: activity.sent_by_task.clone(),
        start_ns: clock.ns(activity.start_ticks.saturating_sub(detour_start)),
        self_ns: clock.ns(activity.self_ticks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{activity, clock_ns};
    use anechoic_recording::ActivityKind;

    fn story(start_ns: u64, length_ns: u64, source: u32) -> Story {
        let steal_ns = None;
        Story { cpu: 0, start_ns, length_ns, source, steal_ns, rows: vec![], more: 0, more_ns: 0 }
    }

    #[test]
    fn the_longest_and_one_of_each_kind_are_kept() {
        let mut stories = Stories::new(8); // four of the longest, four examples
        let detours = [
            (1, 90, 0),
            (2, 80, 0),
            (3, 70, 4), // evicted by the seventh, and the first of its source
            (4, 60, 0), // evicted by the sixth
            (5, 5, 1),
            (6, 95, 0),
            (7, 100, 0),
            (8, 5, 1), // there is one like it
            (9, 4, 2),
            (10, 1, 3), // no room
        ];
        for (start, length, source) in detours {
            stories.offer((0, start, length, source), || story(start, length, source));
        }
        let kept: Vec<_> = stories.finish().iter().map(|s| (s.start_ns, s.length_ns)).collect();
        let expected = [(1, 90), (2, 80), (3, 70), (4, 60), (5, 5), (6, 95), (7, 100), (9, 4)];
        assert_eq!(kept, expected);
        let mut none = Stories::new(0);
        none.offer((0, 1, 1, 1), || unreachable!("nothing may be kept"));
        assert!(none.finish().is_empty());
    }

    #[test]
    fn a_story_in_order_with_what_is_left_out() {
        let mut activities: Vec<_> = (0..20)
            .map(|at| {
                activity(0, ActivityKind::Activity, "softirq", "RCU", if at < 18 { 10 } else { 1 })
            })
            .collect();
        activities[1].parent = Some(0);
        activities[2].parent = Some(1);
        activities[3].parent = Some(999); // damaged
        let (rows, more, more_ns) = rows(&activities, &[7; 20], 0, &clock_ns(), 16);
        assert_eq!((rows.len(), more, more_ns), (16, 4, 2 * 10 + 2));
        assert_eq!([0, 1, 2, 3].map(|at| rows[at].depth), [0, 1, 2, 0]);
    }
}
