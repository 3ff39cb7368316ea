//! The distribution in blocks of consecutive samples, from which intervals of quantiles are computed.

use crate::samples::cells::{Cell, Cells};
use crate::stats::Spread;

/// Largest number of blocks of a series.
pub(crate) const MOST_BLOCKS: u64 = 100;
/// Resolution of a stored block: at the median a share is known to 1/64 of the block, in the tails to the sample, and
/// interpolated in between.
const RESOLUTION: f64 = 64.0;

/// Divides values into blocks of equal number and stores the distribution of each.
#[derive(Debug)]
pub(crate) struct BlockShares {
    /// Number of values in a block.
    length: u64,
    /// The current block.
    open: Cells,
    filled: u64,
    /// All completed blocks together.
    all: Cells,
    blocks: Vec<Thinned>,
}

impl BlockShares {
    /// Returns an empty collection for blocks of `length` values (at least 1).
    pub(crate) fn new(length: u64) -> Self {
        let (open, all) = (Cells::default(), Cells::default());
        Self { length: length.max(1), open, filled: 0, all, blocks: vec![] }
    }

    /// Adds the next values.
    pub(crate) fn add(&mut self, mut values: &[u64]) {
        while !values.is_empty() {
            let space = usize::try_from(self.length - self.filled).unwrap_or(usize::MAX);
            let (now, later) = values.split_at(values.len().min(space));
            self.open.add(now);
            self.filled += now.len() as u64;
            values = later;
            if self.filled == self.length {
                self.close();
                // More than was promised: all that follows would be one more block without end.
                if self.blocks.len() as u64 >= 2 * MOST_BLOCKS {
                    self.length = u64::MAX;
                }
            }
        }
    }

    fn close(&mut self) {
        self.blocks.push(Thinned::new(self.open.cells(), RESOLUTION));
        self.all.merge(&mut self.open);
        self.open.clear();
        self.filled = 0;
    }

    /// Returns all values, and the completed blocks.
    pub(crate) fn finish(mut self) -> (Cells, Blocks) {
        self.all.merge(&mut self.open);
        (self.all, Blocks { length: self.length, blocks: self.blocks })
    }
}

/// The completed blocks of a series.
#[derive(Debug)]
pub(crate) struct Blocks {
    length: u64,
    blocks: Vec<Thinned>,
}

impl Blocks {
    /// Returns their number.
    pub(crate) fn count(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Returns the number of values of each.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the spread of the share of values up to `value` over the blocks; absent for fewer than two.
    pub(crate) fn spread(&self, value: u64) -> Option<Spread> {
        let shares = self.blocks.iter().map(|block| block.share_up_to(value));
        Spread::from_blocks(&shares.collect::<Vec<f64>>())
    }
}

/// A distribution with as few values as drawing it needs.
#[derive(Debug)]
pub(crate) struct Thinned {
    points: Vec<ThinPoint>,
}

/// A stored value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThinPoint {
    /// The value.
    pub value: u64,
    /// Number of samples up to and including it.
    pub up_to: u64,
    /// Whether samples between the previous point and this one were omitted.
    skipped: bool,
}

impl Thinned {
    /// Stores values so that at most 4 F (1 - F) / `resolution` of all samples lie between two of them: finely in the
    /// tails, where relative accuracy matters (as in the t-digest, Dunning 2019). A value that alone has more is stored
    /// with the one before it, so steps stay steps.
    pub(crate) fn new(cells: &[Cell], resolution: f64) -> Self {
        let samples: u64 = cells.iter().map(|cell| cell.count).sum();
        let allowed = |up_to: u64| {
            let share = up_to as f64 / samples as f64;
            4.0 * share * (1.0 - share) / resolution * samples as f64
        };
        let mut points: Vec<ThinPoint> = vec![];
        let mut pending: Option<ThinPoint> = None;
        let (mut up_to, mut last) = (0, 0);
        for cell in cells {
            up_to += cell.count;
            let mut point = ThinPoint { value: cell.value, up_to, skipped: pending.is_some() };
            if (up_to - last) as f64 > allowed(last)
                && let Some(before) = pending.take()
            {
                points.push(before);
                (last, point.skipped) = (before.up_to, false);
            }
            if (up_to - last) as f64 > allowed(last) {
                points.push(point);
                last = up_to;
            } else {
                pending = Some(point);
            }
        }
        points.extend(pending);
        Self { points }
    }

