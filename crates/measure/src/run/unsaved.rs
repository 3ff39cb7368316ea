//! Rows that were handed over but are not on disk: losses, like those for lack of a buffer.

use anechoic_recording::run::Run;
use anechoic_recording::{Detour, KernelEvent, Loss, Problem, Recording, Row, Sample};
use std::collections::BTreeMap;
use std::path::Path;

/// The tables whose rows are counted; their names are the words of [`Loss::what`].
const COUNTED: [&str; 3] = [Detour::TABLE.name, KernelEvent::TABLE.name, Sample::TABLE.name];

/// Rows by table, CPU and series; the series is 0 if a table has none.
#[derive(Debug, Default)]
pub(super) struct Counted(BTreeMap<(&'static str, u32, u32), Rows>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rows {
    count: u64,
    first_ticks: u64,
    last_ticks: u64,
}

/// Rows of one CPU and series that are not on disk.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsaved {
    series: u32,
    pub(super) loss: Loss,
}

impl Counted {
    /// Counts rows, which are in time order for each CPU.
    pub(super) fn add<R: Row>(&mut self, rows: &[R]) {
        if !COUNTED.contains(&R::TABLE.name) {
            return;
        }
        let key = |row: &R| (R::TABLE.name, row.cpu().unwrap_or(0), row.strand());
        for rows in rows.chunk_by(|a, b| key(a) == key(b)) {
            let [(first_ticks, _), (_, last_ticks)] = [rows[0].span(), rows[rows.len() - 1].span()];
            let none = Rows { count: 0, first_ticks, last_ticks };
            let counted = self.0.entry(key(&rows[0])).or_insert(none);
            counted.count += rows.len() as u64;
            counted.last_ticks = last_ticks;
        }
    }

    /// Counts the rows of the recording in `dir`; unreadable parts are not counted.
    fn on_disk(dir: &Path) -> Self {
        let mut counted = Self::default();
        if let Ok(recording) = Recording::open(dir) {
            let _ = counted.read::<Detour>(&recording);
            let _ = counted.read::<KernelEvent>(&recording);
            let _ = counted.read::<Sample>(&recording);
        }
        counted
    }

    fn read<R: Row>(&mut self, recording: &Recording) -> Result<(), Problem> {
        recording.rows::<R>().try_for_each(|rows| rows.map(|rows| self.add(&rows)))
    }

    /// Returns which of these rows are not in `dir`: the last ones of each CPU and series, because nothing is
    /// written after the first failure.
    pub(super) fn unsaved(&self, dir: &Path) -> Vec<Unsaved> {
        self.without(&Self::on_disk(dir))
    }

    fn without(&self, saved: &Self) -> Vec<Unsaved> {
        let unsaved = self.0.iter().filter_map(|(key, all)| {
            let (what, cpu, series) = *key;
            let saved = saved.0.get(key);
            let count = all.count.saturating_sub(saved.map_or(0, |saved| saved.count));
            let loss = Loss {
                what: what.into(),
                cpu,
                start_ticks: saved.map_or(all.first_ticks, |saved| saved.last_ticks),
                end_ticks: all.last_ticks,
                count,
            };
            (count > 0).then_some(Unsaved { series, loss })
        });
        unsaved.collect()
    }
}

impl Unsaved {
    /// Counts the loss in the description of the run, which has room even if the tables have none.
    pub(super) fn count_in(&self, run: &mut Run) {
        let Loss { what, cpu, count, .. } = &self.loss;
        if what == Detour::TABLE.name {
            for known in run.cpus.iter_mut().filter(|known| known.cpu == *cpu) {
                known.detours = known.detours.saturating_sub(*count);
                known.lost_detours += count;
            }
        }
        if what == Sample::TABLE.name {
            for outcome in run.outcomes.iter_mut().filter(|outcome| outcome.series == self.series) {
                outcome.lost += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_on_the_disk_is_the_last_of_each_cpu() {
        let row = |cpu, start_ticks| Detour { cpu, start_ticks, end_ticks: start_ticks + 5 };
        let mut all = Counted::default();
        all.add(&[row(0, 10), row(0, 20), row(1, 12)]);
        all.add(&[row(0, 30), row(1, 40), row(2, 50)]);
        let mut saved = Counted::default();
        saved.add(&[row(0, 10), row(2, 50)]);
        let got: Vec<_> = all.without(&saved).into_iter().map(|unsaved| unsaved.loss).collect();
        let loss = |cpu, start_ticks, end_ticks, count| Loss {
            what: "detours".into(),
            cpu,
            start_ticks,
            end_ticks,
            count,
        };
        assert_eq!(got, [loss(0, 15, 35, 2), loss(1, 12, 45, 2)]);
    }
}
