//! A matrix × vector on pages of different sizes (Radojković 2009): time per access of each page size and build, what large
//! pages save, and whether that depends on the build.

use crate::facts::Facts;
use crate::samples::{span, visit};
use crate::stats::{Estimate, Paired, mean, median};
use anechoic_recording::paging::{
    Allocation, BASE, BUILDS, Backing, PAGE_KINDS, PageKind, Verified, find,
};
use anechoic_recording::run::{NotAvailable, Outcome};
use anechoic_recording::{Problem, Recording, Run, Sample, Series};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A block counts if at least this share of its memory had the pages that were asked for.
const ENOUGH: f64 = 0.9;
/// The smallest page that is assumed where no series names one, in bytes.
const USUAL_PAGE: u64 = 4096;
/// Entries of the data TLB that are assumed where the CPU does not describe them.
const USUAL_ENTRIES: u32 = 1536;

/// The results of a matrix × vector on pages of different sizes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Paging {
    /// Facts of the run.
    pub run: Facts,
    /// The measured CPU.
    pub cpu: Option<u32>,
    /// Nanoseconds of one tick.
    pub tick_ns: f64,
    /// Ticks that were subtracted from each pass: the mean cost of a counter read as samples end with it.
    pub read_ticks: u64,
    /// Number of blocks; each measured everything once, on newly allocated memory.
    pub blocks: u64,
    /// Size of the smallest pages in bytes.
    pub base_page_bytes: u64,
    /// Entries of the data TLB for the smallest pages.
    pub tlb_entries: u32,
    /// Whether these are assumed, because the CPU does not describe its TLB.
    pub tlb_assumed: bool,
    /// Whether the machine is a guest: the pages of the host below its pages are unknown, and a miss of the TLB walks the page
    /// tables of both.
    pub host_backing_unknown: bool,
    /// The page sizes that were measured or are absent for a known reason, from the smallest.
    pub kinds: Vec<Kind>,
    /// The results by build, matrix and page size.
    pub points: Vec<Point>,
    /// What large pages save in each build, on the largest matrix; absent if base pages or a build is missing.
    pub saved: Option<Saved>,
}

/// A page size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Kind {
    /// Its name: `base`, `thp-64k`, `huge-2m`.
    pub id: String,
    /// How memory gets such pages.
    pub backing: Backing,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Why it was not measured; absent if it was.
    pub absent: Option<String>,
    /// What would enable it; empty if nothing is known.
    pub remedy: String,
    /// How its pages were verified.
    pub verified: Option<Verified>,
    /// The smallest share of a block's memory that had such pages.
    pub obtained: Option<f64>,
}

/// The passes over one matrix on pages of one size with one build of the loop. An access is one element of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// The name of the page size.
    pub pages: String,
    /// The kernel: `matrix` is the optimised build, `matrix-memory` the one with every variable in memory.
    pub build: String,
    /// Size of the matrix with its vectors, in bytes.
    pub bytes: u64,
    /// Number of blocks that count.
    pub blocks: u64,
    /// Number of blocks that do not count, because their memory had other pages or there was none.
    pub left_out: u64,
    /// Why, for the first of them.
    pub why_left_out: Option<String>,
    /// Number of passes in the blocks that count.
    pub passes: u64,
    /// Nanoseconds per access: the mean over the blocks of their median passes.
    pub ns: Estimate,
    /// Time saved relative to base pages, as a share: 1 − t / t(base), from pairs of the same block.
    pub speedup: Option<Estimate>,
    /// Time saved relative to base pages, in nanoseconds per access.
    pub saved_ns: Option<Estimate>,
    /// Time beyond that of the best page size, as a share: t / t(best) − 1.
    pub over_best: Option<Estimate>,
    /// Counted events per access, by name.
    pub counts: BTreeMap<String, f64>,
}

/// What large pages save in each build.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Saved {
    /// Size of the matrix in bytes.
    pub bytes: u64,
    /// The page size with the least time in both builds together.
    pub pages: String,
    /// Nanoseconds per access that it saves relative to base pages: in the optimised build, and in the other.
    pub saved_ns: [Estimate; 2],
    /// The other build's saving minus the optimised build's, from pairs of the same block.
    pub difference_ns: Estimate,
    /// Whether the interval of the difference excludes 0.
    pub depends_on_build: bool,
}

impl Paging {
    /// Returns a point that was measured.
    #[must_use]
    pub fn point(&self, pages: &str, build: &str, bytes: u64) -> Option<&Point> {
        let mut points = self.points.iter();
        points.find(|point| point.pages == pages && point.build == build && point.bytes == bytes)
    }

