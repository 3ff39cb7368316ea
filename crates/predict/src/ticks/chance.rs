//! How far the farthest point of a table without standard errors lies off by chance.

use anechoic_analyze::stats::quantile;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Factor from the median absolute deviation to the standard deviation of a normal distribution.
const MAD_TO_DEVIATION: f64 = 1.4826;
/// Share of the tables that fit in which a point lies beyond the limit.
const FALSE_ALARMS: f64 = 0.01;
/// Number of simulated points; at least [`FEWEST`] tables.
const POINTS: usize = 60_000;
/// Smallest number of simulated tables.
const FEWEST: usize = 500;
const SEED: u64 = 1;

/// Returns the largest miss that 1 % of tables of this shape exceed if the model holds, errors are normal, and their
/// scatter is estimated as large as here.
///
/// A factor of three for all tables would reject half of those with four numbers of copies at five rates: each miss is
/// relative to the median of its number of copies, so one in five is 0 and the scatter looks too small, and one of 20
/// points is farther off than one alone. The limit is therefore simulated for the shape.
///
/// `sizes` are the numbers of points of each number of copies.
pub(super) fn largest(sizes: &[usize], scatter: f64) -> f64 {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let tables = (POINTS / sizes.iter().sum::<usize>().max(1)).max(FEWEST);
    let mut ratios: Vec<f64> = (0..tables).map(|_| ratio(sizes, &mut random)).collect();
    ratios.sort_by(f64::total_cmp);
    quantile(&ratios, 1.0 - FALSE_ALARMS).unwrap_or(0.0) * scatter
}

/// Returns the largest miss of a table of normal errors, in deviations as they are estimated; 0 without any.
fn ratio(sizes: &[usize], random: &mut Pcg64Mcg) -> f64 {
    let misses: Vec<f64> = sizes.iter().flat_map(|&size| misses(size, random)).collect();
    let scatter = deviation(misses.iter().copied());
    let largest = misses.iter().fold(0.0, |most: f64, miss| most.max(miss.abs()));
    if scatter > 0.0 { largest / scatter } else { 0.0 }
}

/// Returns normal errors relative to their median.
fn misses(size: usize, random: &mut Pcg64Mcg) -> Vec<f64> {
    let mut normal = || (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>();
    let mut errors: Vec<f64> = (0..size).map(|_| normal()).collect();
    errors.sort_by(f64::total_cmp);
    let middle = quantile(&errors, 0.5).unwrap_or(0.0);
    errors.iter().map(|error| error - middle).collect()
}

/// Returns the standard deviation about 0, estimated from the median of absolute values.
pub(super) fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    let mut sizes: Vec<f64> = values.map(f64::abs).collect();
    sizes.sort_by(f64::total_cmp);
    MAD_TO_DEVIATION * quantile(&sizes, 0.5).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_in_a_hundred_has_a_point_beyond() {
        let mut random = Pcg64Mcg::seed_from_u64(9);
        let sizes = [5; 4];
        let mut ratios: Vec<f64> = (0..4_000).map(|_| ratio(&sizes, &mut random)).collect();
        ratios.sort_by(f64::total_cmp);
        let limit = quantile(&ratios, 1.0 - FALSE_ALARMS).expect("many");
        assert!((7.5..9.5).contains(&limit), "{limit}");
        // What the limit of three would do.
        let beyond_three = ratios.iter().filter(|ratio| **ratio > 3.0).count();
        assert!(beyond_three > 1_500, "{beyond_three} of 4000");
        assert_eq!(ratio(&[1, 1], &mut random), 0.0);
    }
}
