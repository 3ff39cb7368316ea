//! Where the mean of a series changes.

use super::{inflation, mean, successive, unbiased};
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Number of random orders of the blocks that a change is compared with.
const ORDERS: usize = 999;
/// Number of these in which the best split may be as good: with the series itself 1 % of all orders.
const AS_GOOD: usize = 9;
/// Fewest blocks that are split: fewer have too few different orders.
const FEWEST_BLOCKS: usize = 8;
/// How far twice the logarithm of the likelihood may fall from its largest value to the ends of a 95 % interval of the place
/// of a change: the solution of (1 - exp(-x/2))² = 0.95 (Siegmund 1988).
const INTERVAL: f64 = 7.352;
/// Number of borders from which none is sought any more.
const MOST: usize = 16;
/// Standard errors that are added to the correlation of successive blocks: a change that is none is the worse mistake.
const CAUTION: f64 = 0.5;
/// Sums in another order may differ by rounding.
const SAME: f64 = 1.0 - 1e-9;

/// A place at which the mean of a series changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChangePoint {
    /// The first value after the change.
    pub(crate) at: usize,
    /// The first and the last value of the 95 % interval of this place.
    pub(crate) low: usize,
    pub(crate) high: usize,
}

/// Finds where the mean of these values changes, in order.
///
/// Of all arcs of successive blocks of `block` values the one is taken whose mean differs most clearly from that of the rest
/// (circular binary segmentation, Olshen et al. 2004). It counts if at most 1 % of the orders into which the blocks can be
/// brought have one that is as clear; then the parts are divided in turn. Values within a block may depend on each other: a
/// series whose blocks are exchangeable has a change in at most 1 % of cases.
pub(crate) fn change_points(values: &[f64], block: usize) -> Vec<ChangePoint> {
    let block = block.max(1);
    let sums: Vec<f64> = values.chunks_exact(block).map(|block| block.iter().sum()).collect();
    let mut random = Pcg64Mcg::seed_from_u64(40);
    let borders = without_doubtful(borders(&sums, &mut random), &sums, &mut random);
    let inner = borders.windows(3).map(|at| {
        let last = at[2] == sums.len();
        let region = at[0] * block..if last { values.len() } else { at[2] * block };
        place(&values[region.clone()], at[1] * block - region.start, block, region.start)
    });
    let mut points: Vec<ChangePoint> = inner.collect();
    // Two places that were sought apart may meet.
    points.dedup_by(|later, earlier| later.at <= earlier.at);
    points
}

/// Returns the first block, the first block after each change, and the number of blocks.
fn borders(sums: &[f64], random: &mut Pcg64Mcg) -> Vec<usize> {
    let mut borders = vec![0, sums.len()];
    let mut left = vec![(0, sums.len())];
    while let Some((start, end)) = left.pop().filter(|_| borders.len() < MOST) {
        let Some((first, last)) = clear_arc(&sums[start..end], random) else { continue };
        let edges = [start, start + first, start + last, end];
        borders.extend(&edges[1..3]);
        left.extend(edges.windows(2).map(|edges| (edges[0], edges[1])));
    }
    borders.sort_unstable();
    borders.dedup();
    borders
}

/// Returns first and end of the arc that differs most, if hardly any order of these blocks has one as clear.
fn clear_arc(sums: &[f64], random: &mut Pcg64Mcg) -> Option<(usize, usize)> {
    if sums.len() < FEWEST_BLOCKS {
        return None;
    }
    let mut sums = centred(sums);
    let (arc, gain) = best_arc(&sums);
    let gain = gain / dependence(&sums, arc);
    let is_clear = gain > 0.0 && is_rare(&mut sums, random, |sums| best_arc(sums).1 >= gain * SAME);
    is_clear.then_some(arc)
}

/// Returns by how much the dependence of successive blocks around the means of an arc and of the rest makes both less certain.
fn dependence(sums: &[f64], (first, last): (usize, usize)) -> f64 {
    let inside = mean(&sums[first..last]).unwrap_or(0.0);
    let count = sums.len();
    let outside = -inside * (last - first) as f64 / (count - (last - first)).max(1) as f64;
    let level = |at: usize| if (first..last).contains(&at) { inside } else { outside };
    let around: Vec<f64> = sums.iter().enumerate().map(|(at, sum)| sum - level(at)).collect();
    let [products, squares] = successive(&around);
    if squares <= 0.0 {
        return 1.0;
    }
    let error = CAUTION / (count as f64).sqrt();
    inflation(unbiased(products / squares, count as f64) + error)
}

/// Returns whether hardly any order of these blocks is as good.
fn is_rare(sums: &mut [f64], random: &mut Pcg64Mcg, is_as_good: impl Fn(&[f64]) -> bool) -> bool {
    let mut as_good = 0;
    (0..ORDERS).all(|_| {
        sums.shuffle(random);
        as_good += usize::from(is_as_good(sums));
        as_good <= AS_GOOD
    })
}

