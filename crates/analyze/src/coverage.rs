//! How reliable the attribution is: the share it explains, the kernel's own counters, and losses.

use crate::sources::Explained;
use anechoic_recording::attribution::Audit;
use anechoic_recording::{Counter, LossKind, Losses, LossesOf, Problem, Recording};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Entering and leaving the kernel takes longer than this, so at lower thresholds every entry is a detour.
pub const SURELY_SEEN_NS: u64 = 500;

/// Lost time by how well it is explained, as shares of all lost time.
///
/// `explained + unexplained + not_attributable + unattributed` is 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Charged to an activity of the kernel, including the gaps around it.
    pub explained: f64,
    /// Charged to an activity of the kernel, without the gaps.
    pub explained_without_gaps: f64,
    /// In detours without any kernel event: the hypervisor or the hardware.
    pub unexplained: f64,
    /// In detours during which events were lost or switched off.
    pub not_attributable: f64,
    /// In detours that the `activities` table does not contain.
    pub unattributed: f64,
}

impl Coverage {
    /// Returns the shares; absent if no time was lost.
    pub(crate) fn new(explained: Explained, lost_ticks: u64) -> Option<Self> {
        let Explained { all_ticks, gap_ticks, unexplained_ticks, not_attributable_ticks } =
            explained;
        // Sums that were too large stopped at the largest number.
        let unknown_ticks = unexplained_ticks.saturating_add(not_attributable_ticks);
        let known_ticks = all_ticks.saturating_sub(unknown_ticks);
        let share = |ticks| crate::share(ticks, lost_ticks);
        (lost_ticks > 0).then(|| Self {
            explained: share(known_ticks),
            explained_without_gaps: share(known_ticks.saturating_sub(gap_ticks)),
            unexplained: share(unexplained_ticks),
            not_attributable: share(not_attributable_ticks),
            unattributed: share(lost_ticks.saturating_sub(all_ticks)),
        })
    }
}

/// A counter of the kernel that differs from the recorded events by more than allowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditDifference {
    /// Name of the counter: `interrupts/LOC`, `softirqs/TIMER`.
    pub counter: String,
    /// CPU of the counter.
    pub cpu: u32,
    /// Count of the kernel.
    pub counted: u64,
    /// Number of recorded events.
    pub seen: u64,
    /// Allowed difference: one at each reading, plus what happens while the kernel's tables are read.
    pub allowed: u64,
}

/// First and last reading of each counter, by name and CPU.
#[derive(Debug, Clone, Default)]
pub(crate) struct CounterReadings(BTreeMap<(String, u32), [Reading; 2]>);

/// A reading of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Time of the reading.
    pub(crate) ticks: u64,
    /// Value of the counter.
    pub(crate) value: u64,
}

impl CounterReadings {
    /// Reads the counters of a recording.
    ///
    /// # Errors
    /// The table is damaged.
    pub(crate) fn read(recording: &Recording) -> Result<Self, Problem> {
        let mut readings = Self::default();
        for rows in recording.rows::<Counter>() {
            rows?.iter().for_each(|counter| readings.add(counter));
        }
        Ok(readings)
    }

    /// Adds one reading; readings of a counter come in time order.
    pub(crate) fn add(&mut self, counter: &Counter) {
        let reading = Reading { ticks: counter.ticks, value: counter.value };
        let key = (counter.name.clone(), counter.cpu);
        self.0.entry(key).and_modify(|both| both[1] = reading).or_insert([reading; 2]);
    }

    /// Returns first and last reading of each counter.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, u32, [Reading; 2])> {
        self.0.iter().map(|((name, cpu), both)| (name.as_str(), *cpu, *both))
    }

    fn first_and_last(&self, name: &str, cpu: u32) -> Option<[Reading; 2]> {
        self.0.get(&(name.to_owned(), cpu)).copied()
    }

    /// Returns how long the kernel took to write a table: from the first table to the second. Each row has the time before.
    fn table_ticks(&self) -> u64 {
        let mut tables: Vec<u64> = self.0.values().map(|[first, _]| first.ticks).collect();
        tables.sort_unstable();
        tables.dedup();
        tables.get(1).map_or(0, |second| second - tables[0])
    }
}

