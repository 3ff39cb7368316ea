//! Where each loop of a run runs.

/// Where a loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a measured CPU: what is told of the CPU is told of this loop.
    Cpu(u32),
    /// On a measured CPU beside its loop: one more copy of the same work.
    Copy(u32),
    /// Wherever the scheduler puts it.
    Any,
}

impl Place {
    /// The CPU that it is pinned to.
    pub(crate) fn cpu(self) -> Option<u32> {
        match self {
            Place::Cpu(cpu) | Place::Copy(cpu) => Some(cpu),
            Place::Any => None,
        }
    }

    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Place::Copy(_))
    }

    pub(crate) fn is_any(&self) -> bool {
        matches!(self, Place::Any)
    }

    /// In words: `CPU 3`, `any CPU`.
    pub(crate) fn name(self) -> String {
        self.cpu().map_or_else(|| "any CPU".to_owned(), |cpu| format!("CPU {cpu}"))
    }

    /// What it is in its own recording, if it is not the loop of a measured CPU.
    pub(crate) fn role(self) -> Option<&'static str> {
        match self {
            Place::Cpu(_) => None,
            Place::Copy(_) => Some("copy of the work"),
            Place::Any => Some("loop that is not pinned"),
        }
    }
}
