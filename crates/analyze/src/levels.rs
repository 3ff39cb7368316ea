//! When the noise of a run changed its level, and what changed with it.

use crate::blocks::{Parts, parts_in_block};
use crate::detours::{DetoursBuilder, parts_of_run};
use crate::fold::{CpuLoops, Fold};
use crate::split::SplitDetour;
use crate::stats::{Interval, change_points};
use anechoic_recording::{Run, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Number of sources whose parts are kept: what comes later is not named with a change.
const MOST_SOURCES: usize = 256;
/// Number of sources that are named with a change.
const NAMED: usize = 3;
/// Share of the difference from which a source is named.
const LEAST_SHARE: f64 = 0.1;

/// An instant at which the noise of all measured CPUs changed its level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelChange {
    /// Time from the start of the loops, in s.
    pub at_s: f64,
    /// Its 95 % interval, which assumes that the noise has one level before and one after (Siegmund 1988).
    pub interval_s: Interval,
    /// Noise between the change before, or the start, and this one.
    pub before: f64,
    /// Noise between this change and the next, or the end.
    pub after: f64,
    /// The sources that changed with it, at most three, the largest part of the difference first; those that changed the other
    /// way are left out, and all without attribution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceChange>,
    /// The CPU on which nine tenths of the difference lie; absent if it lies on several, or only one was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
}

/// A source whose noise changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceChange {
    /// Kind of the source.
    pub source: String,
    /// Its name; empty if its kind has only one.
    pub name: String,
    /// Share of all time that it took before.
    pub before: f64,
    /// Share of all time that it took after.
    pub after: f64,
}

/// Lost time of each source in the parts of the run.
pub(crate) struct LevelsBuilder {
    /// Whether all CPUs are measured at the same time, each all the time.
    applies: bool,
    parts: Option<Parts>,
    first_ticks: u64,
    names: Vec<(Arc<str>, Arc<str>)>,
    sources: Vec<Parts>,
}

impl LevelsBuilder {
    /// Returns empty parts.
    pub(crate) fn new(run: &Run) -> Self {
        let complete = run.cpus.iter().all(|cpu| cpu.iterations > 0 && cpu.lost_detours == 0);
        let applies = run.method == methods::DETOURS && run.program.is_none() && complete;
        Self { applies, parts: None, first_ticks: 0, names: vec![], sources: vec![] }
    }

    /// Returns the changes of noise in order; `detours` are those of the CPUs of the run.
    pub(crate) fn finish(&self, run: &Run, detours: &[DetoursBuilder]) -> Vec<LevelChange> {
        let lost: Vec<&[u64]> = detours.iter().map(DetoursBuilder::lost_by_part).collect();
        self.changes(run, detours, &lost, true)
    }

    /// Returns the changes of another loss of these CPUs in the same parts.
    pub(crate) fn slow_changes(
        &self,
        run: &Run,
        detours: &[DetoursBuilder],
        lost: &[&[u64]],
    ) -> Vec<LevelChange> {
        self.changes(run, detours, lost, false)
    }

    fn changes(
        &self,
        run: &Run,
        detours: &[DetoursBuilder],
        lost: &[&[u64]],
        with_sources: bool,
    ) -> Vec<LevelChange> {
        let parts = lost.iter().map(|cpu| cpu.len()).min().unwrap_or(0);
        let Some(part_ticks) = detours.first().map(DetoursBuilder::part_ticks) else {
            return vec![];
        };
        let firsts = || run.cpus.iter().map(|cpu| cpu.first_ticks);
        let apart = firsts().max().unwrap_or(0) - firsts().min().unwrap_or(0);
        if !self.applies || apart > part_ticks {
            return vec![];
        }
        let all = Shares { ticks: part_ticks as f64 * lost.len() as f64, lost };
        let found = change_points(&all.roots(parts), parts_in_block(parts));
        let mut edges = vec![0];
        edges.extend(found.iter().map(|point| point.at));
        edges.push(parts);
        let seconds = |part: usize| run.clock.seconds(part_ticks.saturating_mul(part as u64));
        let changes = edges.windows(3).zip(&found).map(|(edges, point)| {
            let sides = [edges[0]..edges[1], edges[1]..edges[2]];
            let [before, after] = sides.clone().map(|side| all.share(side));
            LevelChange {
                at_s: seconds(point.at),
                interval_s: Interval { low: seconds(point.low), high: seconds(point.high) },
                before,
                after,
                sources: match with_sources {
                    true => self.changed(&sides, after - before, all.ticks),
                    false => vec![],
                },
                cpu: all.changed_cpu(&sides).map(|place| run.cpus[place].cpu),
            }
        });
        changes.collect()
    }

