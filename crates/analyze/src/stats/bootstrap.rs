//! Confidence intervals by resampling blocks of time.

use super::Interval;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Number of resamplings for the interval of a mean.
pub(crate) const RESAMPLES: usize = 2000;
/// Seed of the generator, so that the same recording gives the same interval.
const SEED: u64 = 0x616e_6563_686f_6963;

/// A resampled mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Resampled {
    /// Range from the 2.5 % to the 97.5 % quantile of the resampled means.
    pub(crate) interval: Interval,
    /// Standard deviation of the resampled means.
    pub(crate) standard_error: f64,
}

/// Draws `blocks` block numbers with replacement, `draws` times, and returns what `of` computes from each draw.
///
/// Together with [`percentiles`] this is a percentile bootstrap over whole, non-overlapping blocks (Künsch 1989).
///
/// It assumes that blocks are alike and independent, which holds if the causes of noise recur many times in the run and
/// last less than a block. No interval covers events that occur less than a few times in the run.
pub fn resample<T>(
    blocks: usize,
    draws: usize,
    seed: u64,
    mut of: impl FnMut(&[usize]) -> T,
) -> Vec<T> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut chosen = vec![0; blocks];
    let draw = |_| {
        chosen.iter_mut().for_each(|block| *block = random.random_range(0..blocks));
        of(&chosen)
    };
    (0..draws).map(draw).collect()
}

/// Returns the range from the 2.5 % to the 97.5 % quantile of resampled values, of which there is at least one.
#[must_use]
pub fn percentiles(mut values: Vec<f64>) -> Interval {
    values.sort_by(f64::total_cmp);
    let tail = values.len() * 25 / 1000;
    Interval { low: values[tail], high: values[values.len() - 1 - tail] }
}

/// Resamples the mean of `blocks`; absent for fewer than two.
pub(crate) fn mean_of_blocks(blocks: &[f64]) -> Option<Resampled> {
    if blocks.len() < 2 {
        return None;
    }
    let of = |chosen: &[usize]| {
        chosen.iter().map(|&block| blocks[block]).sum::<f64>() / blocks.len() as f64
    };
    let mut means = resample(blocks.len(), RESAMPLES, SEED, of);
    means.sort_by(f64::total_cmp);
    let mean = means.iter().sum::<f64>() / RESAMPLES as f64;
    let squares: f64 = means.iter().map(|m| (m - mean).powi(2)).sum();
    let standard_error = (squares / (RESAMPLES - 1) as f64).sqrt();
    Some(Resampled { interval: percentiles(means), standard_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_blocks_have_no_spread_and_too_few_have_no_interval() {
        assert_eq!(mean_of_blocks(&[]), None);
        assert_eq!(mean_of_blocks(&[1.0]), None);
        let r = mean_of_blocks(&[0.25; 40]).expect("enough blocks");
        assert_eq!(r.interval, Interval { low: 0.25, high: 0.25 });
        assert_eq!(r.standard_error, 0.0);
    }

    #[test]
    fn standard_error_is_that_of_the_mean() {
        // 50 zeros and 50 ones: the mean's standard deviation is sqrt(0.25 / 100) = 0.05.
        let blocks: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let r = mean_of_blocks(&blocks).expect("enough blocks");
        assert!((r.standard_error - 0.05).abs() < 0.003, "{r:?}");
        assert!((r.interval.low - 0.402).abs() < 0.02, "{r:?}");
        assert!((r.interval.high - 0.598).abs() < 0.02, "{r:?}");
        assert_eq!(mean_of_blocks(&blocks), Some(r), "same blocks, same interval");
    }

    #[test]
    fn the_interval_covers_the_true_mean() {
        // 100 blocks, each with a Poisson-like number of bursts of exponential size.
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let mut uniform = || random.random_range(f64::EPSILON..1.0);
        let mut block = || {
            let bursts = (0..20).filter(|_| uniform() < 0.2).count();
            (0..bursts).map(|_| -uniform().ln()).sum::<f64>()
        };
        let runs = 300;
        let covered = (0..runs)
            .filter(|_| {
                let blocks: Vec<f64> = (0..100).map(|_| block()).collect();
                let interval = mean_of_blocks(&blocks).expect("enough blocks").interval;
                interval.low <= 4.0 && 4.0 <= interval.high
            })
            .count();
        let share = covered as f64 / f64::from(runs);
        assert!((0.90..=0.985).contains(&share), "covers {share} of the time");
    }
}
