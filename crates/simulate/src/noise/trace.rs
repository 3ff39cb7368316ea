//! Recorded detours of one CPU, repeated without end.

use crate::parameters::{LATEST_PS, PS};
use crate::schedule::LONGEST_NS;
use anechoic_predict::phases::Timeline;
use anechoic_recording::{Problem, ProblemKind};
use std::ops::Range;
use std::sync::Arc;

/// The detours of a recording in time order, with the length of its window. Times are in ps. Copies share them.
#[derive(Debug, Clone, Hash)]
pub struct Trace {
    detours: Arc<[Range<u64>]>,
    length_ps: u64,
    /// For each bucket of the window: the first detour that ends after its begin.
    first: Arc<[u32]>,
    shift: u32,
}

impl Trace {
    /// Returns the detours of a CPU.
    ///
    /// # Errors
    /// The recording can no longer be read, or is longer than 13 days.
    pub fn from_timeline(timeline: &Timeline) -> Result<Self, Problem> {
        if timeline.length_ns() > LONGEST_NS {
            let why = "the recording is longer than 13 days";
            return Err(ProblemKind::Data.problem(why, "simulate with a shorter one"));
        }
        if timeline.free_ns() == 0 {
            let why = "a CPU was never free in the recording";
            return Err(ProblemKind::Data.problem(why, "no work would ever end on it"));
        }
        let mut detours = Vec::with_capacity(timeline.count() as usize);
        timeline.each(|span| detours.push(span.start_ns * PS..span.end_ns * PS))?;
        Ok(Self::new(detours, timeline.length_ns() * PS))
    }

    /// Returns these detours, which are sorted, apart, and inside the window.
    pub(crate) fn new(detours: Vec<Range<u64>>, length_ps: u64) -> Self {
        let parts = (2 * detours.len() as u64).max(1);
        let shift = u64::BITS - (length_ps / parts).max(1).leading_zeros();
        let mut next = 0;
        let first = (0..=length_ps >> shift).map(|bucket| {
            while detours.get(next).is_some_and(|detour| detour.end <= bucket << shift) {
                next += 1;
            }
            next as u32
        });
        Self { first: first.collect(), shift, length_ps, detours: detours.into() }
    }

    /// Returns the length of the window.
    pub(crate) fn length_ps(&self) -> u64 {
        self.length_ps
    }

    /// Returns whether it has no detours.
    pub(crate) fn is_quiet(&self) -> bool {
        self.detours.is_empty()
    }

    /// Returns the first detour that ends after this place of the window, by number. Detours come in bursts, so that a
    /// bucket may have many.
    #[inline]
    fn next(&self, at: u64) -> usize {
        let bucket = (at >> self.shift) as usize;
        let from = self.first[bucket] as usize;
        let to = self.first.get(bucket + 1).map_or(self.detours.len(), |&to| to as usize);
        from + self.detours[from..to].partition_point(|detour| detour.end <= at)
    }

    /// Returns when work ends that starts at `start_ps`: the CPU works whenever no detour is in progress. No work ends
    /// at once, also inside a detour.
    #[inline]
    pub(crate) fn end(&self, start_ps: u64, phase_ps: u64, work_ps: u64) -> u64 {
        if work_ps == 0 {
            return start_ps;
        }
        self.end_and_quiet(start_ps, phase_ps, work_ps).0
    }

    /// Returns when work ends, which is not none, and until when there is no detour after that, at least.
    #[inline]
    pub(crate) fn end_and_quiet(&self, start_ps: u64, phase_ps: u64, work_ps: u64) -> (u64, u64) {
        if self.detours.is_empty() {
            return (start_ps + work_ps, u64::MAX);
        }
        let mut at = (start_ps + phase_ps) % self.length_ps;
        let mut next = self.next(at);
        // What is added to a place of the window to have the time of the simulation.
        let mut begin = start_ps.wrapping_sub(at);
        let mut left = work_ps;
        loop {
            let Some(detour) = self.detours.get(next) else {
                if left <= self.length_ps - at {
                    return (begin.wrapping_add(at + left), begin.wrapping_add(self.length_ps));
                }
                left -= self.length_ps - at;
                begin = begin.wrapping_add(self.length_ps);
                if begin > LATEST_PS {
                    return (LATEST_PS + 1, LATEST_PS + 1);
                }
                (at, next) = (0, 0);
                continue;
            };
            if detour.start > at {
                if left <= detour.start - at {
                    return (begin.wrapping_add(at + left), begin.wrapping_add(detour.start));
                }
                left -= detour.start - at;
            }
            at = detour.end;
            next += 1;
        }
    }

    /// Returns the bucket of a place, by the number of its first detour: reading it, and then that detour, before they are
    /// needed saves waiting for memory.
    #[inline]
    pub(crate) fn bucket(&self, at_ps: u64, phase_ps: u64) -> u32 {
        self.first[(((at_ps + phase_ps) % self.length_ps) >> self.shift) as usize]
    }

