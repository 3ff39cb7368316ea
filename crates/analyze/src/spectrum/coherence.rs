//! Whether a comb is in step over the whole time, and not only now and then.

use super::signal::Signal;
use std::f64::consts::TAU;

/// Parts of the time that are compared.
const PARTS: usize = 16;
/// A single line must have this coherence, of at most 16. Chance gives it once in 60,000 lines
/// where phases change from part to part; where they hold on for half a part, once in some thousand.
const LEAST_OF_ONE: f64 = 11.0;
/// Harmonics of a comb that are looked at together, at most,
const HARMONICS: usize = 12;
/// and the logarithm of the chance that they may have.
const LN_CHANCE_OF_COMB: f64 = -18.0;

/// Values after which an angle is computed afresh.
const TURNS: usize = 256;

/// Whether the line at `line_hz`, or the comb of `base_hz` that it belongs to, is in step.
///
/// Each part of the time gives a line a strength and a phase. Where there is no period that holds
/// from part to part, phases are independent, whatever the strengths (a burst may rule one
/// part). Then all moments of the coherence `R = |sum|² / sum of |part|²` are at most those of an
/// exponential variable of mean 1. Of a true line R is near 16, of noise near 1.
/// Over the harmonics of a comb coherences add up: a train that was there for a part of the time only is known by
/// all of them together.
pub(super) fn in_step(signal: &Signal<'_>, line_hz: f64, base_hz: f64) -> bool {
    if coherences(signal, line_hz, 1)[0] >= LEAST_OF_ONE {
        return true;
    }
    let harmonics = ((signal.highest_hz / base_hz) as usize).min(HARMONICS);
    let sum = coherences(signal, base_hz, harmonics).iter().take(harmonics).sum();
    harmonics > 1 && ln_gamma_tail(harmonics, sum) <= LN_CHANCE_OF_COMB
}

/// The coherence of each of the first harmonics of a frequency.
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

/// Natural logarithm of the chance that `count` exponential variables of mean 1 add up to `sum`.
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
