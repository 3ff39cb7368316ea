//! The sources of the detours that delayed the last rank.

use super::gather::Gathered;
use super::outcome::{Cell, SourceTime};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Activity, Problem, Recording};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Mark of a detour that delayed nobody.
const NOBODY: u32 = u32::MAX;

/// The cell in which each detour counts, by host, CPU and number of the detour.
#[derive(Debug)]
pub(super) struct Blamed(BTreeMap<(usize, u32), Vec<u32>>);

type Name = (Arc<str>, Arc<str>);

impl Blamed {
    /// Returns an empty collection.
    pub(super) fn new(gathered: &Gathered) -> Self {
        let marks = |&detours: &u64| vec![NOBODY; usize::try_from(detours).unwrap_or(0)];
        Self(gathered.detours.iter().map(|(&at, detours)| (at, marks(detours))).collect())
    }

    /// Notes that a detour delayed the last rank in a phase of this cell.
    pub(super) fn add(&mut self, host: usize, cpu: Option<u32>, detour: u64, cell: usize) {
        let marks = cpu.and_then(|cpu| self.0.get_mut(&(host, cpu)));
        let place = usize::try_from(detour).unwrap_or(usize::MAX);
        if let Some(mark) = marks.and_then(|marks| marks.get_mut(place)) {
            *mark = cell as u32;
        }
    }

    /// Adds up the time of sources in these detours; returns why that is unknown, if it is.
    pub(super) fn read(
        &self,
        recordings: &[&Recording],
        cells: &mut [Cell],
    ) -> Result<Option<NotAvailable>, Problem> {
        for recording in recordings {
            if recording.attribution()?.is_none() {
                return Ok(Some(NotAvailable::new(
                    "sources of the detours that delayed ranks",
                    format!("{} has no attribution", recording.dir().display()),
                    "run `anechoic attribute` on it first",
                )));
            }
        }
        let mut sums: Vec<BTreeMap<Name, u64>> = vec![BTreeMap::new(); cells.len()];
        for (&(host, cpu), marks) in &self.0 {
            let Some(recording) = recordings.get(host) else { continue };
            for rows in recording.rows_of_cpu::<Activity>(cpu) {
                for activity in rows? {
                    let place = usize::try_from(activity.detour).unwrap_or(usize::MAX);
                    let cell = marks.get(place).and_then(|&cell| sums.get_mut(cell as usize));
                    let Some(cell) = cell else { continue };
                    let ns = recording.run().clock.ns(activity.self_ticks);
                    let source_ns = cell.entry((activity.source, activity.name)).or_default();
                    *source_ns = source_ns.saturating_add(ns);
                }
            }
        }
        for (cell, sums) in cells.iter_mut().zip(sums) {
            cell.sources = cell.explanation.is_some().then(|| ranked(sums));
        }
        Ok(None)
    }
}

/// Returns the sources sorted by decreasing time.
fn ranked(sums: BTreeMap<Name, u64>) -> Vec<SourceTime> {
    let all: f64 = sums.values().map(|&ns| ns as f64).sum();
    let mut rows = vec![];
    for ((source, name), ns) in sums {
        let share = ns as f64 / all.max(1.0);
        rows.push(SourceTime { source: source.to_string(), name: name.to_string(), share, ns });
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.ns));
    rows
}
