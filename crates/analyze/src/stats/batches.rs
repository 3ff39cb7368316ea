//! Means of consecutive values in a bounded number of batches.

use super::Spread;

/// Number of batches at which pairs are joined.
const MOST: usize = 128;

/// Sums of consecutive values in batches of equal number, which grows with the number of values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batches {
    /// Sums of the complete batches, each of 2^`doubled` values.
    sums: Vec<f64>,
    doubled: u32,
    open: f64,
    filled: u64,
    /// Number, mean and squared deviations of all values (Welford 1962).
    count: f64,
    mean: f64,
    squares: f64,
}

impl Batches {
    /// Adds the next value.
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let distance = value - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (value - self.mean);
        self.open += value;
        self.filled += 1;
        if self.filled == self.length() {
            self.sums.push(std::mem::take(&mut self.open));
            self.filled = 0;
        }
        if self.sums.len() == MOST {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.doubled += 1;
        }
    }

    fn length(&self) -> u64 {
        1 << self.doubled
    }

    /// Returns the spread of the mean of all values, at least that of independent ones; absent for fewer than two.
    pub(crate) fn spread(&self) -> Option<Spread> {
        let length = self.length() as f64;
        let batches: Vec<f64> = self.sums.iter().map(|sum| sum / length).collect();
        let spread = Spread::from_blocks(&batches)?;
        let independent = (self.squares / (self.count - 1.0) / self.count).sqrt();
        Some(match independent > spread.standard_error {
            true => Spread { standard_error: independent, effective: self.count, ..spread },
            false => spread,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_with_the_number_of_values() {
        let mut batches = Batches::default();
        assert_eq!(batches.spread(), None);
        for at in 0..10_000_u32 {
            batches.add(f64::from(at % 2));
        }
        assert!((MOST / 2..MOST).contains(&batches.sums.len()), "{batches:?}");
        let error = batches.spread().map_or(0.0, |spread| spread.standard_error);
        assert!((error - 0.005).abs() < 1e-5, "alternating: as if independent: {error}");
        let mut few = Batches::default();
        [1.0, 2.0, 4.0].into_iter().for_each(|value| few.add(value));
        assert_eq!(few.spread(), Spread::from_blocks(&[1.0, 2.0, 4.0]));
    }
}