    /// Returns the sizes of the measured matrices in bytes, from the smallest.
    #[must_use]
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.points.iter().map(|point| point.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Returns the memory that the data TLB covers with the smallest pages, in bytes.
    #[must_use]
    pub fn reach_bytes(&self) -> u64 {
        u64::from(self.tlb_entries) * self.base_page_bytes
    }
}

/// The build, the size of the matrix, and the page size by their places in their lists.
type Key = (usize, u64, usize);

/// The blocks of a point.
#[derive(Debug, Default)]
struct Blocks {
    /// Nanoseconds per access.
    ns: Paired,
    passes: u64,
    why_left_out: Option<String>,
    /// Of each event its count, and the iterations of the blocks in which it was counted all the time.
    counts: BTreeMap<String, (u64, u64)>,
}

/// Computes the results of a recording of a matrix × vector. Keeps the length of each pass in memory.
///
/// # Errors
/// A file is damaged.
pub fn paging(recording: &Recording) -> Result<Paging, Problem> {
    let run = recording.run();
    let known = recording.series()?;
    let mut lengths: Vec<Vec<f64>> = vec![Vec::new(); known.len()];
    visit(recording, &known, |at, samples| {
        let length = |sample: &Sample| sample.end_ticks.saturating_sub(sample.start_ticks) as f64;
        lengths[at].extend(samples.iter().map(length));
    })?;
    let read_ticks = run.clock.sample_read_ticks();
    let tick_ns = run.clock.seconds(1) * 1e9;
    let allocations: BTreeMap<u32, &Allocation> =
        run.allocations.iter().map(|allocation| (allocation.series, allocation)).collect();
    let base_page_bytes = base_page(&known, &allocations);
    let mut all: BTreeMap<Key, Blocks> = BTreeMap::new();
    for ((series, _), lengths) in known.iter().zip(&mut lengths) {
        let Some((key, kind)) = key(series) else { continue };
        let accesses = series.parameters.iterations.max(1) as f64;
        let ns = |ticks: f64| (ticks - read_ticks as f64).max(0.0) * tick_ns / accesses;
        let page_bytes = size_of(kind, base_page_bytes);
        let blocks = all.entry(key).or_default();
        match counted(allocations.get(&series.series).copied(), page_bytes) {
            Ok(allocation) if !lengths.is_empty() => {
                blocks.passes += lengths.len() as u64;
                for (name, count) in &allocation.counts {
                    let (sum, iterations) = blocks.counts.entry(name.clone()).or_default();
                    *sum += count;
                    *iterations += allocation.counted_iterations;
                }
                blocks.ns.push(Some(ns(median(lengths))));
            }
            Ok(_) => blocks.leave_out("the run ended before it"),
            Err(why) => blocks.leave_out(&why),
        }
    }
    let points = points(&all);
    let saved = saved(&all);
    Ok(Paging {
        cpu: known.iter().find_map(|(series, _)| series.cpu),
        tick_ns,
        read_ticks,
        blocks: all.values().map(|blocks| blocks.ns.blocks()).max().unwrap_or(0) as u64,
        base_page_bytes,
        tlb_entries: run.machine.data_tlb.map_or(USUAL_ENTRIES, |tlb| tlb.entries),
        tlb_assumed: run.machine.data_tlb.is_none(),
        host_backing_unknown: run.machine.hypervisor.is_some(),
        kinds: kinds(run, &known, base_page_bytes),
        points,
        saved,
        run: Facts::new(run, span(&known)),
    })
}

/// Returns the place of a series among the results, and its page size.
fn key(series: &Series) -> Option<(Key, &'static PageKind)> {
    let id = series.parameters.experiment.as_deref()?;
    let kind = PAGE_KINDS.iter().position(|kind| kind.id == id)?;
    let build = BUILDS.iter().position(|build| *build == series.variant)?;
    Some(((build, series.parameters.working_set_bytes?, kind), &PAGE_KINDS[kind]))
}

fn size_of(kind: &PageKind, base_page_bytes: u64) -> u64 {
    if kind.backing == Backing::Base { base_page_bytes } else { kind.bytes }
}

/// Returns the size of the base pages of the series that had some.
fn base_page(known: &[(Series, Outcome)], allocations: &BTreeMap<u32, &Allocation>) -> u64 {
    let is_base =
        |(series, _): &&(Series, Outcome)| series.parameters.experiment.as_deref() == Some(BASE);
    let base_allocations =
        known.iter().filter(is_base).filter_map(|(series, _)| allocations.get(&series.series));
    base_allocations
        .flat_map(|allocation| allocation.pages.keys())
        .copied()
        .min()
        .unwrap_or(USUAL_PAGE)
}

/// Returns the memory of a series if it had the pages that were asked for, or why it does not count.
fn counted(allocation: Option<&Allocation>, page_bytes: u64) -> Result<&Allocation, String> {
    let allocation = allocation.ok_or("the run ended before it")?;
    if let Some(why) = &allocation.refused {
        return Err(why.clone());
    }
    let share = allocation.share_of(page_bytes);
    match allocation.verified {
        Verified::Not => Err("its pages could not be verified".into()),
        _ if share < ENOUGH => {
            Err(format!("only {:.0} % of the memory had such pages", share * 100.0))
        }
        _ => Ok(allocation),
    }
}

impl Blocks {
    fn leave_out(&mut self, why: &str) {
        self.why_left_out.get_or_insert_with(|| why.to_owned());
        self.ns.push(None);
    }
}

fn points(all: &BTreeMap<Key, Blocks>) -> Vec<Point> {
    let base = PAGE_KINDS.iter().position(|kind| kind.id == BASE).unwrap_or(0);
    all.iter().filter_map(|(key, blocks)| point(key, blocks, all, base)).collect()
}

/// Returns the point of a key with these blocks; absent if none of them counts. `base` is the number of the base pages.
fn point(
    &(build, bytes, kind): &Key,
    blocks: &Blocks,
    all: &BTreeMap<Key, Blocks>,
    base: usize,
) -> Option<Point> {
    let ns = blocks.ns.estimate()?;
    let base_blocks = all.get(&(build, bytes, base)).filter(|_| kind != base);
    let against_base =
        |compute: fn(f64, f64) -> f64| blocks.ns.with(&base_blocks?.ns, compute).estimate();
    let beside = all.iter().filter(|((b, s, _), _)| (*b, *s) == (build, bytes));
    let means = beside.filter_map(|(_, other)| Some((other, mean(&other.ns.counted())?)));
    let best = means.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(other, _)| other);
    let counts = blocks.counts.iter().map(|(name, &(count, iterations))| {
        (name.clone(), count as f64 / iterations.max(1) as f64)
    });
    let used = blocks.ns.counted().len() as u64;
    Some(Point {
        pages: PAGE_KINDS[kind].id.to_owned(),
        build: BUILDS[build].to_owned(),
        bytes,
        blocks: used,
        left_out: blocks.ns.blocks() as u64 - used,
        why_left_out: blocks.why_left_out.clone(),
        passes: blocks.passes,
        ns,
        speedup: against_base(|own, base| 1.0 - own / base),
        saved_ns: against_base(|own, base| base - own),
        over_best: best
            .and_then(|best| blocks.ns.with(&best.ns, |own, best| own / best - 1.0).estimate()),
        counts: counts.collect(),
    })
}

