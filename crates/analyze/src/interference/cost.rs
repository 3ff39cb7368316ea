//! The cost of one interrupt from repetitions with and without: over all repetitions, and each compared with its
//! neighbours.

use crate::samples::moments::Moments;
use crate::samples::subtraction_left::ns_of;
use crate::stats::{Batches, Interval, NORMAL, Spread, detectable, student_t, welch_degrees};
use anechoic_recording::Clock;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::VecDeque;

/// Number of undisturbed repetitions on either side that an interrupt is compared with.
const NEIGHBOURS: usize = 4;
/// Number of repetitions among which these are searched.
const NEAR: u64 = 64;
/// Smallest number of blocks of interrupts; the largest is twice that. Disturbances shorter than a block (a busy
/// neighbour) therefore do not make the error look too small.
const BLOCKS: usize = 20;
/// Smallest number of interrupts, and of repetitions without, for an interval.
const FEWEST: u64 = 10;

/// Cost of one interrupt for the work of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// Time that one interrupt adds.
    pub per_interrupt_ns: f64,
    /// Its 95 % interval; absent for fewer than ten interrupts, or as few repetitions to compare with.
    pub interval: Option<Interval>,
    /// Its standard error; absent likewise.
    pub standard_error_ns: Option<f64>,
    /// Smallest cost that would have been detected (80 % power at the 5 % level); absent likewise.
    pub smallest_effect_ns: Option<f64>,
    /// Whether the interval excludes 0.
    pub differs: bool,
    /// Number of interrupts that it is the mean of.
    pub interrupts: u64,
    /// Number of repetitions that contain these, or are adjacent.
    pub with: u64,
    /// Number of undisturbed repetitions that they are compared with.
    pub without: u64,
}

impl Cost {
    /// Returns the cost from a mean and its standard error in ticks.
    fn new(
        per_interrupt: f64,
        error: Option<(f64, u64)>,
        (interrupts, with, without): (u64, u64, u64),
        clock: &Clock,
    ) -> Self {
        let error = error.filter(|_| interrupts.min(without) >= FEWEST);
        let interval = error.map(|(error, degrees)| {
            let reach = student_t(degrees) * error;
            let [low, high] = [per_interrupt - reach, per_interrupt + reach];
            Interval { low: ns_of(low, clock), high: ns_of(high, clock) }
        });
        Self {
            per_interrupt_ns: ns_of(per_interrupt, clock),
            interval,
            standard_error_ns: error.map(|(error, _)| ns_of(error, clock)),
            smallest_effect_ns: error.map(|(error, degrees)| {
                ns_of(detectable(student_t(degrees) * error, error), clock)
            }),
            differs: interval.is_some_and(Interval::excludes_zero),
            interrupts,
            with,
            without,
        }
    }

    /// Returns whether the interval lies above 0; negative costs cannot exist.
    #[must_use]
    pub fn is_felt(&self) -> bool {
        self.differs && self.per_interrupt_ns > 0.0
    }

    /// Returns half of the interval in standard errors.
    pub(super) fn reach(&self) -> Option<f64> {
        let interval = self.interval?;
        let error = self.standard_error_ns.filter(|error| *error > 0.0);
        Some(error.map_or(NORMAL, |error| (interval.high - interval.low) / 2.0 / error))
    }
}

/// One repetition with its interrupts. Times are counter ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repetition {
    /// Number in the series.
    pub(super) index: u64,
    /// Duration.
    pub(super) length: u64,
    /// Number of interrupts that expired in it.
    pub(super) interrupts: u64,
    /// Whether an interrupt may have affected it: its own, or one at the edge of a neighbour.
    pub(super) touched: bool,
    /// Whether nothing else was recorded in it.
    pub(super) alone: bool,
}

/// Over all repetitions: mean of those with interrupts minus mean of those without.
#[derive(Debug, Default)]
pub(super) struct All {
    with: Moments,
    without: Moments,
    /// Both in order, for the errors of their means.
    batches: [Batches; 2],
    interrupts: u64,
}

impl All {
    pub(super) fn add(&mut self, repetition: &Repetition) {
        self.interrupts += repetition.interrupts;
        let lengths = if repetition.touched { &mut self.with } else { &mut self.without };
        lengths.add(&[repetition.length]);
        self.batches[usize::from(repetition.touched)].add(repetition.length as f64);
    }

