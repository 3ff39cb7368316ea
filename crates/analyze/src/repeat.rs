//! The noise of repeated runs.

use crate::curve::CurvePoint;
use crate::stats::{deviation, mean};
use crate::summary::Summary;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The noise of several runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Repeat {
    /// Number of runs.
    pub runs: u64,
    /// Number of further runs that ended early and are left out.
    #[serde(default)]
    pub ended_early: u64,
    /// Noise over all CPUs.
    pub noise: Spread,
    /// Noise of each CPU, over the runs that measured it.
    pub cpus: Vec<CpuRepeat>,
    /// Rate and noise over all CPUs for thresholds that all runs cover.
    pub curve: Vec<CurveRepeat>,
}

/// One threshold in several runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CurveRepeat {
    /// Threshold in ns: longer gaps count.
    pub threshold_ns: u64,
    /// Detours per second and CPU.
    pub rate_per_s: Spread,
    /// Their time as a share of the wall time.
    pub noise: Spread,
}

/// The noise of one CPU in several runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CpuRepeat {
    /// The CPU.
    pub cpu: u32,
    /// Noise of the CPU.
    pub noise: Spread,
}

/// Mean and spread of one value over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// Number of runs with the value.
    pub runs: u64,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation; absent for a single run.
    pub sd: Option<f64>,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// Returns mean and spread of these values; absent for none.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<Self> {
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

/// Returns mean and spread of the noise over runs, overall and for each CPU; absent for no runs.
#[must_use]
pub fn summarize_many(summaries: &[Summary]) -> Option<Repeat> {
    let totals: Vec<f64> = summaries.iter().map(|summary| summary.total.noise).collect();
    let mut by_cpu: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for cpu in summaries.iter().flat_map(|summary| &summary.cpus) {
        by_cpu.entry(cpu.cpu).or_default().push(cpu.noise);
    }
    Some(Repeat {
        runs: summaries.len() as u64,
        ended_early: 0,
        noise: Spread::from_values(&totals)?,
        cpus: by_cpu
            .into_iter()
            .filter_map(|(cpu, noise)| Some(CpuRepeat { cpu, noise: Spread::from_values(&noise)? }))
            .collect(),
        curve: curve(summaries),
    })
}

/// Returns the points of the curve that every run has; each run starts at its own calibrated threshold.
fn curve(summaries: &[Summary]) -> Vec<CurveRepeat> {
    let mut points: BTreeMap<u64, Vec<CurvePoint>> = BTreeMap::new();
    for point in summaries.iter().flat_map(|summary| &summary.curve) {
        points.entry(point.threshold_ns).or_default().push(*point);
    }
    points.retain(|_, points| points.len() == summaries.len());
    let spread = |points: &[CurvePoint], value: fn(&CurvePoint) -> f64| {
        Spread::from_values(&points.iter().map(value).collect::<Vec<_>>())
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
        assert_eq!(Spread::from_values(&[]), None);
        let one = Spread::from_values(&[0.25]).expect("one value");
        assert_eq!((one.mean, one.sd), (0.25, None));
        // Deviations -1, 0, 1: squares 2, over n - 1 = 2.
        let three = Spread::from_values(&[1.0, 2.0, 3.0]).expect("three values");
        assert_eq!((three.mean, three.sd, three.min, three.max), (2.0, Some(1.0), 1.0, 3.0));
    }
}
