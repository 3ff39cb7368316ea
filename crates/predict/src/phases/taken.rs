//! The time that each source took of the detours of a CPU.

use super::span::Span;
use anechoic_analyze::Places;
use anechoic_recording::{Activity, Clock};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A source of noise with its name: thread, device, vector.
pub type SourceName = (Arc<str>, Arc<str>);

/// The time that a source took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SourceTotals {
    /// Sum over all detours, in ns.
    pub ns: u64,
    /// Maximum of a single detour.
    pub longest_ns: u64,
}

/// Sums of the time that sources took of one detour after the other. A source never takes more of a detour than its
/// length.
#[derive(Debug)]
pub(super) struct TakenSums {
    numbers: Places,
    /// Sources with this number or a higher one do not count.
    most: usize,
    totals: Vec<SourceTotals>,
    /// What each source took of the current detour, by its number.
    here: Vec<(usize, u64)>,
}

impl TakenSums {
    /// Returns empty sums over all sources.
    pub(super) fn all() -> Self {
        Self { numbers: Places::default(), most: usize::MAX, totals: vec![], here: vec![] }
    }

    /// Returns empty sums over some sources, numbered in their order.
    pub(super) fn new<'a>(sources: impl IntoIterator<Item = &'a SourceName>) -> Self {
        let mut numbers = Places::default();
        for (source, name) in sources {
            numbers.place(source, name);
        }
        Self { most: numbers.names().len(), numbers, ..Self::all() }
    }

    /// Adds a detour and returns what each source took of it, by its number, without those that took nothing.
    pub(super) fn add(
        &mut self,
        activities: &[Activity],
        detour: Span,
        clock: &Clock,
    ) -> &[(usize, u64)] {
        self.here.clear();
        for activity in activities {
            let number = self.numbers.place(&activity.source, &activity.name);
            if number >= self.most {
                continue;
            }
            if self.totals.len() <= number {
                self.totals.resize(number + 1, SourceTotals::default());
            }
            let ns = clock.ns(activity.self_ticks);
            match self.here.iter_mut().find(|here| here.0 == number) {
                Some(here) => here.1 = here.1.saturating_add(ns),
                None => self.here.push((number, ns)),
            }
        }
        self.here.retain_mut(|(number, ns)| {
            *ns = (*ns).min(detour.length_ns());
            let total = &mut self.totals[*number];
            total.ns = total.ns.saturating_add(*ns);
            total.longest_ns = total.longest_ns.max(*ns);
            *ns > 0
        });
        &self.here
    }

    /// Returns a source by its number.
    pub(super) fn name(&self, number: usize) -> SourceName {
        self.numbers.names()[number].clone()
    }

    /// Returns what each source took of all detours.
    pub(super) fn totals(self) -> BTreeMap<SourceName, SourceTotals> {
        self.numbers.names().iter().cloned().zip(self.totals).collect()
    }
}
