//! How late threads start, counted by the threads themselves without a lock and without new memory.

use anechoic_recording::injection::Starts;
use std::sync::atomic::{AtomicU64, Ordering};

/// Cells of a factor of two.
const PARTS: u64 = 8;
/// Number of cells, enough for any number of nanoseconds.
const CELLS: usize = 64 * PARTS as usize;

/// Counts times in cells that are an eighth of their value wide.
#[derive(Debug)]
pub(super) struct Lateness {
    cells: [AtomicU64; CELLS],
    max_ns: AtomicU64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { cells: [const { AtomicU64::new(0) }; CELLS], max_ns: AtomicU64::new(0) }
    }
}

impl Lateness {
    /// Adds one time.
    pub(super) fn add(&self, ns: u64) {
        self.cells[cell(ns)].fetch_add(1, Ordering::AcqRel);
        self.max_ns.fetch_max(ns, Ordering::AcqRel);
    }

    /// Adds all times of another.
    pub(super) fn merge(&self, other: &Self) {
        for (to, from) in self.cells.iter().zip(&other.cells) {
            to.fetch_add(from.load(Ordering::Acquire), Ordering::AcqRel);
        }
        self.max_ns.fetch_max(other.max_ns.load(Ordering::Acquire), Ordering::AcqRel);
    }

    /// Returns the quantiles; absent without times. They are the upper ends of their cells.
    pub(super) fn starts(&self) -> Option<Starts> {
        let counts: Vec<u64> = self.cells.iter().map(|cell| cell.load(Ordering::Acquire)).collect();
        let (count, max_ns) = (counts.iter().sum::<u64>(), self.max_ns.load(Ordering::Acquire));
        let quantile = |percent: u64| cell_of(&counts, percent).map_or(0, last).min(max_ns);
        (count > 0).then(|| Starts {
            count,
            p50_late_ns: quantile(50),
            p99_late_ns: quantile(99),
            max_late_ns: max_ns,
            wall_clock: None,
        })
    }
}

/// Returns the cell of a time: its highest bit, and the three below.
fn cell(ns: u64) -> usize {
    let shift = u64::from((ns | PARTS).ilog2() - PARTS.ilog2());
    (shift * PARTS + (ns >> shift)) as usize
}

/// Returns the largest time of a cell.
fn last(cell: usize) -> u64 {
    let cell = cell as u64;
    let shift = (cell / PARTS).saturating_sub(1);
    let first = cell - shift * PARTS;
    ((first + 1) << shift) - 1
}

/// Returns the cell with the time that this share of all times does not exceed.
fn cell_of(counts: &[u64], percent: u64) -> Option<usize> {
    let rank = (counts.iter().sum::<u64>() * percent).div_ceil(100);
    let mut below = 0;
    counts.iter().position(|count| {
        below += count;
        below >= rank
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_an_eighth_wide_and_hold_their_times() {
        for ns in (0..2_000).chain([123_456, 5_000_000_000, u64::MAX / 3]) {
            let upper = last(cell(ns));
            assert!(ns <= upper && upper - ns <= ns / 8, "{ns}: cell {} up to {upper}", cell(ns));
        }
        assert!(cell(u64::MAX) < CELLS);
    }

    #[test]
    fn quantiles_of_all_threads() {
        let (one, other) = (Lateness::default(), Lateness::default());
        assert_eq!(one.starts(), None);
        (0..98).for_each(|_| one.add(4_000));
        other.add(90_000);
        other.add(70_000);
        other.merge(&one);
        let found = other.starts().expect("some");
        assert_eq!((found.count, found.max_late_ns), (100, 90_000));
        assert!((4_000..=4_500).contains(&found.p50_late_ns), "{found:?}");
        assert!((70_000..=79_000).contains(&found.p99_late_ns), "{found:?}");
    }
}