    /// Returns the sources that make up most of the `difference` between both sides.
    fn changed(
        &self,
        sides: &[Range<usize>; 2],
        difference: f64,
        part_ticks: f64,
    ) -> Vec<SourceChange> {
        let mut rows: Vec<SourceChange> = self
            .names
            .iter()
            .zip(&self.sources)
            .map(|((source, name), parts)| {
                let lost = [parts.all()];
                let shares = Shares { ticks: part_ticks, lost: &lost };
                let [before, after] = sides.clone().map(|side| shares.share(side));
                SourceChange { source: source.to_string(), name: name.to_string(), before, after }
            })
            .filter(|row| (row.after - row.before) / difference >= LEAST_SHARE)
            .collect();
        let change = |row: &SourceChange| (row.after - row.before).abs();
        rows.sort_by(|one, other| change(other).total_cmp(&change(one)));
        rows.truncate(NAMED);
        rows
    }
}

impl Fold for LevelsBuilder {
    fn begin_cpu(&mut self, cpu: &CpuLoops<'_>) {
        self.applies &= cpu.stints.len() == 1;
        self.first_ticks = cpu.stints.first().map_or(0, |stint| stint.first_ticks);
        self.parts.get_or_insert_with(|| parts_of_run(cpu));
    }

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        let Some(parts) = self.parts.as_ref().filter(|_| self.applies) else { return };
        let known = self.names.len();
        let more = detour.names.iter().skip(known).take(MOST_SOURCES - known);
        for named in more {
            self.names.push(named.clone());
            self.sources.push(parts.clone());
        }
        let view = &detour.view;
        let end = view.end_ticks.saturating_sub(self.first_ticks);
        let start = end.saturating_sub(view.lost_ticks);
        for charge in detour.charges {
            if let Some(parts) = self.sources.get_mut(charge.place) {
                parts.add(start, start.saturating_add(charge.ticks));
            }
        }
    }
}

/// Lost ticks of CPUs in parts of the same time.
struct Shares<'a> {
    /// Ticks of a part, of all CPUs together.
    ticks: f64,
    lost: &'a [&'a [u64]],
}

impl Shares<'_> {
    /// Returns the square root of the noise in each part: rare events and frequent ones then vary alike.
    fn roots(&self, parts: usize) -> Vec<f64> {
        (0..parts).map(|part| self.share(part..part + 1).sqrt()).collect()
    }

    /// Returns the noise in these parts.
    fn share(&self, parts: Range<usize>) -> f64 {
        let cpus = self.lost.iter();
        cpus.map(|cpu| sum(cpu, &parts)).sum::<f64>() / (self.ticks * parts.len().max(1) as f64)
    }

    /// Returns the place of the CPU on which nine tenths of the change lie.
    fn changed_cpu(&self, sides: &[Range<usize>; 2]) -> Option<usize> {
        let mean = |cpu: &[u64], side: &Range<usize>| sum(cpu, side) / side.len().max(1) as f64;
        let change = |cpu: &&[u64]| (mean(cpu, &sides[1]) - mean(cpu, &sides[0])).abs();
        let changes: Vec<f64> = self.lost.iter().map(change).collect();
        let all: f64 = changes.iter().sum();
        let place = changes.iter().position(|change| *change >= 0.9 * all)?;
        (changes.len() > 1).then_some(place)
    }
}

fn sum(lost: &[u64], parts: &Range<usize>) -> f64 {
    lost[parts.clone()].iter().map(|ticks| *ticks as f64).sum()
}
