//! Adds up activities by source, in one pass and bounded memory.

use crate::fold::Fold;
use crate::lengths::LengthsBuilder;
pub use crate::source_row::{FunctionShare, SenderShare, SourceRow, Steal, ThreadShare};
use crate::split::{SplitDetour, is_gap};
use anechoic_recording::who::SeenThread;
use anechoic_recording::{Activity, ActivityKind, Clock};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Largest number of functions and senders listed for a source.
const NAMED: usize = 3;
/// Largest number of threads of a source that are counted separately; the time of all others is added up under 0.
const MOST_THREADS: usize = 4_096;

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    activities: u64,
    ticks: u64,
}

/// Sums for one source and name.
#[derive(Debug, Clone, Default)]
struct SourceBuilder {
    source: Arc<str>,
    name: Arc<str>,
    charged: LengthsBuilder,
    gaps: LengthsBuilder,
    activities: u64,
    cpus: BTreeSet<u32>,
    functions: HashMap<Arc<str>, Tally>,
    senders: HashMap<(Option<u32>, Option<Arc<str>>), Tally>,
    /// By thread; those of interrupts and the like under 0.
    threads: HashMap<i32, Tally>,
    steal_ns: u64,
    steal_read_ticks: u64,
}

/// What a source took, and by which of its threads.
#[derive(Debug, Clone)]
pub(crate) struct SourceTime<'a> {
    pub(crate) source: &'a str,
    pub(crate) name: &'a str,
    /// Including gaps.
    pub(crate) ticks: u64,
    pub(crate) steal_ns: u64,
    /// Threads (0 if there is none) with their time, without gaps.
    pub(crate) threads: Vec<(i32, u64)>,
}

/// Lost ticks by how well they are explained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Explained {
    /// All activities.
    pub(crate) all_ticks: u64,
    /// Gaps charged to a source.
    pub(crate) gap_ticks: u64,
    /// Detours without any kernel event.
    pub(crate) unexplained_ticks: u64,
    /// Detours in lost or untraced intervals.
    pub(crate) not_attributable_ticks: u64,
}

/// Adds up activities by source.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourcesBuilder {
    /// Sums by number of the source.
    sources: Vec<SourceBuilder>,
    pub(crate) explained: Explained,
}

impl Fold for SourcesBuilder {
    fn detour(&mut self, detour: &SplitDetour<'_>) {
        for (source, name) in &detour.names[self.sources.len()..] {
            let (source, name) = (source.clone(), name.clone());
            self.sources.push(SourceBuilder { source, name, ..SourceBuilder::default() });
        }
        for charge in detour.charges {
            let source = &mut self.sources[charge.place];
            source.charged.add(charge.ticks);
            source.gaps.add(charge.gap_ticks);
            source.cpus.insert(detour.view.cpu);
        }
        for (row, activity) in detour.view.activities.iter().enumerate() {
            self.explained.add(activity);
            let place = detour.places[row];
            let parent =
                activity.parent.and_then(|parent| detour.places[..row].get(parent as usize));
            let gap = is_gap(activity.kind);
            let counts = !gap && parent != Some(&place);
            self.sources[place].add(activity, gap, u64::from(counts));
        }
    }
}

impl Explained {
    fn add(&mut self, activity: &Activity) {
        let ticks = activity.self_ticks;
        let add = |sum: &mut u64| *sum = sum.saturating_add(ticks);
        add(&mut self.all_ticks);
        match activity.kind {
            ActivityKind::Unexplained => add(&mut self.unexplained_ticks),
            ActivityKind::NotAttributable => add(&mut self.not_attributable_ticks),
            kind if is_gap(kind) => add(&mut self.gap_ticks),
            _ => {}
        }
    }
}

