//! What each source took of a detour: the one sum by source on which all others are built.

use crate::places::Places;
use anechoic_recording::{Activity, ActivityKind, DetourView};
use std::sync::Arc;

/// What one source took of one detour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Number of the source and name.
    pub(crate) place: usize,
    /// Its time, gaps included.
    pub(crate) ticks: u64,
    /// The gaps that are charged to it.
    pub(crate) gap_ticks: u64,
}

/// A detour, split up by source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitDetour<'a> {
    pub(crate) view: DetourView<'a>,
    /// A row for each source that took part, in the order in which they came.
    pub(crate) charges: &'a [Charge],
    /// The number of the source of each activity.
    pub(crate) places: &'a [usize],
    /// Source and name by number, of all that came so far.
    pub(crate) names: &'a [(Arc<str>, Arc<str>)],
}

/// Splits detours one after the other. A source keeps its number.
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

    /// What each source took of these activities of one detour, in ticks.
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

/// Whether a row is trap, return or VM exit around what a source did.
pub(crate) fn is_gap(kind: ActivityKind) -> bool {
    matches!(kind, ActivityKind::EntryGap | ActivityKind::InnerGap | ActivityKind::ExitGap)
}
