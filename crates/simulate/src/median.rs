//! The median of independent values, and its interval.

use anechoic_analyze::stats::Interval;

/// Values from which on the median has an interval of 95 %: 1 − 2·2^−6.
const FOR_INTERVAL: u64 = 6;

/// Sorts values.
pub(crate) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Returns the 95 % interval of the median of independent values: the two of them, equally far from both ends, between
/// which the median lies with that probability, whatever their distribution.
pub(crate) fn median_interval(sorted: &[f64]) -> Option<Interval> {
    if (sorted.len() as u64) < FOR_INTERVAL {
        return None;
    }
    // As many values lie below the median as a fair coin shows heads.
    let count = sorted.len() as f64;
    let (mut chance, mut below, mut rank) = (-count * 2_f64.ln(), 0.0, 0_usize);
    loop {
        below += chance.exp();
        if below > 0.025 {
            break;
        }
        chance += ((count - rank as f64) / (rank as f64 + 1.0)).ln();
        rank += 1;
    }
    let low = rank.checked_sub(1)?;
    Some(Interval { low: sorted[low], high: sorted[sorted.len() - 1 - low] })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of the sign test: of 20 values, the 6th and the 15th.
    #[test]
    fn the_median_lies_between_the_values_of_the_sign_test() {
        let cases =
            [(6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (15, 4), (20, 6), (30, 10), (100, 40)];
        for (count, rank) in cases {
            let values: Vec<f64> = (1..=count).map(f64::from).collect();
            let (low, high) = (f64::from(rank), f64::from(count + 1 - rank));
            assert_eq!(median_interval(&values), Some(Interval { low, high }), "{count}");
        }
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
    }
}
