//! Entry and exit of interrupts: the time before the first event of an interrupt and after its last one, which no event
//! shows. A loop sees it as gaps around the interrupt; for a recorded program it can only be estimated.

use crate::fold::{CpuLoops, Fold, read_once};
use crate::loops::watched;
use crate::split::{SplitDetour, is_gap};
use anechoic_recording::sources::{Class, SOFTIRQ, find};
use anechoic_recording::{Activity, ActivityKind, Problem, Recording, Run, methods};
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

/// The name of the victim's state in which an interrupt ran on top of it.
const RUNNING: &str = "running";
/// Fewest interrupts whose entry and exit the loops must have seen.
const FEWEST: u64 = 20;
/// Highest number of recordings beside one that are opened.
const MOST_BESIDE: usize = 200;
/// A recording with more detours than this is not read for its edges.
const MOST_DETOURS: u64 = 2_000_000;
/// Loops with a higher threshold see the long detours only, whose edges are longer too.
const HIGHEST_THRESHOLD_NS: u64 = 1_000;

/// Interrupts on top of a recorded program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interrupts {
    /// Their number.
    pub count: u64,
    /// Their number by source.
    pub by_source: BTreeMap<String, u64>,
    /// Mean time in the first handler of each, without what nested in it, by source, in ticks.
    #[serde(skip)]
    handler_ticks: BTreeMap<String, f64>,
    /// What their entries and exits took from the program, beside its lost time; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<Edges>,
}

/// An estimate of what the entries and exits of interrupts took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Edges {
    /// If each took as long as the shortest tenth of those that the loops saw, by source, in ns; shorter by as much as the
    /// handlers of that source were shorter here.
    pub low_ns: u64,
    /// If each took as long as the longest tenth, or as the mean if that is more, in ns; longer by as much as the handlers of
    /// that source were longer here.
    pub high_ns: u64,
    /// Number of interrupts whose entry and exit the loops saw.
    pub seen: u64,
    /// The directory of the recording of these loops.
    pub recording: String,
}

/// Counts the interrupts that begin a detour, and adds up the gaps around those that are alone in one.
#[derive(Debug, Default)]
pub(crate) struct EdgesBuilder {
    handlers: BTreeMap<String, Handlers>,
    gaps: BTreeMap<String, Gaps>,
}

/// The first handlers of interrupts of one source: their number and their time together.
#[derive(Debug, Default)]
struct Handlers {
    count: u64,
    sum_ticks: u64,
}

/// Entry and exit gaps of interrupts of one source, together, in ticks.
#[derive(Debug)]
struct Gaps {
    lengths: Histogram<u64>,
    sum_ticks: u64,
}

impl Handlers {
    fn mean_ticks(&self) -> f64 {
        self.sum_ticks as f64 / self.count.max(1) as f64
    }
}

impl Default for Gaps {
    fn default() -> Self {
        let lengths = Histogram::new(3).expect("three digits are within 0..=5");
        Self { lengths, sum_ticks: 0 }
    }
}

impl Gaps {
    fn add(&mut self, ticks: u64) {
        self.lengths.record(ticks).expect("a histogram that resizes itself takes any value");
        self.sum_ticks = self.sum_ticks.saturating_add(ticks);
    }

    /// Returns the quantiles at 10 % and 90 %, or the mean if that is more, in ticks. In a guest what a VM exit takes differs
    /// from second to second by more than within one, so quartiles are too narrow.
    fn bounds(&self) -> [f64; 2] {
        let [low, high] = [0.1, 0.9].map(|part| self.lengths.value_at_quantile(part) as f64);
        let mean = self.sum_ticks as f64 / self.lengths.len().max(1) as f64;
        [low, high.max(mean)]
    }
}

/// Returns the interrupt, no softirq, with which these activities of a detour begin on top of the victim.
fn interrupt(rows: &[Activity]) -> Option<&Activity> {
    let first = rows.iter().find(|row| !is_gap(row.kind))?;
    let is_interrupt = find(&first.source)
        .is_some_and(|source| source.class == Class::Interrupt && source.id != SOFTIRQ.id);
    let on_top = first.kind == ActivityKind::Activity && &*first.victim_state == RUNNING;
    Some(first).filter(|_| is_interrupt && on_top)
}

