//! The correlation of successive values, and what it does to the error of their mean.

use super::mean;

/// Most that a correlation is taken for.
const MOST_CORRELATED: f64 = 0.97;

/// Returns the sum of the products of each deviation from the mean with the next, and that of the squared deviations.
/// Their ratio is the correlation of successive values.
pub(crate) fn successive(values: &[f64]) -> [f64; 2] {
    let mean = mean(values).unwrap_or_default();
    let deviations: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let products = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
    [products, deviations.iter().map(|deviation| deviation * deviation).sum()]
}

/// Returns the correlation corrected for the bias of few values (Kendall 1954).
pub(crate) fn unbiased(correlation: f64, count: f64) -> f64 {
    correlation + (1.0 + 3.0 * correlation) / count
}

/// Returns the factor by which dependence inflates the squared error of a mean, if correlations fall by this factor from
/// each value to the next. A negative one counts as 0.
pub(crate) fn inflation(correlation: f64) -> f64 {
    let factor = correlation.clamp(0.0, MOST_CORRELATED);
    (1.0 + factor) / (1.0 - factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_in_closed_form() {
        // Deviations of -1.5, -0.5, 0.5, 1.5: products 0.75, -0.25, 0.75.
        assert_eq!(successive(&[1.0, 2.0, 3.0, 4.0]), [1.25, 5.0]);
        assert_eq!((successive(&[]), successive(&[7.0])), ([0.0; 2], [0.0; 2]));
        assert_eq!((unbiased(0.25, 4.0), unbiased(-0.5, 2.0)), (0.6875, -0.75));
        // 1 + 2 (r + r² + …), none for opposite neighbours, and not without end.
        let cases = [
            (-0.9, 1.0),
            (0.0, 1.0),
            (0.5, 3.0),
            (0.75, 7.0),
            (0.97, 1.97 / 0.03),
            (2.0, 1.97 / 0.03),
        ];
        for (correlation, expected) in cases {
            let found = inflation(correlation);
            assert!((found / expected - 1.0).abs() < 1e-12, "{correlation}: {found}");
        }
    }
}
