//! What a change does to a recorded program: its time from start to end, its CPU time, and what it lost.

use super::contrast::Design;
use super::parts::{differences, each};
use super::{ComparedRun, Difference, Values};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// What is compared of one run of a program, in ns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ProgramTimes {
    name: String,
    /// From start to end; absent if it ran already, or went on.
    wall_ns: Option<f64>,
    cpu_ns: f64,
    is_account: bool,
    lost_ns: f64,
}

impl ProgramTimes {
    pub(super) fn from_run(compared: &ComparedRun<'_>) -> Option<Self> {
        let facts = compared.summary.run.program.as_ref()?;
        let total = &compared.summary.total;
        Some(Self {
            name: facts.name.clone(),
            wall_ns: facts.wall_ns(compared.summary.run.wall_ns).map(|ns| ns as f64),
            cpu_ns: facts.account.map_or(facts.ran_ns, |account| account.kernel_ns) as f64,
            is_account: facts.account.is_some(),
            lost_ns: total.noise * total.wall_ns as f64,
        })
    }
}

/// Recorded programs on both sides. Times are means over runs, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProgramChange {
    /// The names of the programs of each side.
    pub names: [Vec<String>; 2],
    /// From the start of the program to its end; absent if it went on after a recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<Difference>,
    /// Its CPU time on all CPUs.
    pub cpu_ns: Difference,
    /// Whether that is the kernel's account in all runs; otherwise it is for how long events show it executing.
    pub is_account: bool,
    /// For how long it wanted a CPU and did not execute, added up over CPUs.
    pub lost_ns: Difference,
}

impl ProgramChange {
    /// Returns whether both sides recorded one program, of the same name.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.names[0].len() == 1 && self.names[0] == self.names[1]
    }
}

/// Returns what changed for the programs that the runs recorded; absent if a run recorded none.
pub(super) fn programs(sides: &[Vec<Values>; 2], design: &Design) -> Option<ProgramChange> {
    let times = |run: &Values| run.program.clone().unwrap_or_default();
    let all = || sides.iter().flatten();
    if all().any(|run| run.program.is_none()) {
        return None;
    }
    let is_whole = all().all(|run| times(run).wall_ns.is_some());
    let mut rows =
        vec![each(sides, |run| times(run).cpu_ns), each(sides, |run| times(run).lost_ns)];
    rows.extend(is_whole.then(|| each(sides, |run| times(run).wall_ns.unwrap_or_default())));
    let mut found = differences(&rows, design).into_iter();
    let names = sides.each_ref().map(|side| {
        let names: BTreeSet<String> = side.iter().map(|run| times(run).name).collect();
        names.into_iter().collect()
    });
    Some(ProgramChange {
        names,
        cpu_ns: found.next()?,
        lost_ns: found.next()?,
        wall_ns: found.next(),
        is_account: all().all(|run| times(run).is_account),
    })
}
