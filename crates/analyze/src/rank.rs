//! Whose noise is lowest: configurations ranked in each of their experiments (Wächtler & Sojka 2012).
//!
//! A configuration is a kernel, a setting or a machine, measured once or repeatedly with the same experiments. Its noise
//! in an experiment is the ratio of variance to mean of the samples, in ns for fixed work and in units of work for fixed
//! time. The paper ranks by the order of these values alone. [`rank`] also states which differences exceed the variation
//! from run to run, or within the run if there is only one. It compares the times of the same work with the first
//! configuration, too: noise is what varies, and what every sample loses does not vary.

mod curves;
mod noise;
mod one_by_one;
mod places;
mod points;
mod shared_sets;
mod times;
pub mod wakeups;

use crate::stats::Interval;
use anechoic_recording::{Problem, ProblemKind, Recording, methods};
pub use curves::{CurvePoint, Curves};
use noise::{Estimate, Key, by_experiment};
pub use one_by_one::OneByOne;
use points::{Point, points};
use schemars::JsonSchema;
use serde::Serialize;
use shared_sets::SharedSets;
use std::collections::{BTreeMap, BTreeSet};
use times::Time;
pub use times::{IterationTime, TimesOverFirst, Unit};

/// The largest number of experiments that an error names.
const MOST_NAMED: usize = 4;

/// The recordings of one configuration.
#[derive(Debug)]
pub struct Configuration<'a> {
    /// Its name.
    pub name: String,
    /// Its recordings, at least one; several are repeated runs.
    pub recordings: Vec<&'a Recording>,
}

impl Configuration<'_> {
    /// Returns whether no operating system ran.
    fn is_bare(&self) -> bool {
        self.recordings.iter().all(|recording| recording.run().machine.is_bare())
    }
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
    /// What times are compared in.
    pub unit: Unit,
    /// Whether the first configuration ran without an operating system.
    pub first_is_bare: bool,
    /// The configurations in the given order.
    pub configurations: Vec<Standing>,
    /// Number of working sets of experiments that not all recordings have measured. They are left out.
    pub working_sets_left_out: u64,
    /// Number of series with a single sample, which has no variance. Their times are compared, but not their noise.
    pub without_variance: u64,
    /// Number of experiments for which the recordings asked for different numbers of samples.
    pub unequal_samples: u64,
    /// Whether some recordings of memory experiments do not state the cost of the counter read that ends a sample, which
    /// waits for the work before it, and others do. Then that of a read that waits for nothing is subtracted from all.
    pub reads_differ: bool,
    /// Number of experiments in which not even the lowest and the highest differ by more than the variation.
    pub tied: u64,
    /// Times of memory experiments over the size of the working set, for pictures alone.
    #[serde(skip)]
    pub curves: Curves,
    /// Samples of fixed work one by one, for pictures alone; none where durations mean nothing.
    #[serde(skip)]
    pub one_by_one: Vec<OneByOne>,
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

/// How often a configuration has the lowest or the highest noise, in the experiments that are counted.
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
    /// The same in the memory experiments that are none of the paper's; absent if the others are not counted apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside_paper: Option<Places>,
    /// How much longer it takes for the same work than the first configuration; absent for the first, and where nothing
    /// compares.
    pub over_first: Option<TimesOverFirst>,
}

/// The number of experiments in which a configuration has each place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Places {
    /// Those in which its noise is the lowest.
    pub lowest: u64,
    /// Those in which it is neither the lowest nor the highest.
    pub middle: u64,
    /// Those in which it is the highest.
    pub highest: u64,
    /// Those in which it equals that of another one, and both are the lowest or the highest.
    pub equal: u64,
}

/// A number of ranked experiments.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Counted {
    /// The number.
    pub count: u64,
    /// Its share of all that are ranked and counted, from 0 to 1.
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
    /// The build of the loop, of the method that compares page sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Size of the matrix in bytes, of that method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix_bytes: Option<u64>,
    /// Whether it is a memory experiment that is none of the paper's, beside others that are: it is counted apart.
    pub beside_paper: bool,
    /// The time of one iteration in each configuration, in the given order.
    pub time: Vec<Option<IterationTime>>,
    /// The noise of each configuration in the given order; absent if it has not measured the experiment, or with one sample
    /// only.
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
    /// Its place in the order of values; absent if the noise of a configuration is, or if it equals another one.
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

