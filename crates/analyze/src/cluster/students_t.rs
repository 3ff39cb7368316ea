//! Student's t: how likely a value so far above the middle is.

/// Coefficients of Lanczos' approximation of the gamma function (g = 7, 9 terms).
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];
/// The continued fraction has converged long before so many terms.
const MOST_TERMS: u32 = 500;

/// Probability that a value of Student's distribution lies above `t`.
///
/// `degrees` of freedom are above 0 and need not be whole. Half of the regularised incomplete beta
/// function I_x(ν/2, 1/2) at x = ν/(ν + t²), which stays exact far out in the tail.
#[must_use]
pub fn probability_above(t: f64, degrees: f64) -> f64 {
    if t.is_nan() || degrees.is_nan() || degrees <= 0.0 {
        return 1.0; // nothing is known: no evidence
    }
    let half = 0.5 * incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    if t > 0.0 { half } else { 1.0 - half }
}

/// I_x(a, b) for x in `[0, 1]`, by the continued fraction on the side where it converges fast.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * f64::ln_1p(-x);
    if x < (a + 1.0) / (a + b + 2.0) {
        front.exp() * fraction(a, b, x) / a
    } else {
        1.0 - front.exp() * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let not_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut value) = (1.0, d);
    for term in 1..MOST_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for numerator in [even, odd] {
            d = 1.0 / not_zero(1.0 + numerator * d);
            c = not_zero(1.0 + numerator / c);
            value *= c * d;
        }
        if (value - before).abs() <= 1e-15 * value.abs() {
            break;
        }
    }
    value
}

/// Logarithm of the gamma function of a positive number.
fn ln_gamma(x: f64) -> f64 {
    let x = x - 1.0;
    let terms = LANCZOS[1..].iter().zip(1_u32..).map(|(c, i)| c / (x + f64::from(i)));
    let sum = LANCZOS[0] + terms.sum::<f64>();
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn against_closed_forms_and_tables() {
        // ν = 1: 1/2 − atan(t)/π. ν = 2: 1/2 − t/(2·√(2 + t²)). Large ν: the normal distribution.
        let cauchy = |t: f64| 0.5 - t.atan() / std::f64::consts::PI;
        let two = |t: f64| 0.5 - t / (2.0 * (2.0 + t * t).sqrt());
        let cases = [
            ("the middle", 0.0, 7.0, 0.5, 1e-12),
            ("one degree", 3.0, 1.0, cauchy(3.0), 1e-10),
            ("one degree, far out", 1e6, 1.0, 1e-6 / std::f64::consts::PI, 1e-6),
            ("two degrees", 10.0, 2.0, two(10.0), 1e-9),
            ("below the middle", -10.0, 2.0, 1.0 - two(10.0), 1e-10),
            ("table: 2.571 of 5", 2.570_581_8, 5.0, 0.025, 1e-6),
            ("table: 4.587 of 10", 4.586_893_9, 10.0, 0.000_5, 1e-6),
            ("normal, 5 σ", 5.0, 1e7, 2.866_516e-7, 1e-4),
        ];
        for (name, t, degrees, expected, relative) in cases {
            let found = probability_above(t, degrees);
            let error = (found / expected - 1.0).abs();
            assert!(error < relative, "case: {name}: {found}, not {expected}");
        }
    }

    #[test]
    fn what_is_no_number_is_no_evidence() {
        for (t, degrees) in [(f64::NAN, 3.0), (3.0, 0.0), (3.0, -1.0), (3.0, f64::NAN)] {
            assert_eq!(probability_above(t, degrees), 1.0, "{t} with {degrees}");
        }
        assert_eq!(probability_above(f64::INFINITY, 3.0), 0.0);
    }
}
