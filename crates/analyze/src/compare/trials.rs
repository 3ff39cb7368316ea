//! Trials of two commands, as `anechoic ab` makes them, or of settings, as `anechoic try` does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A setting that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriedSetting {
    /// Its name.
    pub name: String,
    /// Its file; `*` stands for every CPU that was measured.
    pub file: String,
    /// Its value on side A, as before the trials.
    pub before: String,
    /// The value asked for on side B.
    pub value: String,
    /// What the kernel made of that; absent if it took it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_effect: Option<String>,
}

/// How the trials of two commands are made, which the first trial finds on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trials {
    /// The commands of side A and of side B, as the shell gets them.
    pub commands: [String; 2],
    /// The settings of side B, if these are tried; side A has them as they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<TriedSetting>,
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
    /// Returns what is tried in words: `vm.stat_interval=10 with ksm=0`; absent if it is two commands.
    #[must_use]
    pub fn tried(&self) -> Option<String> {
        let texts = self.settings.iter().map(|tried| format!("{}={}", tried.name, tried.value));
        (!self.settings.is_empty()).then(|| texts.collect::<Vec<String>>().join(" with "))
    }

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
