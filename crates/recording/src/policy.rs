//! How the kernel schedules a thread.

use crate::field::Text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

const OTHER: &str = "other";
const FIFO: &str = "fifo";

/// A scheduling policy as recordings hold it: `other`, `fifo PRIORITY`, or several of those.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Policy(String);

impl Policy {
    /// The policy of ordinary threads.
    #[must_use]
    pub fn other() -> Self {
        Self(OTHER.to_owned())
    }

    /// The real-time policy `SCHED_FIFO` at this priority.
    #[must_use]
    pub fn fifo(priority: i32) -> Self {
        Self(format!("{FIFO} {priority}"))
    }

    /// Several policies, one after the other.
    #[must_use]
    pub fn several(policies: &[Self]) -> Self {
        let texts: Vec<&str> = policies.iter().map(Self::as_str).collect();
        Self(texts.join(", "))
    }

    /// Whether it is the real-time policy, or begins with it where there were several.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        self.0.starts_with(FIFO)
    }

    /// Whether it is that of ordinary threads.
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.0 == OTHER
    }

    /// Its text.
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

impl Deref for Policy {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.0)
    }
}

impl PartialEq<str> for Policy {
    fn eq(&self, text: &str) -> bool {
        self.0 == text
    }
}

impl PartialEq<&str> for Policy {
    fn eq(&self, text: &&str) -> bool {
        self.0 == *text
    }
}

impl Text for Policy {
    fn text(&self) -> &str {
        self
    }

    fn from_text(text: Arc<str>) -> Result<Self, String> {
        Ok(Self(text.to_string()))
    }
}
