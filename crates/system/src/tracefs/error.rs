//! Errors of tracefs, each with its remedy.

use super::page::PageError;
use anechoic_recording::{Problem, ProblemKind, remedy_of};
use std::io;
use std::path::PathBuf;

/// Why kernel events cannot be recorded or read.
#[derive(Debug)]
pub enum TraceError {
    /// The kernel was built without tracefs.
    NoTracefs,
    /// This process may not use tracefs.
    NotPermitted {
        /// The kernel's error.
        error: io::Error,
    },
    /// Tracefs is not mounted, and this kernel cannot mount it privately.
    NotMounted {
        /// The kernel's error.
        error: io::Error,
    },
    /// The kernel does not offer the clock.
    Clock {
        /// The requested clock.
        clock: String,
        /// The available clocks.
        offered: String,
    },
    /// The buffers did not fit into memory.
    Memory {
        /// Requested size per CPU, in KiB.
        kb: u64,
        /// The kernel's error.
        error: io::Error,
    },
    /// None of the known events could be enabled.
    NoEvents {
        /// The reason for the first event.
        why: String,
    },
    /// A file of tracefs could not be used.
    File {
        /// `read`, `write`, `open`, ...
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// The kernel's error.
        error: io::Error,
    },
    /// A description by the kernel could not be parsed.
    Format {
        /// The event or header.
        of: String,
        /// What was wrong.
        why: String,
    },
    /// A page of the ring buffer could not be parsed.
    Page {
        /// The CPU.
        cpu: u32,
        /// What was wrong.
        error: PageError,
    },
}

impl TraceError {
    fn problem(&self) -> Problem {
        match self {
            Self::NoTracefs => ProblemKind::Unavailable.problem(
                "this kernel has no tracefs",
                "kernel events need one built with CONFIG_EVENT_TRACING and CONFIG_FTRACE",
            ),
            Self::NotPermitted { error } => ProblemKind::Unavailable.problem(
                format!("no permission to use tracefs ({error})"),
                "run as root or with CAP_SYS_ADMIN (kernel lockdown may deny even \
                     root)",
            ),
            Self::NotMounted { error } => ProblemKind::Unavailable.problem(
                format!("tracefs is not mounted and cannot be mounted privately ({error})"),
                "mount it with: mount -t tracefs nodev /sys/kernel/tracing",
            ),
            Self::Clock { clock, offered } => ProblemKind::Unavailable.problem(
                format!("this kernel's trace buffers have no clock '{clock}'"),
                format!("available clocks: {offered}"),
            ),
            Self::Memory { kb, error } => ProblemKind::Unavailable.problem(
                format!("no memory for trace buffers of {kb} KiB per CPU ({error})"),
                "use smaller buffers",
            ),
            Self::NoEvents { why } => ProblemKind::Unavailable.problem(
                "none of the kernel events that anechoic knows can be enabled here",
                format!("first reason: {why}"),
            ),
            Self::File { what, path, error } => ProblemKind::Unavailable
                .problem(format!("cannot {what} {}: {error}", path.display()), remedy_of(error)),
            Self::Format { of, why } => ProblemKind::Unavailable.problem(
                format!("the kernel's description of {of} cannot be parsed: {why}"),
                "report it with `uname -r`",
            ),
            Self::Page { cpu, error } => ProblemKind::Unavailable.problem(
                format!("a trace page of CPU {cpu} cannot be parsed: {error}"),
                "report it with `uname -r`",
            ),
        }
    }
}

anechoic_recording::error_from_problem!(TraceError);

impl TraceError {
    /// Creates the error of a file, for use as `map_err(TraceError::file("read", &path))`.
    pub(super) fn file(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| match error.kind() {
            io::ErrorKind::PermissionDenied => Self::NotPermitted { error },
            _ => Self::File { what, path, error },
        }
    }
}
