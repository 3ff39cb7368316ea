//! Numbers for sources and names, in order of appearance.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Number of sources that are recognised by their address, those of a busy second.
const RECENT: usize = 8;

/// Assigns each source and name a number from 0.
#[derive(Debug, Clone, Default)]
pub struct Places {
    names: Vec<(Arc<str>, Arc<str>)>,
    index: HashMap<Arc<str>, HashMap<Arc<str>, usize>>,
    /// The latest sources, recognised without comparing text.
    recent: VecDeque<(Arc<str>, Arc<str>, usize)>,
}

impl Places {
    /// Returns the number of this source and name; the next number if they are new.
    pub fn place(&mut self, source: &Arc<str>, name: &Arc<str>) -> usize {
        let same = |recent: &&(Arc<str>, Arc<str>, usize)| {
            Arc::ptr_eq(&recent.0, source) && Arc::ptr_eq(&recent.1, name)
        };
        if let Some(&(_, _, place)) = self.recent.iter().find(same) {
            return place; // nearly always: a reader shares texts
        }
        let next = self.names.len();
        let names = self.index.entry(source.clone()).or_default();
        let place = *names.entry(name.clone()).or_insert(next);
        if place == next {
            self.names.push((source.clone(), name.clone()));
        }
        self.recent.truncate(RECENT - 1);
        self.recent.push_front((source.clone(), name.clone(), place));
        place
    }

    /// Returns sources and names by number.
    #[must_use]
    pub fn names(&self) -> &[(Arc<str>, Arc<str>)] {
        &self.names
    }
}
