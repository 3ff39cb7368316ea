//! Runs a user's command: starts it, passes signals on to it, waits for it and returns its exit code.

use anechoic_recording::{Problem, ProblemKind};
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use signal_hook::consts::{SIGINT, SIGQUIT};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Interval between two checks whether the command has ended.
const NAP: Duration = Duration::from_millis(20);

/// Starts a command with this process's standard streams, and with this variable in its environment if there is one.
pub fn spawn(
    program: &str,
    rest: &[String],
    variable: Option<(&str, &str)>,
) -> Result<Child, Problem> {
    let spawned = Command::new(program).args(rest).envs(variable).spawn();
    spawned.map_err(|error| {
        ProblemKind::Usage
            .problem(format!("cannot run {program}: {error}"), "name an executable file after --")
    })
}

/// Waits for the command until `end` at most and returns its status if it has ended. Takes each signal number
/// that arrives out of `signal` and passes the signal on to the command.
pub fn wait(
    child: &mut Child,
    end: Option<Instant>,
    signal: &AtomicUsize,
) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        pass_on(child, signal.swap(0, Ordering::AcqRel));
        if !nap(end) {
            return Ok(None);
        }
    }
}

/// Waits until `end` or until a signal arrives.
pub(crate) fn wait_alone(end: Option<Instant>, signal: &AtomicUsize) {
    while signal.load(Ordering::Acquire) == 0 && nap(end) {}
}

/// Sleeps briefly; returns false once `end` has passed.
fn nap(end: Option<Instant>) -> bool {
    let left = end.map_or(NAP, |end| end.saturating_duration_since(Instant::now()));
    std::thread::sleep(left.min(NAP));
    !left.is_zero()
}

/// Passes a signal on, except Ctrl-C and Ctrl-\, which the terminal already sent to the command.
fn pass_on(child: &Child, signal: usize) {
    let signal = signal as i32;
    let typed = [SIGINT, SIGQUIT].contains(&signal) && in_foreground();
    if let (true, false, Some(pid)) = (signal > 0, typed, Pid::from_raw(child.id().cast_signed())) {
        // Real-time signals have no names.
        let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
        let _ = kill_process(pid, signal); // fails if it has just ended
    }
}

/// Returns whether what is typed on the terminal signals this process group.
fn in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// Converts a command's status to the exit code that a shell would return.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1) as u8
}

/// Returns the exit code of a command as that of this process.
pub fn passed_on(status: ExitStatus) -> ExitCode {
    ExitCode::from(exit_code(status))
}