    /// Returns the cost; absent if no interrupt came, or no repetition was without.
    pub(super) fn cost(&self, clock: &Clock) -> Option<Cost> {
        let (with, without) = (self.with.count(), self.without.count());
        if self.interrupts == 0 || with == 0 || without == 0 {
            return None;
        }
        let each = self.interrupts as f64 / with as f64;
        let [without_ticks, with_ticks] = &self.batches;
        let spreads = without_ticks.spread().zip(with_ticks.spread());
        let error = spreads.map(|(without, with)| error_of_difference([with, without]));
        let error = error.map(|(error, degrees)| (error / each, degrees));
        let per_interrupt = (self.with.mean() - self.without.mean()) / each;
        Some(Cost::new(per_interrupt, error, (self.interrupts, with, without), clock))
    }
}

/// Returns the standard error of a difference of two means, and its degrees of freedom.
fn error_of_difference(spreads: [Spread; 2]) -> (f64, u64) {
    let squares = spreads.map(|spread| spread.standard_error.powi(2));
    let degrees = spreads.map(|spread| (spread.effective - 1.0).max(1.0) as u64);
    ((squares[0] + squares[1]).sqrt(), welch_degrees(squares, degrees))
}

/// Over repetitions without other disturbances: each with interrupts minus the mean of its nearest neighbours without,
/// as many before as after, so that slow drift cancels.
///
/// An interrupt near the edge of a repetition may affect the next one. Therefore consecutive repetitions that may be
/// affected form a group, and the excess of the group over its neighbours is the cost of its interrupts.
#[derive(Debug, Default)]
pub(super) struct Alone {
    next_index: Option<u64>,
    /// Index and duration of the last undisturbed repetitions.
    before: VecDeque<(u64, u64)>,
    open: Option<Group>,
    /// Groups that wait for neighbours after them.
    waiting: VecDeque<Group>,
    sums: Sums,
    without: u64,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    /// Index of the repetition after the last one.
    end: u64,
    length: f64,
    repetitions: u64,
    interrupts: u64,
    /// Whether nothing else was recorded in any of them.
    alone: bool,
    before: f64,
    after: f64,
    neighbours_after: usize,
}

/// Sums over groups, in blocks of time.
#[derive(Debug)]
struct Sums {
    repetitions: u64,
    interrupts: u64,
    blocks: Vec<Block>,
    /// Number of groups in a block.
    block_groups: u64,
}

/// Consecutive groups: their number, their excess over neighbours, and their interrupts.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    groups: u64,
    excess: f64,
    interrupts: f64,
}

impl Alone {
    pub(super) fn add(&mut self, repetition: &Repetition) {
        if self.next_index.replace(repetition.index.saturating_add(1)) != Some(repetition.index) {
            self.break_off();
        }
        if repetition.touched {
            self.extend(repetition);
            return;
        }
        self.waiting.extend(self.open.take().filter(|group| group.alone));
        if repetition.alone {
            self.without += 1;
            for group in &mut self.waiting {
                if group.neighbours_after < NEIGHBOURS {
                    group.after += repetition.length as f64;
                    group.neighbours_after += 1;
                }
            }
            self.before.push_back((repetition.index, repetition.length));
            if self.before.len() > NEIGHBOURS {
                self.before.pop_front();
            }
        }
        let done = |group: &mut Group| {
            group.neighbours_after == NEIGHBOURS || repetition.index - group.end >= NEAR
        };
        while let Some(group) = self.waiting.pop_front_if(done) {
            self.sums.add(&group);
        }
    }

    /// Adds a repetition that may be affected to the open group.
    fn extend(&mut self, repetition: &Repetition) {
        let group = match &mut self.open {
            Some(group) => group,
            None => self.open.insert(Group {
                end: repetition.index,
                length: 0.0,
                repetitions: 0,
                interrupts: 0,
                alone: true,
                before: mean_before(&self.before, repetition.index),
                after: 0.0,
                neighbours_after: 0,
            }),
        };
        group.end = repetition.index.saturating_add(1);
        group.length += repetition.length as f64;
        group.repetitions += 1;
        group.interrupts += repetition.interrupts;
        group.alone &= repetition.alone;
    }

    /// Handles missing repetitions: later ones are not neighbours of earlier ones.
    fn break_off(&mut self) {
        self.waiting.drain(..).for_each(|group| self.sums.add(&group));
        self.open = None;
        self.before.clear();
    }

