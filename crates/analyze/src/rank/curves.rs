//! The times of memory experiments over the size of the working set, of all configurations on one axis (Wächtler & Sojka
//! 2012, Figures 1 and 4 to 6).

use super::points::{Point, working_set};
use crate::memory;
use anechoic_recording::{Run, Series, methods};
use std::collections::BTreeMap;

/// The curves of all configurations, for pictures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curves {
    /// The caches of the first recording by name and size in bytes, the smallest first.
    pub caches: Vec<(String, u64)>,
    /// The points by experiment and configuration, counted from 0, in the order of their sizes.
    pub points: BTreeMap<String, BTreeMap<usize, Vec<CurvePoint>>>,
}

/// The accesses of one configuration to a working set: over runs the means of the first three and the whole range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Size of the working set in bytes.
    pub bytes: u64,
    /// Mean time of an access in ns.
    pub mean_ns: f64,
    /// Shortest mean of a pass in ns.
    pub least_ns: f64,
    /// Longest mean of a pass in ns.
    pub greatest_ns: f64,
    /// Variance divided by mean, in ns; absent if unknown.
    pub ratio_ns: Option<f64>,
    runs: f64,
}

impl Curves {
    /// Adds a recording of a configuration.
    pub(super) fn add(&mut self, configuration: usize, run: &Run, points: &[(Series, Point)]) {
        if run.method != methods::MEMORY {
            return;
        }
        if self.caches.is_empty() {
            let known = memory::caches(run);
            let name = |level: u32| format!("L{level}");
            self.caches = known.iter().map(|cache| (name(cache.level), cache.size_bytes)).collect();
        }
        for (series, point) in points {
            let experiment = series.parameters.experiment.clone();
            let found = working_set(series).and_then(|bytes| CurvePoint::new(bytes, point));
            let Some((experiment, found)) = experiment.zip(found) else { continue };
            let curve =
                self.points.entry(experiment).or_default().entry(configuration).or_default();
            match curve.binary_search_by_key(&found.bytes, |known| known.bytes) {
                Ok(at) => curve[at].join(&found),
                Err(at) => curve.insert(at, found),
            }
        }
    }
}

impl CurvePoint {
    fn new(bytes: u64, point: &Point) -> Option<Self> {
        let [least_ns, mean_ns, greatest_ns] = point.times_ns()?;
        let ratio_ns = point.noise(super::points::PARTS, super::points::PARTS);
        Some(Self { bytes, mean_ns, least_ns, greatest_ns, ratio_ns, runs: 1.0 })
    }

    /// Adds what another run measured.
    fn join(&mut self, other: &Self) {
        let runs = self.runs + 1.0;
        let mean = |own: f64, other: f64| own + (other - own) / runs;
        self.mean_ns = mean(self.mean_ns, other.mean_ns);
        self.ratio_ns = self.ratio_ns.zip(other.ratio_ns).map(|(own, other)| mean(own, other));
        self.least_ns = self.least_ns.min(other.least_ns);
        self.greatest_ns = self.greatest_ns.max(other.greatest_ns);
        self.runs = runs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_point_are_averaged_and_its_ends_are_the_farthest() {
        let run = |mean_ns: f64, ratio_ns: Option<f64>| CurvePoint {
            bytes: 4_096,
            mean_ns,
            least_ns: mean_ns - 1.0,
            greatest_ns: mean_ns + 1.0,
            ratio_ns,
            runs: 1.0,
        };
        let mut all = run(4.0, Some(0.5));
        all.join(&run(7.0, Some(2.0)));
        all.join(&run(1.0, Some(3.5)));
        let expected = CurvePoint {
            mean_ns: 4.0,
            least_ns: 0.0,
            greatest_ns: 8.0,
            ratio_ns: Some(2.0),
            runs: 3.0,
            ..all
        };
        assert_eq!(all, expected);
        all.join(&run(8.0, None));
        assert_eq!((all.mean_ns, all.ratio_ns), (5.0, None));
    }
}
