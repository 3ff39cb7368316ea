//! What can be measured on a machine: the result of `anechoic check`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything that needs it works.
    Good,
    /// Works with a stated reduction.
    Limited,
    /// Not available.
    Missing,
    /// Neither good nor bad: information only.
    Fact,
}

/// One finding of the check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What was checked: `counter`, `tracefs`, `huge pages`.
    pub what: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What was found, in one line.
    pub found: String,
    /// What would enable the rest; absent if nothing is missing.
    pub remedy: Option<String>,
}

/// All findings of the check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The version of anechoic.
    pub tool_version: String,
    /// The findings, in the order of display.
    pub findings: Vec<Finding>,
    /// The machine.
    pub machine: crate::machine::Machine,
    /// The counter; absent if it could not be calibrated.
    pub clock: Option<crate::clock::Clock>,
}
