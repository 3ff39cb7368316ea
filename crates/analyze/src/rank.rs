//! Whose noise is lowest: configurations ranked in each of their experiments (Wächtler & Sojka 2012).
//!
//! A configuration is a kernel, a setting or a machine, measured once or repeatedly with the same experiments. Its noise
//! in an experiment is the ratio of variance to mean of the samples, in ns for fixed work and in units of work for fixed
//! time. The paper ranks by the order of these values alone. [`rank`] also states which differences exceed the variation
//! from run to run, or within the run if there is only one.

mod noise;
mod places;
mod shared_sets;

use crate::stats::Interval;
use anechoic_recording::{Problem, ProblemKind, Recording};
use noise::{Estimate, Key, noise_of};
use schemars::JsonSchema;
use serde::Serialize;
use shared_sets::SharedSets;
use std::collections::{BTreeMap, BTreeSet};

/// The recordings of one configuration.
#[derive(Debug)]
pub struct Configuration<'a> {
    /// Its name.
    pub name: String,
    /// Its recordings, at least one; several are repeated runs.
    pub recordings: Vec<&'a Recording>,
}

/// Configurations ranked by their noise.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ranking {
    /// The method of measurement.
    pub method: String,
    /// What is the same in every sample.
    pub fixed: crate::samples::Fixed,
    /// What the variation is computed from.
    pub variation: Variation,
    /// The configurations in the given order.
    pub configurations: Vec<Standing>,
    /// Number of working sets of experiments that not all recordings have measured. They are left out.
    pub working_sets_left_out: u64,
    /// Number of experiments for which the recordings asked for different numbers of samples.
    pub unequal_samples: u64,
    /// Number of experiments in which not even the lowest and the highest differ by more than the variation.
    pub tied: u64,
    /// The experiments; those with memory once for each cache region.
    pub experiments: Vec<RankedExperiment>,
}

/// What the variation of a configuration is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variation {
    /// Repeated runs.
    Runs,
    /// Parts of one run, for at least one configuration. What differs from run to run is not in it.
    Parts,
}

/// How often a configuration has the lowest or the highest noise.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// Number of its recordings.
    pub runs: u64,
    /// Experiments in which its noise is the lowest.
    pub lowest: Counted,
    /// Experiments in which its noise is neither the lowest nor the highest.
    pub middle: Counted,
    /// Experiments in which its noise is the highest.
    pub highest: Counted,
    /// Number of experiments in which its noise equals that of another one, and both are the lowest or the highest.
    pub equal: u64,
    /// Number of experiments in which it is lower than every other one by more than the variation.
    pub clearly_lowest: u64,
    /// Number of experiments in which it is higher than every other one by more than the variation.
    pub clearly_highest: u64,
    /// Number of experiments of other configurations that it has not measured; these are not ranked.
    pub absent: u64,
}

/// A number of ranked experiments.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Counted {
    /// The number.
    pub count: u64,
    /// Its share of all ranked experiments, from 0 to 1.
    pub share: f64,
    /// 95 % interval of the share: the ranking repeated with values drawn from the variation of each. Absent if the
    /// variation of a value is not known.
    pub interval: Option<Interval>,
}

/// An experiment and the noise of each configuration in it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankedExperiment {
    /// The experiment, or the work kernel.
    pub experiment: String,
    /// Requested duration of a sample; 0 for a pass over memory.
    pub grain_ns: u64,
    /// Number of copies of the work on its CPU.
    pub copies: u32,
    /// Injected noise.
    pub injected: Option<String>,
    /// Cache region of the working sets, from 1; absent if there are none, or if the machine does not report its caches.
    pub region: Option<u32>,
    /// The cache whose region that is; absent beyond the caches.
    pub cache: Option<String>,
    /// The noise of each configuration in the given order.
    pub noise: Vec<Option<RankedNoise>>,
    /// The configuration, from 0, that is lower than every other one by more than the variation.
    pub clearly_lowest: Option<usize>,
    /// The configuration, from 0, that is higher than every other one by more than the variation.
    pub clearly_highest: Option<usize>,
    /// Whether not even the lowest and the highest differ by more than the variation; absent if it is not ranked.
    pub tied: Option<bool>,
}

