//! What the kernel's events inside the samples account for: the samples that are far longer than the others of their
//! series, and the variance.

use crate::samples::moments::Moments;
use crate::stats::quantile;
use crate::stream::Stream;
use anechoic_recording::run::Outcome;
use anechoic_recording::sources::BLOCKED;
use anechoic_recording::switch::PARTNER;
use anechoic_recording::{Activity, ActivityKind, Problem, Recording, Sample, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An outlier has a named cause if the activities inside it make up this part of its time over the median.
const EXPLAINED: f64 = 0.5;
/// A sample is an outlier if it is longer than the third quartile by more than this many interquartile ranges (Tukey's
/// far-out values).
const FAR_OUT: f64 = 3.0;
/// Smallest interquartile range relative to the median: passes of nearly equal length differ by the counter's steps.
const LEAST_RANGE: f64 = 0.01;

/// The limits of the usual samples of a series.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fence {
    median_ticks: u64,
    /// Longer samples are outliers.
    pub(crate) most_ticks: u64,
}

impl Fence {
    /// Returns the limits of samples with these lengths in rising order, each with a counter read that takes `read_ticks`; none
    /// without samples.
    pub(crate) fn new(sorted_ticks: &[u64], read_ticks: u64) -> Option<Self> {
        let own: Vec<f64> =
            sorted_ticks.iter().map(|ticks| ticks.saturating_sub(read_ticks) as f64).collect();
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|share| quantile(&own, share));
        let (low, middle, high) = (low?, middle?, high?);
        let range = (high - low).max(read_ticks as f64).max(LEAST_RANGE * middle);
        let most = high + FAR_OUT * range + read_ticks as f64;
        let median_ticks = (middle as u64).saturating_add(read_ticks);
        Some(Fence { median_ticks, most_ticks: most as u64 })
    }
}

/// Samples that are longer than the third quartile of their series by more than three interquartile ranges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outliers {
    /// Number of samples.
    pub samples: u64,
    /// Number of outliers.
    pub count: u64,
    /// Outliers whose kernel events are known: on the CPU of the experiments, with attribution.
    pub examined: u64,
    /// Of these, the number in which named activities make up half of the time over the median or more.
    pub explained: u64,
    /// The sources that took the most time of each explained outlier, the most frequent first.
    pub causes: Vec<Cause>,
}

impl Outliers {
    /// Adds those of another recording.
    pub(crate) fn add(&mut self, other: &Self) {
        self.samples += other.samples;
        self.count += other.count;
        self.examined += other.examined;
        self.explained += other.explained;
        for cause in &other.causes {
            let same =
                |known: &&mut Cause| (&known.source, &known.name) == (&cause.source, &cause.name);
            match self.causes.iter_mut().find(same) {
                Some(known) => {
                    known.outliers += cause.outliers;
                    known.ns = known.ns.saturating_add(cause.ns);
                }
                None => self.causes.push(cause.clone()),
            }
        }
        self.causes.sort_by_key(|cause| std::cmp::Reverse(cause.outliers));
    }
}

/// A source of outliers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Identifier of the source.
    pub source: String,
    /// Name of the thread or device; empty if the source has only one.
    pub name: String,
    /// Number of outliers of which it took the most time.
    pub outliers: u64,
    /// Its time in them, in ns.
    pub ns: u64,
}

/// Finds out what lengthened the outliers. Also returns, for each series, the moments of its samples without the time of
/// kernel activities inside them, as far as these are known. What the partners of a ring do belongs to its samples.
///
/// # Errors
/// A table is damaged.
pub(crate) fn explain(
    recording: &Recording,
    known: &[(Series, Outcome)],
    fences: &[Option<Fence>],
) -> Result<(Outliers, Vec<Moments>), Problem> {
    let attributed = recording.attribution()?.is_some();
    let mut found = Outliers::default();
    let mut without_os = vec![Moments::default(); known.len()];
    let mut causes: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    let mut cpus: Vec<u32> = recording.run().machine.cpus.iter().map(|cpu| cpu.cpu).collect();
    cpus.extend(recording.run().cpus.iter().map(|cpu| cpu.cpu));
    cpus.sort_unstable();
    cpus.dedup();
    for cpu in cpus {
        let measured = recording.run().cpus.iter().any(|known| known.cpu == cpu);
        let mut samples: Stream<'_, Sample> = Stream::new(recording, cpu);
        let mut activities: Stream<'_, Activity> = Stream::new(recording, cpu);
        let mut index = 0;
        while let Some(sample) = samples.next()? {
            let at = known.binary_search_by_key(&sample.series, |(series, _)| series.series).ok();
            let fence = at.and_then(|at| fences[at]);
            let length = sample.end_ticks.saturating_sub(sample.start_ticks);
            let over = fence.filter(|fence| length > fence.most_ticks);
            found.samples += 1;
            found.count += u64::from(over.is_some());
            let in_ring = at.is_some_and(|at| known[at].0.parameters.ring.is_some());
            let inside = if measured && attributed {
                times_in_sample(&mut activities, index, in_ring)?
            } else {
                vec![]
            };
            index += 1;
            let Some(at) = at.filter(|_| measured && attributed) else { continue };
            let named = inside.iter().fold(0_u64, |sum, (_, ticks)| sum.saturating_add(*ticks));
            without_os[at].add(&[length.saturating_sub(named)]);
            let Some(fence) = over else { continue };
            found.examined += 1;
            let excess = length.saturating_sub(fence.median_ticks) as f64;
            let most = inside.into_iter().max_by_key(|(_, ticks)| *ticks);
            if let Some((source, ticks)) = most.filter(|_| named as f64 >= EXPLAINED * excess) {
                found.explained += 1;
                let sum = causes.entry(source).or_default();
                *sum = (sum.0 + 1, sum.1.saturating_add(ticks));
            }
        }
    }
    let cause = |((source, name), (outliers, ticks)): ((String, String), (u64, u64))| Cause {
        source,
        name,
        outliers,
        ns: recording.run().clock.ns(ticks),
    };
    found.causes = causes.into_iter().map(cause).collect();
    found.causes.sort_by_key(|cause| std::cmp::Reverse(cause.outliers));
    Ok((found, without_os))
}

/// A source and its name, with its time in ticks.
type SourceTime = ((String, String), u64);

/// Returns the time of each source inside the sample with this index on its CPU. In a ring the partners run while the loop
/// sleeps, so neither is a source.
fn times_in_sample(
    activities: &mut Stream<'_, Activity>,
    index: u64,
    in_ring: bool,
) -> Result<Vec<SourceTime>, Problem> {
    let mut sums: Vec<SourceTime> = Vec::new();
    while activities.peek()?.is_some_and(|next| next.detour <= index) {
        let Some(row) = activities.next()? else { break };
        let ring = in_ring && (&*row.name == PARTNER || *row.source == *BLOCKED.id);
        if row.detour < index || row.kind == ActivityKind::NotAttributable || ring {
            continue;
        }
        match sums
            .iter_mut()
            .find(|((source, name), _)| **source == *row.source && **name == *row.name)
        {
            Some((_, ticks)) => *ticks = ticks.saturating_add(row.self_ticks),
            None => sums.push(((row.source.to_string(), row.name.to_string()), row.self_ticks)),
        }
    }
    Ok(sums)
}
