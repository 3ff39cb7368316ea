//! Rate and noise as functions of the threshold, because a rate of detours is only meaningful with its threshold.

use anechoic_recording::Clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a run with this threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Threshold in ns: longer gaps count.
    pub threshold_ns: u64,
    /// Number of detours.
    pub detours: u64,
    /// Detours per second and CPU, the mean over the measured CPUs. Of a run that kept only the part before a detour that it
    /// waited for, lengths that it waited for are those of the whole run, which had no earlier one.
    pub rate_per_s: f64,
    /// Their time as a share of the same time.
    pub noise: f64,
}

/// Time that a run watched and did not keep, in which it knows that no detour exceeded a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// The length in ns.
    pub over_ns: u64,
    /// The time of all CPUs in ticks.
    pub ticks: u64,
}

/// The lowest threshold besides the run's own: hardly any detour is shorter.
const LEAST_NS: u64 = 100;

/// Counts detours exactly for every threshold of a 1-2-5 series.
#[derive(Debug, Clone)]
pub struct Curve {
    thresholds_ns: Vec<u64>,
    thresholds_ticks: Vec<u64>,
    /// Detours and their ticks between two adjacent thresholds.
    counts: Vec<u64>,
    lost: Vec<u64>,
}

impl Curve {
    /// Returns an empty curve from the run's own threshold upwards.
    #[must_use]
    pub fn new(threshold_ticks: u64, clock: &Clock) -> Self {
        let threshold_ns = clock.ns(threshold_ticks);
        let series = (0..12).flat_map(|e| [1, 2, 5].map(|digit| digit * 10u64.pow(e)));
        let least_ns = threshold_ns.max(LEAST_NS - 1);
        let above = series.filter(|&ns| ns > least_ns && clock.ticks(ns) > threshold_ticks);
        let thresholds_ns: Vec<u64> = std::iter::once(threshold_ns).chain(above).collect();
        let mut thresholds_ticks: Vec<u64> =
            thresholds_ns.iter().map(|&ns| clock.ticks(ns)).collect();
        thresholds_ticks[0] = threshold_ticks;
        let empty = vec![0; thresholds_ns.len()];
        Self { thresholds_ns, thresholds_ticks, counts: empty.clone(), lost: empty }
    }

    /// Returns the lowest threshold in ticks.
    #[must_use]
    pub fn threshold_ticks(&self) -> u64 {
        self.thresholds_ticks[0]
    }

    /// Adds a detour: its whole gap, and the lost part of it, in ticks.
    pub fn add(&mut self, gap_ticks: u64, lost_ticks: u64) {
        let passed = self.thresholds_ticks.partition_point(|&threshold| threshold < gap_ticks);
        // A stored gap that is not over the threshold comes from a damaged file: it counts at the lowest.
        let cell = passed.saturating_sub(1);
        self.counts[cell] += 1;
        self.lost[cell] = self.lost[cell].saturating_add(lost_ticks);
    }

    /// Returns the curve for `wall_ticks` of all CPUs, up to the highest threshold that any detour exceeds.
    #[must_use]
    pub fn points(
        &self,
        wall_ticks: u64,
        dropped: Option<Dropped>,
        clock: &Clock,
    ) -> Vec<CurvePoint> {
        let watched = |threshold_ns: u64| {
            let more = dropped.filter(|dropped| threshold_ns >= dropped.over_ns);
            wall_ticks.saturating_add(more.map_or(0, |dropped| dropped.ticks))
        };
        let (mut detours, mut lost) = (0, 0_u64);
        let mut points: Vec<CurvePoint> = (0..self.counts.len())
            .rev()
            .map(|cell| {
                detours += self.counts[cell];
                lost = lost.saturating_add(self.lost[cell]);
                let threshold_ns = self.thresholds_ns[cell];
                let watched = watched(threshold_ns);
                CurvePoint {
                    threshold_ns,
                    detours,
                    rate_per_s: crate::per_second(detours, watched, clock),
                    noise: crate::share(lost, watched),
                }
            })
            .skip_while(|point| point.detours == 0)
            .collect();
        points.reverse();
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;

    #[test]
    fn counts_are_exact_at_the_thresholds() {
        let mut curve = Curve::new(60, &clock_ns());
        // Gap 100 is not over 100; gap 101 is.
        for gap in [61, 100, 101, 5_000, 5_001] {
            curve.add(gap, gap - 10);
        }
        let points = curve.points(1_000_000_000, None, &clock_ns());
        let got: Vec<_> = points.iter().map(|p| (p.threshold_ns, p.detours)).collect();
        let expected = [(60, 5), (100, 3), (200, 2), (500, 2), (1000, 2), (2000, 2), (5000, 1)];
        assert_eq!(got, expected);
        let noise: Vec<_> = points.iter().map(|p| p.noise * 1e9).map(f64::round).collect();
        assert_eq!(noise, [10213.0, 10072.0, 9981.0, 9981.0, 9981.0, 9981.0, 4991.0]);
        assert_eq!(points[1].rate_per_s, 3.0);
    }

    /// One detour over 1 ms in 99 s that were dropped and 1 s that is kept; shorter ones are known in that second alone.
    #[test]
    fn lengths_that_the_run_waited_for_have_the_rate_of_the_whole_run() {
        let mut curve = Curve::new(60, &clock_ns());
        [600_000, 1_500_000].iter().for_each(|gap| curve.add(*gap, *gap));
        let dropped = Some(Dropped { over_ns: 1_000_000, ticks: 99_000_000_000 });
        let points = curve.points(1_000_000_000, dropped, &clock_ns());
        let at = |ns: u64| points.iter().find(|point| point.threshold_ns == ns).expect("a point");
        let (below, over) = (at(500_000), at(1_000_000));
        assert_eq!((below.rate_per_s, over.rate_per_s), (2.0, 0.01));
        assert!((over.noise - 1.5e-5).abs() < 1e-12, "{over:?}");
    }

    #[test]
    fn a_sum_beyond_the_largest_number_is_that_number() {
        let mut curve = Curve::new(60, &clock_ns());
        for gap in [u64::MAX, u64::MAX - 1, 1_000, u64::MAX / 2] {
            curve.add(gap, gap);
        }
        let points = curve.points(u64::MAX, None, &clock_ns());
        assert_eq!((points[0].detours, points[0].noise), (4, 1.0));
    }

    #[test]
    fn no_detours_no_points() {
        assert_eq!(Curve::new(60, &clock_ns()).points(0, None, &clock_ns()), []);
    }
}
