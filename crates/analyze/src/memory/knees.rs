//! Where the curve of the time per access steps from one level to the next, and which cache ends there.
//!
//! On logarithmic scales a curve of random reads is a staircase: one level for each cache that holds the working set,
//! and one for the memory. The staircase with the smallest cost is searched; each step belongs to one of the caches,
//! in their order. A step costs more the farther it is from the size that the machine reports for its cache. So noise
//! makes no steps, and of two caches without a step between them the nearer one gets it.

use crate::stats::median;

/// Smallest factor between the times of two levels.
const RISE: f64 = 1.3;
/// Cost of a step. The cost of a point is its distance from its level in factors of two, times the octaves that the
/// point stands for: a step pays if it brings one octave of points closer by half a factor of two.
const STEP: f64 = 0.5;
/// Additional cost of a step for each octave between it and the reported size of its cache.
const FAR: f64 = 0.25;

/// Largest number of points that are used, several times that of a measurement; of more, every second or n-th.
const MOST: usize = 256;

/// A curve on logarithmic scales.
#[derive(Debug)]
struct Curve {
    /// Logarithms of the working sets and of the times, to base 2, in the order of the working sets.
    points: Vec<(f64, f64)>,
    /// Octaves that one point stands for.
    octaves: f64,
    /// Level and cost of the points from the first to the second index, inclusive.
    levels: Vec<Vec<(f64, f64)>>,
}

/// A staircase: its cost, and for each step the number of its cache and the first point after it.
#[derive(Debug, Clone)]
struct Staircase {
    cost: f64,
    steps: Vec<(usize, usize)>,
}

/// Returns for each cache the working set at which it ends, in bytes; nothing where the curve has no step for it.
///
/// `points` are working sets in bytes and times, both positive, in the order of the working sets; `caches` are the sizes
/// that the machine reports, in bytes and in order.
pub(super) fn knees(points: &[(u64, f64)], caches: &[u64]) -> Vec<Option<u64>> {
    let mut knees = vec![None; caches.len()];
    let Some(curve) = Curve::new(points) else { return knees };
    let sizes: Vec<f64> = caches.iter().map(|&bytes| (bytes.max(1) as f64).log2()).collect();
    let found = curve.staircase(&sizes, 0, (0, f64::NEG_INFINITY));
    let steps = found.map_or_else(Vec::new, |found| found.steps);
    for (number, &(cache, at)) in steps.iter().enumerate() {
        let from = number.checked_sub(1).map_or(0, |before| steps[before].1);
        let to = steps.get(number + 1).map_or(curve.points.len(), |next| next.1);
        let middle = f64::midpoint(curve.levels[from][at - 1].0, curve.levels[at][to - 1].0);
        knees[cache] = Some(curve.crossing(at, middle).exp2().round() as u64);
    }
    knees
}

impl Curve {
    /// Returns nothing for fewer than three usable points.
    fn new(points: &[(u64, f64)]) -> Option<Self> {
        let usable =
            points.iter().filter(|(bytes, time)| *bytes > 0 && *time > 0.0 && time.is_finite());
        let points = usable.step_by(points.len().div_ceil(MOST).max(1));
        let points: Vec<(f64, f64)> =
            points.map(|&(bytes, time)| ((bytes as f64).log2(), time.log2())).collect();
        let (first, last) = (points.first()?.0, points.last()?.0);
        if points.len() < 3 || last <= first {
            return None;
        }
        let octaves = (last - first) / (points.len() - 1) as f64;
        let mut curve = Curve { points, octaves, levels: Vec::new() };
        let count = curve.points.len();
        let level =
            |from: usize, to: usize| if to < from { (0.0, 0.0) } else { curve.level(from, to) };
        let levels =
            (0..count).map(|from| (0..count).map(|to| level(from, to)).collect()).collect();
        curve.levels = levels;
        Some(curve)
    }

    /// Returns the median of the points between two indices, inclusive, and what their distances from it cost.
    fn level(&self, from: usize, to: usize) -> (f64, f64) {
        let mut times: Vec<f64> = self.points[from..=to].iter().map(|point| point.1).collect();
        let level = median(&mut times);
        (level, times.iter().map(|time| (time - level).abs()).sum::<f64>() * self.octaves)
    }