impl Fold for EdgesBuilder {
    fn begin_cpu(&mut self, _: &CpuLoops<'_>) {}

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        let rows = detour.view.activities;
        let Some(first) = interrupt(rows) else { return };
        let handlers = self.handlers.entry(first.source.to_string()).or_default();
        handlers.count += 1;
        handlers.sum_ticks = handlers.sum_ticks.saturating_add(first.self_ticks);
        let edge =
            |row: &&Activity| matches!(row.kind, ActivityKind::EntryGap | ActivityKind::ExitGap);
        // Another thread, or what no event explains, has gaps of its own.
        let alone = rows.iter().all(|row| is_gap(row.kind) || row.kind == ActivityKind::Activity);
        if alone && rows.iter().filter(edge).count() == 2 {
            let ticks = rows.iter().filter(edge).map(|row| row.self_ticks);
            let ticks = ticks.fold(0, u64::saturating_add);
            self.gaps.entry(first.source.to_string()).or_default().add(ticks);
        }
    }
}

impl EdgesBuilder {
    /// Returns the interrupts on top of a program.
    pub(crate) fn interrupts(self) -> Interrupts {
        let handler_ticks = self.handler_ticks();
        let counts = self.handlers.into_iter().map(|(source, handlers)| (source, handlers.count));
        let by_source: BTreeMap<_, _> = counts.collect();
        let count = by_source.values().copied().fold(0, u64::saturating_add);
        Interrupts { count, by_source, handler_ticks, edges: None }
    }

    fn handler_ticks(&self) -> BTreeMap<String, f64> {
        let each = self.handlers.iter();
        each.map(|(source, handlers)| (source.clone(), handlers.mean_ticks())).collect()
    }

    /// Returns the estimated time of the entries and exits of these interrupts; absent if the loops saw too few. An interrupt of
    /// a source without gaps takes as long as one of any other. Where the same handlers took longer than under the loops, the
    /// processor was slower (a busy neighbour on the core or the host), so entry and exit took longer as well.
    fn estimate(&self, interrupts: &Interrupts, reference: &Recording) -> Option<Edges> {
        let bounds = self.bounds(interrupts)?;
        let [low_ns, high_ns] = bounds.map(|ticks| reference.run().clock.ns(ticks as u64));
        let recording = reference.dir().display().to_string();
        let seen = self.gaps.values().map(|gaps| gaps.lengths.len()).sum();
        Some(Edges { low_ns, high_ns, seen, recording })
    }

    /// Returns both bounds of that time, in ticks.
    fn bounds(&self, interrupts: &Interrupts) -> Option<[f64; 2]> {
        let mut all = Gaps::default();
        for gaps in self.gaps.values() {
            all.lengths.add(&gaps.lengths).ok()?;
            all.sum_ticks = all.sum_ticks.saturating_add(gaps.sum_ticks);
        }
        if all.lengths.len() < FEWEST {
            return None;
        }
        let mut sums = [0.0, 0.0];
        let under_loops = self.handler_ticks();
        for (source, count) in &interrupts.by_source {
            let known = self.gaps.get(source).filter(|gaps| gaps.lengths.len() >= FEWEST);
            let means = interrupts.handler_ticks.get(source).zip(under_loops.get(source));
            let slower = means.filter(|(_, loops)| known.is_some() && **loops > 0.0);
            let slower = slower.map_or(1.0, |(here, loops)| here / loops);
            let [low, high] = known.unwrap_or(&all).bounds();
            let bounds = [low * slower.min(1.0), high * slower.max(1.0)];
            sums = [0, 1].map(|end: usize| sums[end] + bounds[end] * *count as f64);
        }
        Some(sums)
    }
}

/// Adds to the interrupts on top of a recorded program what their entries and exits took, by the loops of the recording of
/// `anechoic run` that lies beside it and is the nearest in time on the same machine. A damaged one gives no estimate.
pub fn add_edges(interrupts: Option<&mut Interrupts>, recording: &Recording) {
    let Some(interrupts) = interrupts.filter(|found| found.count > 0) else { return };
    let Some(reference) = beside(recording) else { return };
    interrupts.edges =
        seen_by(&reference).ok().and_then(|seen| seen.estimate(interrupts, &reference));
}

/// Reads the edges of the interrupts that the loops of a recording saw.
fn seen_by(reference: &Recording) -> Result<EdgesBuilder, Problem> {
    let (mut edges, loops) = (EdgesBuilder::default(), watched(reference)?);
    read_once(reference, &loops, &mut [&mut edges], &mut |_| {})?;
    Ok(edges)
}

