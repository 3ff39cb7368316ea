//! What begins an iteration of a recorded program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a program marks that an iteration begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// It enters a function.
    Function,
    /// It writes to a descriptor that it inherited from the tool.
    Descriptor,
    /// It writes to the kernel's `trace_marker`.
    TraceMarker,
}

/// What marks the iterations of a recorded program. Each mark is a row of the table `marks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Marked {
    /// How the program marks them.
    pub by: MarkKind,
    /// The function, the number of the descriptor, or how a text in `trace_marker` begins that is a mark.
    pub what: String,
    /// The file of the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether the lost time of an iteration is that of all threads of the program, not only of the one that passes the mark.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Number of lines that came in one write with an earlier line, and are no marks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joined_lines: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