impl SourcesBuilder {
    /// Returns the time of all sources.
    pub(crate) fn times(&self) -> impl Iterator<Item = SourceTime<'_>> {
        self.sources.iter().map(|row| {
            let mut threads: Vec<(i32, u64)> =
                row.threads.iter().map(|(&tid, tally)| (tid, tally.ticks)).collect();
            threads.sort_unstable();
            SourceTime {
                source: &row.source,
                name: &row.name,
                ticks: row.charged.sum_ticks(),
                steal_ns: row.steal_ns,
                threads,
            }
        })
    }

    /// Returns the sources by decreasing share.
    ///
    /// `lost_ticks` and `detours` are those of all measured CPUs, `wall_ticks` those of each CPU.
    pub(crate) fn rows(
        &self,
        lost_ticks: u64,
        detours: u64,
        wall_ticks: &BTreeMap<u32, u64>,
        (clock, seen): (&Clock, &[SeenThread]),
    ) -> Vec<SourceRow> {
        let mut sources: Vec<&SourceBuilder> =
            self.sources.iter().filter(|source| source.charged.count() > 0).collect();
        sources.sort_by_key(|s| (Reverse(s.charged.sum_ticks()), s.source.clone(), s.name.clone()));
        sources
            .into_iter()
            .filter_map(|source| source.row(lost_ticks, detours, wall_ticks, (clock, seen)))
            .collect()
    }
}

impl SourceBuilder {
    fn add(&mut self, activity: &Activity, gap: bool, activities: u64) {
        self.activities = self.activities.saturating_add(activities);
        if let Some(steal_ns) = activity.steal_ns {
            self.steal_ns = self.steal_ns.saturating_add(steal_ns);
            self.steal_read_ticks = self.steal_read_ticks.saturating_add(activity.self_ticks);
        }
        if gap {
            return;
        }
        let thread = activity.thread.unwrap_or(0);
        let known = self.threads.len() < MOST_THREADS || self.threads.contains_key(&thread);
        tally(&mut self.threads, &if known { thread } else { 0 }, activities, activity.self_ticks);
        if let Some(function) = &activity.function {
            tally(&mut self.functions, function, activities, activity.self_ticks);
        }
        if activity.sent_by_cpu.is_some() || activity.sent_by_task.is_some() {
            let sender = (activity.sent_by_cpu, activity.sent_by_task.clone());
            tally(&mut self.senders, &sender, activities, activity.self_ticks);
        }
    }

    fn row(
        &self,
        lost_ticks: u64,
        detours: u64,
        wall_ticks: &BTreeMap<u32, u64>,
        (clock, seen): (&Clock, &[SeenThread]),
    ) -> Option<SourceRow> {
        let ticks = self.charged.sum_ticks();
        let touched = self.cpus.iter().filter_map(|cpu| wall_ticks.get(cpu).copied());
        let touched = touched.fold(0, u64::saturating_add);
        let without_gaps = ticks - self.gaps.sum_ticks();
        let share_of_source = |part: u64| crate::share(part, without_gaps);
        Some(SourceRow {
            source: self.source.to_string(),
            name: self.name.to_string(),
            detours: self.charged.count(),
            activities: self.activities,
            rate_per_s: crate::per_second(self.charged.count(), touched, clock),
            noise: crate::share(ticks, wall_ticks.values().copied().fold(0, u64::saturating_add)),
            share: crate::share(ticks, lost_ticks),
            share_without_gaps: crate::share(without_gaps, lost_ticks),
            detour_share: crate::share(self.charged.count(), detours),
            charged: self.charged.lengths(clock)?,
            gap_p50_ns: self.gaps.lengths(clock)?.p50_ns,
            cpus: self.cpus.iter().copied().collect(),
            functions: top(&self.functions)
                .map(|(function, tally)| FunctionShare {
                    function: function.to_string(),
                    activities: tally.activities,
                    share: share_of_source(tally.ticks),
                })
                .collect(),
            senders: top(&self.senders)
                .map(|((cpu, task), tally)| SenderShare {
                    cpu: *cpu,
                    task: task.as_deref().map(str::to_owned),
                    activities: tally.activities,
                    share: share_of_source(tally.ticks),
                })
                .collect(),
            threads: top(&self.threads)
                .filter(|(tid, _)| **tid != 0)
                .map(|(&tid, tally)| {
                    let mut seen = seen.iter();
                    let seen = seen.find(|seen| seen.tid == tid && seen.is_named(&self.name));
                    ThreadShare {
                        tid,
                        pid: seen.map(|seen| seen.pid),
                        command: seen.map(|seen| seen.command.clone()),
                        cgroup: seen.map(|seen| seen.cgroup.clone()),
                        unit: seen.and_then(|seen| seen.unit.clone()),
                        share: share_of_source(tally.ticks),
                    }
                })
                .collect(),
            steal: (self.steal_read_ticks > 0).then(|| Steal {
                ns: self.steal_ns,
                share: crate::share(self.steal_ns, clock.ns(self.steal_read_ticks)),
            }),
        })
    }
}