/// Returns what the best pages save in each build on the largest matrix that has all of these.
fn saved(all: &BTreeMap<Key, Blocks>) -> Option<Saved> {
    let base = PAGE_KINDS.iter().position(|kind| kind.id == BASE)?;
    let sizes: BTreeSet<u64> = all.keys().filter(|key| key.2 == base).map(|key| key.1).collect();
    sizes.into_iter().rev().find_map(|bytes| saved_at(all, base, bytes))
}

fn saved_at(all: &BTreeMap<Key, Blocks>, base: usize, bytes: u64) -> Option<Saved> {
    let ns = |build: usize, kind: usize| Some(&all.get(&(build, bytes, kind))?.ns);
    let mean_ns = |build: usize, kind: usize| mean(&ns(build, kind)?.counted());
    let kinds = (0..PAGE_KINDS.len()).filter(|&kind| kind != base);
    let sums = kinds.filter_map(|kind| Some((kind, mean_ns(0, kind)? + mean_ns(1, kind)?)));
    let (best, _) = sums.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (optimised, other) = (ns(0, base)?.minus(ns(0, best)?), ns(1, base)?.minus(ns(1, best)?));
    let difference_ns = other.minus(&optimised).estimate()?;
    Some(Saved {
        bytes,
        pages: PAGE_KINDS[best].id.to_owned(),
        saved_ns: [optimised.estimate()?, other.estimate()?],
        difference_ns,
        depends_on_build: difference_ns.differs(),
    })
}

/// Returns the page sizes that were measured, or that are absent for a known reason.
fn kinds(run: &Run, known: &[(Series, Outcome)], base_page_bytes: u64) -> Vec<Kind> {
    let id_by_series: BTreeMap<u32, &str> = known
        .iter()
        .filter_map(|(series, _)| Some((series.series, series.parameters.experiment.as_deref()?)))
        .collect();
    let kinds = PAGE_KINDS.iter();
    kinds.filter_map(|kind| measured_kind(kind, run, &id_by_series, base_page_bytes)).collect()
}

/// Returns a page size; absent if it was neither measured nor is absent for a known reason.
fn measured_kind(
    kind: &PageKind,
    run: &Run,
    id_by_series: &BTreeMap<u32, &str>,
    base_page_bytes: u64,
) -> Option<Kind> {
    let what = NotAvailable::pages(kind.id);
    let missing = run.not_available.iter().find(|missing| missing.what == what);
    let measured = id_by_series.values().any(|id| *id == kind.id);
    if !measured && missing.is_none() {
        return None;
    }
    let page_bytes = size_of(kind, base_page_bytes);
    let kind_of = |series: &u32| id_by_series.get(series).and_then(|id| find(id));
    let given = run.allocations.iter().filter(|allocation| {
        allocation.refused.is_none() && kind_of(&allocation.series) == Some(kind)
    });
    let shares = given.clone().map(|allocation| allocation.share_of(page_bytes));
    Some(Kind {
        id: kind.id.to_owned(),
        backing: kind.backing,
        page_bytes,
        absent: missing.map(|missing| missing.why.clone()),
        remedy: missing.map(|missing| missing.remedy.clone()).unwrap_or_default(),
        verified: given.clone().map(|allocation| allocation.verified).next(),
        obtained: shares.reduce(f64::min),
    })
}
