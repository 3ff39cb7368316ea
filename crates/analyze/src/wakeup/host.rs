//! The wake-ups of one host, summarised: a histogram for each kind of them.

use super::kind::Kind;
use super::{PARTS, latency, part_of_block, rows};
use crate::cluster::LengthCounts;
use crate::cluster::facts::{HostFacts, has_facts};
use crate::folded::folded;
use crate::known::{Doubt, known_doubts};
use crate::lengths::LengthsBuilder;
use crate::samples::visit;
use anechoic_recording::{Activity, Policy, Problem, Recording, Sample};
use std::collections::{BTreeMap, BTreeSet};

/// The wake-ups of one host's recording, of which events were recorded where any were.
#[derive(Debug, Clone, PartialEq)]
pub struct HostWakeups {
    /// Facts of its run.
    pub facts: HostFacts,
    pub(super) policy: Policy,
    /// A wake-up that took longer counts as late, in ns; absent if the run was killed before its first sample.
    pub(super) late_ns: Option<u64>,
    pub(super) doubts: Vec<Doubt>,
    pub(super) kinds: Vec<KindOnHost>,
    /// What its wake-ups of each kind went to; absent without attribution.
    pub(super) sources: Option<BTreeMap<Kind, SourcesOnHost>>,
}

/// The wake-ups of one kind on a host.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KindOnHost {
    pub(super) kind: Kind,
    pub(super) cpus: u64,
    pub(super) samples: u64,
    pub(super) lost: u64,
    pub(super) overruns: u64,
    /// Number of late ones of all CPUs in each part of the time.
    pub(super) late: Vec<f64>,
    pub(super) latencies: LengthCounts,
}

/// What the wake-ups of one kind on a host went to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SourcesOnHost {
    /// The time of all explained ones and of the late ones among them, in ns.
    pub(super) all_ns: [f64; 2],
    /// The same of those that are not explained, because events were lost or hidden.
    pub(super) unknown_ns: [f64; 2],
    /// The same of explained ones by source and name, without numbers of CPUs.
    pub(super) by_source: BTreeMap<(String, String), [f64; 2]>,
}

/// The wake-ups of a kind in progress.
#[derive(Debug, Default)]
struct Adding {
    cpus: BTreeSet<Option<u32>>,
    samples: u64,
    lost: u64,
    overruns: u64,
    late: Vec<f64>,
    latencies: LengthsBuilder,
}

has_facts!(HostWakeups);

impl HostWakeups {
    /// Summarises a recording of wake-ups, in bounded memory.
    ///
    /// # Errors
    /// A file is damaged.
    pub fn from_recording(recording: &Recording) -> Result<Self, Problem> {
        let run = recording.run();
        let known = recording.series()?;
        let sleep = known.iter().find_map(|(series, _)| series.parameters.sleep);
        let sources = match recording.attribution()? {
            Some(_) => Some(sources(recording)?),
            None => None,
        };
        Ok(Self {
            facts: HostFacts::from_recording(recording),
            policy: run.policy.clone(),
            late_ns: sleep.map(|sleep| sleep.late_ns),
            doubts: known_doubts(run, None),
            kinds: kinds(recording)?,
            sources,
        })
    }

    /// Returns whether anything was measured.
    pub(super) fn is_measured(&self) -> bool {
        self.kinds.iter().any(|kind| kind.samples > 0)
    }
}

/// Reads the wake-ups once. Blocks of several CPUs with the same number were measured at the same time.
fn kinds(recording: &Recording) -> Result<Vec<KindOnHost>, Problem> {
    let clock = &recording.run().clock;
    let known = recording.series()?;
    let mut kinds: BTreeMap<Kind, Adding> = BTreeMap::new();
    let mut numbers: BTreeMap<(Kind, Option<u32>), usize> = BTreeMap::new();
    let mut places: Vec<Option<(Kind, usize)>> = vec![];
    for (series, outcome) in &known {
        let sleep = series.parameters.sleep.filter(|_| !series.parameters.events_off);
        places.push(sleep.map(|sleep| {
            let kind = Kind::from(&sleep);
            let number = numbers.entry((kind, series.cpu)).or_default();
            let first = *number * PARTS;
            *number += 1;
            let adding = kinds.entry(kind).or_default();
            adding.cpus.insert(series.cpu);
            adding.lost = adding.lost.saturating_add(outcome.lost);
            adding.late.resize(adding.late.len().max(first + PARTS), 0.0);
            (kind, first)
        }));
    }
    visit(recording, &known, |at, samples| {
        let Some((kind, first)) = places[at] else { return };
        let Some(adding) = kinds.get_mut(&kind) else { return };
        let (series, outcome) = &known[at];
        let late_ns = series.parameters.sleep.map_or(0, |sleep| sleep.late_ns);
        let late_ticks = clock.ticks(late_ns);
        for sample in samples {
            let ticks = latency(sample);
            adding.latencies.add(ticks);
            adding.samples += 1;
            adding.overruns = adding.overruns.saturating_add(sample.count.saturating_sub(1));
            if ticks > late_ticks {
                adding.late[first + part_of_block(sample, outcome)] += 1.0;
            }
        }
    })?;
    let kinds = kinds.into_iter().map(|(kind, adding)| KindOnHost {
        kind,
        cpus: adding.cpus.len() as u64,
        samples: adding.samples,
        lost: adding.lost,
        overruns: adding.overruns,
        late: adding.late,
        latencies: LengthCounts::from_ticks(&adding.latencies, clock),
    });
    Ok(kinds.collect())
}

/// Adds up what the wake-ups of each kind went to.
fn sources(recording: &Recording) -> Result<BTreeMap<Kind, SourcesOnHost>, Problem> {
    let clock = &recording.run().clock;
    let tick_ns = clock.seconds(1) * 1e9;
    let mut kinds: BTreeMap<Kind, SourcesOnHost> = BTreeMap::new();
    rows::each(recording, |woken| {
        let is_late = latency(woken.sample) > clock.ticks(woken.sleep.late_ns);
        let here = kinds.entry(Kind::from(&woken.sleep)).or_default();
        here.add(woken.sample, woken.rows, is_late, tick_ns);
    })?;
    Ok(kinds)
}

impl SourcesOnHost {
    /// Adds a wake-up and its rows.
    pub(super) fn add(&mut self, sample: &Sample, rows: &[Activity], is_late: bool, tick_ns: f64) {
        let late_ns = if is_late { tick_ns } else { 0.0 };
        let parts = |ticks: u64| [tick_ns, late_ns].map(|ns| ticks as f64 * ns);
        let whole = parts(latency(sample));
        if !rows::are_known(sample, rows) {
            add(&mut self.unknown_ns, whole);
            return;
        }
        add(&mut self.all_ns, whole);
        for row in rows.iter().filter(|row| row.self_ticks > 0) {
            let name = folded(&row.source, &row.name);
            let here = self.by_source.entry((row.source.to_string(), name)).or_default();
            add(here, parts(row.self_ticks));
        }
    }
}

pub(super) fn add(sum: &mut [f64; 2], more: [f64; 2]) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
