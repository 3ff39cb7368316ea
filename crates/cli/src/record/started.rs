//! A command that `anechoic record` starts.

use crate::command;
use anechoic_measure::run::Subject;
use anechoic_recording::run::{CpuTime, Program, RunState};
use anechoic_recording::{Problem, ProblemKind, in_words};
use anechoic_system::cpu_time;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A command that this process starts.
pub(super) struct Started<'a> {
    pub(super) command: &'a [String],
    /// The number of the newest signal to this process, which is passed on.
    pub(super) signal: Arc<AtomicUsize>,
    /// The same of a run of a series: one that a signal stopped has no length of its own, also if the command succeeded.
    pub(super) stopped: Option<Arc<AtomicUsize>>,
    pub(super) child: Option<Child>,
    pub(super) end: Option<OwnedFd>,
    pub(super) status: Option<ExitStatus>,
    /// The CPU time of earlier children.
    pub(super) before: Duration,
}

impl Subject for Started<'_> {
    fn begin(&mut self) -> Result<Program, Problem> {
        let [program, rest @ ..] = self.command else {
            return Err(ProblemKind::Usage.problem("no command is given", "name one after --"));
        };
        let child = command::spawn(program, rest, None)?;
        self.end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
        self.child = Some(child);
        let file = Path::new(program).file_name();
        let name = file.map_or_else(|| program.clone(), |file| file.to_string_lossy().into_owned());
        Ok(Program { name, ..Program::default() })
    }

    fn end(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(AsFd::as_fd)
    }

    fn left(&self) -> Option<Duration> {
        None
    }

    fn over(&mut self) -> Option<RunState> {
        let child = self.child.as_mut()?;
        match command::wait(child, Some(Instant::now()), &self.signal) {
            Ok(status) => {
                self.status = status;
                let signal =
                    self.stopped.as_ref().map_or(0, |signal| signal.load(Ordering::Acquire));
                status.map(|_| match signal {
                    0 => RunState::Complete,
                    _ => RunState::Interrupted("by a signal".to_owned()),
                })
            }
            Err(error) => {
                let why = format!("the command was lost: {}", in_words(&error));
                Some(RunState::Interrupted(why))
            }
        }
    }

    fn cpu_time(&self) -> Option<CpuTime> {
        self.status?; // before its end nothing is known of it
        let time = cpu_time::ended_children().saturating_sub(self.before);
        Some(CpuTime { ns: time.as_nanos() as u64, resolution_ns: 0, steal_ns: 0 })
    }

    fn exit_code(&self) -> Option<u8> {
        self.status.map(command::exit_code)
    }
}
