//! Does the noise stay within limits that the user set? The gate for continuous integration and acceptance tests.
//!
//! A rule is passed only where the recordings show that it holds: the 95 % bound of every CPU is within the limit, and
//! nothing that was lost, cut off or not watched could hide more. It fails where they show that it does not hold. In
//! between it is undecided.

mod by_program;
#[cfg(test)]
mod closed_form_tests;
mod counts;
mod doubts;
#[cfg(test)]
mod few_events;
mod fold;
mod judge;
mod pattern;
mod program;
#[cfg(test)]
mod programs;
mod releases;
pub mod rules;
mod tally;
mod waits;
mod wakeups;
mod woken;

pub use crate::known::Doubt;
pub use doubts::{REQUIREMENTS, Requirement, Requirements, percentage};
pub use judge::{Examined, conclude, examine};
pub use pattern::SourcePattern;
pub use rules::{RULES, Rule, RuleRow, Unit};
pub use woken::JudgedWakeups;

use schemars::JsonSchema;
use serde::Serialize;

/// What became of the rules of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Gate {
    /// The worst outcome of all rules: a failure, then one that is undecided.
    pub outcome: Outcome,
    /// The rules in the order in which they were given.
    pub rules: Vec<RuleOutcome>,
    /// What a recording must satisfy to pass any rule.
    pub requirements: Requirements,
    /// The recordings that were judged.
    pub recordings: Vec<Judged>,
    /// The recordings that could not be read, and why. With one of them nothing is passed.
    pub unread: Vec<String>,
}

/// What became of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is shown to hold.
    Pass,
    /// It is neither shown to hold nor shown not to hold.
    Undecided,
    /// It is shown not to hold.
    Fail,
}

/// A recording that was judged.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    /// Its directory.
    pub path: String,
    /// Name of its host.
    pub host: String,
    /// Its start, RFC 3339 in UTC.
    pub start_utc: String,
    /// Shortest time for which one of its CPUs was watched; for a recorded program the length of the recording.
    pub wall_ns: u64,
    /// Threshold in ns: longer gaps count as detours.
    pub threshold_ns: u64,
    /// The hypervisor of its host; absent on a machine without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// Name of the program that was recorded; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The measured CPUs.
    pub cpus: Vec<u32>,
    /// Whether it has only counts by length, of another tool. The ranges that it counted in bound what is found, and its
    /// detours are taken to be independent of each other.
    pub counts_only: bool,
    /// Why no rule can be passed with it.
    pub doubts: Vec<Doubt>,
    /// Why no rule on sources can be passed with it.
    pub doubts_of_sources: Vec<Doubt>,
}

/// A rule, its outcome, and what decided it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RuleOutcome {
    /// The name of the rule: `max-noise`, …
    pub rule: String,
    /// The rule as it was given: `thread:*>50us=1/s`.
    pub given: String,
    /// Pattern of the sources that it counts; absent if it counts all lost time.
    pub source: Option<String>,
    /// Only longer detours count; absent if all do.
    pub longer_than_ns: Option<u64>,
    /// The unit of the limit and of the findings.
    pub unit: Unit,
    /// The limit.
    pub limit: f64,
    /// Its outcome.
    pub outcome: Outcome,
    /// The finding that decided it, an index into `findings`; absent if there is none.
    pub decisive: Option<u64>,
    /// What was found, for each CPU of each recording; for a comparison with a baseline a single finding.
    pub findings: Vec<Finding>,
    /// Why it is not passed although no finding exceeds the limit.
    pub doubts: Vec<Doubtful>,
}

/// What was found for a rule on one CPU of one recording, or of all recordings together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Index of its recording; absent if it is of all.
    pub recording: Option<u64>,
    /// The CPU; absent if it is of all.
    pub cpu: Option<u32>,
    /// The recorded program whose runs were judged together; absent for a finding on a CPU, and of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Number of runs that were judged together; absent for a finding on a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// The outcome of this finding alone, regardless of doubts about the recording.
    pub outcome: Outcome,
    /// What was measured, in the unit of the limit.
    pub value: f64,
    /// The true value exceeds this with a probability of 95 % or more; for a comparison 97.5 %.
    pub at_least: f64,
    /// The true value is below this with a probability of 95 % or more, for a comparison 97.5 %; absent if unknown.
    pub at_most: Option<f64>,
    /// Number of detours that count, or of wake-ups; for a comparison the number of runs.
    pub events: u64,
    /// Number of detours that may count as well: they were lost or are not attributable, or their length is known too
    /// roughly.
    pub uncertain: u64,
    /// Time for which the CPU was watched, with what was not kept of it where that counts; of all together the sum.
    pub wall_ns: u64,
    /// The wake-ups that were judged; absent for a finding on detours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakeups: Option<JudgedWakeups>,
    /// How long a CPU must be watched to decide the rule, if the noise stays as it is; absent if decided or unknown.
    pub needed_ns: Option<u64>,
    /// Why it cannot be passed; absent if it can.
    pub doubt: Option<Doubt>,
    /// The source that took most of what exceeds the limit; absent if it is not exceeded, or if no source is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_source: Option<LargestSource>,
}

/// The source that took most of the detours that count for a rule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LargestSource {
    /// Its identifier: `thread`, …
    pub source: String,
    /// Its name: that of the thread, …; empty if it has none.
    pub name: String,
    /// Its share of the time that all counted sources took of these detours.
    pub share: f64,
}

/// A doubt about a recording.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Doubtful {
    /// Index of the recording; absent if it concerns all.
    pub recording: Option<u64>,
    /// The doubt.
    pub doubt: Doubt,
}

impl Outcome {
    /// Returns the outcome for a value between these bounds.
    fn from_bounds(limit: f64, at_least: f64, at_most: Option<f64>) -> Self {
        match at_most {
            _ if at_least > limit => Self::Fail,
            Some(at_most) if at_most <= limit => Self::Pass,
            _ => Self::Undecided,
        }
    }
}

impl RuleOutcome {
    /// Returns the finding that decided the outcome.
    #[must_use]
    pub fn decisive(&self) -> Option<&Finding> {
        self.findings.get(usize::try_from(self.decisive?).ok()?)
    }
}
