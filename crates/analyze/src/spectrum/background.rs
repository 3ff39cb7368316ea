//! The local background of a spectrum, and the probability of a bin's height above it.
//!
//! This is ordered-statistic constant false-alarm rate detection, as for radar (Rohling, IEEE Trans. Aerosp. Electron.
//! Syst. 19, 1983): a bin is compared with the sorted powers beside it. Without a period, powers are exponentially
//! distributed around a level that changes slowly with frequency, so the probability of the ratio is known exactly,
//! including the uncertainty of the background. Of the two sides the one that is less in favour of a line decides, so
//! that neither the edge of a hump nor a steep slope creates one.

use super::transform::Periodogram;

/// Bins closer than this belong to the line itself (a Hann taper spreads it over four).
const GUARD: usize = 4;
/// Number of bins on one side that are compared: every second one, because a taper couples neighbours.
const CELLS: usize = 32;
/// Smallest number of cells of a side that counts.
const FEWEST_CELLS: usize = 8;
/// First tested bin; below it there are too few bins on its left, and too few cycles in the signal.
pub(super) const LOWEST_BIN: usize = 40;
/// Number of bins whose median is one level of the drawn background.
const BAND: usize = 32;

/// A bin compared with its background.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Height {
    /// Power relative to the background of the side with the larger one.
    pub(super) over_background: f64,
    /// Natural logarithm of the probability that a bin without a line is as high.
    pub(super) ln_chance: f64,
}

/// Compares a bin with its background; absent if there are too few bins beside it.
pub(super) fn height(spectrum: &Periodogram, bin: usize) -> Option<Height> {
    let power = *spectrum.power.get(bin)?;
    let left = (bin / 2).max(GUARD)..bin.saturating_sub(GUARD - 1);
    let right = bin + GUARD..(2 * bin).min(spectrum.power.len());
    let mut cells: Vec<f64> =
        left.rev().step_by(2).take(CELLS).map(|bin| spectrum.power[bin]).collect();
    let left = beside(power, &mut cells);
    let mut cells: Vec<f64> = right.step_by(2).take(CELLS).map(|bin| spectrum.power[bin]).collect();
    let right = beside(power, &mut cells);
    match (left, right) {
        (Some(left), Some(right)) => Some(Height {
            over_background: left.over_background.min(right.over_background),
            ln_chance: left.ln_chance.max(right.ln_chance),
        }),
        (one, other) => one.or(other),
    }
}

/// Compares a power with the third quartile `x` of `m` others. If that is the `k`-th of them in order, the probability
/// of more than `r x` is the product of `(m - i) / (m - i + r)` over `i < k`.
fn beside(power: f64, cells: &mut [f64]) -> Option<Height> {
    let (m, k) = (cells.len(), cells.len() * 3 / 4);
    if m < FEWEST_CELLS {
        return None;
    }
    let quartile = *cells.select_nth_unstable_by(k - 1, f64::total_cmp).1;
    if quartile <= 0.0 {
        // Without any noise there is nothing to compare with.
        return Some(Height { over_background: 0.0, ln_chance: 0.0 });
    }
    let over_background = power / quartile * expected(m, k);
    Some(Height { over_background, ln_chance: ln_chance(over_background, m, k) })
}

/// Returns the mean of the `k`-th of `m` sorted exponential variables of mean 1.
fn expected(m: usize, k: usize) -> f64 {
    (0..k).map(|i| 1.0 / (m - i) as f64).sum()
}

fn ln_chance(over_background: f64, m: usize, k: usize) -> f64 {
    let ratio = over_background / expected(m, k);
    (0..k).map(|i| -(ratio / (m - i) as f64).ln_1p()).sum()
}

/// Returns the natural logarithm of the probability that a bin without a line is as high above its background, with all
/// cells of one side present.
pub(super) fn ln_chance_of(over_background: f64) -> f64 {
    ln_chance(over_background, CELLS, CELLS * 3 / 4)
}

/// Rough levels of the background, one for every 32 bins, for selecting candidates and for figures.
pub(super) fn levels(spectrum: &Periodogram) -> Vec<f64> {
    let mut sorted = vec![];
    let median = |band: &[f64]| {
        sorted.clear();
        sorted.extend_from_slice(band);
        let middle = sorted.len() / 2;
        *sorted.select_nth_unstable_by(middle, f64::total_cmp).1 / std::f64::consts::LN_2
    };
    spectrum.power.chunks(BAND).map(median).collect()
}

/// Returns a bin's power relative to the rough background: the larger of the levels around it.
#[inline]
pub(super) fn over_level(spectrum: &Periodogram, levels: &[f64], bin: usize) -> f64 {
    let band = bin / BAND;
    let near = &levels[band.saturating_sub(1)..(band + 2).min(levels.len())];
    // The middle one of three: a line in one band hides nothing in the next.
    let (mut least, mut most, mut sum) = (f64::INFINITY, 0.0f64, 0.0);
    for &level in near {
        least = least.min(level);
        most = most.max(level);
        sum += level;
    }
    let level = if near.len() == 3 { sum - least - most } else { most };
    if level > 0.0 { spectrum.power[bin] / level } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    fn exponential(mean: f64, random: &mut Pcg64Mcg) -> f64 {
        -mean * (1.0 - random.random::<f64>()).ln()
    }

    #[test]
    fn one_side_has_the_chance_that_is_stated() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        for (cells, level) in [(8, 1e-2), (32, 1e-2), (32, 1e-3)] {
            let trials = 200_000;
            let mut rare = 0.0;
            for _ in 0..trials {
                let mut others: Vec<f64> =
                    (0..cells).map(|_| exponential(3.0, &mut random)).collect();
                let height = beside(exponential(3.0, &mut random), &mut others).expect("enough");
                rare += f64::from(u8::from(height.ln_chance <= f64::ln(level)));
            }
            let expected = level * f64::from(trials);
            assert!(
                (rare - expected).abs() < 4.0 * expected.sqrt(),
                "{cells} cells, {level}: {rare}"
            );
        }
    }

    #[test]
    fn slopes_and_edges_make_no_lines() {
        type Shape = fn(usize) -> f64;
        let shapes: [(&str, Shape); 3] = [
            ("flat", |_| 1.0),
            ("falling with the square", |bin| 1e6 / (bin * bin).max(1) as f64),
            ("a step up", |bin| if bin < 2000 { 1.0 } else { 100.0 }),
        ];
        for (name, level) in shapes {
            let mut rare = 0;
            for seed in 0..20 {
                let mut random = Pcg64Mcg::seed_from_u64(seed);
                let power = (0..4000).map(|bin| exponential(level(bin), &mut random)).collect();
                let spectrum = Periodogram { power, bin_hz: 0.1 };
                let chance = |bin| height(&spectrum, bin).map_or(0.0, |height| height.ln_chance);
                rare += (LOWEST_BIN..4000).filter(|&bin| chance(bin) < f64::ln(1e-3)).count();
            }
            // 79 of 79,200 are allowed at one chance in a thousand.
            assert!(rare <= 79, "{name}: {rare}");
        }
    }

    #[test]
    fn a_line_stands_out() {
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let mut power: Vec<f64> = (0..1000).map(|_| exponential(1.0, &mut random)).collect();
        power[500] = 60.0;
        let spectrum = Periodogram { power, bin_hz: 0.1 };
        let found = height(&spectrum, 500).expect("enough bins");
        assert!(
            (30.0..110.0).contains(&found.over_background) && found.ln_chance < -20.0,
            "{found:?}"
        );
        assert!(height(&spectrum, 5).is_none() && height(&spectrum, 1000).is_none());
    }
}
