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

    /// Sums, count, mean and squares beside those of the values added up in batches of the smallest length that leaves
    /// fewer than the most.
    #[test]
    fn each_batch_is_the_sum_of_its_values() {
        for count in [1, 2, 127, 128, 129, 255, 256, 257, 1_000, 4_097] {
            let value = |at: u32| f64::from(at * 7 % 11) + f64::from(at / 50);
            let values: Vec<f64> = (0..count).map(value).collect();
            let mut batches = Batches::default();
            values.iter().for_each(|value| batches.add(*value));
            let doubled =
                (0..).find(|doubled| values.len() >> doubled < MOST).expect("some length");
            let expected: Vec<f64> =
                values.chunks_exact(1 << doubled).map(|batch| batch.iter().sum()).collect();
            assert_eq!((batches.doubled, &batches.sums), (doubled, &expected), "{count} values");
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            assert!((batches.mean - mean).abs() < 1e-9 && (batches.squares - squares).abs() < 1e-6);
        }
    }

    /// Batches of alternating values are all alike: what is left is the error of independent values.
    #[test]
    fn the_error_is_at_least_that_of_independent_values() {
        let mut batches = Batches::default();
        (0..256).for_each(|at| batches.add(f64::from(at % 2)));
        let spread = batches.spread().expect("many values");
        let expected = (256.0 * 0.25_f64 / 255.0 / 256.0).sqrt();
        assert!((spread.standard_error - expected).abs() < 1e-12, "{spread:?}");
        assert_eq!(spread.effective, 256.0);
    }
}
