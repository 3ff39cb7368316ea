//! Trials of two commands, as `anechoic ab` makes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the trials of two commands are made, which the first trial finds on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trials {
    /// The commands of side A and of side B, as the shell gets them.
    pub commands: [String; 2],
    /// Whether a command runs during its trial, and not before it.
    pub during: bool,
    /// Whether the commands themselves are recorded, as programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub record: bool,
    /// The command that puts things back at the end.
    pub after: Option<String>,
    /// Seed of the random order.
    pub seed: u64,
    /// If both sides are measured at the same time: the two sets of CPUs.
    pub duet: Option<[Vec<u32>; 2]>,
    /// For each planned pair, whether B comes first; in a duet, whether A has the second set of CPUs.
    pub swapped: Vec<bool>,
    /// Numbers of the pairs that are complete, from 1.
    #[serde(default)]
    pub complete: Vec<u32>,
}

impl Trials {
    /// Returns whether the sides of a complete pair had swapped their CPUs; absent unless they ran at the same time.
    pub(super) fn duet_swapped(&self, at: usize) -> Option<bool> {
        self.duet.as_ref()?;
        let pair = usize::try_from(*self.complete.get(at)?).ok()?.checked_sub(1)?;
        self.swapped.get(pair).copied()
    }

    /// Returns whether every planned pair is complete.
    #[must_use]
    pub fn all_complete(&self) -> bool {
        self.complete.len() == self.swapped.len()
    }
}