/// Returns the recording of loops beside this one; absent if there is none on the same machine.
fn beside(recording: &Recording) -> Option<Recording> {
    let own = recording.dir().canonicalize().ok()?;
    let entries = fs::read_dir(own.parent()?).ok()?;
    let dirs = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut others: Vec<_> =
        dirs.filter(|dir| *dir != own && dir.join("run.json").is_file()).collect();
    others.sort_unstable(); // names with the time of the start: the newest last
    let loops = others.iter().rev().take(MOST_BESIDE).filter_map(|dir| Recording::open(dir).ok());
    let fits = loops.filter(|other| is_like(other.run(), recording.run()));
    fits.min_by_key(|other| (apart(other.run(), recording.run()), other.dir().to_owned()))
}

/// Returns how far the starts of two runs lie apart; very far if a start is not known.
fn apart(a: &Run, b: &Run) -> jiff::SignedDuration {
    let start = |run: &Run| run.start_utc.parse::<jiff::Timestamp>().ok();
    let apart = start(a).zip(start(b)).map(|(a, b)| a.duration_since(b).abs());
    apart.unwrap_or(jiff::SignedDuration::MAX)
}

/// Returns whether the loops of a run show how long interrupts of another one took to enter and to leave.
fn is_like(loops: &Run, program: &Run) -> bool {
    let (a, b) = (&loops.machine, &program.machine);
    let same_machine = (&a.host, &a.model, &a.kernel, &a.hypervisor)
        == (&b.host, &b.model, &b.kernel, &b.hypervisor);
    let detours = loops.cpus.iter().map(|cpu| cpu.detours).fold(0, u64::saturating_add);
    let is_read = loops.method == methods::DETOURS && loops.trace.is_some();
    let sees_all = loops.clock.ns(loops.threshold_ticks) <= HIGHEST_THRESHOLD_NS;
    let is_sample = loops.kept_after_stop().is_none();
    let is_short = detours <= MOST_DETOURS;
    same_machine && is_read && sees_all && is_sample && is_short && !a.is_emulated()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders::activity;

    fn row(kind: ActivityKind, source: &str, self_ticks: u64) -> Activity {
        Activity { victim_state: RUNNING.into(), ..activity((0, 0), kind, source, 0, self_ticks) }
    }

    #[test]
    fn only_an_interrupt_on_top_of_the_victim_has_edges() {
        use ActivityKind::{Activity as During, EntryGap, OffCpu};
        let waiting = Activity { victim_state: "runnable".into(), ..row(During, "timer", 5) };
        let cases = [
            ("a tick", vec![row(During, "timer-tick", 5)], true),
            ("after its gap", vec![row(EntryGap, "ipi", 5), row(During, "ipi", 5)], true),
            ("a softirq", vec![row(During, "softirq", 5)], false),
            ("another thread", vec![row(OffCpu, "thread", 5)], false),
            ("while the victim waits", vec![waiting], false),
            ("a page fault", vec![row(During, "page-fault", 5)], false),
            ("nothing", vec![], false),
        ];
        for (name, rows, expected) in cases {
            assert_eq!(interrupt(&rows).is_some(), expected, "case: {name}");
        }
    }

    #[test]
    fn slower_handlers_have_longer_edges() {
        let loops = EdgesBuilder {
            handlers: [("ipi".into(), Handlers { count: 20, sum_ticks: 200 })].into(),
            gaps: [("ipi".into(), {
                let mut gaps = Gaps::default();
                (0..20).for_each(|_| gaps.add(100));
                gaps
            })]
            .into(),
        };
        let sum = |source: &str, ticks: u64| {
            let handlers = Handlers { count: 3, sum_ticks: 3 * ticks };
            let seen =
                EdgesBuilder { handlers: [(source.into(), handlers)].into(), gaps: [].into() };
            loops.bounds(&seen.interrupts()).expect("enough were seen")
        };
        assert_eq!(sum("ipi", 10), [300.0, 300.0]);
        assert_eq!(sum("ipi", 15), [300.0, 450.0]);
        assert_eq!(sum("ipi", 5), [150.0, 300.0]);
        // Not the same handlers: nothing says how fast the processor was.
        assert_eq!(sum("timer", 15), [300.0, 300.0]);
    }

    #[test]
    fn bounds_are_quantiles_and_hold_the_mean() {
        let cases: [(&str, &[u64], [f64; 2]); 3] = [
            ("alike", &[10, 10, 10, 10], [10.0, 10.0]),
            ("spread", &[10, 20, 30, 40], [10.0, 40.0]),
            ("one far out", &[&[10; 19][..], &[1_810]].concat(), [10.0, 100.0]),
        ];
        for (name, ticks, expected) in cases {
            let mut gaps = Gaps::default();
            ticks.iter().for_each(|ticks| gaps.add(*ticks));
            assert_eq!(gaps.bounds(), expected, "case: {name}");
        }
    }
}
