//! The generalised Pareto distribution, which describes values above a high threshold.

/// Number of points of the integral over the tail.
const POINTS: u32 = 4_000;

/// Distribution of excesses `y` over a threshold: P(more than y) = (1 + shape y / scale)^(-1 / shape).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pareto {
    pub shape: f64,
    pub scale: f64,
}

impl Pareto {
    /// Fits the distribution to these excesses by maximum likelihood (Grimshaw, Technometrics 1993): with theta = shape
    /// / scale, the best shape is the mean of ln(1 + theta y), which leaves one unknown. It is searched on a grid, then
    /// between the neighbours of the best point.
    ///
    /// Probability-weighted moments are not used, because they never give a shape of 1 or more, which must be detected
    /// here. Absent without an excess above 0.
    pub(super) fn fit(excesses: &[f64]) -> Option<Self> {
        let count = excesses.len() as f64;
        let mean = excesses.iter().sum::<f64>() / count;
        let most = excesses.iter().copied().fold(0.0, f64::max);
        if !(mean > 0.0 && most.is_finite()) {
            return None;
        }
        let shape =
            |theta: f64| excesses.iter().map(|y| f64::ln_1p(theta * y)).sum::<f64>() / count;
        let likelihood = |theta: f64| {
            let shape = shape(theta);
            match theta {
                0.0 => -1.0 - mean.ln(),
                // Below this the likelihood grows without limit towards the longest excess.
                _ if shape <= -1.0 => f64::NEG_INFINITY,
                _ => -(shape / theta).ln() - shape - 1.0,
            }
        };
        let below = (1..40).rev().map(|at| -(1.0 - 0.75f64.powi(at)) / most);
        let above = (-12..40).map(|at| 1.5f64.powi(at) / mean);
        let grid: Vec<f64> = below.chain([0.0]).chain(above).collect();
        let best =
            (0..grid.len()).max_by(|&a, &b| likelihood(grid[a]).total_cmp(&likelihood(grid[b])))?;
        let low = grid[best.saturating_sub(1)];
        let high = grid[(best + 1).min(grid.len() - 1)];
        let theta = golden(low, high, likelihood);
        let shape = shape(theta);
        let scale = if theta.abs() * mean < 1e-9 { mean } else { shape / theta };
        Some(Self { shape, scale })
    }

    /// Returns the probability of a larger excess.
    pub(super) fn survival(&self, excess: f64) -> f64 {
        match self.shape {
            shape if shape.abs() < 1e-9 => (-excess / self.scale).exp(),
            shape => (1.0 + shape * excess / self.scale).max(0.0).powf(-1.0 / shape),
        }
    }

    /// Returns the mean excess of the largest of `ranks` values over the threshold, if each exceeds it with probability
    /// `above`: the integral of 1 - F^ranks. It is finite if the shape is below 1.
    pub(super) fn mean_of_largest(&self, above: f64, ranks: u64) -> f64 {
        if above <= 0.0 {
            return 0.0;
        }
        // Over z = -ln of the survival, on which the integrand is smooth; beyond `last` nothing is left.
        let last = (ranks.max(1) as f64).ln() + 40.0 / (1.0 - self.shape).max(0.02);
        let step = last.max(1.0) / f64::from(POINTS);
        let ranks = ranks as f64;
        let reached = |z: f64| -f64::exp_m1(ranks * f64::ln_1p(-(above * (-z).exp()).min(1.0)));
        let at = |z: f64| match z {
            ..300.0 => self.scale * (self.shape * z).exp() * reached(z),
            // The same where one factor would be infinite and the other 0.
            _ => self.scale * ranks * above * ((self.shape - 1.0) * z).exp(),
        };
        let inner: f64 = (1..POINTS).map(|point| at(f64::from(point) * step)).sum();
        step * (inner + at(0.0) / 2.0)
    }
}