fn tally<K: Clone + Eq + std::hash::Hash>(
    tallies: &mut HashMap<K, Tally>,
    key: &K,
    activities: u64,
    ticks: u64,
) {
    if !tallies.contains_key(key) {
        tallies.insert(key.clone(), Tally::default());
    }
    if let Some(tally) = tallies.get_mut(key) {
        tally.activities = tally.activities.saturating_add(activities);
        tally.ticks = tally.ticks.saturating_add(ticks);
    }
}

/// Returns the entries with the most time; equal ones sorted by name.
fn top<K: Ord>(tallies: &HashMap<K, Tally>) -> impl Iterator<Item = (&K, &Tally)> {
    let mut all: Vec<_> = tallies.iter().collect();
    all.sort_by_key(|(key, tally)| (Reverse(tally.ticks), *key));
    all.into_iter().take(NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{activity, clock_ns, show};
    use ActivityKind::{Activity as Ran, EntryGap, ExitGap, NotAttributable, Unexplained};
    use proptest::prelude::*;

    fn add_all(rows: &[Activity]) -> SourcesBuilder {
        let mut sources = SourcesBuilder::default();
        show(rows, &mut sources);
        sources
    }

    #[test]
    fn rows_of_one_detour_make_one_duration() {
        let tick = |detour, kind, ticks| activity(detour, kind, "timer-tick", "", ticks);
        let rcu = |detour, ticks| activity(detour, Ran, "softirq", "RCU", ticks);
        let sources = add_all(&[
            // The first detour: a tick with two softirqs; the second a tick alone; the third unknown.
            tick(0, EntryGap, 10),
            tick(0, Ran, 20),
            rcu(0, 5),
            rcu(0, 7),
            tick(0, ExitGap, 8),
            tick(1, Ran, 40),
            activity(2, Unexplained, "vm-or-hardware", "", 100),
            activity(3, NotAttributable, "not-attributable", "", 10),
        ]);
        let explained = Explained {
            all_ticks: 200,
            gap_ticks: 18,
            unexplained_ticks: 100,
            not_attributable_ticks: 10,
        };
        assert_eq!(sources.explained, explained);

        let second = 1_000_000_000;
        let rows =
            sources.rows(200, 4, &BTreeMap::from([(0, second), (1, second)]), (&clock_ns(), &[]));
        let got: Vec<_> = rows
            .iter()
            .map(|r| (r.source.as_str(), r.detours, r.activities, r.share, r.charged.max_ns))
            .collect();
        let expected = [
            ("vm-or-hardware", 1, 1, 0.5, 100),
            ("timer-tick", 2, 2, 0.39, 40),
            ("softirq", 1, 2, 0.06, 12),
            ("not-attributable", 1, 1, 0.05, 10),
        ];
        assert_eq!(got, expected);
        let tick = &rows[1];
        assert_eq!((tick.charged.min_ns, tick.charged.mean_ns, tick.gap_p50_ns), (38, 39.0, 0));
        assert_eq!((tick.share_without_gaps, tick.detour_share), (0.3, 0.5));
        assert_eq!((tick.rate_per_s, tick.noise, &tick.cpus[..]), (2.0, 3.9e-8, &[0][..]));
    }

    #[test]
    fn sums_of_a_damaged_recording_end_at_the_largest_number() {
        let huge = |detour| Activity {
            steal_ns: Some(u64::MAX - 1),
            thread: Some(7),
            function: Some("evil".into()),
            sent_by_cpu: Some(1),
            ..activity(detour, Ran, "thread", "evil", u64::MAX - 1)
        };
        let sources = add_all(&[huge(0), huge(1), huge(2)]);
        let rows = sources.rows(u64::MAX, 3, &BTreeMap::from([(0, u64::MAX)]), (&clock_ns(), &[]));
        assert_eq!((rows.len(), rows[0].detours), (1, 3));
        assert!(rows[0].steal.as_ref().is_some_and(|steal| steal.ns == u64::MAX));
    }

    #[test]
    fn what_is_nested_in_its_own_kind_is_not_another() {
        let row = |kind, parent, ticks| {
            let mut row = activity(0, kind, "timer-tick", "", ticks);
            row.parent = parent;
            row.function = Some("tick_nohz_handler".into());
            row
        };
        // Gap, interrupt, the timer in it, and another interrupt in the same detour.
        let sources = add_all(&[
            row(EntryGap, None, 5),
            row(Ran, None, 10),
            row(Ran, Some(1), 20),
            row(Ran, None, 7),
        ]);
        let rows = sources.rows(42, 1, &BTreeMap::from([(0, 100)]), (&clock_ns(), &[]));
        assert_eq!((rows[0].detours, rows[0].activities, rows[0].share), (1, 2, 1.0));
        assert_eq!(rows[0].functions[0].activities, 2);
        assert_eq!(rows[0].functions[0].share, 1.0, "of the time without gaps");
    }

    #[test]
    fn functions_senders_and_steal() {
        let row = |detour, function: &str, task: &str, ticks, steal_ns| {
            let mut row = activity(detour, Ran, "thread", "kworker/1:1", ticks);
            row.function = Some(function.into());
            row.sent_by_cpu = Some(1);
            row.sent_by_task = Some(task.into());
            row.steal_ns = steal_ns;
            row
        };
        let sources = add_all(&[
            row(0, "vmstat_update", "bash", 30, None),
            row(1, "lru_add_drain", "swapper", 50, Some(20)),
            row(2, "vmstat_update", "bash", 20, None),
        ]);
        let rows = sources.rows(100, 3, &BTreeMap::from([(0, 100)]), (&clock_ns(), &[]));
        let functions: Vec<_> = rows[0]
            .functions
            .iter()
            .map(|f| (f.function.as_str(), f.activities, f.share))
            .collect();
        assert_eq!(functions, [("lru_add_drain", 1, 0.5), ("vmstat_update", 2, 0.5)]);
        let senders: Vec<_> =
            rows[0].senders.iter().map(|s| (s.cpu, s.task.as_deref(), s.share)).collect();
        assert_eq!(senders, [(Some(1), Some("bash"), 0.5), (Some(1), Some("swapper"), 0.5)]);
        assert_eq!(rows[0].steal, Some(Steal { ns: 20, share: 0.4 }));
    }

    proptest! {
        #[test]
        fn shares_add_up(parts in prop::collection::vec((0u64..20, 0usize..4, 0usize..5, 0u64..500), 1..60)) {
            let mut parts = parts;
            parts.sort_by_key(|part| part.0);
            let kinds = [Ran, EntryGap, ExitGap, Unexplained];
            let sources = ["timer-tick", "softirq", "thread", "device-irq", "vm-or-hardware"];
            let rows: Vec<Activity> = parts
                .iter()
                .map(|&(detour, kind, source, ticks)| {
                    activity(detour, kinds[kind], sources[source], "", ticks)
                })
                .collect();
            let sum: u64 = rows.iter().map(|row| row.self_ticks).sum();
            let found = add_all(&rows).rows(sum, 20, &BTreeMap::from([(0, 1000)]), (&clock_ns(), &[]));
            let share: f64 = found.iter().map(|row| row.share).sum();
            prop_assert!((share - if sum == 0 { 0.0 } else { 1.0 }).abs() < 1e-9, "{share}");
            let detours: std::collections::BTreeSet<_> = parts.iter().map(|p| (p.0, p.2)).collect();
            prop_assert_eq!(found.iter().map(|row| row.detours).sum::<u64>(), detours.len() as u64);
        }
    }
}
