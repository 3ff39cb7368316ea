//! Whether what a member lost more than its class stands on events, and not on one of them.
//!
//! The unit is a block of the run, in which several detours count as one event. If all members have the same rate of
//! events over a level, each of these events falls on any member with the same probability, so the share of one member
//! in the events of all is binomial, whatever their number and their lengths (the conditional test of Poisson rates,
//! Przyborowski & Wilenski 1940).

use super::Looked;
use crate::stats::probability_of_more;

/// Number of levels, of which the highest is half of the largest event.
const LEVELS: usize = 24;
/// Ratio of a level to the next lower one.
const STEP: f64 = 2.0;
/// The events of a member are those over the lowest level at which they make up this share of what it lost more, each
/// counted as the level: what happens on all members alike does not dilute them.
const CARRIED: f64 = 0.0625;
/// Fewest separate times at which events must occur, if they do not fill half of the run: one disturbance that lasts for
/// several blocks is one event.
const FEWEST_TIMES: usize = 4;

/// What each member of a class lost over the median, in blocks.
pub(super) struct Events {
    /// Levels in ns, the highest first.
    levels: [f64; LEVELS],
    /// Number of blocks of all members over each level.
    counts: [u64; LEVELS],
    /// Measured time of all members.
    wall_ns: f64,
}

impl Events {
    /// Counts the blocks of all members in which more was lost than the median noise of the class.
    pub(super) fn count(members: &[&Looked<'_>], median: f64) -> Self {
        let excesses = || members.iter().flat_map(|member| excesses(member, median));
        let largest = excesses().fold(0.0, f64::max);
        let levels = std::array::from_fn(|level| {
            largest / 2.0 / STEP.powi(i32::try_from(level).unwrap_or(0))
        });
        let mut counts = [0; LEVELS];
        for excess in excesses().filter(|excess| *excess > levels[LEVELS - 1]) {
            let over = counts.iter_mut().zip(levels).rev();
            over.take_while(|(_, level)| excess > *level).for_each(|(count, _)| *count += 1);
        }
        Self { levels, counts, wall_ns: members.iter().map(|member| member.wall_ns).sum() }
    }

    /// Returns the probability that this member has its number of events or more, its largest left out, if all have the same rate.
    pub(super) fn probability(&self, member: &Looked<'_>, median: f64) -> f64 {
        let blocks: Vec<f64> = excesses(member, median).collect();
        let more: f64 = blocks.iter().filter(|excess| **excess > 0.0).sum();
        let rest = more - largest(&blocks);
        let lowest = self.levels.iter().zip(self.counts).rev().find_map(|(&level, all)| {
            let over = blocks.iter().filter(|excess| **excess > level).count();
            let here = over.saturating_sub(1) as f64;
            let carries = here > 0.0 && here * level >= CARRIED * rest;
            (carries && often(&blocks, level, over)).then_some((here, all))
        });
        lowest.map_or(1.0, |(here, all)| self.chance(member, here, all))
    }

    /// Returns the same for its steady noise alone: the events are those over the highest level at which they fill half
    /// of the run, whatever its stalls took beside them.
    pub(super) fn probability_of_steady(&self, member: &Looked<'_>, median: f64) -> f64 {
        let blocks: Vec<f64> = excesses(member, median).collect();
        let highest = self.levels.iter().zip(self.counts).find_map(|(&level, all)| {
            let over = blocks.iter().filter(|excess| **excess > level).count();
            fill_half(&blocks, over).then_some((over.saturating_sub(1) as f64, all))
        });
        highest.map_or(1.0, |(here, all)| self.chance(member, here, all))
    }

    /// Returns the probability that `here` or more of `all` events fall on this member. `here` leaves out its largest.
    fn chance(&self, member: &Looked<'_>, here: f64, all: u64) -> f64 {
        probability_of_more(here, all.saturating_sub(1) as f64, member.wall_ns / self.wall_ns)
    }
}

/// Returns the noise of a member without its largest event over the median.
pub(super) fn without_largest(member: &Looked<'_>, median: f64) -> f64 {
    let blocks: Vec<f64> = excesses(member, median).collect();
    member.noise - largest(&blocks) / member.wall_ns
}

/// Returns the noise of a member in the median of its blocks, to which stalls add nothing; at most the noise without its
/// largest event.
pub(super) fn steady(member: &Looked<'_>, median: f64) -> f64 {
    let usual = crate::stats::median(&mut member.blocks.clone());
    let noise = usual * member.blocks.len() as f64 / member.wall_ns;
    noise.min(without_largest(member, median))
}

/// Returns what was lost in each block over the median noise of the class, in ns; below 0 where less was lost.
fn excesses(member: &Looked<'_>, median: f64) -> impl Iterator<Item = f64> {
    let usual = median * member.wall_ns / member.blocks.len() as f64;
    member.blocks.iter().map(move |lost| lost - usual)
}

fn largest(blocks: &[f64]) -> f64 {
    blocks.iter().copied().fold(0.0, f64::max)
}

/// Returns whether the blocks over a level come at several separate times or fill half of the run. `over` is their
/// number.
fn often(blocks: &[f64], level: f64, over: usize) -> bool {
    let mut before = false;
    let begins = |&excess: &f64| {
        let begins = excess > level && !before;
        before = excess > level;
        begins
    };
    let times = blocks.iter().copied().filter(begins).count();
    times >= FEWEST_TIMES || fill_half(blocks, over)
}

/// Returns whether `over` of these blocks are half of the run.
fn fill_half(blocks: &[f64], over: usize) -> bool {
    over > 0 && 2 * over >= blocks.len()
}
