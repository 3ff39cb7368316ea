//! The memory experiments (Wächtler & Sojka 2012): how a program accesses its working set, and what happens to the
//! caches before it does.

pub mod catalogue;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

pub use catalogue::{Before, Level, Preemptor};

/// One experiment, which is measured for many sizes of the working set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryExperiment {
    /// Its name on the command line, in recordings and in results.
    pub id: String,
    /// The work kernel.
    pub kernel: &'static str,
    /// What happens before each pass over the working set.
    pub before: Before,
    /// Whether the other CPUs run a co-runner that thrashes the last-level cache; otherwise they are idle.
    pub co_runner: bool,
    /// Whether it is one of the 46 of the paper.
    pub published: bool,
}

/// What the name of an experiment beside a co-runner ends in.
pub const CO_RUNNER: &str = "thrash";

/// A group of experiments.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MemoryGroup {
    /// What the caches and the memory deliver.
    Bandwidth,
    /// The delay after a preemption.
    Preemption,
    /// The delay after a migration.
    Migration,
}

impl MemoryExperiment {
    /// Returns the experiment with the same kernel and warm caches.
    #[must_use]
    pub fn warm(&self) -> Option<&'static Self> {
        let alike =
            |other: &&Self| other.kernel == self.kernel && other.co_runner == self.co_runner;
        MEMORY_EXPERIMENTS.iter().filter(alike).find(|experiment| experiment.before == Before::Warm)
    }
}

impl Before {
    /// Returns the group of its experiments.
    #[must_use]
    pub fn group(self) -> MemoryGroup {
        match self {
            Before::Warm | Before::Dirty => MemoryGroup::Bandwidth,
            Before::Preempted { .. } => MemoryGroup::Preemption,
            Before::Migrated(_) => MemoryGroup::Migration,
        }
    }
}

/// Stands for the kernel in the names of experiments that measure a user's own function.
pub const OWN: &str = "own";
/// The kernel whose experiments a user's own function has too: the one that also migrates.
const LIKE: &str = "read-random";

/// All experiments: those of the catalogue, those of a user's own function, then each of them beside a co-runner.
pub static MEMORY_EXPERIMENTS: LazyLock<Vec<MemoryExperiment>> = LazyLock::new(|| {
    let alike = catalogue::entries().filter(|entry| entry.kernel == LIKE).map(own);
    let idle: Vec<_> = catalogue::entries().map(alone).chain(alike).collect();
    let beside: Vec<_> = idle.iter().map(beside_co_runner).collect();
    [idle, beside].concat()
});

/// Returns the experiment of this entry with a user's own function.
fn own(entry: &catalogue::Entry) -> MemoryExperiment {
    let id = entry.id.replace(LIKE, OWN);
    MemoryExperiment { id, kernel: OWN, published: false, ..alone(entry) }
}

fn alone(entry: &catalogue::Entry) -> MemoryExperiment {
    MemoryExperiment {
        id: entry.id.to_owned(),
        kernel: entry.kernel,
        before: entry.before,
        co_runner: false,
        published: entry.published,
    }
}

fn beside_co_runner(idle: &MemoryExperiment) -> MemoryExperiment {
    let id = format!("{}-{CO_RUNNER}", idle.id);
    MemoryExperiment { id, co_runner: true, published: false, ..idle.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_groups_have_as_many_experiments_as_in_the_paper() {
        let count = |group| {
            let published = MEMORY_EXPERIMENTS.iter().filter(|experiment| experiment.published);
            published.filter(|experiment| experiment.before.group() == group).count()
        };
        let groups = [MemoryGroup::Bandwidth, MemoryGroup::Preemption, MemoryGroup::Migration];
        assert_eq!(groups.map(count), [8, 32, 6]);
        let ids: HashSet<&str> =
            MEMORY_EXPERIMENTS.iter().map(|experiment| experiment.id.as_str()).collect();
        assert_eq!(ids.len(), MEMORY_EXPERIMENTS.len());
    }
}
