//! Disturbed samples beside their nearest undisturbed neighbours.

use crate::stats::{Batches, Spread};
use std::collections::VecDeque;

/// Number of undisturbed samples on either side that a sample is compared with.
const SIDE: usize = 4;
/// Smallest number on either side.
const FEWEST: usize = 2;
/// Number of samples among which these are searched.
const NEAR: u64 = 64;

/// Compares samples with as many undisturbed ones before as after, so that slow changes of speed cancel: what comes
/// while the core is slow is compared with samples that are as slow.
#[derive(Debug)]
pub(crate) struct Neighbours<K> {
    /// Number of the next sample.
    next: u64,
    /// Number and length of the last undisturbed samples.
    before: VecDeque<(u64, u64)>,
    /// Samples that wait for neighbours after them, each with its number.
    waiting: VecDeque<(u64, Compared<K>)>,
    done: VecDeque<Compared<K>>,
}

/// A sample and its undisturbed neighbours, in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared<K> {
    /// What the caller knows of the sample.
    pub(crate) key: K,
    /// What remains of it after subtracting everything recorded.
    pub(crate) rest: u64,
    sides: [Side; 2],
}

#[derive(Debug, Clone, Copy, Default)]
struct Side {
    lengths: [u64; SIDE],
    count: usize,
}

impl<K> Default for Neighbours<K> {
    fn default() -> Self {
        Self { next: 0, before: VecDeque::new(), waiting: VecDeque::new(), done: VecDeque::new() }
    }
}

impl<K: Copy> Neighbours<K> {
    /// Adds an undisturbed sample. `follows` is whether it began when the previous one ended.
    pub(crate) fn add_undisturbed(&mut self, length: u64, follows: bool) {
        let index = self.advance(follows);
        for (_, waiting) in &mut self.waiting {
            waiting.sides[1].add(length);
        }
        if self.before.len() == SIDE {
            self.before.pop_front();
        }
        self.before.push_back((index, length));
        self.complete(index);
    }

    /// Adds a disturbed sample of which `rest` remain; one without a key is compared with nothing.
    pub(crate) fn add_disturbed(&mut self, rest: u64, key: Option<K>, follows: bool) {
        let index = self.advance(follows);
        if let Some(key) = key {
            let mut before = Side::default();
            let near = self.before.iter().filter(|(at, _)| index - at <= NEAR);
            near.for_each(|&(_, length)| before.add(length));
            self.waiting
                .push_back((index, Compared { key, rest, sides: [before, Side::default()] }));
        }
        self.complete(index);
    }

    /// Returns the next sample that has its neighbours, in the order of time.
    pub(crate) fn next(&mut self) -> Option<Compared<K>> {
        self.done.pop_front()
    }

    /// Samples after a hole are no neighbours of those before it.
    pub(crate) fn break_off(&mut self) {
        let waiting = self.waiting.drain(..).map(|(_, compared)| compared);
        self.done.extend(waiting.filter(Compared::has_enough));
        self.before.clear();
    }

    fn advance(&mut self, follows: bool) -> u64 {
        if !follows {
            self.break_off();
        }
        self.next += 1;
        self.next
    }

    fn complete(&mut self, index: u64) {
        let is_complete = |(at, compared): &mut (u64, Compared<K>)| {
            compared.sides[1].count == SIDE || index - *at >= NEAR
        };
        while let Some((_, compared)) = self.waiting.pop_front_if(is_complete) {
            self.done.extend(Some(compared).filter(Compared::has_enough));
        }
    }
}

impl<K> Compared<K> {
    fn has_enough(&self) -> bool {
        self.sides.iter().all(|side| side.count >= FEWEST)
    }

    /// Returns it without what only the caller knows.
    pub(crate) fn without_key(&self) -> Compared<()> {
        Compared { key: (), rest: self.rest, sides: self.sides }
    }

    /// Returns the lengths of its neighbours.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = u64> {
        self.sides.iter().flat_map(|side| side.lengths[..side.count].iter().copied())
    }

    /// Returns the mean m of its neighbours, both sides counting alike, and m times what the rest exceeds that which an
    /// undisturbed sample in its place would take.
    ///
    /// What comes at a random time meets a sample in proportion to its length. Of lengths with mean μ and variance σ²,
    /// those that it meets have the mean μ + σ²/μ (Feller 1971, I.4), which takes nothing to bring about. A few neighbours
    /// know that ratio badly: their s²/m lies far below it where few samples are much longer than all others. So nothing
    /// is divided by m here: m · rest has the mean μ² + σ², and m² the mean μ² + σ²/4 · (1/before + 1/after). σ² is that of
    /// the neighbours around the mean of their side, so that slow changes of speed are not part of it.
    fn weighted_excess(&self) -> (f64, f64) {
        let [before, after] = [0, 1].map(|at| self.sides[at].mean());
        let usual = f64::midpoint(before, after);
        let squares = self.sides[0].squares(before) + self.sides[1].squares(after);
        let [first, second] = [0, 1].map(|at| self.sides[at].count as f64);
        let variance = squares / (first + second - 2.0);
        let mean_variance = variance * (1.0 / first + 1.0 / second) / 4.0;
        (usual, usual * (self.rest as f64 - usual) - (variance - mean_variance))
    }
}

