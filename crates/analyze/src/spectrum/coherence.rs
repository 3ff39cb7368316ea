//! Whether a comb is coherent over the whole time instead of only occasionally.

use super::signal::Signal;
use std::f64::consts::TAU;

/// Number of parts of the time that are compared.
const PARTS: usize = 16;
/// Smallest coherence of a single line, of at most 16. Chance exceeds it once in 60,000 lines if phases change between
/// parts, and once in some thousand if they persist for half a part.
const LEAST_OF_ONE: f64 = 11.0;
/// Largest number of harmonics of a comb that are tested together.
const HARMONICS: usize = 12;
/// Logarithm of the largest probability of these together.
const LN_CHANCE_OF_COMB: f64 = -18.0;

/// Number of values after which an angle is recomputed.
const TURNS: usize = 256;

/// Returns whether the line at `line_hz`, or its comb of `base_hz`, is coherent.
///
/// Each part of the time gives a line a strength and a phase. Without a period that persists between parts, phases are
/// independent, whatever the strengths (a burst may dominate one part). Then all moments of the coherence `R = |sum|² /
/// sum of |part|²` are at most those of an exponential variable of mean 1. A true line has R near 16, noise near 1.
/// Coherences of the harmonics of a comb add up, so a train that was present only for a part of the time is recognised
/// by all of them together.
pub(super) fn in_step(signal: &Signal<'_>, line_hz: f64, base_hz: f64) -> bool {
    if coherences(signal, line_hz, 1)[0] >= LEAST_OF_ONE {
        return true;
    }
    let harmonics = ((signal.highest_hz / base_hz) as usize).min(HARMONICS);
    let sum = coherences(signal, base_hz, harmonics).iter().take(harmonics).sum();
    harmonics > 1 && ln_gamma_tail(harmonics, sum) <= LN_CHANCE_OF_COMB
}

/// Returns the coherence of each of the first harmonics of a frequency.
fn coherences(signal: &Signal<'_>, hz: f64, harmonics: usize) -> [f64; HARMONICS] {
    let mut parts = [[(0.0f64, 0.0f64); HARMONICS]; PARTS];
    let scale = PARTS as f64 / signal.span_s;
    let turn = signal.times.even_step().map(|step| (TAU * (step * hz).fract()).sin_cos());
    let (mut sine, mut cosine) = (0.0, 1.0);
    for (index, value) in signal.values.iter().enumerate() {
        let at = signal.times.at(index);
        let part = &mut parts[((at * scale) as usize).min(PARTS - 1)];
        (sine, cosine) = match turn {
            // Even times: a turn by the same angle, set right at times.
            Some((s, c)) if index % TURNS != 0 => (sine * c + cosine * s, cosine * c - sine * s),
            _ => (TAU * (at * hz).fract()).sin_cos(),
        };
        let (mut x, mut y) = (*value, 0.0);
        for sum in &mut part[..harmonics] {
            (x, y) = (x * cosine - y * sine, x * sine + y * cosine);
            sum.0 += x;
            sum.1 += y;
        }
    }
    std::array::from_fn(|harmonic| {
        let (mut x, mut y, mut energy) = (0.0, 0.0, 0.0);
        for part in &parts {
            let (part_x, part_y) = part[harmonic];
            x += part_x;
            y += part_y;
            energy += part_x * part_x + part_y * part_y;
        }
        if energy > 0.0 { (x * x + y * y) / energy } else { 0.0 }
    })
}

/// Returns the natural logarithm of the probability that `count` exponential variables of mean 1 add up to `sum`.
pub(super) fn ln_gamma_tail(count: usize, sum: f64) -> f64 {
    let mut term = 1.0;
    let mut series = 1.0;
    for k in 1..count {
        term *= sum / k as f64;
        series += term;
    }
    series.ln() - sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_comes_and_goes_is_not_in_step() {
        let hz = 101.0;
        type Phase = fn(f64) -> f64;
        let cases: [(&str, Phase, bool); 4] = [
            ("all the time", |_| 0.0, true),
            ("another phase in each of 32 parts", |at| (at * 3.2).floor().powi(2) * 0.377, false),
            ("a tenth of a cycle late at the end", |at| at * 0.01, true),
            ("for a twentieth of the time", |at| if at < 0.5 { 0.0 } else { f64::NAN }, false),
        ];
        for (name, phase, expected) in cases {
            let value = |index: i32| {
                let at = f64::from(index) * 1e-3;
                let sine = (TAU * (hz * at + phase(at))).sin();
                if sine.is_nan() { 0.0 } else { sine }
            };
            let values: Vec<f64> = (0..10_000).map(value).collect();
            let signal = Signal::even(1e-3, &values, 1e9).expect("long enough");
            assert_eq!(in_step(&signal, hz, hz), expected, "case: {name}");
        }
    }

    #[test]
    fn the_tail_of_a_sum_of_exponentials() {
        for (count, sum, chance) in
            [(1, 3.0, 0.049_787), (2, 3.0, 0.199_148), (12, 21.0, 0.012_905)]
        {
            let found = ln_gamma_tail(count, sum).exp();
            assert!((found / chance - 1.0).abs() < 0.02, "{count} of {sum}: {found}");
        }
    }
}
