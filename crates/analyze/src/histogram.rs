//! How often detours of each length occurred on each CPU: a histogram in buckets of equal width, or of equal ratio.

use crate::counted::{Ranges, ranges};
use crate::facts::Facts;
use crate::fold::{CpuLoops, Fold, read_once};
use crate::loops::watched;
use crate::split::SplitDetour;
use crate::stopped::Stopped;
use crate::summary::{Summary, SummaryBuilder};
use anechoic_recording::{Clock, Problem, ProblemKind, Recording, methods};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of buckets in which lengths grow tenfold.
const PER_DECADE: i32 = 10;
/// Powers of ten that such buckets reach, in ns: over an hour.
const DECADES: i32 = 13;

/// The buckets of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buckets {
    /// Each is longer than the one before by the same ratio; ten of them are one power of ten.
    Logarithmic,
    /// All have this width; lengths beyond the last are counted together.
    Equal {
        /// The width in ns, at least 1.
        width_ns: u64,
        /// The number of buckets.
        number: usize,
    },
}

/// How often detours of each length occurred on each CPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Histogram {
    /// The run.
    pub run: Facts,
    /// What was to end the run before its time, and what did; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// Width of the buckets in ns; absent if ten of them are a power of ten, or if another tool counted.
    pub bucket_ns: Option<u64>,
    /// The buckets that have a detour, in order.
    pub buckets: Vec<Bucket>,
    /// Each measured CPU, in the order of the counts.
    pub cpus: Vec<HistogramCpu>,
}

/// The number of detours of a range of lengths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Bucket {
    /// The shortest length in it, in ns.
    pub from_ns: u64,
    /// The shortest length that is too long for it, in ns.
    pub to_ns: u64,
    /// Number of detours on each CPU.
    pub counts: Vec<u64>,
}

/// The detours of one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HistogramCpu {
    /// The CPU.
    pub cpu: u32,
    /// Number of detours.
    pub detours: u64,
    /// Number of detours that were too long for all buckets.
    pub over: u64,
    /// Number of detours that were lost for lack of space, which no bucket has.
    pub lost: u64,
    /// The shortest length, less the shortest gap; of counts of another tool, what it is not less than; absent without a
    /// detour.
    pub min_ns: Option<u64>,
    /// Mean length; absent without a detour, or if another tool counted and did not sum the lengths.
    pub mean_ns: Option<f64>,
    /// The longest length; of counts of another tool, what it is not more than; absent without a detour.
    pub max_ns: Option<u64>,
}

/// Computes the histogram of a recording, in one pass and in memory for the buckets alone.
///
/// # Errors
///
/// A file is damaged, the activities do not belong to these detours, the recording is one of whole samples, whose gaps
/// were not watched, or buckets were asked for and another tool counted in its own.
pub fn histogram(recording: &Recording, buckets: Buckets) -> Result<Histogram, Problem> {
    let run = recording.run();
    if methods::COUNTED.contains(&&*run.method) {
        return counted_histogram(recording, buckets);
    }
    let loops = watched(recording)?;
    let mut summary = SummaryBuilder::new(run, &loops);
    let mut builder = Builder::new(buckets, run.clock.clone());
    let mut folds = summary.folds();
    folds.push(&mut builder);
    let strays = read_once(recording, &loops, &mut folds, &mut |_| {})?;
    let summary = summary.finish(recording, &loops, strays)?;
    let bucket_ns = match buckets {
        Buckets::Logarithmic => None,
        Buckets::Equal { width_ns, .. } => Some(width_ns),
    };
    let (buckets, cpus) = builder.finish();
    let Summary { run, stopped, .. } = summary;
    Ok(Histogram { run, stopped, bucket_ns, buckets, cpus })
}

