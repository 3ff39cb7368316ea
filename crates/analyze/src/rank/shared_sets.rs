//! What the recordings of a ranking have in common: working sets of different sizes do not compare, and neither do times
//! from which different reads of the counter were subtracted.

use super::noise::Key;
use super::points::working_set;
use crate::memory;
use anechoic_recording::{Clock, Problem, Recording};
use std::collections::{BTreeMap, BTreeSet};

/// The working sets of an experiment.
type Sets = BTreeSet<u64>;

/// The working sets that compare, and what differs.
#[derive(Debug, Default)]
pub(super) struct SharedSets {
    /// For each experiment the working sets of all recordings that have measured it.
    sets: BTreeMap<String, Sets>,
    /// Number of working sets of experiments that only some of the recordings have measured.
    pub(super) left_out: u64,
    /// Number of experiments for which the recordings asked for different numbers of samples.
    pub(super) unequal: u64,
    /// Number of recordings with working sets, and of those among them that state the mean cost of the read that ends a
    /// sample, which waits for the work before it.
    with_sets: usize,
    with_waiting_read: usize,
}

impl SharedSets {
    /// Finds out what the recordings have in common.
    ///
    /// # Errors
    /// A file is damaged.
    pub(super) fn find(recordings: &[&Recording]) -> Result<Self, Problem> {
        let mut found: BTreeMap<String, (Sets, Sets)> = BTreeMap::new();
        let mut asked: BTreeMap<(Key, Option<u64>), BTreeSet<u64>> = BTreeMap::new();
        let (mut with_sets, mut with_waiting_read) = (0, 0);
        for recording in recordings {
            let (run, mut sets) = (recording.run(), BTreeMap::<String, Sets>::new());
            let caches = memory::caches(run);
            for (series, _) in recording.series()? {
                let (key, bytes) = (Key::from_series(&series, run, &caches), working_set(&series));
                if let Some(bytes) = bytes {
                    sets.entry(key.experiment.clone()).or_default().insert(bytes);
                }
                asked.entry((key, bytes)).or_default().insert(series.asked);
            }
            if !sets.is_empty() {
                with_sets += 1;
                with_waiting_read += usize::from(run.clock.sample_read_mean_ticks.is_some());
            }
            for (experiment, sets) in sets {
                let (all, any) =
                    found.entry(experiment).or_insert_with(|| (sets.clone(), Sets::new()));
                all.retain(|bytes| sets.contains(bytes));
                any.extend(sets);
            }
        }
        let left_out = found.values().map(|(all, any)| (any.len() - all.len()) as u64).sum();
        let unequal: BTreeSet<&String> = asked
            .iter()
            .filter(|(_, asked)| asked.len() > 1)
            .map(|((key, _), _)| &key.experiment)
            .collect();
        let unequal = unequal.len() as u64;
        let sets = found.into_iter().map(|(experiment, (all, _))| (experiment, all)).collect();
        Ok(SharedSets { sets, left_out, unequal, with_sets, with_waiting_read })
    }

    /// Returns what a read of this counter adds to a pass over memory: the read that waits, if all recordings state its cost,
    /// or else the one that waits for nothing.
    pub(super) fn read_ticks(&self, clock: &Clock) -> f64 {
        match self.with_waiting_read < self.with_sets {
            true => clock.read_mean_ticks.round(),
            false => clock.sample_read_ticks() as f64,
        }
    }

    /// Returns whether only some of the recordings state the cost of the read that waits.
    pub(super) fn reads_differ(&self) -> bool {
        (1..self.with_sets).contains(&self.with_waiting_read)
    }

    /// Returns whether a working set of an experiment compares; always, if it has none.
    pub(super) fn has(&self, experiment: &str, bytes: Option<u64>) -> bool {
        bytes
            .is_none_or(|bytes| self.sets.get(experiment).is_some_and(|sets| sets.contains(&bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_that_wait_are_used_if_all_recordings_state_them() {
        let clock = Clock {
            read_mean_ticks: 24.6,
            sample_read_mean_ticks: Some(40.0),
            ..crate::testing::clock_ns()
        };
        let cases =
            [(0, 0, 40.0, false), (3, 3, 40.0, false), (3, 2, 25.0, true), (3, 0, 25.0, false)];
        for (with_sets, with_waiting_read, ticks, differ) in cases {
            let shared = SharedSets { with_sets, with_waiting_read, ..SharedSets::default() };
            assert_eq!(shared.read_ticks(&clock), ticks, "{with_waiting_read} of {with_sets}");
            assert_eq!(shared.reads_differ(), differ, "{with_waiting_read} of {with_sets}");
        }
    }

    #[test]
    fn a_working_set_compares_if_all_have_it() {
        let sets = BTreeMap::from([("reads".to_owned(), BTreeSet::from([64, 128]))]);
        let shared = SharedSets { sets, ..SharedSets::default() };
        let cases = [
            ("reads", Some(64), true),
            ("reads", Some(65), false),
            ("writes", Some(64), false),
            ("writes", None, true),
        ];
        for (experiment, bytes, expected) in cases {
            assert_eq!(shared.has(experiment, bytes), expected, "{bytes:?} of {experiment}");
        }
    }
}
