//! The longest detours, and what each of them was.

use anechoic_recording::{Activity, ActivityKind, Clock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many are kept.
pub const KEPT: usize = 10;
/// Parts of one detour that are named, at most.
const PARTS: usize = 8;

/// One of the longest detours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongDetour {
    /// Its CPU.
    pub cpu: u32,
    /// Index among its CPU's detours, from 0 in time order.
    pub index: u64,
    /// When it began, in nanoseconds since the run's start.
    pub start_ns: u64,
    /// How long it was, the shortest gap taken off.
    pub length_ns: u64,
    /// Hypervisor steal that fell into it; absent where it was not read.
    pub steal_ns: Option<u64>,
    /// What took the time, the largest part first; empty where nothing was attributed.
    pub parts: Vec<Part>,
}

/// What one source took of one detour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Identifier of the source.
    pub source: String,
    /// Which of that source's; empty where there is one only.
    pub name: String,
    /// Time that it took, gaps included.
    pub charged_ns: u64,
    /// The entry and exit gaps in that.
    pub gap_ns: u64,
    /// The kernel function that took the most of it, where known.
    pub function: Option<String>,
    /// CPU that sent it, where known.
    pub sent_by_cpu: Option<u32>,
    /// Task that sent it, where known.
    pub sent_by_task: Option<String>,
}

/// Where one of the longest detours lies. Ordered by length; of equals the earlier is the longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Longest {
    /// Its length, the shortest gap taken off.
    pub lost_ticks: u64,
    /// Its CPU.
    pub cpu: u32,
    /// Index among its CPU's detours.
    pub index: u64,
    /// Its start,
    pub start_ticks: u64,
    /// and its end.
    pub end_ticks: u64,
}

impl Longest {
    fn rank(&self) -> impl Ord + use<> {
        (std::cmp::Reverse(self.lost_ticks), self.start_ticks, self.cpu)
    }
}

/// Keeps the longest detours of all that it is given.
#[derive(Debug, Clone, Default)]
pub struct LongestOf {
    /// Longest first.
    kept: Vec<Longest>,
}

impl LongestOf {
    /// Takes one more.
    pub fn add(&mut self, detour: Longest) {
        if let (KEPT.., Some(last)) = (self.kept.len(), self.kept.last())
            && detour.lost_ticks <= last.lost_ticks
            && detour.rank() >= last.rank()
        {
            return; // nearly always
        }
        let place = self.kept.partition_point(|kept| kept.rank() < detour.rank());
        self.kept.insert(place, detour);
        self.kept.truncate(KEPT);
    }

    /// Takes all of `other`.
    pub fn merge(&mut self, other: &Self) {
        other.kept.iter().for_each(|&detour| self.add(detour));
    }

    /// The longest first.
    #[must_use]
    pub fn kept(&self) -> &[Longest] {
        &self.kept
    }
}

/// Picks the activities of the longest detours out of the stream of all.
#[derive(Debug, Clone, Default)]
pub struct PartsOf {
    /// Rows by CPU and index of the detour.
    rows: BTreeMap<(u32, u64), Vec<Activity>>,
}

impl PartsOf {
    /// Ready to take the activities of these detours.
    #[must_use]
    pub fn new(longest: &LongestOf) -> Self {
        let rows = longest.kept().iter().map(|d| ((d.cpu, d.index), vec![])).collect();
        Self { rows }
    }

    /// Takes an activity if it belongs to one of them.
    pub fn add(&mut self, activity: &Activity) {
        if let Some(rows) = self.rows.get_mut(&(activity.cpu, activity.detour)) {
            rows.push(activity.clone());
        }
    }

    /// The detours with their parts, the longest first.
    #[must_use]
    pub fn finish(&self, longest: &LongestOf, run_start: u64, clock: &Clock) -> Vec<LongDetour> {
        let rows_of = |d: &Longest| self.rows.get(&(d.cpu, d.index)).map_or(&[][..], |rows| rows);
        longest
            .kept()
            .iter()
            .map(|detour| LongDetour {
                cpu: detour.cpu,
                index: detour.index,
                start_ns: clock.ns(detour.start_ticks.saturating_sub(run_start)),
                length_ns: clock.ns(detour.lost_ticks),
                steal_ns: rows_of(detour)
                    .iter()
                    .filter_map(|row| row.steal_ns)
                    .reduce(|a, b| a + b),
                parts: parts(rows_of(detour), clock),
            })
            .collect()
    }
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
                clock.ns(rows.map(|row| row.self_ticks).sum())
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
    parts.sort_by_key(|part| std::cmp::Reverse(part.charged_ns));
    parts.truncate(PARTS);
    parts
}

/// Whether a row is trap, return or VM exit around what a source did.
pub(crate) fn is_gap(kind: ActivityKind) -> bool {
    matches!(kind, ActivityKind::EntryGap | ActivityKind::InnerGap | ActivityKind::ExitGap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{activity, clock_ns};
    use proptest::prelude::*;

    fn long(lost_ticks: u64, start_ticks: u64) -> Longest {
        Longest { lost_ticks, cpu: 0, index: start_ticks, start_ticks, end_ticks: start_ticks }
    }

    proptest! {
        #[test]
        fn keeps_the_longest_in_any_order(lengths in prop::collection::vec(0u64..50, 0..40)) {
            let mut kept = LongestOf::default();
            for (start, &length) in lengths.iter().enumerate() {
                kept.add(long(length, start as u64));
            }
            let mut all: Vec<_> =
                lengths.iter().enumerate().map(|(start, &l)| long(l, start as u64)).collect();
            all.sort_by_key(|d| (std::cmp::Reverse(d.lost_ticks), d.start_ticks));
            all.truncate(KEPT);
            prop_assert_eq!(kept.kept(), &all[..]);
        }
    }

    #[test]
    fn parts_are_grouped_and_the_rest_is_passed_by() {
        let mut longest = LongestOf::default();
        longest.add(Longest { index: 4, ..long(100, 1_000) });
        let mut parts = PartsOf::new(&longest);
        let tick = |kind, ticks| activity(4, kind, "timer-tick", "", ticks);
        parts.add(&tick(ActivityKind::EntryGap, 10));
        let mut softirq = activity(4, ActivityKind::Activity, "softirq", "RCU", 25);
        softirq.function = Some("rcu_core".into());
        softirq.steal_ns = Some(7);
        parts.add(&softirq);
        parts.add(&tick(ActivityKind::Activity, 60));
        parts.add(&tick(ActivityKind::ExitGap, 5));
        parts.add(&activity(5, ActivityKind::Activity, "timer-tick", "", 999));

        let found = parts.finish(&longest, 400, &clock_ns());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].start_ns, found[0].length_ns, found[0].steal_ns), (600, 100, Some(7)));
        let got: Vec<_> = found[0]
            .parts
            .iter()
            .map(|p| (p.source.as_str(), p.charged_ns, p.gap_ns, p.function.as_deref()))
            .collect();
        assert_eq!(got, [("timer-tick", 75, 15, None), ("softirq", 25, 0, Some("rcu_core"))]);
    }
}
