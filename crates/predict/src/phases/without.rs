//! The delays that remain without one source of noise, for several sources in one pass over the detours.
//!
//! Without a source, detours are shorter and there is more free time. But while no detour that the source took part
//! in is within the grain's reach, a phase is delayed as much as with the source. So one common pass ([`Sweep`]) with
//! all sources serves them all, and a source has a pass of its own only near the detours that it took part in. What
//! that pass finds is added; what the common pass finds meanwhile is subtracted. Sums are integers, so the difference
//! is exact.
//!
//! [`Sweep`]: super::sweep::Sweep

use super::bins::{Binned, DelayBin, bin_of};
use super::span::Span;
use super::sweep::Point;
use std::collections::VecDeque;

/// The passes in progress. Detours are added in time order, as to a sweep.
#[derive(Debug)]
pub(super) struct Without {
    grain_ns: u64,
    free_ns: u64,
    lost_ns: u64,
    /// The detours within the grain's reach.
    ahead: VecDeque<Point>,
    /// Those of the first grain, which the last starts of the window reach, with the number of sources in each.
    first: Vec<(Point, usize)>,
    first_taken: Vec<(usize, u64)>,
    /// The common pass, with all sources.
    whole: Pass,
    sources: Vec<Source>,
    /// The sources that currently have their own pass.
    apart: Vec<usize>,
}

/// The position of a pass, and what it found.
#[derive(Debug, Clone, Default)]
struct Pass {
    at_ns: u64,
    delay_ns: u64,
    /// The number of the first detour that lies ahead.
    front: u64,
    found: Vec<Sum>,
}

/// Start times with delays of one bin, and the sum of their delays. Both wrap around while more was subtracted than
/// added.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    mass: u64,
    sum: u128,
}

/// The pass without one source.
#[derive(Debug, Clone, Default)]
struct Source {
    /// Time that it took of all detours so far.
    taken_ns: u64,
    /// Time that it took of the detours before the front.
    taken_before_ns: u64,
    /// Time that it took of the detours ahead, with their numbers.
    taken: VecDeque<(u64, u64)>,
    /// Starts up to here lie in time that the source took.
    freed_ns: u64,
    /// The end of the window, which is known after the last detour.
    end_ns: Option<u64>,
    /// Its own pass; found is less what the common pass found meanwhile.
    pass: Pass,
}

impl Without {
    /// Begins passes over a window with `free_ns` of free time, one pass for each of `sources` sources.
    pub(super) fn new(free_ns: u64, grain_ns: u64, sources: usize) -> Self {
        let (ahead, first, first_taken, apart) = (VecDeque::new(), vec![], vec![], vec![]);
        let (whole, sources) = (Pass::default(), vec![Source::default(); sources]);
        Self { grain_ns, free_ns, lost_ns: 0, ahead, first, first_taken, whole, sources, apart }
    }

    /// Adds the next detour and what each source took of it. A source is listed once, with at most the detour's length.
    pub(super) fn add(&mut self, detour: Span, taken: &[(usize, u64)]) {
        if self.sources.is_empty() {
            return;
        }
        let length_ns = detour.length_ns();
        let point = Point { free_ns: detour.start_ns - self.lost_ns, length_ns };
        self.lost_ns += length_ns;
        if point.free_ns < self.grain_ns {
            self.first.push((point, taken.len()));
            self.first_taken.extend(taken);
        }
        self.enter(point, taken);
    }

    /// Ends the passes and returns the delays without each source.
    pub(super) fn finish(mut self) -> Vec<Binned> {
        for source in &mut self.sources {
            source.end_ns = Some(self.free_ns + source.taken_ns);
        }
        let taken = std::mem::take(&mut self.first_taken);
        let mut next = 0;
        for (point, count) in std::mem::take(&mut self.first) {
            let free_ns = point.free_ns + self.free_ns;
            self.enter(Point { free_ns, ..point }, &taken[next..next + count]);
            next += count;
        }
        for &at in &self.apart {
            self.sources[at].move_to(u64::MAX, &self.ahead, self.whole.front);
        }
        self.move_whole_to(self.free_ns);
        self.sources.iter().map(|source| self.binned(source)).collect()
    }

