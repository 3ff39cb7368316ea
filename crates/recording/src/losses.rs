//! What a run lost, by kind and CPU.

use crate::intervals::Intervals;
use crate::problem::Problem;
use crate::recording::Recording;
use crate::rows::{Loss, LossKind};
use std::collections::BTreeMap;

/// The table `losses`, sorted by kind and CPU. It takes 16 bytes per interval.
#[derive(Debug, Clone, Default)]
pub struct Losses(BTreeMap<(LossKind, u32), LossesOf>);

/// The losses of one kind on one CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LossesOf {
    /// Number of rows that were lost; 0 if unknown.
    pub count: u64,
    /// The intervals in ticks, in the order of the table's rows.
    pub intervals: Vec<(u64, u64)>,
}

impl Losses {
    /// Adds a row.
    pub fn add(&mut self, loss: &Loss) {
        let losses = self.0.entry((loss.what.clone(), loss.cpu)).or_default();
        losses.count = losses.count.saturating_add(loss.count);
        losses.intervals.push((loss.start_ticks, loss.end_ticks));
    }

    /// Returns the intervals in which something of these kinds was lost on `cpu`.
    #[must_use]
    pub fn on_cpu(&self, cpu: u32, kinds: &[LossKind]) -> Intervals {
        let known = |kind: &LossKind| self.0.get(&(kind.clone(), cpu));
        let these = kinds.iter().filter_map(known);
        Intervals::merge(these.flat_map(|losses| losses.intervals.iter().copied()))
    }

    /// Returns kind, CPU and losses, sorted by kind and then by CPU.
    pub fn iter(&self) -> impl Iterator<Item = (&LossKind, u32, &LossesOf)> {
        self.0.iter().map(|((kind, cpu), losses)| (kind, *cpu, losses))
    }
}

impl Recording {
    /// Reads what the run lost.
    ///
    /// # Errors
    /// Fails if the table is damaged.
    pub fn losses(&self) -> Result<Losses, Problem> {
        let mut losses = Losses::default();
        for rows in self.rows::<Loss>() {
            rows?.iter().for_each(|loss| losses.add(loss));
        }
        Ok(losses)
    }
}