/// Returns the histogram of a recording that has only counts by length: its own buckets, which may differ from CPU to CPU.
fn counted_histogram(recording: &Recording, buckets: Buckets) -> Result<Histogram, Problem> {
    if let Buckets::Equal { .. } = buckets {
        let why = "it has only counts by length, whose buckets are given";
        let problem = ProblemKind::Usage.problem(why, "leave out --bucket");
        return Err(problem.about(recording.dir().display()));
    }
    let (run, by_cpu) = (recording.run(), ranges(recording)?);
    let mut merged = BTreeMap::<(u64, u64), Vec<u64>>::new();
    let mut cpus = vec![];
    for (place, cpu) in run.cpus.iter().enumerate() {
        let none = Ranges::default();
        let counted = by_cpu.get(&cpu.cpu).unwrap_or(&none);
        for (shortest, longest, count) in counted.iter() {
            let bounds = (run.clock.ns(shortest), run.clock.ns(longest).saturating_add(1));
            let counts = merged.entry(bounds).or_insert_with(|| vec![0_u64; run.cpus.len()]);
            counts[place] = counts[place].saturating_add(count);
        }
        let detours = counted.number();
        cpus.push(HistogramCpu {
            cpu: cpu.cpu,
            detours,
            over: 0,
            lost: 0,
            min_ns: counted.at(0.0, &run.clock).map(|length| length.ns.at_least),
            mean_ns: counted
                .total_ns()
                .filter(|_| detours > 0)
                .map(|ns| ns as f64 / detours as f64),
            max_ns: counted.at(1.0, &run.clock).map(|length| length.ns.at_most),
        });
    }
    let longest = run.cpus.iter().map(|cpu| cpu.last_ticks.saturating_sub(cpu.first_ticks)).max();
    let bucket = |((from_ns, to_ns), counts)| Bucket { from_ns, to_ns, counts };
    Ok(Histogram {
        run: Facts::new(run, longest.unwrap_or(0)),
        stopped: None,
        bucket_ns: None,
        buckets: merged.into_iter().map(bucket).collect(),
        cpus,
    })
}

/// A histogram in progress.
#[derive(Debug)]
struct Builder {
    /// The shortest length of each bucket, and the end of the last, in ns.
    bounds: Vec<u64>,
    clock: Clock,
    cpus: Vec<CpuCounts>,
}

/// The counts of one CPU, the last of which are too long for all buckets.
#[derive(Debug)]
struct CpuCounts {
    cpu: u32,
    counts: Vec<u64>,
    lost: u64,
    min_ticks: u64,
    max_ticks: u64,
    sum_ticks: u64,
}

impl Builder {
    fn new(buckets: Buckets, clock: Clock) -> Self {
        Self { bounds: bounds(buckets), clock, cpus: vec![] }
    }

    fn finish(self) -> (Vec<Bucket>, Vec<HistogramCpu>) {
        let buckets = self.bounds.windows(2).enumerate();
        let buckets = buckets.filter_map(|(at, bounds)| self.bucket(at, bounds)).collect();
        (buckets, self.cpus.iter().map(|cpu| cpu.result(&self.clock)).collect())
    }

    /// Returns a bucket by its number and bounds; absent if it is empty.
    fn bucket(&self, at: usize, bounds: &[u64]) -> Option<Bucket> {
        let counts: Vec<u64> = self.cpus.iter().map(|cpu| cpu.counts[at]).collect();
        let [from_ns, to_ns] = [bounds[0], bounds[1]];
        counts.iter().any(|&count| count > 0).then_some(Bucket { from_ns, to_ns, counts })
    }
}

impl Fold for Builder {
    fn begin_cpu(&mut self, cpu: &CpuLoops<'_>) {
        self.cpus.push(CpuCounts {
            cpu: cpu.cpu.cpu,
            counts: vec![0; self.bounds.len()],
            lost: cpu.cpu.lost_detours,
            min_ticks: u64::MAX,
            max_ticks: 0,
            sum_ticks: 0,
        });
    }

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        let ticks = detour.view.lost_ticks;
        let ns = self.clock.ns(ticks);
        let Some(cpu) = self.cpus.last_mut() else { return };
        // What is shorter than the first bucket belongs to it: there is nothing under 1 ns.
        let at = self.bounds.partition_point(|&from| from <= ns).saturating_sub(1);
        cpu.counts[at] += 1;
        (cpu.min_ticks, cpu.max_ticks) = (cpu.min_ticks.min(ticks), cpu.max_ticks.max(ticks));
        cpu.sum_ticks = cpu.sum_ticks.saturating_add(ticks);
    }
}

