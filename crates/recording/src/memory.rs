//! The memory experiments (Wächtler & Sojka 2012): how a program accesses its working set, and what happens to the
//! caches before it does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

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

/// What happens before each pass over the working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Another pass, so that the caches hold what they can of the working set.
    Warm,
    /// The caches are filled with modified lines of other memory.
    Dirty,
    /// Another thread runs on the same CPU.
    Preempted {
        /// What the other thread does.
        by: Preemptor,
        /// Whether it does it for long, or on much memory.
        long: bool,
    },
    /// The thread migrates to another CPU.
    Migrated(Level),
}

/// What a preempting thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preemptor {
    /// Sleeps.
    Sleeps,
    /// Reads its own memory.
    Reads,
    /// Writes its own memory.
    Writes,
    /// Runs through a large amount of code.
    RunsCode,
}

/// The closest cache that two CPUs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The second-level cache, or also the first.
    L2,
    /// A cache of a higher level.
    L3,
    /// None.
    Neither,
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
        let alike = |of: &&Self| of.kernel == self.kernel && of.co_runner == self.co_runner;
        MEMORY_EXPERIMENTS.iter().filter(alike).find(|of| of.before == Before::Warm)
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

/// All experiments: the 46 of the paper, then ours, then each of them beside a co-runner. The paper states how many there
/// are of each group; the split of the preemptions is ours.
pub static MEMORY_EXPERIMENTS: LazyLock<Vec<MemoryExperiment>> = LazyLock::new(|| {
    let mut all = Vec::new();
    let mut add = |kernel: &'static str, before: Before, published: bool| {
        let condition = match before {
            Before::Warm => "warm".to_owned(),
            Before::Dirty => "dirty".to_owned(),
            Before::Preempted { by, long } => {
                let by = match by {
                    Preemptor::Sleeps => "sleep",
                    Preemptor::Reads => "read",
                    Preemptor::Writes => "write",
                    Preemptor::RunsCode => "code",
                };
                format!("{by}-{}", if long { "long" } else { "short" })
            }
            Before::Migrated(Level::L2) => "l2".to_owned(),
            Before::Migrated(Level::L3) => "l3".to_owned(),
            Before::Migrated(Level::Neither) => "far".to_owned(),
        };
        let group = match before.group() {
            MemoryGroup::Bandwidth => "bandwidth",
            MemoryGroup::Preemption => "preemption",
            MemoryGroup::Migration => "migration",
        };
        all.push(MemoryExperiment {
            id: format!("{group}-{kernel}-{condition}"),
            kernel,
            before,
            co_runner: false,
            published,
        });
    };
    const ACCESSES: [&str; 4] =
        ["read-sequential", "write-sequential", "read-random", "write-random"];
    for kernel in ACCESSES {
        for before in [Before::Warm, Before::Dirty] {
            add(kernel, before, true);
        }
    }
    for kernel in ACCESSES {
        for by in [Preemptor::Sleeps, Preemptor::Reads, Preemptor::Writes, Preemptor::RunsCode] {
            for long in [false, true] {
                add(kernel, Before::Preempted { by, long }, true);
            }
        }
    }
    for kernel in ["read-random", "write-random"] {
        for level in [Level::L2, Level::L3, Level::Neither] {
            add(kernel, Before::Migrated(level), true);
        }
    }
    for kernel in ["read-random-local", "write-random-local"] {
        add(kernel, Before::Warm, false);
    }
    let beside = |of: &MemoryExperiment| MemoryExperiment {
        id: format!("{}-{CO_RUNNER}", of.id),
        co_runner: true,
        published: false,
        ..of.clone()
    };
    let beside: Vec<MemoryExperiment> = all.iter().map(beside).collect();
    all.extend(beside);
    all
});

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_groups_have_as_many_experiments_as_in_the_paper() {
        let count = |group| {
            let of_paper = MEMORY_EXPERIMENTS.iter().filter(|experiment| experiment.published);
            of_paper.filter(|experiment| experiment.before.group() == group).count()
        };
        let groups = [MemoryGroup::Bandwidth, MemoryGroup::Preemption, MemoryGroup::Migration];
        assert_eq!(groups.map(count), [8, 32, 6]);
        let ids: HashSet<&str> = MEMORY_EXPERIMENTS.iter().map(|of| of.id.as_str()).collect();
        assert_eq!(ids.len(), MEMORY_EXPERIMENTS.len());
    }
}