    /// Returns the cost; absent if no single interrupt came between repetitions to compare with.
    pub(super) fn cost(mut self, clock: &Clock) -> Option<Cost> {
        self.break_off();
        let Sums { repetitions, interrupts, blocks, .. } = self.sums;
        if interrupts == 0 {
            return None;
        }
        let excess: f64 = blocks.iter().map(|block| block.excess).sum();
        let per_interrupt = excess / interrupts as f64;
        // The ratio of two sums (Cochran 1977, 2.11): each block's deviation from it gives the error.
        let deviation = |block: &Block| block.excess - per_interrupt * block.interrupts;
        let spread = Spread::from_blocks(&blocks.iter().map(deviation).collect::<Vec<f64>>());
        let error = spread.filter(|_| blocks.len() as u64 >= FEWEST).map(|spread| {
            let all = spread.standard_error * blocks.len() as f64;
            (all / interrupts as f64, (spread.effective - 1.0) as u64)
        });
        Some(Cost::new(per_interrupt, error, (interrupts, repetitions, self.without), clock))
    }
}

/// Returns the mean of the close neighbours before `index`; not a number if there are none.
fn mean_before(before: &VecDeque<(u64, u64)>, index: u64) -> f64 {
    let near = before.iter().filter(|(at, _)| index - at <= NEAR);
    let (count, sum) =
        near.fold((0.0, 0.0), |(n, sum), (_, length)| (n + 1.0, sum + *length as f64));
    sum / count
}

impl Default for Sums {
    fn default() -> Self {
        Self { repetitions: 0, interrupts: 0, blocks: vec![], block_groups: 1 }
    }
}

impl Sums {
    /// Adds a group that has neighbours on both sides.
    fn add(&mut self, group: &Group) {
        let after = group.after / group.neighbours_after as f64;
        let usual = f64::midpoint(group.before, after);
        let excess = group.length - group.repetitions as f64 * usual;
        if !excess.is_finite() || group.interrupts == 0 {
            return;
        }
        self.repetitions += group.repetitions;
        self.interrupts += group.interrupts;
        let one = Block { groups: 1, excess, interrupts: group.interrupts as f64 };
        match self.blocks.last_mut().filter(|block| block.groups < self.block_groups) {
            Some(block) => block.add(&one),
            None => self.blocks.push(one),
        }
        if self.blocks.len() == 2 * BLOCKS {
            self.join();
        }
    }

    /// Merges pairs of blocks.
    fn join(&mut self) {
        self.block_groups *= 2;
        let joined = self.blocks.chunks(2).map(|pair| {
            let mut sum = Block::default();
            pair.iter().for_each(|block| sum.add(block));
            sum
        });
        self.blocks = joined.collect();
    }
}