    fn binned(&self, source: &Source) -> Binned {
        let total = source.end_ns.unwrap_or(0);
        // Every detour delays the starts of one grain before it.
        let lost_ns = self.lost_ns + self.free_ns - total;
        let sum = u128::from(self.grain_ns) * u128::from(lost_ns);
        let cells = self.whole.plus(&source.pass);
        Binned { cells, total, mean: sum as f64 / total.max(1) as f64 }
    }

    /// Adds a detour that comes within the grain's reach.
    fn enter(&mut self, point: Point, taken: &[(usize, u64)]) {
        let number = self.whole.front + self.ahead.len() as u64;
        // Passes of sources move first: the common pass drops the detours that all have passed.
        for &at in &self.apart {
            let source = &mut self.sources[at];
            if let Some(to_ns) = (point.free_ns + source.taken_ns).checked_sub(self.grain_ns) {
                source.move_to(to_ns, &self.ahead, self.whole.front);
            }
        }
        if let Some(to_ns) = point.free_ns.checked_sub(self.grain_ns) {
            self.move_whole_to(to_ns);
        }
        self.apart.retain(|&at| !self.sources[at].is_like_whole());
        for &at in &self.apart {
            self.sources[at].pass.delay_ns += point.length_ns;
        }
        for &(at, ns) in taken {
            let source = &mut self.sources[at];
            if !self.apart.contains(&at) {
                self.apart.push(at);
                source.part_from(&self.whole);
                source.pass.delay_ns += point.length_ns;
            }
            source.pass.delay_ns -= ns;
            source.taken.push_back((number, ns));
            source.taken_ns += ns;
        }
        self.whole.delay_ns += point.length_ns;
        self.ahead.push_back(point);
    }

    /// Moves the starts of the common pass to this place.
    fn move_whole_to(&mut self, to_ns: u64) {
        while let Some(&point) = self.ahead.front().filter(|point| point.free_ns <= to_ns) {
            self.whole_level(point.free_ns);
            self.whole.delay_ns -= point.length_ns;
            self.whole.front += 1;
            self.ahead.pop_front();
        }
        self.whole_level(to_ns);
    }

    fn whole_level(&mut self, to_ns: u64) {
        let (bin, sum) = self.whole.level(to_ns);
        self.whole.sum(bin).add(sum);
        for &at in &self.apart {
            self.sources[at].pass.sum(bin).subtract(sum);
        }
    }
}

impl Source {
    /// Begins its own pass where the common pass is.
    fn part_from(&mut self, whole: &Pass) {
        self.pass.at_ns = whole.at_ns + self.taken_ns;
        (self.pass.delay_ns, self.pass.front) = (whole.delay_ns, whole.front);
        self.taken_before_ns = self.taken_ns;
    }

    /// Returns whether its pass is where the common pass is, with the same detours ahead.
    fn is_like_whole(&self) -> bool {
        let ended = self.end_ns.is_some_and(|end_ns| self.pass.at_ns >= end_ns);
        self.taken.is_empty() && self.pass.at_ns >= self.freed_ns && !ended
    }

    /// Moves its starts to this place, at most to the end. `passed` is the number of the first detour of `ahead`.
    fn move_to(&mut self, to_ns: u64, ahead: &VecDeque<Point>, passed: u64) {
        let to_ns = self.end_ns.map_or(to_ns, |end_ns| end_ns.min(to_ns));
        while let Some(point) = ahead.get((self.pass.front - passed) as usize) {
            let place_ns = point.free_ns + self.taken_before_ns;
            if place_ns > to_ns {
                break;
            }
            self.level(place_ns);
            let is_front = |&mut (number, _): &mut (u64, u64)| number == self.pass.front;
            if let Some((_, ns)) = self.taken.pop_front_if(is_front) {
                self.taken_before_ns += ns;
                self.freed_ns = place_ns + ns;
                self.pass.delay_ns += ns;
            }
            self.pass.delay_ns -= point.length_ns;
            self.pass.front += 1;
        }
        self.level(to_ns);
    }

    fn level(&mut self, to_ns: u64) {
        let (bin, sum) = self.pass.level(to_ns);
        self.pass.sum(bin).add(sum);
    }
}

