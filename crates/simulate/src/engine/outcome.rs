//! What a simulation found.

/// What a simulation found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// When each rank finished, in ps: the latest of its CPUs.
    pub finish_ps: Vec<u64>,
    /// By how much noise lengthened what each rank did, in ps.
    pub lost_ps: Vec<u64>,
    /// Number of events: operations, and arrivals of messages.
    pub events: u64,
}

impl Outcome {
    /// Returns when the last rank finished, in ps.
    #[must_use]
    pub fn end_ps(&self) -> u64 {
        self.finish_ps.iter().copied().max().unwrap_or(0)
    }
}