/// Returns why configurations have no experiment in common.
fn no_experiments(method: &str, sets_left_out: u64) -> Problem {
    if sets_left_out > 0 {
        let remedy = "measure all configurations on the same machine with the same options";
        return usage("the working sets of the configurations differ", remedy);
    }
    if method == methods::PROGRAM {
        let why = "recordings of a program have no samples to rank";
        return usage(why, "`anechoic compare` compares two sides of them");
    }
    let remedy =
        "rank recordings of `anechoic measure fwq`, `ftq`, `tick`, `loops`, `memory` or `paging`";
    usage(format!("the method {method} has no samples that compare"), remedy)
}

/// Ranks configurations by their noise in each experiment.
///
/// # Errors
/// There are fewer than two configurations, their methods differ, their method has no samples that compare, they have no
/// experiment in common, or a recording is damaged.
pub fn rank(configurations: &[Configuration<'_>]) -> Result<Ranking, Problem> {
    let recordings = || configurations.iter().flat_map(|configuration| &configuration.recordings);
    let method = shared_method(configurations)?;
    if method == methods::PACE {
        let why = "probes of the pace have no samples to rank";
        return Err(usage(why, "`anechoic summary` shows what was short in each recording"));
    }
    let shared = SharedSets::find(&recordings().copied().collect::<Vec<_>>())?;
    let (mut found, mut repeated, mut curves) = (Vec::new(), true, Curves::default());
    for (at, configuration) in configurations.iter().enumerate() {
        let runs = runs_of(configuration, &shared, at, &mut curves)?;
        repeated &= runs.values().all(|runs| runs.len() > 1);
        let runs = runs.into_iter().map(|(key, runs)| (key, Cell::over_runs(&runs)));
        found.push(runs.collect::<BTreeMap<_, _>>());
    }
    let keys: BTreeSet<&Key> = found.iter().flat_map(BTreeMap::keys).collect();
    if keys.is_empty() {
        return Err(no_experiments(method, shared.left_out));
    }
    let rows: Vec<Row> = keys
        .iter()
        .map(|&key| Row { key, cells: found.iter().map(|cells| cells.get(key).copied()).collect() })
        .collect();
    if !rows.iter().any(|row| row.cells.iter().all(Option::is_some)) {
        let first = found.iter().filter_map(|cells| cells.keys().next());
        return Err(nothing_in_common(first.map(|key| &*key.experiment).collect()));
    }
    let times: Vec<Vec<Option<Time>>> = rows.iter().map(Row::times).collect();
    let emulated = recordings().any(|recording| recording.run().machine.is_emulated());
    let unit = if emulated { Unit::Emulated } else { times::unit(&times) };
    let paper = rows.iter().any(|row| row.ranked().is_some() && !row.key.beside_paper());
    let experiment = |(row, times): (&Row, &Vec<_>)| {
        let beside_paper = paper && row.key.beside_paper();
        places::experiment(row.key, &row.noise(), times::compared(times, unit), beside_paper)
    };
    let experiments: Vec<RankedExperiment> = rows.iter().zip(&times).map(experiment).collect();
    let counted = rows.iter().filter(|row| !(paper && row.key.beside_paper()));
    let ranked: Vec<Vec<Estimate>> = counted.filter_map(Row::ranked).collect();
    Ok(Ranking {
        method: method.to_owned(),
        fixed: keys.first().map_or(crate::samples::Fixed::Work, |key| key.fixed()),
        variation: if repeated { Variation::Runs } else { Variation::Parts },
        working_sets_left_out: shared.left_out,
        without_variance: rows
            .iter()
            .flat_map(|row| &row.cells)
            .flatten()
            .map(|cell| cell.single)
            .sum(),
        unequal_samples: shared.unequal,
        reads_differ: shared.reads_differ(),
        unit,
        first_is_bare: configurations.first().is_some_and(Configuration::is_bare),
        configurations: places::standings(configurations, &experiments, &ranked),
        curves,
        one_by_one: match unit {
            Unit::Emulated => vec![],
            _ => one_by_one::one_by_one(configurations)?,
        },
        tied: places::counted(&experiments).filter(|one| one.tied == Some(true)).count() as u64,
        experiments,
    })
}

/// Returns the problem that no experiment was measured in all configurations, of which these are the first ones.
fn nothing_in_common(works: BTreeSet<&str>) -> Problem {
    let mut why = "the configurations have no experiment in common".to_owned();
    if works.len() > 1 {
        let works: Vec<&str> = works.into_iter().take(MOST_NAMED).collect();
        why += &format!(": {}", works.join(", "));
    }
    usage(why, "measure the same work with the same options in all configurations")
}

fn usage(why: impl Into<String>, remedy: &str) -> Problem {
    ProblemKind::Usage.problem(why, remedy)
}

/// Returns the method of all recordings.
fn shared_method<'r>(configurations: &[Configuration<'r>]) -> Result<&'r str, Problem> {
    if configurations.len() < 2 {
        return Err(usage("there is only one configuration", "name two or more recordings"));
    }
    let recordings = configurations.iter().flat_map(|configuration| &configuration.recordings);
    let methods: BTreeSet<&str> = recordings.map(|recording| &*recording.run().method).collect();
    let [method] = methods.into_iter().collect::<Vec<_>>()[..] else {
        let remedy = "measure all configurations with the same method and options";
        return Err(usage("the methods of the recordings differ", remedy));
    };
    Ok(method)
}

