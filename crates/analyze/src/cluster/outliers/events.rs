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
        for excess in excesses() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    fn member(wall_ns: f64, blocks: &[f64]) -> Looked<'static> {
        let noise = blocks.iter().sum::<f64>() / wall_ns;
        Looked { class: "class", noise, low: 0.0, least: 1e-9, wall_ns, blocks: blocks.to_vec() }
    }

    /// Returns the probability of `found` or more of `all`, as the sum of its terms.
    fn binomial(found: usize, all: usize, share: f64) -> f64 {
        let term = |number: usize| {
            let ways: f64 =
                (0..number).map(|at| (all - at) as f64 / (number - at) as f64).product();
            let (number, rest) = (number as i32, (all - number) as i32);
            ways * share.powi(number) * (1.0 - share).powi(rest)
        };
        (found..=all).map(term).sum()
    }

    /// Returns what each block lost over the median.
    fn over_median(member: &Looked<'_>, median: f64) -> Vec<f64> {
        let usual = median * member.wall_ns / member.blocks.len() as f64;
        member.blocks.iter().map(|lost| lost - usual).collect()
    }

    /// Returns both probabilities of the first member, from the definitions.
    fn expected(members: &[Looked<'_>], median: f64) -> [f64; 2] {
        let excesses: Vec<Vec<f64>> =
            members.iter().map(|member| over_median(member, median)).collect();
        let largest = excesses.iter().flatten().copied().fold(0.0, f64::max);
        let own = &excesses[0];
        let own_largest = own.iter().copied().fold(0.0, f64::max);
        let more = own.iter().filter(|excess| **excess > 0.0).sum::<f64>() - own_largest;
        let share = members[0].wall_ns / members.iter().map(|member| member.wall_ns).sum::<f64>();
        let count = |blocks: &[f64], level: f64| blocks.iter().filter(|&&at| at > level).count();
        let chance = |level: f64| {
            let all: usize = excesses.iter().map(|blocks| count(blocks, level)).sum();
            let here = count(own, level) - 1;
            if here == 0 { 1.0 } else { binomial(here, all - 1, share) }
        };
        let levels: Vec<f64> = (1..=24).map(|power| largest / 2.0_f64.powi(power)).collect();
        let half = |level: f64| count(own, level) > 0 && 2 * count(own, level) >= own.len();
        let times = |level: f64| {
            let begins = |&at: &usize| own[at] > level && (at == 0 || own[at - 1] <= level);
            (0..own.len()).filter(begins).count()
        };
        let stands = |level: f64| {
            let here = count(own, level).saturating_sub(1) as f64;
            let carries = here > 0.0 && here * level >= more / 16.0;
            carries && (times(level) >= 4 || half(level))
        };
        let lowest = levels.iter().rev().find(|level| stands(**level));
        let highest = levels.iter().find(|level| half(**level));
        [lowest, highest].map(|level| level.map_or(1.0, |level| chance(*level)))
    }

    #[test]
    fn both_probabilities_are_those_of_their_definitions() {
        let mut random = Pcg64Mcg::seed_from_u64(12);
        let (mut decided, lengths) = ([0, 0], [0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 4.0, 64.0, 1_000.0]);
        for trial in 0..400 {
            let mut members = vec![];
            for at in 0..3 {
                // The first one has fewer zeros, so that it has something to judge.
                let from = if at == 0 { trial % 4 } else { 0 };
                let blocks: Vec<f64> =
                    (0..12).map(|_| lengths[random.random_range(from..lengths.len())]).collect();
                members.push(member(1e4 * f64::from(1 + at), &blocks));
            }
            let median = [0.0, 1e-3, members[1].noise][trial % 3];
            let events = Events::count(&members.iter().collect::<Vec<_>>(), median);
            let found = [
                events.probability(&members[0], median),
                events.probability_of_steady(&members[0], median),
            ];
            for (at, (found, expected)) in
                found.into_iter().zip(expected(&members, median)).enumerate()
            {
                decided[at] += u32::from(expected < 1.0);
                assert!((found / expected - 1.0).abs() < 1e-6, "{trial}: {found}, not {expected}");
            }
        }
        assert!(decided.iter().all(|decided| *decided > 100), "{decided:?}");
    }

    #[test]
    fn blocks_over_a_level_come_often_at_four_times_or_in_half_of_the_run() {
        let cases: [(&str, &[f64], bool); 7] = [
            ("none", &[0.0; 12], false),
            ("three times", &[5.0, 0.0, 5.0, 0.0, 5.0, 0.0, 0.0, 0.0], false),
            ("four times", &[5.0, 0.0, 5.0, 0.0, 5.0, 0.0, 5.0, 0.0, 0.0, 0.0], true),
            ("four times, at the level between", &[5., 4., 5., 4., 5., 4., 5., 4., 4., 4.], true),
            ("four times at the level", &[4.0, 0.0, 4.0, 0.0, 4.0, 0.0, 4.0, 0.0, 0.0], false),
            ("one time in half of the run", &[0.0, 0.0, 5.0, 5.0, 5.0, 0.0], true),
            ("one time in less than half", &[0.0, 0.0, 5.0, 5.0, 5.0, 0.0, 0.0], false),
        ];
        for (name, blocks, expected) in cases {
            let over = blocks.iter().filter(|block| **block > 4.0).count();
            assert_eq!(often(blocks, 4.0, over), expected, "case: {name}");
        }
    }

    #[test]
    fn noise_without_the_largest_event_and_without_stalls() {
        // Excesses over a median of 10 in a block: -10, 20, 0, 90. The median block of 20 would make it more.
        let stalled = member(4e4, &[0.0, 30.0, 10.0, 100.0]);
        assert!((without_largest(&stalled, 1e-3) - (140.0 - 90.0) / 4e4).abs() < 1e-15);
        assert_eq!(steady(&stalled, 1e-3), without_largest(&stalled, 1e-3));
        let below = member(4e4, &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(without_largest(&below, 1.0), below.noise, "no event over the median");
        let rare = member(8e4, &[0.0, 8.0, 8.0, 8.0, 8.0, 8.0, 90.0, 90.0]);
        assert!((steady(&rare, 1e-4) - 8.0 * 8.0 / 8e4).abs() < 1e-15, "{}", steady(&rare, 1e-4));
    }
}
