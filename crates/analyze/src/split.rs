//! Splits a detour by source: the sums that all other sums by source are built on.

use crate::places::Places;
use anechoic_recording::{Activity, ActivityKind, DetourView};
use std::sync::Arc;

/// What one source took of one detour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Number of source and name.
    pub(crate) place: usize,
    /// Time including gaps.
    pub(crate) ticks: u64,
    /// Gaps charged to it.
    pub(crate) gap_ticks: u64,
}

/// A detour, split up by source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitDetour<'a> {
    pub(crate) view: DetourView<'a>,
    /// One row for each source in it, in order of appearance.
    pub(crate) charges: &'a [Charge],
    /// Source number of each activity.
    pub(crate) places: &'a [usize],
    /// Source and name by number, so far.
    pub(crate) names: &'a [(Arc<str>, Arc<str>)],
}

/// Splits detours one after the other; a source keeps its number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Split {
    numbers: Places,
    charges: Vec<Charge>,
    places: Vec<usize>,
}

impl Split {
    /// Splits the next detour.
    pub(crate) fn split<'a>(&'a mut self, view: DetourView<'a>) -> SplitDetour<'a> {
        self.charge(view.activities);
        let (charges, places, names) = (&self.charges, &self.places, self.numbers.names());
        SplitDetour { view, charges, places, names }
    }

    /// Returns what each source took of these activities of one detour, in ticks.
    pub(crate) fn add_up(
        &mut self,
        activities: &[Activity],
    ) -> impl Iterator<Item = (&(Arc<str>, Arc<str>), u64)> {
        self.charge(activities);
        let names = self.numbers.names();
        self.charges.iter().map(|charge| (&names[charge.place], charge.ticks))
    }

    fn charge(&mut self, activities: &[Activity]) {
        self.charges.clear();
        self.places.clear();
        for activity in activities {
            let place = self.numbers.place(&activity.source, &activity.name);
            self.places.push(place);
            let ticks = activity.self_ticks;
            let gap_ticks = if is_gap(activity.kind) { ticks } else { 0 };
            match self.charges.iter_mut().find(|charge| charge.place == place) {
                Some(charge) => {
                    charge.ticks = charge.ticks.saturating_add(ticks);
                    charge.gap_ticks = charge.gap_ticks.saturating_add(gap_ticks);
                }
                None => self.charges.push(Charge { place, ticks, gap_ticks }),
            }
        }
    }
}

/// Returns whether a row is trap, return or VM exit around an activity.
pub(crate) fn is_gap(kind: ActivityKind) -> bool {
    matches!(kind, ActivityKind::EntryGap | ActivityKind::InnerGap | ActivityKind::ExitGap)
}
