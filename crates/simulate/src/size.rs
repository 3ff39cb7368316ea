//! How much a job has to do.

/// How much a job has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) ranks: u32,
    /// CPUs of a rank.
    pub(crate) cpus: usize,
    /// Sends, receives and computations.
    pub(crate) operations: u64,
    pub(crate) messages: u64,
    /// Bytes of all messages.
    pub(crate) bytes: u64,
    /// The longest computation, in ns.
    pub(crate) longest_ns: u64,
}

impl Size {
    /// Returns the number of operations, and of arrivals of messages.
    pub(crate) fn events(&self) -> u64 {
        self.operations.saturating_add(self.messages)
    }

    /// Returns the number of CPUs of all ranks.
    pub(crate) fn all_cpus(&self) -> usize {
        self.ranks as usize * self.cpus
    }
}