/// One at each reading: the counter is a little older or newer than the time of the reading.
const EDGES: u64 = 2;

/// Returns the counters that differ from the recorded events between their readings by more than allowed: by more than one
/// at each reading, plus as many as occur at the mean rate while a table is read.
pub(crate) fn audit_differences(
    audit: &[Audit],
    readings: &CounterReadings,
) -> Vec<AuditDifference> {
    let table_ticks = readings.table_ticks();
    audit.iter().filter_map(|row| audit_difference(row, readings, table_ticks)).collect()
}

/// Returns a counter that differs by more than allowed. `table_ticks` is how long the kernel took to write the table.
fn audit_difference(
    row: &Audit,
    readings: &CounterReadings,
    table_ticks: u64,
) -> Option<AuditDifference> {
    let seen = row.seen?;
    let while_read = readings.first_and_last(&row.counter, row.cpu).map_or(0.0, |[first, last]| {
        let between = last.ticks.saturating_sub(first.ticks);
        crate::share(EDGES.saturating_mul(table_ticks), between)
    });
    let allowed = EDGES + (row.counted as f64 * while_read).floor() as u64;
    (row.counted.abs_diff(seen) > allowed).then(|| AuditDifference {
        counter: row.counter.clone(),
        cpu: row.cpu,
        counted: row.counted,
        seen,
        allowed,
    })
}

/// All losses of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossSummary {
    /// Kind of loss: `events`, `detours`, `steal`; or `untraced` if tracing was switched off on purpose.
    pub what: LossKind,
    /// Number of intervals with losses.
    pub intervals: u64,
    /// Number of lost items; 0 if unknown.
    pub count: u64,
    /// The intervals as a share of the wall time of all measured CPUs.
    pub time_share: f64,
    /// CPUs with losses.
    pub cpus: Vec<u32>,
}

/// Adds up losses by kind. `windows` are the measured CPUs with the times in which their loops ran, or a program was recorded;
/// losses outside have no share of that time.
pub(crate) fn losses(losses: &Losses, windows: &[(u32, u64, u64)]) -> Vec<LossSummary> {
    let lengths = windows.iter().map(|&(_, first, last)| last.saturating_sub(first));
    let wall_ticks = lengths.fold(0, u64::saturating_add);
    let mut by_cpu: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    for &(cpu, first, last) in windows {
        by_cpu.entry(cpu).or_default().push((first, last));
    }
    let mut kinds: BTreeMap<&str, Vec<(u32, &LossesOf)>> = BTreeMap::new();
    for (what, cpu, cpu_losses) in losses.iter() {
        kinds.entry(what).or_default().push((cpu, cpu_losses));
    }
    let mut found = vec![];
    for (what, cpus) in kinds {
        let mut lost_ticks = 0_u64;
        for (cpu, cpu_losses) in &cpus {
            let windows = by_cpu.get(cpu).map(Vec::as_slice).unwrap_or_default();
            let inside = cpu_losses.intervals.iter().map(|&lost| measured(lost, windows));
            lost_ticks = inside.fold(lost_ticks, u64::saturating_add);
        }
        found.push(LossSummary {
            what: what.into(),
            intervals: cpus.iter().map(|(_, cpu_losses)| cpu_losses.intervals.len() as u64).sum(),
            count: cpus.iter().map(|(_, cpu_losses)| cpu_losses.count).fold(0, u64::saturating_add),
            // A run that was cut off has no end, and its losses may lie after what is known of it.
            time_share: crate::share(lost_ticks.min(wall_ticks), wall_ticks),
            cpus: cpus.iter().map(|&(cpu, _)| cpu).collect(),
        });
    }
    found
}