    /// Returns the end of a detour; 0 if there is no such.
    #[inline]
    pub(crate) fn touch(&self, number: u32) -> u64 {
        self.detours.get(number as usize).map_or(0, |detour| detour.end)
    }

    /// Returns until when there is no detour from `at_ps` on, at least; `at_ps` itself within a detour.
    pub(crate) fn quiet_until(&self, at_ps: u64, phase_ps: u64) -> u64 {
        let at = (at_ps + phase_ps) % self.length_ps;
        let next = self.detours.get(self.next(at));
        at_ps + next.map_or(self.length_ps, |detour| detour.start.max(at)) - at
    }

    /// Returns a detour of the window by its number.
    pub(crate) fn detour(&self, number: u32) -> Range<u64> {
        self.detours[number as usize].clone()
    }

    /// Returns the same recording without a detour.
    pub(crate) fn without(&self, number: u32) -> Self {
        let mut detours = self.detours.to_vec();
        detours.remove(number as usize);
        Self::new(detours, self.length_ps)
    }

    /// Calls `each` with every detour between two times of the simulation: its number, when it begins in the simulation
    /// (negative if before its start), and how much of it lies between them.
    pub(crate) fn each_between(
        &self,
        from_ps: u64,
        to_ps: u64,
        phase_ps: u64,
        mut each: impl FnMut(u32, i64, u64),
    ) {
        if self.detours.is_empty() {
            return;
        }
        let at = (from_ps + phase_ps) % self.length_ps;
        let mut next = self.next(at);
        let mut begin = from_ps as i64 - at as i64;
        while begin < to_ps as i64 {
            for (number, detour) in self.detours.iter().enumerate().skip(next) {
                let (start, end) = (begin + detour.start as i64, begin + detour.end as i64);
                if start >= to_ps as i64 {
                    return;
                }
                if end > from_ps as i64 {
                    let part = end.min(to_ps as i64) - start.max(from_ps as i64);
                    each(number as u32, start, part as u64);
                }
            }
            next = 0;
            begin += self.length_ps as i64;
        }
    }

    /// Returns the shortest operation that LogGOPSim cannot place in this recording, in ps.
    pub(crate) fn too_long_for_loggopsim_ps(&self) -> u64 {
        self.detours.last().map_or(0, |last| last.start)
    }

    /// Returns what LogGOPSim adds to an operation of `length_ps`: the rest of a detour in progress at its start, and
    /// every detour that starts while it would last without noise. The recording is repeated from the start of its last
    /// detour on, and its first detour never counts.
    pub(crate) fn added_as_loggopsim(&self, start_ps: u64, phase_ps: u64, length_ps: u64) -> u64 {
        let [first, .., last] = &self.detours[..] else { return 0 };
        let last_start = last.start;
        let Some(span) = last_start.checked_sub(length_ps).filter(|&span| span > 0) else {
            return 0;
        };
        let at = (start_ps + phase_ps) % span;
        let (mut place, mut added) = (0, 0);
        if at > first.start {
            place = self.first[(at >> self.shift) as usize] as usize;
            while self.detours.get(place).is_some_and(|detour| detour.start <= at) {
                place += 1;
            }
            place -= 1;
            added = self.detours[place].end.saturating_sub(at);
        }
        let mut end = at + length_ps;
        while end > self.detours[place + 1].start {
            place += 1;
            added += self.detours[place].end - self.detours[place].start;
            if place == self.detours.len() - 1 {
                end -= last_start;
                place = 0;
            }
        }
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: one picosecond after the other, the CPU works or is away.
    fn end_by_steps(trace: &Trace, start: u64, phase: u64, work: u64) -> u64 {
        let (mut at, mut left) = (start, work);
        while left > 0 {
            let place = (at + phase) % trace.length_ps;
            if !trace.detours.iter().any(|detour| detour.contains(&place)) {
                left -= 1;
            }
            at += 1;
        }
        at
    }

    fn trace() -> impl Strategy<Value = Trace> {
        prop::collection::vec((1_u64..20, 1_u64..9), 0..12).prop_map(|gaps| {
            let (mut at, mut detours) = (0, vec![]);
            for (gap, length) in gaps {
                detours.push(at + gap..at + gap + length);
                at += gap + length;
            }
            Trace::new(detours, at + 3)
        })
    }

    proptest! {
        #[test]
        fn work_ends_when_the_cpu_was_free_for_as_long(
            trace in trace(), start in 0_u64..900, phase in 0_u64..100, work in 0_u64..300
        ) {
            let expected = end_by_steps(&trace, start, phase, work);
            prop_assert_eq!(trace.end(start, phase, work), expected);
        }
    }
}