impl Side {
    fn add(&mut self, length: u64) {
        if self.count < SIDE {
            self.lengths[self.count] = length;
            self.count += 1;
        }
    }

    fn mean(&self) -> f64 {
        self.sum(|length| length) / self.count as f64
    }

    fn squares(&self, mean: f64) -> f64 {
        self.sum(|length| (length - mean) * (length - mean))
    }

    fn sum(&self, term: impl Fn(f64) -> f64) -> f64 {
        self.lengths[..self.count].iter().map(|&length| term(length as f64)).sum()
    }
}

/// The mean excess of samples over their neighbours, weighted by the means of these, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Excess {
    count: u64,
    /// Sums of the weights, and of excesses times weights.
    weights: f64,
    weighted: f64,
    /// What is added to the excesses.
    more: f64,
    /// Excesses by the mean weight until then, for the error of their mean.
    batches: Batches,
}

impl Excess {
    /// Adds the excess of a sample that has `more` ticks.
    pub(crate) fn add<K>(&mut self, compared: &Compared<K>, more: u64) {
        let (weight, weighted) = compared.weighted_excess();
        self.count += 1;
        self.weights += weight;
        self.weighted += weighted;
        self.more += more as f64;
        let usual = (self.weights / self.count as f64).max(1.0);
        self.batches.add(weighted / usual + more as f64);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean; absent without any.
    pub(crate) fn mean(&self) -> Option<f64> {
        let excess = self.weighted / self.weights.max(1.0);
        (self.count > 0).then(|| excess + self.more / self.count as f64)
    }

    /// Returns half of its 95 % interval; absent for fewer than two.
    pub(crate) fn reach(&self) -> Option<f64> {
        self.batches.spread().as_ref().map(Spread::reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays undisturbed samples of these lengths around a disturbed one with this rest.
    fn between(before: &[u64], rest: u64, after: &[u64]) -> Neighbours<()> {
        let mut near = Neighbours::default();
        before.iter().for_each(|&length| near.add_undisturbed(length, true));
        near.add_disturbed(rest, Some(()), true);
        after.iter().for_each(|&length| near.add_undisturbed(length, true));
        near
    }

    /// Neighbours of 10 and 14 before and of 20 and 24 after: their mean is 17, their variance 16 / 2 and that of the mean
    /// of both sides a quarter of 8 · (1/2 + 1/2), so a rest of 20 exceeds them by 17 · 3 - (8 - 2).
    #[test]
    fn an_excess_is_weighted_by_the_usual_length() {
        let mut near = between(&[10, 14], 20, &[20, 24]);
        near.break_off();
        let compared = near.next().expect("two on either side");
        assert_eq!(compared.weighted_excess(), (17.0, 45.0));
        // With three before the variance is 16 / 3 and that of the mean 16 / 3 · (1/3 + 1/2) / 4.
        let mut near = between(&[10, 12, 14], 20, &[20, 24]);
        near.break_off();
        let (usual, excess) = near.next().expect("two on either side").weighted_excess();
        assert!(
            usual == 17.0 && (excess - (51.0 - 16.0 / 3.0 + 10.0 / 9.0)).abs() < 1e-9,
            "{excess}"
        );
    }

    #[test]
    fn samples_beyond_a_hole_or_far_away_are_no_neighbours() {
        let mut hole = between(&[1, 2, 3, 4], 9, &[5, 6]);
        hole.add_undisturbed(100, false);
        let found = hole.next().map(|compared| compared.neighbours().collect());
        assert_eq!(found, Some(vec![1, 2, 3, 4, 5, 6]));
        for (others, expected) in [(NEAR - 4, 4), (NEAR - 1, 1), (NEAR, 0)] {
            let mut far = between(&[1, 2, 3, 4], 9, &[]);
            far.break_off();
            [1, 2, 3, 4].into_iter().for_each(|length| far.add_undisturbed(length, true));
            (0..others).for_each(|_| far.add_disturbed(9, None, true));
            far.add_disturbed(9, Some(()), true);
            let (_, compared) = &far.waiting[0];
            assert_eq!(compared.neighbours().count(), expected, "{others} other samples between");
        }
        // Nor are later ones, once as many have passed.
        let mut late = between(&[1, 2, 3, 4], 9, &[5]);
        (0..NEAR).for_each(|_| late.add_disturbed(9, None, true));
        assert_eq!((late.waiting.len(), late.done.len()), (0, 0));
    }
}