impl Block {
    fn add(&mut self, other: &Self) {
        self.groups += other.groups;
        self.excess += other.excess;
        self.interrupts += other.interrupts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;

    /// Returns reproducible pseudo-random numbers from 0 to 1.
    struct Chance(u64);

    impl Chance {
        fn next(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// 1,000 repetitions of 100 µs with an exponential tail, every tenth with an interrupt of 1 µs. A busy
    /// neighbour lengthens stretches of about 200 of them by a fifth.
    fn alone(seed: u64) -> Cost {
        let (mut alone, mut chance, mut busy) = (Alone::default(), Chance(seed), false);
        for index in 0..1_000 {
            busy ^= chance.next() < 0.005;
            let tail = -300.0 * chance.next().max(1e-9).ln();
            let interrupts = u64::from(index % 10 == 3);
            let length = if busy { 120_000 } else { 100_000 } + tail as u64 + 1_000 * interrupts;
            let touched = interrupts > 0;
            alone.add(&Repetition { index, length, interrupts, touched, alone: true });
        }
        alone.cost(&clock_ns()).expect("enough")
    }

    #[test]
    fn the_interval_covers_the_true_cost() {
        let runs = 400;
        let covers = |seed| {
            let interval = alone(seed).interval.expect("enough");
            interval.low <= 1_000.0 && 1_000.0 <= interval.high
        };
        let covered = (1..=runs).filter(|&seed| covers(seed)).count();
        let share = covered as f64 / runs as f64;
        assert!((0.92..=0.99).contains(&share), "covers {share} of the time");
    }

    #[test]
    fn the_smallest_effect_lies_outside_an_interval_around_0() {
        for degrees in [1, 3, 10, 1_000] {
            let cost = Cost::new(0.0, Some((100.0, degrees)), (100, 100, 100), &clock_ns());
            let (interval, effect) = cost.interval.zip(cost.smallest_effect_ns).expect("enough");
            assert!(effect > interval.high, "{degrees} degrees: {effect} ns, {interval:?}");
        }
    }

    #[test]
    fn groups_and_their_neighbours() {
        // Length, interrupts, touched, alone; what one costs, and of how many.
        type Row = (u64, u64, bool, bool);
        type Expected = Option<(f64, u64)>;
        const CLEAN: Row = (100, 0, false, true);
        const OTHER: Row = (500, 0, false, false);
        let hit: Row = (110, 1, true, true);
        let cases: [(&str, Vec<Row>, Expected); 10] = [
            ("one", vec![CLEAN, hit, CLEAN], Some((10.0, 1))),
            ("none before", vec![hit, CLEAN], None),
            ("none after", vec![CLEAN, hit], None),
            (
                "a trend",
                vec![(100, 0, false, true), (125, 1, true, true), (120, 0, false, true)],
                Some((15.0, 1)),
            ),
            ("something else beside", vec![CLEAN, OTHER, hit, OTHER, CLEAN], Some((10.0, 1))),
            ("something else in it", vec![CLEAN, (510, 1, true, false), CLEAN], None),
            (
                "over an edge",
                vec![CLEAN, (104, 0, true, true), (106, 1, true, true), CLEAN],
                Some((10.0, 1)),
            ),
            (
                "half of it hit by something else",
                vec![CLEAN, (104, 0, true, true), (506, 1, true, false), CLEAN],
                None,
            ),
            ("two in one", vec![CLEAN, (120, 2, true, true), CLEAN], Some((10.0, 2))),
            ("felt, but it came in none", vec![CLEAN, (104, 0, true, true), CLEAN], None),
        ];
        for (name, rows, expected) in cases {
            let mut sums = Alone::default();
            for (index, (length, interrupts, touched, alone)) in (0..).zip(rows) {
                sums.add(&Repetition { index, length, interrupts, touched, alone });
            }
            let found = sums.cost(&clock_ns()).map(|cost| (cost.per_interrupt_ns, cost.interrupts));
            assert_eq!(found, expected, "case: {name}");
        }
    }

    #[test]
    fn far_ones_and_those_beyond_a_hole_are_no_neighbours() {
        let cost = |far: u64, hole: u64| {
            let mut sums = Alone::default();
            let row = |index, touched, alone| Repetition {
                index,
                length: if touched { 110 } else { 100 },
                interrupts: u64::from(touched),
                touched,
                alone,
            };
            sums.add(&row(0, false, true));
            (1..far).for_each(|index| sums.add(&row(index, false, false)));
            sums.add(&row(far, true, true));
            sums.add(&row(far + 1 + hole, false, true));
            sums.cost(&clock_ns()).is_some()
        };
        assert!(cost(NEAR, 0) && !cost(NEAR + 1, 0) && !cost(5, 1));
    }

    #[test]
    fn blocks_join_and_lose_nothing() {
        let mut sums = Sums::default();
        let group = Group {
            end: 0,
            length: 110.0,
            repetitions: 1,
            interrupts: 1,
            alone: true,
            before: 100.0,
            after: 100.0,
            neighbours_after: 1,
        };
        (0..1_000).for_each(|_| sums.add(&group));
        assert!((BLOCKS..2 * BLOCKS).contains(&sums.blocks.len()), "{}", sums.blocks.len());
        assert_eq!(sums.blocks.iter().map(|block| block.groups).sum::<u64>(), 1_000);
        assert_eq!(sums.blocks.iter().map(|block| block.excess).sum::<f64>(), 10_000.0);
    }

    #[test]
    fn all_of_them() {
        let mut all = All::default();
        for index in 0..40 {
            let interrupts = [0, 2, 0, 1][index as usize % 4];
            let length = 100 + 10 * interrupts + index % 3;
            all.add(&Repetition {
                index,
                length,
                interrupts,
                touched: interrupts > 0,
                alone: false,
            });
        }
        let cost = all.cost(&clock_ns()).expect("both kinds");
        assert!((cost.per_interrupt_ns - 10.0).abs() < 0.1 && cost.differs, "{cost:?}");
        assert_eq!((cost.interrupts, cost.with, cost.without), (30, 20, 20));
        assert!(All::default().cost(&clock_ns()).is_none());
    }
}