/// Returns the arc by whose mean the squares of these values, whose mean is 0, become least, and by how much.
fn best_arc(centred: &[f64]) -> ((usize, usize), f64) {
    let count = centred.len();
    let mut best = ((0, 0), 0.0);
    for first in 0..count {
        let mut sum = 0.0;
        for (last, value) in (first + 1..).zip(&centred[first..]) {
            sum += value;
            let inside = last - first;
            let both = (inside * (count - inside)) as f64;
            let gain = if inside == count { 0.0 } else { sum * sum * count as f64 / both };
            if gain > best.1 {
                best = ((first, last), gain);
            }
        }
    }
    best
}

/// Leaves out the borders whose two sides differ no more than in 1 % of all orders, the most doubtful first: an arc has two
/// ends, of which only one may be a change.
fn without_doubtful(mut borders: Vec<usize>, sums: &[f64], random: &mut Pcg64Mcg) -> Vec<usize> {
    loop {
        let inner = 1..borders.len().saturating_sub(1);
        let gains = inner.map(|at| (at, border_gain(&borders[at - 1..=at + 1], sums)));
        let mut gains: Vec<(usize, f64)> = gains.collect();
        gains.sort_by(|one, other| one.1.total_cmp(&other.1));
        let mut doubtful =
            gains.iter().filter(|(at, _)| !is_clear(&borders[at - 1..=at + 1], sums, random));
        let Some(&(at, _)) = doubtful.next() else { return borders };
        borders.remove(at);
    }
}

/// Returns whether hardly any order of the blocks on both sides of the second of three borders has it as clear.
fn is_clear(borders: &[usize], sums: &[f64], random: &mut Pcg64Mcg) -> bool {
    let split = borders[1] - borders[0];
    let mut around = centred(&sums[borders[0]..borders[2]]);
    let gain = split_gain(&around, split);
    is_rare(&mut around, random, |sums| split_gain(sums, split) >= gain * SAME)
}

/// Returns the gain of the second of three borders, between the others.
fn border_gain(borders: &[usize], sums: &[f64]) -> f64 {
    split_gain(&sums[borders[0]..borders[2]], borders[1] - borders[0])
}

/// Returns by how much two means leave less of the squares than one.
fn split_gain(values: &[f64], before: usize) -> f64 {
    let sum: f64 = centred(values)[..before].iter().sum();
    let count = values.len();
    sum * sum * count as f64 / (before * (count - before)).max(1) as f64
}

/// Returns the place of a change near value `near` of these, which have no other, and its interval; the first of them has the
/// number `offset`.
fn place(values: &[f64], near: usize, block: usize, offset: usize) -> ChangePoint {
    let values = centred(values);
    let gains = gains(&values);
    let close = near.saturating_sub(block).max(1)..(near + block).min(values.len());
    let at = close.max_by(|one, other| gains[one - 1].total_cmp(&gains[other - 1])).unwrap_or(near);
    let variance = variance_around(&values, at, block);
    let is_near = |place: &usize| gains[at - 1] - gains[place - 1] <= INTERVAL * variance;
    let low = (1..at).find(is_near).unwrap_or(at);
    let high = (at..values.len()).rev().find(is_near).unwrap_or(at);
    ChangePoint { at: at + offset, low: low + offset, high: high + offset }
}

/// Returns by how much two means leave less of the squares than one, for each split, the first after the first value. The
/// values have a mean of 0.
fn gains(centred: &[f64]) -> Vec<f64> {
    let (count, mut sum) = (centred.len(), 0.0);
    let splits = (1..count).zip(centred);
    let gains = splits.map(|(before, value)| {
        sum += value;
        sum * sum * count as f64 / (before as f64 * (count - before) as f64)
    });
    gains.collect()
}

fn centred(values: &[f64]) -> Vec<f64> {
    let middle = mean(values).unwrap_or(0.0);
    values.iter().map(|value| value - middle).collect()
}

