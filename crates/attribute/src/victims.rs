//! Whose lost time is attributed: that of a loop's thread, or of all threads of a program.

use anechoic_recording::Members;

/// The threads for which a detour is lost time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Victims<'a> {
    /// The loop of a CPU.
    Loop(i32),
    /// A program's threads at this time.
    Program(&'a Members),
}

impl Victims<'_> {
    /// Returns whether thread `tid` is one of them.
    pub(crate) fn has(self, tid: i32) -> bool {
        match self {
            Victims::Loop(victim) => tid == victim,
            Victims::Program(members) => members.has(tid),
        }
    }

    /// Returns whether thread `tid` is one of a program and real-time, so that ordinary threads get the CPU from it only
    /// by the kernel's throttling or its fair server.
    pub(crate) fn is_real_time(self, tid: i32) -> bool {
        match self {
            Victims::Loop(_) => false,
            Victims::Program(members) => members.is_real_time(tid),
        }
    }

    /// Returns whether they are the threads of a program, which wants the CPU throughout each of its detours.
    pub(crate) fn are_of_program(self) -> bool {
        matches!(self, Victims::Program(_))
    }
}