impl Pass {
    /// Moves to this place and returns the starts on the way, which all have the same delay.
    #[inline]
    fn level(&mut self, to_ns: u64) -> (usize, Sum) {
        let mass = to_ns - self.at_ns;
        self.at_ns = to_ns;
        (bin_of(self.delay_ns), Sum { mass, sum: u128::from(mass) * u128::from(self.delay_ns) })
    }

    #[inline]
    fn sum(&mut self, bin: usize) -> &mut Sum {
        if self.found.len() <= bin {
            self.found.resize(bin + 1, Sum::default());
        }
        &mut self.found[bin]
    }

    /// Returns the sum of what both found.
    fn plus(&self, other: &Self) -> Vec<DelayBin> {
        let found = |pass: &Self, bin: usize| pass.found.get(bin).copied().unwrap_or_default();
        let bins = (0..self.found.len().max(other.found.len())).map(|bin| {
            let mut sum = found(self, bin);
            sum.add(found(other, bin));
            DelayBin { mass: sum.mass, sum: sum.sum as f64 }
        });
        bins.collect()
    }
}

impl Sum {
    #[inline]
    fn add(&mut self, other: Self) {
        self.mass = self.mass.wrapping_add(other.mass);
        self.sum = self.sum.wrapping_add(other.sum);
    }

    #[inline]
    fn subtract(&mut self, other: Self) {
        self.mass = self.mass.wrapping_sub(other.mass);
        self.sum = self.sum.wrapping_sub(other.sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::starts::FreeStarts;
    use crate::phases::sweep::Sweep;
    use proptest::prelude::*;

    /// Sweeps over what is left of the detours.
    fn swept(
        detours: &[(Span, Vec<(usize, u64)>)],
        at: usize,
        free_ns: u64,
        grain_ns: u64,
    ) -> Binned {
        let taken = |taken: &[(usize, u64)]| -> u64 {
            taken.iter().filter(|(source, _)| *source == at).map(|(_, ns)| ns).sum()
        };
        let free_ns = free_ns + detours.iter().map(|(_, parts)| taken(parts)).sum::<u64>();
        let mut sweep = Sweep::new(free_ns, grain_ns, 1, FreeStarts::default());
        for (span, parts) in detours.iter().filter(|(span, parts)| taken(parts) < span.length_ns())
        {
            sweep.add(Span { end_ns: span.end_ns - taken(parts), ..*span });
        }
        sweep.finish().binned(free_ns)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn as_if_the_source_had_not_been(
            parts in prop::collection::vec((0u64..60, 1u64..30, 0usize..6, 0u64..40), 0..40),
            rest in 1u64..60,
            grain in 0.0f64..1.0,
        ) {
            let mut at_ns = 0;
            let detours: Vec<(Span, Vec<(usize, u64)>)> = parts
                .iter()
                .map(|&(gap, length, source, taken)| {
                    let span = Span { start_ns: at_ns + gap, end_ns: at_ns + gap + length };
                    at_ns = span.end_ns + 1;
                    let taken = taken.min(length);
                    // Source 0 often, source 1 sometimes, and source 2 where another one is already.
                    let parts = match source {
                        _ if taken == 0 => vec![],
                        0..=2 => vec![(0, taken)],
                        3 => vec![(1, taken)],
                        4 => vec![(2, taken.div_ceil(2)), (1, taken / 2)],
                        _ => vec![],
                    };
                    (span, parts.into_iter().filter(|(_, ns)| *ns > 0).collect())
                })
                .collect();
            let lost_ns: u64 = detours.iter().map(|(span, _)| span.length_ns()).sum();
            let free_ns = at_ns + rest - lost_ns;
            let grain_ns = ((free_ns as f64 * grain) as u64).max(1);
            let mut without = Without::new(free_ns, grain_ns, 3);
            detours.iter().for_each(|(span, taken)| without.add(*span, taken));
            for (at, found) in without.finish().into_iter().enumerate() {
                let expected = swept(&detours, at, free_ns, grain_ns);
                let cells = |binned: &Binned| -> Vec<(usize, DelayBin)> {
                    let cells = binned.cells.iter().copied().enumerate();
                    cells.filter(|(_, cell)| cell.mass > 0).collect()
                };
                prop_assert_eq!(cells(&found), cells(&expected));
                prop_assert_eq!((found.total, found.mean), (expected.total, expected.mean));
            }
        }
    }
}
