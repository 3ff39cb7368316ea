//! The normal distribution, and Student's t for few values.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;

/// Two-sided 95 % point of the normal distribution.
pub const NORMAL: f64 = 1.959_963_985;
/// Standard errors beyond the interval at which an effect is detected with 80 % power (the normal quantile).
const POWER: f64 = 0.842;
/// Number of degrees of freedom from which on Student's t equals the normal distribution to 0.00001.
const MANY_DEGREES: u64 = 1_000_000;

/// Returns half of a 95 % interval in standard errors: the 97.5 % quantile of Student's t with `degrees` degrees of
/// freedom, at least one.
#[must_use]
pub fn student_t(degrees: u64) -> f64 {
    student_t_together(degrees, 1)
}

/// Returns the same for this many intervals that all hold together with 95 % (Bonferroni).
pub(crate) fn student_t_together(degrees: u64, intervals: usize) -> f64 {
    if degrees >= MANY_DEGREES && intervals <= 1 {
        return NORMAL;
    }
    student_quantile(1.0 - 0.025 / intervals.max(1) as f64, degrees)
}

/// Returns the value below which Student's t with `degrees` degrees of freedom, at least one, lies with this probability.
pub(crate) fn student_quantile(below: f64, degrees: u64) -> f64 {
    let degrees = degrees.max(1);
    let few = (degrees < MANY_DEGREES).then(|| StudentsT::new(0.0, 1.0, degrees as f64).ok());
    few.flatten().map_or_else(|| normal_above(1.0 - below), |student| student.inverse_cdf(below))
}

/// Returns the smallest effect that is detected with 80 % power at the 5 % level, from half of the 95 % interval and the
/// standard error. It lies outside an interval around 0.
pub(crate) fn detectable(reach: f64, standard_error: f64) -> f64 {
    reach + POWER * standard_error
}

/// Returns the probability that a value of Student's distribution exceeds `t`.
///
/// `degrees` of freedom are above 0 and need not be whole. It is half of the regularised incomplete beta function
/// I_x(ν/2, 1/2) at x = ν/(ν + t²), which stays accurate far out in the tail.
pub(crate) fn probability_above(t: f64, degrees: f64) -> f64 {
    if t.is_nan() || degrees.is_nan() || degrees <= 0.0 {
        return 1.0; // nothing is known: no evidence
    }
    let x = degrees / (degrees + t * t);
    let half = 0.5 * beta_reg(degrees / 2.0, 0.5, x.clamp(0.0, 1.0));
    if t > 0.0 { half } else { 1.0 - half }
}

/// Returns the probability that of `events` events at least `found` are of a kind that each has with probability `share`.
pub(crate) fn probability_of_more(found: f64, events: f64, share: f64) -> f64 {
    // The binomial sum as the regularised incomplete beta function.
    if found <= 0.0 { 1.0 } else { beta_reg(found, (events - found).max(0.0) + 1.0, share) }
}

/// Returns the value that a normal variable exceeds with this probability.
pub(crate) fn normal_above(probability: f64) -> f64 {
    -Normal::standard().inverse_cdf(probability)
}

/// Returns the degrees of freedom of the difference of two means (Welch 1947), rounded down: `squares` are their
/// squared standard errors, `degrees` those of each. At least the smaller of the two.
pub(crate) fn welch_degrees(squares: [f64; 2], degrees: [u64; 2]) -> u64 {
    let term = |at: usize| squares[at] * squares[at] / degrees[at] as f64;
    let sum = squares[0] + squares[1];
    let free = sum * sum / (term(0) + term(1));
    // Not a number where neither varies.
    (free as u64).max(degrees[0].min(degrees[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_in_the_tables() {
        let cases = [
            (0, 12.7062),
            (1, 12.7062),
            (2, 4.3027),
            (3, 3.1824),
            (4, 2.7764),
            (9, 2.2622),
            (19, 2.0930),
            (30, 2.0423),
            (31, 2.0395),
            (40, 2.0211),
            (60, 2.0003),
            (120, 1.9799),
            (u64::MAX, 1.9600),
        ];
        for (degrees, expected) in cases {
            let t = student_t(degrees);
            assert!((t - expected).abs() < 1.5e-4, "{degrees} degrees: {t}");
        }
        // Of one degree it is a tangent, of two (2p - 1) √(2 / (1 - (2p - 1)²)); of many the normal distribution's.
        let four_fifths = [(1, 1.376_382), (2, 1.060_660), (u64::MAX, 0.841_621)];
        for (degrees, expected) in four_fifths {
            let t = student_quantile(0.8, degrees);
            assert!((t - expected).abs() < 1e-5, "{degrees} degrees: {t}");
        }
        let falls = |n: u64| student_t(n) > student_t(n + 1);
        assert!((1..100).all(falls), "each degree more makes it smaller");
    }

    #[test]
    fn degrees_of_a_difference() {
        let cases = [
            ("alike", [2.0, 2.0], [9, 9], 18),
            ("the other is known", [2.0, 0.0], [4, 1_000], 4),
            ("the other is nearly known", [2.0, 1e-6], [1, 1_000], 1),
            ("9 / (1/3 + 4/5) = 7.9", [1.0, 2.0], [3, 5], 7),
            ("neither varies", [0.0, 0.0], [1, 7], 1),
            ("without end", [f64::INFINITY, 1.0], [3, 7], 3),
        ];
        for (name, squares, degrees, expected) in cases {
            assert_eq!(welch_degrees(squares, degrees), expected, "case: {name}");
        }
    }

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

    #[test]
    fn what_is_found_four_times_of_five_lies_2_8_standard_errors_from_nothing() {
        assert!((detectable(NORMAL, 1.0) - 2.8016).abs() < 1e-3, "{}", detectable(NORMAL, 1.0));
        assert!((detectable(0.5, 0.25) - 0.7104).abs() < 1e-3, "{}", detectable(0.5, 0.25));
    }

    /// Sums of binomial probabilities.
    #[test]
    fn at_least_so_many_of_all() {
        let cases = [
            (0.0, 5.0, 0.3, 1.0),
            (1.0, 2.0, 0.5, 0.75),
            (2.0, 2.0, 0.5, 0.25),
            (3.0, 10.0, 0.3, 0.617_217_213_6),
            (10.0, 10.0, 0.1, 1e-10),
        ];
        for (found, events, share, expected) in cases {
            let more = probability_of_more(found, events, share);
            assert!((more / expected - 1.0).abs() < 1e-8, "{found} of {events}: {more}");
        }
    }
}
