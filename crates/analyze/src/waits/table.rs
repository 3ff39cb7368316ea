//! The threads of a program, each with its pool.

use anechoic_recording::{Problem, ProgramThread, Recording, topology};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How the names of threads begin in a redacted recording (`ALIAS` of the recording, in `who.rs`). Their numbers say nothing.
const ALIAS: &str = "user-";

/// The threads of a program by number, and their pools.
#[derive(Debug, Default)]
pub(super) struct ThreadTable {
    pub(super) threads: BTreeMap<u32, Thread>,
    /// The names of the pools.
    pub(super) pools: Vec<String>,
    /// The same, to be shared.
    pub(super) names: Vec<Arc<str>>,
}

/// A thread. Times are in ticks.
#[derive(Debug, Clone)]
pub(super) struct Thread {
    pub(super) tid: i32,
    pub(super) name: Arc<str>,
    /// The number of its pool.
    pub(super) pool: u32,
    pub(super) priority: Option<i32>,
    pub(super) cpus: Vec<u32>,
    pub(super) lived: (u64, u64),
    pub(super) executed: u64,
    pub(super) interrupted: u64,
}

impl ThreadTable {
    pub(super) fn read(recording: &Recording) -> Result<Self, Problem> {
        let mut table = Self::default();
        let mut names: HashMap<Arc<str>, Arc<str>> = HashMap::new();
        for rows in recording.rows::<ProgramThread>() {
            for row in rows? {
                let name = names.entry(Arc::clone(&row.name)).or_insert(row.name);
                let thread = Thread {
                    tid: row.tid,
                    name: Arc::clone(name),
                    pool: 0,
                    priority: row.priority,
                    cpus: topology::ranges(&row.cpus).flatten().take(1 << 13).collect(),
                    lived: (row.first_ticks, row.last_ticks),
                    executed: row.executed_ticks,
                    interrupted: row.interrupted_ticks,
                };
                table.threads.insert(row.thread, thread);
            }
        }
        table.pool();
        Ok(table)
    }

    /// Puts threads whose names differ at most by the number at their end into one pool. A name without a number, as that of
    /// the thread that started the others, is not in it.
    fn pool(&mut self) {
        let mut by_stem: BTreeMap<(String, bool), (Arc<str>, bool)> = BTreeMap::new();
        for thread in self.threads.values() {
            let known = by_stem.entry(pool_key(&thread.name));
            let (first, several) = known.or_insert_with(|| (Arc::clone(&thread.name), false));
            *several |= *first != thread.name;
        }
        let numbers: HashMap<&(String, bool), u32> = by_stem.keys().zip(0..).collect();
        for thread in self.threads.values_mut() {
            thread.pool = numbers[&pool_key(&thread.name)];
        }
        let pools = by_stem.iter().map(|((stem, _), (name, several))| match several {
            true => format!("{stem}*"),
            false => name.to_string(),
        });
        self.pools = pools.collect();
        self.names = self.pools.iter().map(|name| name.as_str().into()).collect();
    }

    /// Returns the thread with this number.
    pub(super) fn thread(&self, number: u32) -> Option<&Thread> {
        self.threads.get(&number)
    }

    /// Returns the thread that had this id at a time.
    pub(super) fn at(&self, tid: i32, ticks: u64) -> Option<&Thread> {
        let mut all = self.threads.values();
        all.find(|thread| thread.tid == tid && (thread.lived.0..=thread.lived.1).contains(&ticks))
    }
}

/// Returns what the names of a pool have in common, and whether a number follows.
fn pool_key(name: &str) -> (String, bool) {
    let stem = stem(name);
    (stem.to_owned(), stem.len() < name.len())
}

/// Returns a name without the number at its end; a name that is a number stays, and so does one that replaces another.
fn stem(name: &str) -> &str {
    if name.starts_with(ALIAS) {
        return name;
    }
    match name.trim_end_matches(|letter: char| letter.is_ascii_digit()) {
        "" => name,
        stem => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pool of each of these threads.
    fn pools(names: &[&str]) -> Vec<String> {
        let mut table = ThreadTable::default();
        for (place, name) in (0..).zip(names) {
            let thread = Thread {
                tid: 0,
                name: (*name).into(),
                pool: 0,
                priority: None,
                cpus: vec![],
                lived: (0, 0),
                executed: 0,
                interrupted: 0,
            };
            table.threads.insert(place, thread);
        }
        table.pool();
        let pools = table.threads.values().map(|t| table.pools[t.pool as usize].clone());
        pools.collect()
    }

    #[test]
    fn numbers_at_the_end_of_names_make_a_pool() {
        for (names, expected) in [
            (
                &["worker/1", "main", "worker/12", "cc1", "7", "8", "main", "a9b"][..],
                &["worker/*", "main", "worker/*", "cc1", "7", "8", "main", "a9b"][..],
            ),
            (&["cc", "cc1"], &["cc", "cc1"]),
            (&["cc1", "cc", "cc2", "cc"], &["cc*", "cc", "cc*", "cc"]),
            // Names of a redacted recording stand for any others.
            (&["user-1", "user-2", "user-2", "user"], &["user-1", "user-2", "user-2", "user"]),
        ] {
            assert_eq!(pools(names), expected, "{names:?}");
        }
    }
}
