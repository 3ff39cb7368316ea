//! Where each loop of a run runs.

/// Where a loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopPlace {
    /// The main loop of a measured CPU, which describes that CPU.
    Cpu(u32),
    /// One more copy of the same work on a measured CPU.
    Copy(u32),
    /// Wherever the scheduler puts it.
    Any,
}

impl LoopPlace {
    /// Returns the CPU that the loop is pinned to.
    pub(crate) fn cpu(self) -> Option<u32> {
        match self {
            LoopPlace::Cpu(cpu) | LoopPlace::Copy(cpu) => Some(cpu),
            LoopPlace::Any => None,
        }
    }

    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, LoopPlace::Copy(_))
    }

    pub(crate) fn is_any(&self) -> bool {
        matches!(self, LoopPlace::Any)
    }

    /// Returns the place in words: `CPU 3`, `any CPU`.
    pub(crate) fn name(self) -> String {
        self.cpu().map_or_else(|| "any CPU".to_owned(), |cpu| format!("CPU {cpu}"))
    }

    /// Returns the loop's role in the recording, if it is not the main loop of a measured CPU.
    pub(crate) fn role(self) -> Option<&'static str> {
        match self {
            LoopPlace::Cpu(_) => None,
            LoopPlace::Copy(_) => Some("copy of the work"),
            LoopPlace::Any => Some("unpinned loop"),
        }
    }
}
