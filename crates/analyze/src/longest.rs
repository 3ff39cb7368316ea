//! The longest detours with their parts.

use crate::fold::Fold;
use crate::split::{SplitDetour, is_gap};
use anechoic_recording::{Activity, Clock, DetourView, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Number of detours that are kept.
const KEPT: usize = 10;
/// Largest number of parts of one detour.
const PARTS: usize = 8;

/// One of the longest detours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongDetour {
    /// CPU of the detour.
    pub cpu: u32,
    /// Index among the detours of the CPU, from 0 in time order.
    pub index: u64,
    /// Start in ns since the run's start.
    pub start_ns: u64,
    /// Length in ns, minus the shortest gap.
    pub length_ns: u64,
    /// Hypervisor steal in it; absent if it was not read.
    pub steal_ns: Option<u64>,
    /// Its parts, sorted by decreasing time; empty if it was not attributed.
    pub parts: Vec<Part>,
}

/// The time that one source took of one detour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Time including gaps.
    pub charged_ns: u64,
    /// Entry and exit gaps in that time.
    pub gap_ns: u64,
    /// The kernel function that took most of it, if known.
    pub function: Option<String>,
    /// CPU of the sender, if known.
    pub sent_by_cpu: Option<u32>,
    /// Task of the sender, if known.
    pub sent_by_task: Option<String>,
}

/// Order of detours by length; of equal ones the earlier counts as longer.
type Rank = (Reverse<u64>, u64, u32);

/// What makes the kept form of a detour.
type Make<T> = fn(&DetourView<'_>, &Run) -> T;

/// Collects the longest detours, in the form that `make` gives them.
#[derive(Debug)]
pub(crate) struct LongestBuilder<'a, T, M = Make<T>> {
    run: &'a Run,
    /// Number of detours that are kept.
    most: usize,
    /// Detours of other CPUs are skipped; absent if all count.
    cpus: Option<&'a [u32]>,
    /// Detours that contain one of these sources, by identifier, are skipped.
    without: &'a [&'a str],
    make: M,
    /// The longest detours, sorted by decreasing length.
    kept: Vec<(Rank, T)>,
    /// Number of detours among which the kept ones are the longest.
    pub(crate) seen: u64,
    /// Number of detours of the chosen CPUs that were skipped for their sources.
    pub(crate) left_out: u64,
}

impl<'a, T, M> LongestBuilder<'a, T, M> {
    /// Returns an empty collection for this run.
    pub(crate) fn new(run: &'a Run, most: usize, make: M) -> Self {
        Self { run, most, cpus: None, without: &[], make, kept: vec![], seen: 0, left_out: 0 }
    }

    /// Skips the detours of all other CPUs.
    pub(crate) fn on(self, cpus: Option<&'a [u32]>) -> Self {
        Self { cpus, ..self }
    }

    /// Skips the detours that contain one of these sources, by identifier.
    pub(crate) fn without(self, without: &'a [&'a str]) -> Self {
        Self { without, ..self }
    }

    /// Returns the detours sorted by decreasing length.
    pub(crate) fn finish(self) -> Vec<T> {
        self.kept.into_iter().map(|(_, detour)| detour).collect()
    }
}

impl<'a> LongestBuilder<'a, LongDetour> {
    /// Returns an empty collection of detours with the parts of their sources.
    pub(crate) fn by_source(run: &'a Run) -> Self {
        Self::new(run, KEPT, long_detour)
    }
}

