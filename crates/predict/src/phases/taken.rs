//! The time that each source took of the detours of a CPU.

use super::span::Span;
use anechoic_recording::{Activity, Clock};
use std::collections::{BTreeMap, HashMap};
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
    numbers: HashMap<Arc<str>, HashMap<Arc<str>, usize>>,
    /// Whether new sources are added.
    all: bool,
    of_detour: Vec<u64>,
    totals: Vec<SourceTotals>,
    /// Sources with time in the current detour.
    here: Vec<usize>,
}

impl TakenSums {
    /// Returns empty sums over all sources.
    pub(super) fn all() -> Self {
        let (numbers, of_detour, totals) = (HashMap::new(), vec![], vec![]);
        Self { numbers, all: true, of_detour, totals, here: vec![] }
    }

    /// Returns empty sums over some sources in their order.
    pub(super) fn of<'a>(sources: impl IntoIterator<Item = &'a SourceName>) -> Self {
        let mut sums = Self::all();
        for source in sources {
            sums.number(source);
        }
        Self { all: false, ..sums }
    }

    fn number(&mut self, (source, name): &SourceName) -> usize {
        let number = self.totals.len();
        let names = self.numbers.entry(source.clone()).or_default();
        let number = *names.entry(name.clone()).or_insert(number);
        if number == self.totals.len() {
            self.totals.push(SourceTotals::default());
            self.of_detour.push(0);
        }
        number
    }

    /// Adds a detour and returns what each source took of it.
    pub(super) fn add(&mut self, activities: &[Activity], detour: Span, clock: &Clock) -> &[u64] {
        self.here.drain(..).for_each(|number| self.of_detour[number] = 0);
        for activity in activities {
            let known = self.numbers.get(&activity.source).and_then(|of| of.get(&activity.name));
            let number = match known {
                Some(&number) => number,
                None if self.all => self.number(&(activity.source.clone(), activity.name.clone())),
                None => continue,
            };
            let ns = &mut self.of_detour[number];
            if *ns == 0 {
                self.here.push(number);
            }
            *ns = ns.saturating_add(clock.ns(activity.self_ticks)).min(detour.length_ns());
        }
        self.here.sort_unstable();
        self.here.dedup();
        for &number in &self.here {
            let (ns, total) = (self.of_detour[number], &mut self.totals[number]);
            total.ns = total.ns.saturating_add(ns);
            total.longest_ns = total.longest_ns.max(ns);
        }
        &self.of_detour
    }

    /// Returns what each source took of all detours.
    pub(super) fn totals(self) -> BTreeMap<SourceName, SourceTotals> {
        let of_source = |(source, names): (Arc<str>, HashMap<Arc<str>, usize>)| {
            names.into_iter().map(move |(name, number)| ((source.clone(), name), number))
        };
        let numbers = self.numbers.into_iter().flat_map(of_source);
        numbers.map(|(source, number)| (source, self.totals[number])).collect()
    }
}
