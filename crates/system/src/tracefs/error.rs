//! Errors of tracefs, each with its remedy.

use crate::rights;
use anechoic_recording::{Problem, ProblemKind, remedy_of};
use std::io;
use std::path::PathBuf;

/// Why kernel events cannot be recorded or read.
#[derive(Debug)]
pub enum TraceError {
    /// The kernel has no tracefs, or this process may not use it.
    Unusable(Problem),
    /// A description by the kernel could not be parsed.
    Format(Problem),
    /// Any other reason.
    Other(Problem),
}

impl TraceError {
    fn problem(&self) -> Problem {
        let (Self::Unusable(problem) | Self::Format(problem) | Self::Other(problem)) = self;
        problem.clone()
    }

    /// Returns the error of a kernel without tracefs.
    #[must_use]
    pub fn no_tracefs() -> Self {
        Self::Unusable(ProblemKind::Unavailable.problem(
            "this kernel has no tracefs",
            "kernel events need one built with CONFIG_EVENT_TRACING and CONFIG_FTRACE",
        ))
    }

    /// Returns the error of a kernel that denies tracing to everyone.
    pub(crate) fn locked_down() -> Self {
        Self::Unusable(ProblemKind::Unavailable.problem(
            "tracefs is empty: the kernel is locked down",
            "boot without lockdown=confidentiality on the kernel command line; lockdown=integrity permits tracing",
        ))
    }

    /// Returns the error of a process without the rights for tracefs: CAP_SYS_ADMIN to mount it, CAP_DAC_OVERRIDE for its
    /// files, which belong to root. Any other `error` than a lack of permission is stated.
    pub(crate) fn not_permitted(error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::PermissionDenied => String::new(),
            _ => format!(" ({error})"),
        };
        Self::Unusable(ProblemKind::Unavailable.problem(
            format!("no permission to use tracefs{why}"),
            format!(
                "{} (kernel lockdown may deny it even to root)",
                rights::remedy("cap_sys_admin,cap_dac_override")
            ),
        ))
    }

    /// Returns the error of the kernel's description of an event or header.
    pub(super) fn format(what: &str, why: &str) -> Self {
        Self::Format(ProblemKind::Unavailable.problem(
            format!("the kernel's description of {what} cannot be parsed: {why}"),
            "report it with `uname -r`",
        ))
    }

    pub(super) fn other(why: String, remedy: impl Into<String>) -> Self {
        Self::Other(ProblemKind::Unavailable.problem(why, remedy))
    }

    /// Creates the error of a file, for use as `map_err(TraceError::file("read", &path))`.
    pub(super) fn file(what: &str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| match error.kind() {
            io::ErrorKind::PermissionDenied => Self::not_permitted(&error),
            _ => {
                let why = format!("cannot {what} {}: {error}", path.display());
                Self::other(why, remedy_of(&error))
            }
        }
    }
}

anechoic_recording::error_from_problem!(TraceError);
