//! What can be measured on a machine: the doctor's table of `anechoic check`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How good one finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything that needs it works.
    Good,
    /// Works with a stated reduction.
    Limited,
    /// Not to be had.
    Missing,
    /// Neither good nor bad: a fact to know.
    Fact,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What was looked at: `counter`, `tracefs`, `huge pages`.
    pub what: String,
    /// How good it is.
    pub verdict: Verdict,
    /// What was found, in one line.
    pub found: String,
    /// What would enable the rest; absent where nothing is missing.
    pub remedy: Option<String>,
}

/// The whole table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Version of anechoic.
    pub tool_version: String,
    /// The rows, in the order in which they are to be read.
    pub findings: Vec<Finding>,
    /// The machine.
    pub machine: crate::machine::Machine,
    /// The counter; absent where it could not be calibrated.
    pub clock: Option<crate::clock::Clock>,
}
