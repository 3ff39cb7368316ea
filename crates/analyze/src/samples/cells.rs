//! How often each value came, in bounded memory and with the finest resolution where most values are.

/// Distinct values that are kept at most.
pub const MOST_CELLS: usize = 1 << 15;
/// Values that are collected before they are sorted in.
const BUFFER: usize = 1 << 14;
/// A value that more than this part of all samples has stays as it is, wherever it lies.
const HEAVY_PART: u64 = (MOST_CELLS / 8) as u64;
/// Cells are first made so narrow: 2^-10 of their distance from the median.
const FINEST: u32 = 10;

/// Equal values, or values that were rounded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The value, or the middle of the cell.
    pub value: u64,
    /// How many samples it holds.
    pub count: u64,
    /// The cell holds 2^shift values; 0 where the value is exact.
    shift: u32,
}

impl Cell {
    /// Whether the value is as it was.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.shift == 0
    }

    fn key(&self) -> (u64, bool) {
        (self.value, self.shift > 0)
    }

    /// In the middle of the cell of 2^shift values that holds it; as it is in a cell so wide already.
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
/// of all samples stay exact wherever they are, so that a second peak does not dissolve.
#[derive(Debug, Clone, Default)]
pub struct Cells {
    /// Values not sorted in yet.
    buffer: Vec<u64>,
    /// By value.
    cells: Vec<Cell>,
    /// Half of the widest cell over its distance from the median: 0 while all are exact.
    rounding: f64,
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

    /// Adds all that `other` holds: the same as adding its values, while all are exact.
    pub fn merge(&mut self, other: &mut Self) {
        other.settle();
        self.settle();
        self.rounding = self.rounding.max(other.rounding);
        self.insert(&other.cells);
    }

    /// The counts, by value.
    pub fn cells(&mut self) -> &[Cell] {
        self.settle();
        &self.cells
    }

    /// Values were rounded by at most this share of their distance from the median; 0 where none was.
    #[must_use]
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.cells.clear();
        self.rounding = 0.0;
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
        let round = |cell: &Cell, digits: u32| {
            let distance = cell.value.abs_diff(median).max(1);
            let heavy = cell.is_exact() && cell.count > samples / HEAVY_PART;
            if heavy { *cell } else { cell.rounded(distance.ilog2().saturating_sub(digits)) }
        };
        for digits in (0..=FINEST).rev() {
            // At most 4096 values are heavy, and with 0 digits there are two cells an octave: this ends.
            let mut cells: Vec<Cell> = self.cells.iter().map(|cell| round(cell, digits)).collect();
            cells.sort_by_key(Cell::key);
            unite(&mut cells);
            if cells.len() <= MOST_CELLS / 2 || digits == 0 {
                self.rounding = self.rounding.max(0.5 / f64::from(1_u32 << digits));
                self.cells = cells;
                return;
            }
        }
    }
}

/// Makes one cell of neighbours with the same value; an exact value and a rounded one stay apart.
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

/// The smallest value that at least `rank` samples do not exceed; the largest where there are fewer.
#[must_use]
pub fn value_at(cells: &[Cell], rank: u64) -> u64 {
    let mut below = 0_u64;
    let reaches = |cell: &&Cell| {
        below = below.saturating_add(cell.count);
        below >= rank
    };
    cells.iter().find(reaches).or(cells.last()).map_or(0, |cell| cell.value)
}