impl<T, M: Fn(&DetourView<'_>, &Run) -> T> Fold for LongestBuilder<'_, T, M> {
    fn detour(&mut self, detour: &SplitDetour<'_>) {
        let view = &detour.view;
        if self.cpus.is_some_and(|cpus| !cpus.contains(&view.cpu)) {
            return;
        }
        if view.activities.iter().any(|row| self.without.contains(&&*row.source)) {
            self.left_out += 1;
            return;
        }
        self.seen += 1;
        let rank = (Reverse(view.lost_ticks), view.start_ticks, view.cpu);
        if self.kept.len() >= self.most && self.kept.last().is_none_or(|(last, _)| rank >= *last) {
            return; // nearly always
        }
        let place = self.kept.partition_point(|(kept, _)| *kept < rank);
        self.kept.insert(place, (rank, (self.make)(view, self.run)));
        self.kept.truncate(self.most);
    }
}

/// Returns a detour with the parts of its sources.
pub(crate) fn long_detour(view: &DetourView<'_>, run: &Run) -> LongDetour {
    let clock = &run.clock;
    LongDetour {
        cpu: view.cpu,
        index: view.index,
        start_ns: clock.ns(view.start_ticks.saturating_sub(run.start_ticks)),
        length_ns: clock.ns(view.lost_ticks),
        steal_ns: steal_ns(view.activities),
        parts: parts(view.activities, clock),
    }
}

/// Returns the hypervisor steal in one detour; absent if it was not read.
pub(crate) fn steal_ns(rows: &[Activity]) -> Option<u64> {
    rows.iter().filter_map(|row| row.steal_ns).reduce(u64::saturating_add)
}

/// Groups the rows of one detour by source and name.
fn parts(rows: &[Activity], clock: &Clock) -> Vec<Part> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Activity>> = BTreeMap::new();
    for row in rows {
        groups.entry((&row.source, &row.name)).or_default().push(row);
    }
    let mut parts: Vec<Part> = groups
        .into_iter()
        .map(|((source, name), rows)| {
            let sum = |rows: &mut dyn Iterator<Item = &&Activity>| {
                clock.ns(rows.map(|row| row.self_ticks).fold(0, u64::saturating_add))
            };
            let longest_with = |has: fn(&Activity) -> bool| {
                rows.iter().filter(|row| has(row)).max_by_key(|row| row.self_ticks)
            };
            let sender = longest_with(|r| r.sent_by_cpu.is_some() || r.sent_by_task.is_some());
            Part {
                source: source.into(),
                name: name.into(),
                charged_ns: sum(&mut rows.iter()),
                gap_ns: sum(&mut rows.iter().filter(|row| is_gap(row.kind))),
                function: longest_with(|row| row.function.is_some())
                    .and_then(|row| row.function.as_deref().map(str::to_owned)),
                sent_by_cpu: sender.and_then(|row| row.sent_by_cpu),
                sent_by_task: sender.and_then(|row| row.sent_by_task.as_deref().map(str::to_owned)),
            }
        })
        .collect();
    parts.sort_by_key(|part| Reverse(part.charged_ns));
    parts.truncate(PARTS);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Split;
    use crate::testing::{activity, clock_ns, detour, show};
    use anechoic_lab::builders::run;
    use anechoic_recording::ActivityKind;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_the_longest_in_any_order(lengths in prop::collection::vec(0u64..50, 0..40)) {
            let run = run("detours", clock_ns(), vec![]);
            let mut kept = LongestBuilder::by_source(&run);
            let mut all: Vec<_> = lengths.iter().zip(0..).map(|(&l, start)| (l, start)).collect();
            for &(length, start) in &all {
                kept.detour(&Split::default().split(detour(start, length)));
            }
            all.sort_by_key(|&(length, start)| (Reverse(length), start));
            all.truncate(KEPT);
            let kept = kept.finish();
            let kept: Vec<_> = kept.iter().map(|d| (d.length_ns, d.start_ns)).collect();
            prop_assert_eq!(kept, all);
        }
    }

    #[test]
    fn parts_are_grouped_by_source_and_name() {
        let tick = |kind, ticks| activity(4, kind, "timer-tick", "", ticks);
        let mut softirq = activity(4, ActivityKind::Activity, "softirq", "RCU", 25);
        softirq.function = Some("rcu_core".into());
        softirq.steal_ns = Some(7);
        let rows = [
            tick(ActivityKind::EntryGap, 10),
            softirq,
            tick(ActivityKind::Activity, 60),
            tick(ActivityKind::ExitGap, 5),
        ];
        let run = run("detours", clock_ns(), vec![]);
        let mut longest = LongestBuilder::by_source(&run);
        show(&rows, &mut longest);
        let found = longest.finish();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].index, found[0].length_ns, found[0].steal_ns), (4, 100, Some(7)));
        let got: Vec<_> = found[0]
            .parts
            .iter()
            .map(|p| (p.source.as_str(), p.charged_ns, p.gap_ns, p.function.as_deref()))
            .collect();
        assert_eq!(got, [("timer-tick", 75, 15, None), ("softirq", 25, 0, Some("rcu_core"))]);
    }
}