/// An experiment and what each configuration measured in it.
struct Row<'k> {
    key: &'k Key,
    cells: Vec<Option<Cell>>,
}

impl Row<'_> {
    fn noise(&self) -> Vec<Option<Estimate>> {
        self.cells.iter().map(|cell| cell.as_ref()?.noise).collect()
    }

    fn times(&self) -> Vec<Option<Time>> {
        self.cells.iter().map(|cell| cell.as_ref()?.time).collect()
    }

    /// Returns the noise of all configurations; nothing if that of one is not known.
    fn ranked(&self) -> Option<Vec<Estimate>> {
        self.noise().into_iter().collect()
    }
}

/// Returns what each run of a configuration measured in the experiments that compare, and adds all it measured to the
/// curves; `at` is its place among the configurations.
fn runs_of(
    configuration: &Configuration<'_>,
    shared: &SharedSets,
    at: usize,
    curves: &mut Curves,
) -> Result<BTreeMap<Key, Vec<Cell>>, Problem> {
    let mut runs: BTreeMap<Key, Vec<Cell>> = BTreeMap::new();
    for &recording in &configuration.recordings {
        let points = points(recording, shared.read_ticks(&recording.run().clock))?;
        curves.add(at, recording.run(), &points);
        let compares = |experiment: &str, bytes| shared.has(experiment, bytes);
        for (key, points) in by_experiment(recording.run(), &points, &compares) {
            if let Some(cell) = Cell::from_points(&points) {
                runs.entry(key).or_default().push(cell);
            }
        }
    }
    Ok(runs)
}

/// What a recording measured in an experiment.
#[derive(Debug, Clone, Copy)]
struct Cell {
    /// Its noise; absent if no series has two samples.
    noise: Option<Estimate>,
    time: Option<Time>,
    /// Number of series with a single sample.
    single: u64,
}

impl Cell {
    /// Returns what the series of an experiment come to; nothing if they have no samples.
    fn from_points(points: &[&Point]) -> Option<Self> {
        let (noise, time) =
            (Estimate::from_points(points, Point::noise), Time::from_points(points));
        let single = points.iter().filter(|point| point.is_single()).count() as u64;
        (noise.is_some() || time.is_some()).then_some(Self { noise, time, single })
    }

    /// Returns what repeated runs come to.
    fn over_runs(runs: &[Self]) -> Self {
        let noise: Vec<Estimate> = runs.iter().filter_map(|run| run.noise).collect();
        let times: Option<Vec<Time>> = runs.iter().map(|run| run.time).collect();
        Self {
            noise: (!noise.is_empty()).then(|| Estimate::over_runs(&noise)),
            time: times.filter(|times| !times.is_empty()).map(|times| Time::over_runs(&times)),
            single: runs.iter().map(|run| run.single).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_are_named_where_they_differ() {
        let cases: [(&[&str], &str); 3] = [
            (&[], "no experiment in common"),
            (&["alu"], "no experiment in common"),
            (&["alu", "memory"], "no experiment in common: alu, memory"),
        ];
        for (works, expected) in cases {
            let problem = nothing_in_common(works.iter().copied().collect());
            assert!(problem.why.ends_with(expected), "{works:?}: {}", problem.why);
        }
    }
}