/// Returns the ticks of a loss on a CPU during which a loop ran there, in one of these windows.
fn measured((start, end): (u64, u64), windows: &[(u64, u64)]) -> u64 {
    let common = |&(first, last): &(u64, u64)| end.min(last).saturating_sub(start.max(first));
    windows.iter().map(common).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_recording::Loss;

    #[test]
    fn shares_of_lost_time() {
        let explained = Explained {
            all_ticks: 90,
            gap_ticks: 20,
            unexplained_ticks: 30,
            not_attributable_ticks: 10,
        };
        let coverage = Coverage::new(explained, 100).expect("time was lost");
        let expected = Coverage {
            explained: 0.5,
            explained_without_gaps: 0.3,
            unexplained: 0.3,
            not_attributable: 0.1,
            unattributed: 0.1,
        };
        assert_eq!(coverage, expected);
        assert_eq!(Coverage::new(Explained::default(), 0), None);
        let most = u64::MAX;
        let full = Explained {
            all_ticks: most,
            gap_ticks: most,
            unexplained_ticks: most,
            not_attributable_ticks: most,
        };
        assert_eq!(
            Coverage::new(full, most).map(|shares| shares.explained_without_gaps),
            Some(0.0)
        );
    }

    #[test]
    fn counters_may_differ_by_what_arrives_while_they_are_read() {
        let mut readings = CounterReadings::default();
        let tables = [("interrupts/LOC", 1_000), ("softirqs/TIMER", 1_500)];
        for (name, ticks) in tables.map(|(name, ticks)| (name.to_owned(), ticks)) {
            let last = Counter { name: name.clone(), cpu: 0, ticks: ticks + 100_000, value: 1_200 };
            readings.add(&Counter { name, cpu: 0, ticks, value: 100 });
            readings.add(&last);
        }
        // A table takes 500 ticks, so that 1,000 of 100,000 are uncertain: one percent.
        type Case = (&'static str, &'static str, u32, Option<u64>, Option<u64>);
        let cases: [Case; 6] = [
            ("equal", "interrupts/LOC", 0, Some(1_100), None),
            ("fewer, within what may be", "interrupts/LOC", 0, Some(1_087), None),
            ("more, within what may be", "interrupts/LOC", 0, Some(1_113), None),
            ("beyond it", "interrupts/LOC", 0, Some(1_086), Some(13)),
            ("no event shows it", "interrupts/HYP", 0, None, None),
            ("no reading: two may differ", "interrupts/LOC", 1, Some(1_097), Some(2)),
        ];
        for (name, counter, cpu, seen, expected) in cases {
            let audit = [Audit { counter: counter.into(), cpu, counted: 1_100, seen }];
            let found = audit_differences(&audit, &readings);
            assert_eq!(found.first().map(|d| d.allowed), expected, "case: {name}");
        }
    }

    #[test]
    fn losses_are_added_up_by_kind() {
        let loss = |what: &str, cpu, start_ticks, end_ticks, count| Loss {
            what: what.into(),
            cpu,
            start_ticks,
            end_ticks,
            count,
        };
        let rows = [
            loss("events", 1, 0, 10, 5),
            loss("detours", 0, 7, 7, 2),
            loss("events", 0, 90, 100, 1),
            loss("events", 7, 0, 1_000, 3), // a CPU that was not measured
        ];
        let mut all = Losses::default();
        rows.iter().for_each(|row| all.add(row));
        // Of the first loss half lies before the loop's start.
        let windows = [(0, 0, 100), (1, 5, 105)];
        let expected = [("detours", 1, 2, 0.0, vec![0]), ("events", 3, 9, 0.075, vec![0, 1, 7])];
        let got = losses(&all, &windows);
        let got: Vec<_> = got
            .iter()
            .map(|l| (l.what.as_str(), l.intervals, l.count, l.time_share, l.cpus.clone()))
            .collect();
        assert_eq!(got, expected);
    }
}
