//! Counts of values in bounded memory, with the finest resolution where most values are.

/// Largest number of distinct values.
const MOST_CELLS: usize = 1 << 15;
/// Number of values that are collected before they are sorted in.
const BUFFER: usize = 1 << 14;
/// A value shared by a larger part of all samples stays exact anywhere.
const HEAVY_PART: u64 = (MOST_CELLS / 8) as u64;
/// Number of smallest and of largest values that stay exact.
const EXTREMES: usize = 64;
/// Initial width of cells: 2^-10 of their distance from the median.
const FINEST: u32 = 10;

/// Equal values, or values that were rounded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The value, or the middle of the cell.
    pub value: u64,
    /// Number of samples in the cell.
    pub count: u64,
    /// The cell covers 2^shift values; 0 if the value is exact.
    shift: u32,
}

impl Cell {
    /// Returns whether the value is exact.
    #[must_use]
    pub(crate) fn is_exact(&self) -> bool {
        self.shift == 0
    }

    fn key(&self) -> (u64, bool) {
        (self.value, self.shift > 0)
    }

    /// Returns the middle of the cell of 2^shift values that contains it; unchanged if its cell is already as wide.
    fn rounded(self, shift: u32) -> Self {
        if shift <= self.shift {
            return self;
        }
        // Cells are aligned, so that a wider one holds narrower ones wholly: a value that is rounded
        // again and again stays within the widest cell that it was ever in.
        Self { value: self.value >> shift << shift | 1 << (shift - 1), shift, ..self }
    }
}

/// Counts of values.
///
/// Every distinct value has its own count as long as there are at most [`MOST_CELLS`]. Beyond that, values are
/// rounded into cells that grow with their distance from the median: 2^-10 of it, or more where that is not
/// enough. So a main body of 1 ms ± 1 µs keeps each counter step, while a tail of 10 ms is known to 9 µs.
/// A histogram with relative cells would need 10^5 cells an octave for the same main body; one with fixed cells
/// around the first values seen would lose it when the core's frequency changes. Values that hold over a 4096th
/// of all samples stay exact wherever they are, so that a second peak does not dissolve; and so do the
/// smallest and the largest ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cells {
    /// Values that are not sorted in yet.
    buffer: Vec<u64>,
    /// Cells by value.
    cells: Vec<Cell>,
    /// Width of cells: at most 2^-digits of their distance from the median; absent while all are exact.
    digits: Option<u32>,
}

