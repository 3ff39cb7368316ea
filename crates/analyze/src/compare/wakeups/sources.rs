//! What the sources took of wake-ups on both sides.

use super::{Unit, WakeSourceChange, WakeupRun};
use crate::compare::parts::differences;
use crate::folded::folded;
use std::collections::{BTreeMap, BTreeSet};

/// What each source took of a wake-up on average, in nanoseconds.
type Taken = BTreeMap<(String, String), f64>;

/// Returns what the sources took in a run; none without their events.
fn taken_ns(run: &WakeupRun<'_>) -> Option<Taken> {
    let causes = run.found.causes.as_ref()?;
    let mean_ns = causes.mean?.sum_ns();
    let mut taken = Taken::new();
    for source in &causes.sources {
        let name = folded(&source.source, &source.name);
        *taken.entry((source.source.clone(), name)).or_default() += source.share * mean_ns;
    }
    Some(taken)
}

impl Unit<'_> {
    /// Returns what the sources took of a wake-up in each run; nothing if runs have kinds that others lack, because the sources
    /// are those of all kinds together.
    pub(super) fn sources(&self) -> Vec<WakeSourceChange> {
        if self.has_other_kinds() {
            return vec![];
        }
        let taken =
            self.sides.each_ref().map(|side| side.iter().map(taken_ns).collect::<Option<Vec<_>>>());
        let [Some(before), Some(after)] = taken else { return vec![] };
        let names: BTreeSet<_> = before.iter().chain(&after).flat_map(BTreeMap::keys).collect();
        let of_name = |side: &[Taken], name| -> Vec<f64> {
            side.iter().map(|taken| taken.get(name).copied().unwrap_or(0.0)).collect()
        };
        let rows: Vec<[Vec<f64>; 2]> =
            names.iter().map(|name| [&before, &after].map(|side| of_name(side, name))).collect();
        let found = names.into_iter().zip(differences(&rows, self.design));
        let mut found: Vec<WakeSourceChange> = found
            .map(|((source, name), difference)| WakeSourceChange {
                source: source.clone(),
                name: name.clone(),
                difference,
            })
            .collect();
        let size =
            |change: &WakeSourceChange| (change.difference.after - change.difference.before).abs();
        found.sort_by(|a, b| size(b).total_cmp(&size(a)));
        found
    }
}