    /// Returns the stored values in rising order.
    pub(crate) fn points(&self) -> &[ThinPoint] {
        &self.points
    }

    /// Returns the share of the samples that do not exceed `value`.
    pub(crate) fn share_up_to(&self, value: u64) -> f64 {
        let after = self.points.partition_point(|point| point.value <= value);
        let Some(all) = self.points.last() else { return 0.0 };
        let Some(before) = after.checked_sub(1).map(|before| self.points[before]) else {
            return 0.0;
        };
        let mut up_to = before.up_to as f64;
        if let Some(next) = self.points.get(after).filter(|next| next.skipped) {
            let part = (value - before.value) as f64 / (next.value - before.value) as f64;
            up_to += part * (next.up_to - before.up_to) as f64;
        }
        up_to / all.up_to as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(values: &[u64]) -> Cells {
        let mut cells = Cells::default();
        cells.add(values);
        cells
    }

    #[test]
    fn a_thinned_distribution_has_its_shares_and_its_steps() {
        let smooth: Vec<u64> = (0..10_000_u64).map(|i| i * i / 1_000).collect();
        let coarse: Vec<u64> = (0..10_000_u64).map(|i| i * i * i % 1_000 / 40 * 26).collect();
        let steps: Vec<u64> = (0..10_000_u64).map(|i| if i % 5 < 3 { 1_000 } else { i }).collect();
        // (name, values, how far a share may be off in the middle; at the ends by a 50th of it, a sample)
        let cases: [(&str, Vec<u64>, f64); 6] = [
            ("smooth", smooth, 0.005),
            ("steps of a counter", coarse, 0.0),
            ("one large step in a smooth one", steps, 0.01),
            ("one", vec![5], 0.0),
            ("two", vec![5, 5, 9], 0.0),
            ("all equal", vec![5; 1_000], 0.0),
        ];
        for (name, mut values, allowed) in cases {
            let thinned = Thinned::new(cells(&values).cells(), RESOLUTION);
            values.sort_unstable();
            assert!(thinned.points().len() < 500, "case: {name}: {}", thinned.points().len());
            for value in values.iter().flat_map(|&v| [v.saturating_sub(1), v, v + 1]) {
                let (got, exact) = (thinned.share_up_to(value), share(&values, value));
                let allowed = allowed * (4.0 * exact * (1.0 - exact) + 0.02) + 1e-12;
                assert!(
                    (got - exact).abs() <= allowed,
                    "case: {name}: {value}: {got}, not {exact}"
                );
            }
        }
        assert_eq!(Thinned::new(&[], RESOLUTION).share_up_to(3), 0.0);
    }

    /// Share of sorted values up to `value`, as it is defined.
    fn share(values: &[u64], value: u64) -> f64 {
        values.partition_point(|&v| v <= value) as f64 / values.len() as f64
    }

    #[test]
    fn the_standard_error_is_that_of_the_blocks() {
        // Blocks of four in which 0, 2 and 4 values are up to 10: shares 0, 0.5 and 1.
        let values = [11, 12, 13, 14, 9, 10, 11, 11, 1, 2, 3, 4, 99];
        let mut shares = BlockShares::new(4);
        values.chunks(5).for_each(|values| shares.add(values));
        let (mut all, blocks) = shares.finish();
        assert_eq!((blocks.count(), blocks.length()), (3, 4), "the last is not complete");
        assert_eq!(all.cells().iter().map(|cell| cell.count).sum::<u64>(), 13);
        let error = |value| blocks.spread(value).expect("three blocks").standard_error;
        assert!(error(10) >= 0.5 / 3_f64.sqrt(), "rising: {}", error(10));
        assert_eq!(error(100), 0.0);
    }

    #[test]
    fn more_values_than_promised_make_a_bounded_number_of_blocks() {
        let mut shares = BlockShares::new(0);
        shares.add(&[3; 10_000]);
        let (mut all, blocks) = shares.finish();
        assert_eq!(blocks.count(), 2 * MOST_BLOCKS);
        assert_eq!(all.cells()[0].count, 10_000);
    }
}
