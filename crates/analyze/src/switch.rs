//! The context-switch ring (McVoy & Staelin 1996): what a hop of the token costs with a switch beyond one without, by number of
//! members and working set.

use crate::facts::Facts;
use crate::memory::caches;
use crate::samples::outliers::{Fence, Outliers, explain};
use crate::samples::{span, visit};
use crate::stats::{Estimate, Paired, quantile};
use anechoic_recording::run::Outcome;
use anechoic_recording::switch::{Partners, Ring};
use anechoic_recording::{Problem, Recording, Sample, Series};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What context switches cost.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Switch {
    /// Facts of the run.
    pub run: Facts,
    /// The measured CPU.
    pub cpu: Option<u32>,
    /// Nanoseconds of one tick.
    pub tick_ns: f64,
    /// Ticks that were subtracted from each sample: the mean cost of a counter read as samples end with it.
    pub read_ticks: u64,
    /// Number of blocks; each measured everything once, in a different order.
    pub blocks: u64,
    /// The kernel that passes over the working sets; absent if they are all empty.
    pub kernel: Option<String>,
    /// Size of the second-level data cache in bytes, if known.
    pub l2_bytes: Option<u64>,
    /// Whether kernel events were switched off for the times below, and on in further samples.
    pub events_compared: bool,
    /// Number of times that the token went around, and of those in which it missed a member or its work was wrong.
    pub tokens: [u64; 2],
    /// A hop without a switch, by working set from the smallest.
    pub without: Vec<Without>,
    /// A hop with a switch, by kind of members, their number and working set.
    pub points: Vec<Point>,
    /// The samples that are far longer than the others of their series, and what lengthened them. With kernel events these are
    /// of the series with events alone.
    pub outliers: Outliers,
}

/// A hop without a switch: one thread writes the token to its own pipe, reads it, and passes over its own warm working set.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Without {
    /// Size of the working set in bytes.
    pub bytes: u64,
    /// Number of hops.
    pub hops: u64,
    /// Nanoseconds per hop: the mean over the blocks of their medians.
    pub hop_ns: Estimate,
}

/// A ring with one working set.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// What the members are.
    pub partners: Partners,
    /// Number of members.
    pub members: u32,
    /// Size of each member's working set in bytes.
    pub bytes: u64,
    /// Number of hops without kernel events.
    pub hops: u64,
    /// Nanoseconds per hop, with the pass over the working set: the mean over the blocks of their medians.
    pub hop_ns: Estimate,
    /// Nanoseconds of a switch: a hop minus one without a switch, from pairs of the same block; absent if that was not measured.
    pub cost_ns: Option<Estimate>,
    /// The part of it that the working set adds: the cost minus that with an empty working set, from the same block. Absent for
    /// the empty one, or if that was not measured.
    pub indirect_ns: Option<Estimate>,
    /// What recording kernel events adds to a hop in nanoseconds, from the same block; absent if that was not measured.
    pub events_ns: Option<Estimate>,
}

impl Switch {
    /// Returns the rings: kind and number of members.
    #[must_use]
    pub fn rings(&self) -> Vec<(Partners, u32)> {
        let mut rings: Vec<_> =
            self.points.iter().map(|point| (point.partners, point.members)).collect();
        rings.dedup();
        rings
    }

