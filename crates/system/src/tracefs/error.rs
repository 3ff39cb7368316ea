//! What can go wrong with tracefs, each with its remedy.

use super::page::PageError;
use std::io;
use std::path::PathBuf;

/// Why kernel events cannot be recorded or read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The kernel was built without it.
    #[error(
        "this kernel has no tracefs; kernel events need one built with CONFIG_EVENT_TRACING and CONFIG_FTRACE"
    )]
    NoTracefs,
    /// It is there, and this process may not use it.
    #[error(
        "no permission to use tracefs ({error}); run as root or with CAP_SYS_ADMIN (under kernel lockdown even root may not)"
    )]
    NotPermitted {
        /// The kernel's reason.
        error: io::Error,
    },
    /// It is not mounted, and this kernel cannot mount it privately.
    #[error(
        "tracefs is not mounted and cannot be mounted privately ({error}); mount it with: mount -t tracefs nodev /sys/kernel/tracing"
    )]
    NotMounted {
        /// The kernel's reason.
        error: io::Error,
    },
    /// The kernel does not offer the clock.
    #[error("this kernel's trace buffers have no clock '{clock}'; it offers: {offered}")]
    Clock {
        /// What was asked for.
        clock: String,
        /// What there is.
        offered: String,
    },
    /// The buffers did not fit in memory.
    #[error("no memory for trace buffers of {kb} KiB per CPU ({error}); ask for smaller ones")]
    Memory {
        /// Asked size per CPU, in KiB.
        kb: u64,
        /// The kernel's reason.
        error: io::Error,
    },
    /// None of the known events could be enabled.
    #[error(
        "none of the kernel events that anechoic knows can be enabled here; first reason: {why}"
    )]
    NoEvents {
        /// The first event's reason.
        why: String,
    },
    /// A file of tracefs could not be used.
    #[error("cannot {what} {path}: {error}")]
    File {
        /// `read`, `write`, `open`, ...
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// The kernel's reason.
        error: io::Error,
    },
    /// A description of the kernel's was not understood.
    #[error("the kernel's description of {of} is not understood: {why}; report it with `uname -r`")]
    Format {
        /// Event or header.
        of: String,
        /// What was wrong.
        why: String,
    },
    /// A page of the ring buffer was not understood.
    #[error("a trace page of CPU {cpu} is not understood: {error}; report it with `uname -r`")]
    Page {
        /// The CPU.
        cpu: u32,
        /// What was wrong.
        error: PageError,
    },
}

impl TraceError {
    /// Makes the error for a file, as `map_err(TraceError::file("read", &path))`.
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
