//! Student's t: how many standard errors make a 95 % interval.

/// Two-sided 95 % point of the normal distribution.
pub const NORMAL: f64 = 1.959_963_985;

/// The same of Student's t, from one degree of freedom on.
const FEW: [f64; 30] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
    2.262_157, 2.228_139, 2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905,
    2.109_816, 2.100_922, 2.093_024, 2.085_963, 2.079_614, 2.073_873, 2.068_658, 2.063_899,
    2.059_539, 2.055_529, 2.051_831, 2.048_407, 2.045_230, 2.042_272,
];

/// The 97.5 % quantile of Student's t with so many degrees of freedom; that of one with none. A table to 30
/// degrees, then two terms of the expansion in their inverse (Cornish-Fisher), off by less than 0.0001.
pub fn student_t(degrees: u64) -> f64 {
    let few = usize::try_from(degrees.max(1) - 1).ok().and_then(|place| FEW.get(place));
    few.copied().unwrap_or_else(|| {
        let (z, n) = (NORMAL, degrees as f64);
        z + (z.powi(3) + z) / (4.0 * n)
            + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
    })
}

/// Degrees of freedom of the difference of two means (Welch 1947), rounded down: `squares` are their squared
/// standard errors, `degrees` those of each. At least the fewer of the two.
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
        let falls = |n: u64| student_t(n) > student_t(n + 1);
        assert!((1..100).all(falls), "each degree more makes it smaller");
    }

    #[test]
    fn degrees_of_a_difference() {
        let cases = [
            ("alike", [2.0, 2.0], [9, 9], 18),
            ("the other is known", [2.0, 0.0], [4, 1_000], 4),
            ("the other is nearly known", [2.0, 1e-6], [1, 1_000], 1),
            ("neither varies", [0.0, 0.0], [1, 7], 1),
            ("without end", [f64::INFINITY, 1.0], [3, 7], 3),
        ];
        for (name, squares, degrees, expected) in cases {
            assert_eq!(welch_degrees(squares, degrees), expected, "case: {name}");
        }
    }
}
