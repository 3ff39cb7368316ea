//! Several runs of the same kind: how far their noise lies apart.

use crate::curve::CurvePoint;
use crate::stats::{deviation, mean};
use crate::summary::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The noise of several runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// Runs.
    pub runs: u64,
    /// Noise over all CPUs.
    pub noise: Spread,
    /// Noise of each CPU, over the runs that measured it.
    pub cpus: Vec<CpuRepeat>,
    /// Rate and noise over all CPUs against the threshold, where all runs have the threshold.
    pub curve: Vec<CurveRepeat>,
}

/// One threshold in several runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveRepeat {
    /// Gaps longer than this count.
    pub threshold_ns: u64,
    /// Detours per second of one CPU.
    pub rate_per_s: Spread,
    /// Their time, as a share of the wall time.
    pub noise: Spread,
}

/// The noise of one CPU in several runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuRepeat {
    /// The CPU.
    pub cpu: u32,
    /// Its noise.
    pub noise: Spread,
}

/// Mean and spread of one value over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Runs that have the value.
    pub runs: u64,
    /// Their mean.
    pub mean: f64,
    /// Their sample standard deviation; absent for one run.
    pub sd: Option<f64>,
    /// The smallest,
    pub min: f64,
    /// and the largest.
    pub max: f64,
}

impl Spread {
    /// Of these values; absent for none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        Some(Self {
            runs: values.len() as u64,
            mean,
            sd: deviation(values),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// Mean ± sd of noise over runs, in all and of each CPU; absent for no runs.
#[must_use]
pub fn summarize_many(summaries: &[Summary]) -> Option<Repeat> {
    let totals: Vec<f64> = summaries.iter().map(|summary| summary.total.noise).collect();
    let mut by_cpu: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for cpu in summaries.iter().flat_map(|summary| &summary.cpus) {
        by_cpu.entry(cpu.cpu).or_default().push(cpu.noise);
    }
    Some(Repeat {
        runs: summaries.len() as u64,
        noise: Spread::of(&totals)?,
        cpus: by_cpu
            .into_iter()
            .filter_map(|(cpu, noise)| Some(CpuRepeat { cpu, noise: Spread::of(&noise)? }))
            .collect(),
        curve: curve(summaries),
    })
}

/// The points that every run has: each begins at its own calibrated threshold.
fn curve(summaries: &[Summary]) -> Vec<CurveRepeat> {
    let mut points: BTreeMap<u64, Vec<CurvePoint>> = BTreeMap::new();
    for point in summaries.iter().flat_map(|summary| &summary.curve) {
        points.entry(point.threshold_ns).or_default().push(*point);
    }
    points.retain(|_, points| points.len() == summaries.len());
    let spread = |points: &[CurvePoint], value: fn(&CurvePoint) -> f64| {
        Spread::of(&points.iter().map(value).collect::<Vec<_>>())
    };
    let row = |(threshold_ns, points): (u64, Vec<CurvePoint>)| {
        let rate_per_s = spread(&points, |point| point.rate_per_s)?;
        Some(CurveRepeat { threshold_ns, rate_per_s, noise: spread(&points, |p| p.noise)? })
    };
    points.into_iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_sample_standard_deviation() {
        assert_eq!(Spread::of(&[]), None);
        let one = Spread::of(&[0.25]).expect("one value");
        assert_eq!((one.mean, one.sd), (0.25, None));
        // Deviations -1, 0, 1: squares 2, over n - 1 = 2.
        let three = Spread::of(&[1.0, 2.0, 3.0]).expect("three values");
        assert_eq!((three.mean, three.sd, three.min, three.max), (2.0, Some(1.0), 1.0, 3.0));
    }
}