    /// Returns the staircase of smallest cost through the points from `from` on, whose first level is higher than `below`
    /// and whose steps belong to caches from number `cache` on.
    fn staircase(
        &self,
        caches: &[f64],
        cache: usize,
        (from, below): (usize, f64),
    ) -> Option<Staircase> {
        let last = self.points.len() - 1;
        let rises = |level: f64| level >= below + RISE.log2();
        let (level, cost) = self.levels[from][last];
        let mut best = rises(level).then(|| Staircase { cost, steps: Vec::new() });
        for (number, size) in caches.iter().enumerate().skip(cache) {
            for at in from + 1..=last {
                let (level, cost) = self.levels[from][at - 1];
                let place = f64::midpoint(self.points[at - 1].0, self.points[at].0);
                let cost = cost + STEP + FAR * (place - size).abs();
                let pays = best.as_ref().is_none_or(|best| cost < best.cost);
                if !rises(level) || !pays {
                    continue;
                }
                let Some(rest) = self.staircase(caches, number + 1, (at, level)) else { continue };
                if best.as_ref().is_none_or(|best| cost + rest.cost < best.cost) {
                    let steps = std::iter::once((number, at)).chain(rest.steps).collect();
                    best = Some(Staircase { cost: cost + rest.cost, steps });
                }
            }
        }
        best
    }