/// The noise of a configuration in an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RankedNoise {
    /// Variance divided by mean of the samples: the median over CPUs and working sets; over runs the geometric mean.
    pub variance_to_mean: f64,
    /// Its 95 % interval; absent if the variation is not known.
    pub interval: Option<Interval>,
    /// Its place in the order of values; absent if a configuration is absent, or if it equals another one.
    pub place: Option<Place>,
}

/// The place of a configuration among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// It has the lowest noise.
    Lowest,
    /// Others are lower and others are higher.
    Middle,
    /// It has the highest noise.
    Highest,
}

/// Ranks configurations by their noise in each experiment.
///
/// # Errors
/// There are fewer than two configurations, their methods differ, their method has no samples that compare, they have no
/// experiment in common, or a recording is damaged.
pub fn rank(configurations: &[Configuration<'_>]) -> Result<Ranking, Problem> {
    let recordings = || configurations.iter().flat_map(|of| &of.recordings);
    let methods: BTreeSet<&str> = recordings().map(|of| &*of.run().method).collect();
    let usage = |why: String, remedy: &str| ProblemKind::Usage.problem(why, remedy);
    if configurations.len() < 2 {
        return Err(usage("there is only one configuration".into(), "name two or more recordings"));
    }
    let [method] = methods.into_iter().collect::<Vec<_>>()[..] else {
        let remedy = "measure all configurations with the same method and options";
        return Err(usage("the methods of the recordings differ".into(), remedy));
    };
    let shared = SharedSets::of(&recordings().copied().collect::<Vec<_>>())?;
    let mut found = Vec::new();
    let mut repeated = true;
    for configuration in configurations {
        let mut runs: BTreeMap<Key, Vec<Estimate>> = BTreeMap::new();
        for &recording in &configuration.recordings {
            for (key, estimate) in
                noise_of(recording, &|experiment, bytes| shared.has(experiment, bytes))?
            {
                runs.entry(key).or_default().push(estimate);
            }
        }
        repeated &= runs.values().all(|runs| runs.len() > 1);
        let runs = runs.into_iter().map(|(key, runs)| (key, Estimate::over_runs(&runs)));
        found.push(runs.collect::<BTreeMap<_, _>>());
    }
    let keys: BTreeSet<&Key> = found.iter().flat_map(BTreeMap::keys).collect();
    if keys.is_empty() {
        let remedy =
            "rank recordings of `anechoic measure fwq`, `ftq`, `tick`, `loops` or `memory`";
        return Err(usage(format!("the method {method} has no samples that compare"), remedy));
    }
    let rows: Vec<Vec<Option<Estimate>>> =
        keys.iter().map(|key| found.iter().map(|of| of.get(key).copied()).collect()).collect();
    let ranked: Vec<Vec<Estimate>> =
        rows.iter().filter_map(|row| row.iter().copied().collect()).collect();
    if ranked.is_empty() {
        let remedy = "measure all configurations with the same options";
        return Err(usage("the configurations have no experiment in common".into(), remedy));
    }
    let experiments = keys.iter().zip(&rows).map(|(key, row)| places::experiment(key, row));
    let experiments: Vec<RankedExperiment> = experiments.collect();
    Ok(Ranking {
        method: method.to_owned(),
        fixed: keys.first().map_or(crate::samples::Fixed::Work, |key| key.fixed()),
        variation: if repeated { Variation::Runs } else { Variation::Parts },
        working_sets_left_out: shared.left_out,
        unequal_samples: shared.unequal,
        configurations: places::standings(configurations, &experiments, &ranked),
        tied: experiments.iter().filter(|of| of.tied == Some(true)).count() as u64,
        experiments,
    })
}