impl CpuCounts {
    fn result(&self, clock: &Clock) -> HistogramCpu {
        let detours: u64 = self.counts.iter().sum();
        let any = |ns: u64| (detours > 0).then_some(ns);
        HistogramCpu {
            cpu: self.cpu,
            detours,
            over: self.counts.last().copied().unwrap_or(0),
            lost: self.lost,
            min_ns: any(clock.ns(self.min_ticks.min(self.max_ticks))),
            mean_ns: any(clock.ns(self.sum_ticks)).map(|sum| sum as f64 / detours as f64),
            max_ns: any(clock.ns(self.max_ticks)),
        }
    }
}

/// Returns the shortest length of each bucket and the end of the last, in ns.
fn bounds(buckets: Buckets) -> Vec<u64> {
    match buckets {
        Buckets::Equal { width_ns, number } => {
            (0..=number as u64).map(|at| at.saturating_mul(width_ns)).collect()
        }
        Buckets::Logarithmic => {
            let bound = |at: i32| 10_f64.powf(f64::from(at) / f64::from(PER_DECADE)).round() as u64;
            let mut bounds: Vec<u64> = (0..=DECADES * PER_DECADE).map(bound).collect();
            bounds.dedup();
            bounds
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Split;
    use crate::testing::{clock_ns, detour};
    use anechoic_lab::builders::{cpu_run, run};
    use anechoic_recording::Loops;

    /// Counts detours of these lengths in ns on one CPU.
    fn counted(buckets: Buckets, lengths_ns: &[u64]) -> (Vec<Bucket>, HistogramCpu) {
        let run = run("detours", clock_ns(), vec![cpu_run(3, (0, 1_000), 10)]);
        let loops = Loops::default();
        let mut builder = Builder::new(buckets, clock_ns());
        builder.begin_cpu(&CpuLoops { run: &run, cpu: &run.cpus[0], stints: &[], loops: &loops });
        for &length_ns in lengths_ns {
            builder.detour(&Split::default().split(detour(0, length_ns)));
        }
        let (buckets, mut cpus) = builder.finish();
        (buckets, cpus.remove(0))
    }

    fn ranges(buckets: &[Bucket]) -> Vec<(u64, u64, u64)> {
        buckets.iter().map(|bucket| (bucket.from_ns, bucket.to_ns, bucket.counts[0])).collect()
    }

    #[test]
    fn lengths_fall_into_buckets_of_equal_width_and_the_rest_is_over() {
        let equal = Buckets::Equal { width_ns: 1_000, number: 3 };
        let (buckets, cpu) = counted(equal, &[0, 999, 1_000, 2_999, 3_000, 9_000_000]);
        assert_eq!(ranges(&buckets), [(0, 1_000, 2), (1_000, 2_000, 1), (2_000, 3_000, 1)]);
        assert_eq!((cpu.cpu, cpu.detours, cpu.over), (3, 6, 2));
        assert_eq!((cpu.min_ns, cpu.max_ns), (Some(0), Some(9_000_000)));
        assert_eq!(cpu.mean_ns, Some(9_007_998.0 / 6.0));
    }

    #[test]
    fn logarithmic_buckets_have_the_decades_as_bounds_and_nothing_is_over() {
        let lengths = [0, 1, 99, 100, 125, 126, 1_000, 999_999_999, 3_600_000_000_000];
        let (buckets, cpu) = counted(Buckets::Logarithmic, &lengths);
        let found = ranges(&buckets);
        assert_eq!(&found[..4], [(1, 2, 2), (79, 100, 1), (100, 126, 2), (126, 158, 1)]);
        assert_eq!(found[4], (1_000, 1_259, 1));
        assert_eq!((cpu.detours, cpu.over), (9, 0));
        let steps = bounds(Buckets::Logarithmic);
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]));
        for decade in 0..=DECADES {
            assert!(steps.contains(&10_u64.pow(decade as u32)), "10^{decade}");
        }
    }

    #[test]
    fn a_cpu_without_detours_has_no_lengths() {
        let (buckets, cpu) = counted(Buckets::Logarithmic, &[]);
        assert!(buckets.is_empty());
        assert_eq!((cpu.detours, cpu.min_ns, cpu.mean_ns, cpu.max_ns), (0, None, None, None));
    }
}