    /// Returns where the curve crosses a time between the point before `at` and that point; halfway between both where it
    /// does not.
    fn crossing(&self, at: usize, time: f64) -> f64 {
        let [(x0, y0), (x1, y1)] = [self.points[at - 1], self.points[at]];
        let part = if y0 < time && time < y1 { (time - y0) / (y1 - y0) } else { 0.5 };
        x0 + (x1 - x0) * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    /// What the machine reports in all cases.
    const CACHES: [u64; 3] = [32 * KIB, MIB, 32 * MIB];

    /// Returns working sets from 4 KiB to 64 MiB with `per_octave` points and times of `time`.
    fn curve(per_octave: u32, time: impl Fn(usize, f64) -> f64) -> Vec<(u64, f64)> {
        let size = |step: u32| 12.0 + f64::from(step) / f64::from(per_octave);
        let bytes = (0..=14 * per_octave).map(|step| size(step).exp2().round() as u64);
        bytes.enumerate().map(|(at, bytes)| (bytes, time(at, bytes as f64))).collect()
    }

    /// Returns the time of an access that costs 4 in the smallest cache, and each of these factors more beyond a size,
    /// where it rises over about `width` octaves.
    fn stairs(steps: &[(u64, f64)], width: f64, bytes: f64) -> f64 {
        let factor = |&(size, factor): &(u64, f64)| {
            let octaves = (bytes / size as f64).log2() / width;
            factor.powf(1.0 / (1.0 + (-4.0 * octaves).exp()))
        };
        4.0 * steps.iter().map(factor).product::<f64>()
    }

    /// Returns a factor around 1 that seems random, up to `most`.
    fn noise(at: usize, most: f64) -> f64 {
        let part = (at as f64 * 12.9898).sin() * 43_758.547;
        most.powf(2.0 * (part - part.floor()) - 1.0)
    }

    /// Asserts that each knee is within a factor of the one expected, or absent.
    fn check(name: &str, points: &[(u64, f64)], expected: [Option<u64>; 3], factor: f64) {
        let found = knees(points, &CACHES);
        let close = |(found, expected): (&Option<u64>, &Option<u64>)| match (found, expected) {
            (Some(found), Some(expected)) => {
                let ratio = *found as f64 / *expected as f64;
                ratio < factor && ratio > 1.0 / factor
            }
            (found, expected) => found == expected,
        };
        let all = found.iter().zip(&expected).all(close);
        assert!(all, "{name}: {found:?} instead of {expected:?}");
    }

    #[test]
    fn steps_belong_to_the_caches_in_order_and_by_nearness() {
        type Steps<'a> = &'a [(u64, f64)];
        let cases: [(&str, Steps<'_>, [Option<u64>; 3]); 8] = [
            (
                "as reported",
                &[(32 * KIB, 3.0), (MIB, 4.0), (32 * MIB, 7.0)],
                [Some(32 * KIB), Some(MIB), Some(32 * MIB)],
            ),
            (
                "a share of the last-level cache",
                &[(32 * KIB, 3.0), (MIB, 4.0), (5 * MIB, 7.0)],
                [Some(32 * KIB), Some(MIB), Some(5 * MIB)],
            ),
            ("no step at L1", &[(MIB, 4.0), (12 * MIB, 7.0)], [None, Some(MIB), Some(12 * MIB)]),
            (
                "no step at L2",
                &[(32 * KIB, 3.0), (24 * MIB, 9.0)],
                [Some(32 * KIB), None, Some(24 * MIB)],
            ),
            ("no step at L3", &[(16 * KIB, 3.0), (MIB, 4.0)], [Some(16 * KIB), Some(MIB), None]),
            ("only the last", &[(20 * MIB, 3.0)], [None, None, Some(20 * MIB)]),
            ("a step that is too low", &[(MIB, 1.2)], [None; 3]),
            ("flat", &[], [None; 3]),
        ];
        for (name, steps, expected) in cases {
            for per_octave in [1, 8] {
                let points = curve(per_octave, |_, bytes| stairs(steps, 0.5, bytes));
                check(name, &points, expected, if per_octave == 1 { 1.5 } else { 1.15 });
                let noisy =
                    curve(per_octave, |at, bytes| stairs(steps, 0.5, bytes) * noise(at, 1.1));
                check(&format!("{name}, noisy"), &noisy, expected, 1.5);
            }
        }
    }

    #[test]
    fn a_pass_that_takes_one_of_two_times_is_no_further_step() {
        // Between 3 and 6 MiB the working set stays in the last-level cache, or does not, point by point.
        let steps = [(32 * KIB, 3.0), (MIB, 3.0), (4 * MIB, 9.0)];
        let time = |at: usize, bytes: f64| {
            let (low, high) = (4.0 * 9.0, 4.0 * 81.0);
            let unsure = bytes > 3.0 * MIB as f64 && bytes < 6.0 * MIB as f64;
            match unsure {
                true if at.is_multiple_of(2) => low,
                true => high,
                false => stairs(&steps, 0.2, bytes),
            }
        };
        check("bistable", &curve(8, time), [Some(32 * KIB), Some(MIB), Some(4 * MIB)], 1.6);
    }

    #[test]
    fn measured_curves_of_a_guest_that_shares_its_last_level_cache() {
        // One point an octave from 4 KiB on, in ticks: random reads within 64 pages, and sequential reads.
        let random = [
            4.28, 3.44, 7.54, 10.57, 11.02, 10.06, 10.07, 14.3, 30.5, 55.85, 305.23, 300.24,
            275.29, 300.28, 306.23,
        ];
        let sequential = [
            4.65, 3.56, 2.28, 1.81, 2.17, 2.93, 1.97, 1.44, 2.28, 1.75, 2.06, 2.24, 2.95, 5.59,
            7.28,
        ];
        let points = |times: &[f64]| curve(1, |at, _| times[at]);
        let near = [Some(13 * KIB), Some(750 * KIB), Some(3 * MIB)];
        check("random", &points(&random), near, 1.2);
        check("sequential", &points(&sequential), [None, None, Some(21 * MIB)], 1.2);
    }

    #[test]
    fn little_or_odd_data_has_no_knee() {
        let cases: [&[(u64, f64)]; 6] = [
            &[],
            &[(4096, 1.0)],
            &[(4096, 1.0), (8192, 9.0)],
            &[(4096, 1.0); 9],
            &[(0, 1.0), (4096, 0.0), (8192, f64::NAN), (16384, f64::INFINITY)],
            &[(4096, 9.0), (8192, 9.0), (16384, 1.0), (32768, 1.0)],
        ];
        for points in cases {
            assert_eq!(knees(points, &CACHES), [None; 3], "{points:?}");
        }
        assert!(knees(&curve(1, |_, bytes| bytes), &[]).is_empty(), "no caches are reported");
    }
}
