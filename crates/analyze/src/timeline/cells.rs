//! Merges detours into cells, only as far as needed.

use super::Cell;
use super::durations::bin;
use std::collections::HashMap;

/// Initial number of columns of time.
const COLUMNS: u64 = 1 << 20;
/// With fewer columns than this, lengths are merged first.
const FEW_COLUMNS: u64 = 256;
/// Initial and smallest number of length bins per factor of ten.
const PER_DECADE: usize = 20;
const FEWEST_PER_DECADE: usize = 5;

/// Key of a cell: column of time, bin of length, source.
type Key = (u64, usize, u32);

/// The cells of one CPU.
#[derive(Debug)]
pub(super) struct Cells {
    most: usize,
    span_ns: u64,
    columns: u64,
    per_decade: usize,
    cells: HashMap<Key, Cell>,
}

impl Cells {
    /// Returns an empty collection of at most `most` cells over `span_ns`.
    pub(super) fn new(most: usize, span_ns: u64) -> Self {
        Self {
            most,
            span_ns: span_ns.max(1),
            columns: COLUMNS,
            per_decade: PER_DECADE,
            cells: HashMap::new(),
        }
    }

    /// Adds a detour.
    pub(super) fn add(&mut self, start_ns: u64, length_ns: u64, source: u32) {
        self.put(Cell { start_ns, length_ns, count: 1, source });
        while self.cells.len() > self.most && self.coarser() {}
    }

    fn put(&mut self, cell: Cell) {
        let column =
            u128::from(cell.start_ns) * u128::from(self.columns) / u128::from(self.span_ns);
        let column = u64::try_from(column).unwrap_or(u64::MAX).min(self.columns - 1);
        let key = (column, bin(cell.length_ns, self.per_decade), cell.source);
        self.cells
            .entry(key)
            .and_modify(|there| {
                let count = there.count.saturating_add(cell.count);
                let rank = |cell: &Cell| (std::cmp::Reverse(cell.length_ns), cell.start_ns);
                if rank(&cell) < rank(there) {
                    *there = cell;
                }
                there.count = count;
            })
            .or_insert(cell);
    }

    /// Doubles the size of cells; returns false if that is impossible.
    fn coarser(&mut self) -> bool {
        if self.columns <= FEW_COLUMNS && self.per_decade > FEWEST_PER_DECADE {
            self.per_decade /= 2;
        } else if self.columns > 1 {
            self.columns /= 2;
        } else {
            return false;
        }
        for cell in std::mem::take(&mut self.cells).into_values() {
            self.put(cell);
        }
        true
    }

    /// Returns the cells by time.
    pub(super) fn finish(self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = self.cells.into_values().collect();
        cells.sort_unstable_by_key(|cell| (cell.start_ns, cell.length_ns, cell.source));
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_longest_is_exact(
            detours in prop::collection::vec((0u64..1_000_000, 0u64..10_000_000, 0u32..3), 1..300),
            most in 1usize..50,
        ) {
            let mut cells = Cells::new(most, 1_000_000);
            detours.iter().for_each(|&(start, length, source)| cells.add(start, length, source));
            let cells = cells.finish();
            prop_assert!(cells.len() <= most.max(3 * 36), "{} cells", cells.len());
            let count: u64 = cells.iter().map(|cell| u64::from(cell.count)).sum();
            prop_assert_eq!(count, detours.len() as u64);
            for source in 0..3 {
                let own = detours.iter().filter(|detour| detour.2 == source);
                let longest = own.map(|&(start, length, _)| (length, std::cmp::Reverse(start))).max();
                let kept = cells.iter().filter(|cell| cell.source == source);
                let kept = kept.map(|cell| (cell.length_ns, std::cmp::Reverse(cell.start_ns))).max();
                prop_assert_eq!(kept, longest);
            }
        }
    }

    #[test]
    fn what_fits_stays_apart() {
        let mut cells = Cells::new(1_000, 1_000_000_000);
        (0..500).for_each(|i| cells.add(i * 2_000_000, 5_000, 1));
        let cells = cells.finish();
        assert_eq!(cells.len(), 500);
        assert!(cells.iter().enumerate().all(|(i, cell)| cell.start_ns == i as u64 * 2_000_000));
    }
}