/// Returns the variance of a value around the mean of its side of the split before value `at`, as large as the spread of
/// blocks requires: where successive values agree, that of independent ones with the same error of the mean.
fn variance_around(values: &[f64], at: usize, block: usize) -> f64 {
    let (mut squares, mut block_squares) = (0.0, 0.0);
    let (mut count, mut blocks) = (0.0, 0.0);
    for side in [&values[..at], &values[at..]] {
        let side = centred(side);
        squares += side.iter().map(|value| value * value).sum::<f64>();
        count += side.len() as f64 - 1.0;
        let sums = side.chunks_exact(block).map(|part| part.iter().sum::<f64>());
        block_squares += sums.map(|sum| sum * sum / block as f64).sum::<f64>();
        blocks += (side.len() / block) as f64 - 1.0;
    }
    (squares / count.max(1.0)).max(block_squares / blocks.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    const COUNT: usize = 1_000;
    const BLOCK: usize = 20;

    /// A law of values without a change: the generator, and a state that successive values share.
    type Law = fn(&mut Random, &mut f64) -> f64;

    /// Independent and dependent, light and heavy, mostly nothing, and bursts.
    const CALM: [(&str, Law); 8] = [
        ("normal", |random, _| random.normal()),
        ("exponential", |random, _| -(1.0 - random.share()).ln()),
        ("Pareto 1.5", |random, _| (1.0 - random.share()).powf(-1.0 / 1.5)),
        ("one in a hundred", |random, _| f64::from(u8::from(random.share() < 0.01))),
        ("one in three hundred, Pareto 1.1", |random, _| match random.share() < 1.0 / 300.0 {
            true => (1.0 - random.share()).powf(-1.0 / 1.1),
            false => 0.0,
        }),
        ("correlated over five", |random, state| {
            *state = 0.8 * *state + 0.6 * random.normal();
            *state
        }),
        ("correlated over twenty", |random, state| {
            *state = 0.95 * *state + 0.312 * random.normal();
            *state
        }),
        ("bursts of five", |random, left| {
            *left = if random.share() < 0.01 { 5.0 } else { *left - 1.0 };
            f64::from(u8::from(*left > 0.0)) + 0.01 * random.normal()
        }),
    ];

    fn series(law: Law, random: &mut Random) -> Vec<f64> {
        let mut state = 0.0;
        (0..COUNT).map(|_| law(random, &mut state)).collect()
    }

    /// At most 1 % is claimed. Of 400 series 11 or more would be found with a probability of 0.3 %.
    #[test]
    fn calm_series_rarely_change() {
        let mut random = Random(7);
        for (name, law) in CALM {
            let found = (0..400)
                .filter(|_| !change_points(&series(law, &mut random), BLOCK).is_empty())
                .count();
            println!("{name}: {found} of 400");
            assert!(found <= 10, "{name}: {found} of 400");
        }
        assert_eq!(change_points(&[0.0; COUNT], BLOCK), []);
        assert_eq!(change_points(&[], BLOCK), []);
    }

    /// A change somewhere, by the standard deviation of a value, or by twice that where successive values agree: found, alone,
    /// and within its interval.
    #[test]
    fn a_change_is_found_within_its_interval() {
        for (law, size, least) in [(CALM[0], 1.0, 190), (CALM[5], 2.0, 165)] {
            let mut random = Random(8);
            let (mut covered, mut found, mut more, all) = (0, 0, 0, 200);
            for _ in 0..all {
                let at = 100 + (random.share() * 800.0) as usize;
                let mut values = series(law.1, &mut random);
                values[at..].iter_mut().for_each(|value| *value += size);
                let points = change_points(&values, BLOCK);
                found += usize::from(!points.is_empty());
                more += usize::from(points.len() > 1);
                covered += usize::from(points.iter().any(|it| (it.low..=it.high).contains(&at)));
            }
            println!("{}: {found} of {all}, {covered} covered, {more} more", law.0);
            assert!(found >= least && covered * 100 >= found * 93 && more <= 5, "{}", law.0);
        }
    }

    #[test]
    fn a_rise_and_a_fall_are_two() {
        let mut random = Random(10);
        let mut values = series(CALM[0].1, &mut random);
        values[400..600].iter_mut().for_each(|value| *value += 3.0);
        let found: Vec<usize> = change_points(&values, BLOCK).iter().map(|it| it.at).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].abs_diff(400) <= 2 && found[1].abs_diff(600) <= 2, "{found:?}");
    }

    /// Steps at random places, of all sizes: places are in order, each once, and inside the series.
    #[test]
    fn places_are_in_order() {
        let mut random = Random(11);
        for _ in 0..200 {
            let steps = 1 + (random.share() * 8.0) as usize;
            let mut values = series(CALM[0].1, &mut random);
            for _ in 0..steps {
                let (at, size) = ((random.share() * 1_000.0) as usize, 6.0 * random.normal());
                let to = (at + (random.share() * 60.0) as usize + 1).min(COUNT);
                values[at..to].iter_mut().for_each(|value| *value += size);
            }
            let found = change_points(&values, BLOCK);
            assert!(found.windows(2).all(|pair| pair[0].at < pair[1].at), "{found:?}");
            let is_inside = |it: &ChangePoint| it.low >= 1 && it.low <= it.at && it.at <= it.high;
            assert!(found.iter().all(|it| is_inside(it) && it.high < COUNT), "{found:?}");
        }
    }

    /// The gain of each split beside the sums of squares around one mean and around two.
    #[test]
    fn gains_are_differences_of_sums_of_squares() {
        let squares = |values: &[f64]| {
            let middle = mean(values).unwrap_or(0.0);
            values.iter().map(|value| (value - middle).powi(2)).sum::<f64>()
        };
        let values: [f64; 8] = [1.0, -3.0, 2.0, 0.5, -4.0, 1.5, 1.0, 1.0];
        let found = gains(&values);
        assert_eq!(found.len(), 7);
        for (split, gain) in (1..).zip(found) {
            let two = squares(&values[..split]) + squares(&values[split..]);
            assert!((gain - (squares(&values) - two)).abs() < 1e-12, "{split}: {gain}");
            assert!((split_gain(&values, split) - gain).abs() < 1e-12, "{split}: {gain}");
        }
    }
}
