//! The scheduling policy of a thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const OTHER: &str = "other";
const FIFO: &str = "fifo";
const DEADLINE: &str = "deadline";

/// A scheduling policy in a recording: `other`, `fifo PRIORITY`, `deadline`, or several of these.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Policy(String);

impl Policy {
    /// Returns the policy of ordinary threads.
    #[must_use]
    pub fn other() -> Self {
        Self(OTHER.to_owned())
    }

    /// Returns the real-time policy `SCHED_FIFO` at this priority.
    #[must_use]
    pub fn fifo(priority: i32) -> Self {
        Self(format!("{FIFO} {priority}"))
    }

    /// Returns the policy `SCHED_DEADLINE`.
    #[must_use]
    pub fn deadline() -> Self {
        Self(DEADLINE.to_owned())
    }

    /// Combines several policies that are used one after the other.
    #[must_use]
    pub fn several(policies: &[Self]) -> Self {
        let texts: Vec<&str> = policies.iter().map(Self::as_str).collect();
        Self(texts.join(", "))
    }

    /// Returns whether it is, or begins with, the real-time policy.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        self.0.starts_with(FIFO)
    }

    /// Returns whether it is the policy `SCHED_DEADLINE`.
    #[must_use]
    pub fn is_deadline(&self) -> bool {
        self.0 == DEADLINE
    }

    /// Returns whether it is the policy of ordinary threads.
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.0 == OTHER
    }

    /// Returns its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Policy {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

crate::text::like_text!(Policy);