/// Returns the maximum of a function that rises and then falls, by golden-section search.
fn golden(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
    const PART: f64 = 0.618_033_988_749_895;
    for _ in 0..40 {
        let (a, b) = (high - PART * (high - low), low + PART * (high - low));
        if function(a) < function(b) {
            low = a;
        } else {
            high = b;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    fn drawn(pareto: Pareto, count: usize) -> Vec<f64> {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let value = |survival: f64| match pareto.shape {
            0.0 => -pareto.scale * survival.ln(),
            shape => pareto.scale / shape * (survival.powf(-shape) - 1.0),
        };
        (0..count).map(|_| value(random.random_range(f64::EPSILON..1.0))).collect()
    }

    #[test]
    fn shapes_are_found_again() {
        for shape in [-0.4, -0.1, 0.0, 0.3, 0.8, 1.5] {
            let pareto = Pareto { shape, scale: 20_000.0 };
            let got = Pareto::fit(&drawn(pareto, 20_000)).expect("a fit");
            assert!((got.shape - shape).abs() < 0.04, "shape {shape}: {got:?}");
            assert!((got.scale / pareto.scale - 1.0).abs() < 0.05, "shape {shape}: {got:?}");
        }
        assert_eq!(Pareto::fit(&[]), None);
        assert_eq!(Pareto::fit(&[0.0; 5]), None);
        assert!(Pareto::fit(&[7.0; 5]).is_some_and(|fit| fit.shape < -0.5), "one length only");
    }

    #[test]
    fn largest_of_many() {
        // Exponential: the mean of the largest of N is the N-th harmonic number.
        let exponential = Pareto { shape: 1e-12, scale: 1.0 };
        let harmonic: f64 = (1..=1_000).map(|n| 1.0 / f64::from(n)).sum();
        assert!((exponential.mean_of_largest(1.0, 1_000) - harmonic).abs() < 1e-3);
        // Shape 1/2: one value has the mean scale / (1 - shape); uniform on 0 to 1 (shape -1): N / (N + 1).
        let cases = [(0.5, 1, 2.0), (-1.0, 1, 0.5), (-1.0, 99, 0.99), (0.95, 1, 20.0)];
        for (shape, ranks, expected) in cases {
            let got = Pareto { shape, scale: 1.0 }.mean_of_largest(1.0, ranks);
            assert!((got / expected - 1.0).abs() < 5e-3, "{shape}, {ranks}: {got}");
        }
        assert_eq!(exponential.mean_of_largest(0.0, 5), 0.0);
    }

    /// The largest of N values that exceed the threshold has the mean scale / shape · (Π k / (k − shape) − 1), k from 1
    /// to N: the expectation of the N-th order statistic of a generalised Pareto distribution.
    #[test]
    fn largest_of_heavy_tails() {
        for (shape, ranks) in [(0.3, 1), (0.3, 7), (0.7, 100), (0.99, 1), (0.99, 2), (0.99, 20_u32)]
        {
            let product: f64 = (1..=ranks).map(|k| f64::from(k) / (f64::from(k) - shape)).product();
            let expected = 5.0 / shape * (product - 1.0);
            let got = Pareto { shape, scale: 5.0 }.mean_of_largest(1.0, ranks.into());
            assert!((got / expected - 1.0).abs() < 5e-3, "{shape}, {ranks}: {got}, {expected}");
        }
        // One value that exceeds it with a probability of 1/4.
        let got = Pareto { shape: 0.99, scale: 5.0 }.mean_of_largest(0.25, 1);
        assert!((got / 125.0 - 1.0).abs() < 5e-3, "{got}");
    }
    #[test]
    fn survivals_are_those_of_the_formula() {
        // (1 + y / 4)^-2 of heavy tails, e^(-y / 2), and 1 - y / 2 up to the longest, 2.
        let cases = [
            (0.5, 2.0, 4.0, 0.25),
            (0.5, 2.0, 12.0, 0.0625),
            (0.0, 2.0, 2.0, f64::exp(-1.0)),
            (-1.0, 2.0, 0.5, 0.75),
            (-1.0, 2.0, 3.0, 0.0),
        ];
        for (shape, scale, excess, expected) in cases {
            let found = Pareto { shape, scale }.survival(excess);
            assert!((found - expected).abs() < 1e-12, "{shape}, {excess}: {found}");
        }
    }

    #[test]
    fn the_maximum_lies_anywhere_between_the_ends() {
        for top in [2.0, 2.1, 3.7, 4.99, 5.0] {
            let found = golden(2.0, 5.0, |at| -(at - top) * (at - top));
            assert!((found - top).abs() < 1e-6, "{found}, not {top}");
        }
    }

    #[test]
    fn nothing_is_fitted_to_values_without_a_mean() {
        let cases = [&[][..], &[0.0; 5], &[1.0, f64::INFINITY], &[f64::NAN, 1.0]];
        for excesses in cases {
            assert_eq!(Pareto::fit(excesses), None, "{excesses:?}");
        }
    }

    /// The fit is what no other shape and scale beside it exceeds in likelihood, also where the shape is nearly 0.
    #[test]
    fn no_distribution_beside_the_fit_is_more_likely() {
        for thousandths in -20..=20 {
            let shape = 0.001 * f64::from(thousandths) + 1e-6;
            let quantile = |at: u32| (((f64::from(at) + 0.5) / 1_000.0).powf(-shape) - 1.0) / shape;
            let excesses: Vec<f64> = (0..1_000).map(quantile).collect();
            let likelihood = |shape: f64, scale: f64| {
                let each =
                    |y: &f64| -scale.ln() - (1.0 + 1.0 / shape) * f64::ln_1p(shape * y / scale);
                excesses.iter().map(each).sum::<f64>()
            };
            let Pareto { shape, scale } = Pareto::fit(&excesses).expect("a fit");
            let best = likelihood(shape, scale);
            for (more, times) in [(0.004, 0.996), (-0.004, 1.004), (0.004, 1.0), (-0.004, 1.0)] {
                let beside = likelihood(shape + more, scale * times);
                assert!(
                    beside < best + 1e-6,
                    "{thousandths}: {shape} and {more}: {beside}, {best}"
                );
            }
        }
    }
}