    /// Returns the working sets in bytes, from the smallest.
    #[must_use]
    pub fn sizes(&self) -> Vec<u64> {
        let measured = self.points.iter().map(|point| point.bytes);
        let mut sizes: Vec<u64> =
            measured.chain(self.without.iter().map(|without| without.bytes)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Returns a point that was measured.
    #[must_use]
    pub fn point(&self, ring: (Partners, u32), bytes: u64) -> Option<&Point> {
        self.points
            .iter()
            .find(|point| (point.partners, point.members) == ring && point.bytes == bytes)
    }
}

/// Whether events were recorded, the ring (none for hops without a switch), and the working set.
type Key = (bool, Option<(Partners, u32)>, u64);

/// The blocks of one key.
#[derive(Debug, Default)]
struct Blocks {
    /// Nanoseconds per hop; absent in blocks without samples.
    ns: Paired,
    hops: u64,
}

/// Computes the results of a recording of context-switch rings. Keeps the length of each sample in memory.
///
/// # Errors
/// A file is damaged.
pub fn switch(recording: &Recording) -> Result<Switch, Problem> {
    let run = recording.run();
    let known = recording.series()?;
    let mut lengths: Vec<Vec<u64>> = vec![Vec::new(); known.len()];
    visit(recording, &known, |at, samples| {
        let length = |sample: &Sample| sample.end_ticks.saturating_sub(sample.start_ticks);
        lengths[at].extend(samples.iter().map(length));
    })?;
    lengths.iter_mut().for_each(|lengths| lengths.sort_unstable());
    let read_ticks = run.clock.sample_read_ticks();
    let tick_ns = run.clock.seconds(1) * 1e9;
    let mut all: BTreeMap<Key, Blocks> = BTreeMap::new();
    for ((series, _), lengths) in known.iter().zip(&lengths) {
        let Some(ring) = series.parameters.ring else { continue };
        let events = run.trace.is_some() && !series.parameters.events_off;
        let ticks: Vec<f64> =
            lengths.iter().map(|ticks| ticks.saturating_sub(read_ticks) as f64).collect();
        let hop = |ticks: f64| ticks * tick_ns / f64::from(ring.members.max(1));
        let blocks = all.entry(key(series, ring, events)).or_default();
        blocks.ns.push(quantile(&ticks, 0.5).map(hop));
        blocks.hops += lengths.len() as u64 * u64::from(ring.members);
    }
    // What lengthened a sample is known only with events.
    let examined = |series: &Series| run.trace.is_none() || !series.parameters.events_off;
    let fences = known
        .iter()
        .zip(&lengths)
        .map(|((series, _), lengths)| Fence::new(lengths, read_ticks).filter(|_| examined(series)));
    let fences: Vec<Option<Fence>> = fences.collect();
    drop(lengths);
    let (outliers, _) = explain(recording, &known, &fences)?;
    Ok(Switch {
        cpu: known.iter().find_map(|(series, _)| series.cpu),
        tick_ns,
        read_ticks,
        blocks: all.values().map(|blocks| blocks.ns.counted().len()).max().unwrap_or(0) as u64,
        kernel: kernel(&known),
        l2_bytes: caches(run).iter().find(|cache| cache.level == 2).map(|cache| cache.size_bytes),
        events_compared: all.keys().any(|key| key.0) && all.keys().any(|key| !key.0),
        tokens: tokens(&known),
        without: without(&all),
        points: points(&all),
        outliers,
        run: Facts::new(run, span(&known)),
    })
}

fn key(series: &Series, ring: Ring, events: bool) -> Key {
    let switches = ring.switches.then_some((ring.partners, ring.members));
    (events, switches, series.parameters.working_set_bytes.unwrap_or(0))
}

fn kernel(known: &[(Series, Outcome)]) -> Option<String> {
    let on_memory = |series: &&Series| series.parameters.working_set_bytes.is_some();
    known.iter().map(|(series, _)| series).find(on_memory).map(|series| series.variant.clone())
}

/// Returns how often the token went around, and how often not all of the members worked as they should.
fn tokens(known: &[(Series, Outcome)]) -> [u64; 2] {
    let switches =
        |(series, _): &&(Series, Outcome)| series.parameters.ring.is_some_and(|ring| ring.switches);
    let outcomes = known.iter().filter(switches).map(|(_, outcome)| outcome);
    outcomes.fold([0, 0], |[all, wrong], outcome| [all + outcome.samples, wrong + outcome.wrong])
}

/// Returns whether the times are those with events: only if there are no others.
fn events_of(all: &BTreeMap<Key, Blocks>) -> bool {
    all.keys().all(|key| key.0)
}

fn without(all: &BTreeMap<Key, Blocks>) -> Vec<Without> {
    let events = events_of(all);
    let alone = all.iter().filter(|((on, ring, _), _)| *on == events && ring.is_none());
    let row = |(&(.., bytes), blocks): (&Key, &Blocks)| {
        Some(Without { bytes, hops: blocks.hops, hop_ns: blocks.ns.estimate()? })
    };
    alone.filter_map(row).collect()
}

fn points(all: &BTreeMap<Key, Blocks>) -> Vec<Point> {
    all.iter().filter_map(|(key, blocks)| point(key, blocks, all)).collect()
}

/// Returns the point of a ring whose token made the processes switch; absent for other keys, and without its cost.
fn point(key: &Key, blocks: &Blocks, all: &BTreeMap<Key, Blocks>) -> Option<Point> {
    let (&(on, ring, bytes), events) = (key, events_of(all));
    let (partners, members) = ring.filter(|_| on == events)?;
    let own = cost(all, key)?;
    let direct = cost(all, &(on, ring, 0)).filter(|_| bytes > 0);
    let traced = all.get(&(true, ring, bytes)).filter(|_| !events);
    Some(Point {
        partners,
        members,
        bytes,
        hops: blocks.hops,
        hop_ns: blocks.ns.estimate()?,
        cost_ns: own.estimate(),
        indirect_ns: direct.and_then(|direct| own.minus(&direct).estimate()),
        events_ns: traced.and_then(|traced| traced.ns.minus(&blocks.ns).estimate()),
    })
}

/// Returns what a ring takes in each block beyond its token alone; nothing without the latter.
fn cost(all: &BTreeMap<Key, Blocks>, key: &Key) -> Option<Paired> {
    let alone = all.get(&(key.0, None, key.2)).map(|blocks| blocks.ns.clone()).unwrap_or_default();
    Some(all.get(key)?.ns.minus(&alone))
}