impl Cells {
    /// Adds values.
    pub fn add(&mut self, mut values: &[u64]) {
        while !values.is_empty() {
            let (now, later) = values.split_at(values.len().min(BUFFER - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            values = later;
            if self.buffer.len() == BUFFER {
                self.settle();
            }
        }
    }

    /// Adds all values of `other`; the same as adding its values, while all are exact.
    pub fn merge(&mut self, other: &mut Self) {
        other.settle();
        self.settle();
        self.digits = [self.digits, other.digits].into_iter().flatten().min();
        self.insert(&other.cells);
    }

    /// Returns the counts by value.
    pub fn cells(&mut self) -> &[Cell] {
        self.settle();
        &self.cells
    }

    /// Returns the largest rounding of values as a share of their distance from the median; 0 if all are exact.
    #[must_use]
    pub fn rounding(&self) -> f64 {
        self.digits.map_or(0.0, |digits| 0.5 / f64::from(1_u32 << digits))
    }

    /// Removes all values but keeps the memory.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.cells.clear();
        self.digits = None;
    }

    fn settle(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        self.buffer.sort_unstable();
        let equal = self.buffer.chunk_by(|a, b| a == b);
        let fresh: Vec<Cell> = equal
            .map(|equal| Cell { value: equal[0], count: equal.len() as u64, shift: 0 })
            .collect();
        self.buffer.clear();
        self.insert(&fresh);
    }

    fn insert(&mut self, fresh: &[Cell]) {
        self.cells.extend_from_slice(fresh);
        // The sort finds the two runs: it only merges them.
        self.cells.sort_by_key(Cell::key);
        unite(&mut self.cells);
        if self.cells.len() > MOST_CELLS {
            self.coarsen();
        }
    }

    /// Rounds until half of the cells are free.
    fn coarsen(&mut self) {
        let samples: u64 = self.cells.iter().map(|cell| cell.count).sum();
        let median = value_at(&self.cells, samples.div_ceil(2));
        let inner = EXTREMES..self.cells.len() - EXTREMES;
        let round = |(place, cell): (usize, &Cell), digits: u32| {
            let distance = cell.value.abs_diff(median).max(1);
            let heavy = cell.is_exact() && cell.count > samples / HEAVY_PART;
            let rounds = inner.contains(&place) && !heavy;
            if rounds { cell.rounded(distance.ilog2().saturating_sub(digits)) } else { *cell }
        };
        for digits in (0..=self.digits.unwrap_or(FINEST)).rev() {
            // At most 4096 values are heavy and 128 extreme, and with 0 digits there are two cells an octave: this
            // ends.
            let placed = self.cells.iter().enumerate();
            let mut cells: Vec<Cell> = placed.map(|placed| round(placed, digits)).collect();
            cells.sort_by_key(Cell::key);
            unite(&mut cells);
            if cells.len() <= MOST_CELLS / 2 || digits == 0 {
                (self.digits, self.cells) = (Some(digits), cells);
                return;
            }
        }
    }
}

/// Merges neighbours with the same value; an exact value and a rounded one stay separate.
fn unite(cells: &mut Vec<Cell>) {
    cells.dedup_by(|next, kept| {
        let same = next.key() == kept.key();
        if same {
            kept.count = kept.count.saturating_add(next.count);
            kept.shift = kept.shift.max(next.shift);
        }
        same
    });
}

/// Returns the smallest value that at least `rank` samples do not exceed; the largest if there are fewer.
#[must_use]
pub(crate) fn value_at(cells: &[Cell], rank: u64) -> u64 {
    let mut below = 0_u64;
    let reaches = |cell: &&Cell| {
        below = below.saturating_add(cell.count);
        below >= rank
    };
    cells.iter().find(reaches).or(cells.last()).map_or(0, |cell| cell.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;
    use std::collections::BTreeMap;

    fn cells_of(values: &[u64]) -> Cells {
        let mut cells = Cells::default();
        values.chunks(10_007).for_each(|values| cells.add(values));
        cells
    }

    fn counts(cells: &mut Cells) -> Vec<(u64, u64)> {
        cells.cells().iter().map(|cell| (cell.value, cell.count)).collect()
    }

    #[test]
    fn every_value_is_kept_as_long_as_they_are_few() {
        let most = MOST_CELLS as u64;
        let cases: [(&str, Vec<u64>); 5] = [
            ("none", vec![]),
            ("one", vec![7]),
            ("both ends", vec![u64::MAX, 0, u64::MAX]),
            ("many of few", (0..100_000).map(|i| i * 7_919 % 13 * 26).collect()),
            ("just few enough", (0..3 * most).map(|i| i % most).collect()),
        ];
        for (name, values) in cases {
            let mut expected = BTreeMap::<u64, u64>::new();
            values.iter().for_each(|&value| *expected.entry(value).or_default() += 1);
            let mut cells = cells_of(&values);
            assert_eq!(counts(&mut cells), Vec::from_iter(expected), "case: {name}");
            assert_eq!(cells.rounding(), 0.0, "case: {name}");
        }
    }

    /// A main body of sd 200 ticks around a middle that jumps up by a third early on, with a tail of a
    /// tenth of all values up to forty times as long.
    fn shifting(random: &mut Pcg64Mcg, index: u64) -> u64 {
        let middle = if index < 100_000 { 2_000_000 } else { 2_600_000 };
        let body = (0..12).map(|_| random.random_range(0..200)).sum::<u64>();
        let tail = random.random_range(0..10) == 0;
        middle + body + if tail { random.random_range(0_u64..10_000).pow(2) } else { 0 }
    }

    #[test]
    fn memory_is_bounded_and_the_main_body_stays_sharp() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut values: Vec<u64> = (0..1_000_000).map(|i| shifting(&mut random, i)).collect();
        let mut cells = cells_of(&values);
        values.sort_unstable();
        let rounding = cells.rounding();
        assert!(0.0 < rounding && rounding <= 1e-3, "{rounding}");
        let cells = cells.cells();
        assert!(cells.len() <= MOST_CELLS, "{} cells", cells.len());
        assert_eq!(cells.iter().map(|cell| cell.count).sum::<u64>(), 1_000_000);
        let ends = cells.first().zip(cells.last()).map(|(a, b)| (a.value, b.value));
        assert_eq!(ends, Some((values[0], values[999_999])), "extremes stay exact");
        let median = values[499_999];
        for rank in [300_000, 500_000, 700_000, 900_000, 950_000, 990_000, 999_000, 1_000_000] {
            let (got, exact) = (value_at(cells, rank), values[rank as usize - 1]);
            let allowed = rounding * exact.abs_diff(median) as f64;
            assert!(got.abs_diff(exact) as f64 <= allowed, "rank {rank}: {got}, not {exact}");
            let main_body = rank <= 700_000;
            assert!(!main_body || got.abs_diff(exact) as f64 <= 1e-5 * exact as f64, "rank {rank}");
        }
    }

    #[test]
    fn a_second_peak_does_not_dissolve() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let peak = 5_000_011;
        let value = |random: &mut Pcg64Mcg, i: u64| match i % 3 {
            0 => peak,
            _ => random.random_range(1_000_000..2_000_000),
        };
        let values: Vec<u64> = (0..300_000).map(|i| value(&mut random, i)).collect();
        let mut cells = cells_of(&values);
        let found = cells.cells().iter().find(|cell| cell.value == peak).expect("it is there");
        assert!(found.is_exact());
        assert_eq!(found.count, 100_000);
    }

    #[test]
    fn any_range_ends_in_a_bounded_number_of_cells() {
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let value = |random: &mut Pcg64Mcg| random.random::<u64>() >> random.random_range(0..64);
        let values: Vec<u64> = (0..500_000).map(|_| value(&mut random)).collect();
        let mut cells = cells_of(&values);
        assert!(cells.cells().len() <= MOST_CELLS);
        assert_eq!(cells.cells().iter().map(|cell| cell.count).sum::<u64>(), 500_000);
    }

    proptest! {
        #[test]
        fn merging_is_adding(
            a in prop::collection::vec(0u64..2_000, 0..300),
            b in prop::collection::vec(0u64..2_000, 0..300),
        ) {
            let mut merged = cells_of(&a);
            merged.merge(&mut cells_of(&b));
            prop_assert_eq!(counts(&mut merged), counts(&mut cells_of(&[a, b].concat())));
        }
    }
}
