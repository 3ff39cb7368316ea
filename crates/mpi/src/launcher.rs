//! The process that the job's launcher started, and its child, which is the rank itself.
//!
//! Launchers end a job in which a rank was killed by SIGKILL: MPICH's at once, Open MPI's after a second.
//! Nothing would be saved. So the process that they start only waits for a child and passes signals on. When
//! it is killed, the child gets a signal, ends its loops and saves what it measured. The parent's death also
//! means that no other rank will come any more.

use anechoic_measure::ensemble::EnsembleError;
use anechoic_recording::Problem;
use rustix::process::{
    Pid, Signal, getppid, kill_process, set_parent_process_death_signal, setpgid,
};
use signal_hook::consts::{
    SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGXCPU,
};
use signal_hook::{flag, low_level};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The variable that holds the process id of a rank's parent.
const VARIABLE: &str = "ANECHOIC_MPI_PARENT";
/// How long a rank that was asked to stop first waits for the others. They come soon, even on a busy host, or
/// not at all, and this rank has not saved anything yet.
const SHORT_PATIENCE: Duration = Duration::from_secs(4);
/// How long it waits later, when others may still be saving.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long the first signal is held back. Slurm signals every process of a step, so the rank itself has
/// received it by then.
const HELD_BACK: Duration = Duration::from_millis(200);

/// What users, launchers, batch systems and timers send to end a job; USR1, USR2 and XCPU announce its end. 16 is SIGSTKFLT and
/// 30 SIGPWR.
const ENDING: [i32; 13] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGVTALRM, SIGPROF,
    SIGIO, 16, 30,
];

/// The role of this process.
pub(crate) enum Role {
    /// A rank.
    Rank(Arc<Launcher>),
    /// The process that the launcher started; its rank has ended.
    Parent(ExitCode),
}

/// What a rank knows about its parent.
#[derive(Debug)]
pub(crate) struct Launcher {
    parent: Option<Pid>,
    stop: Arc<AtomicBool>,
    /// Whether all others came to a meeting that this rank reached after it was asked to stop.
    met_since: AtomicBool,
}

/// Becomes a rank, or starts one and waits for its end.
pub(crate) fn role() -> Result<Role, Problem> {
    let parent = getppid();
    let launched_by = std::env::var(VARIABLE).ok().and_then(|pid| pid.parse().ok());
    if parent.is_some() && parent.map(Pid::as_raw_nonzero).map(i32::from) == launched_by {
        return Ok(Role::Rank(Arc::new(Launcher::follow(parent)?)));
    }
    let mut rank = Command::new(std::env::current_exe()?);
    rank.args(std::env::args_os().skip(1)).env(VARIABLE, std::process::id().to_string());
    Ok(Role::Parent(wait(rank.spawn()?)?))
}

/// Returns the signals that are passed on: those that our parent does not ignore.
fn ending() -> impl Iterator<Item = i32> {
    ENDING.into_iter().filter(|&signal| anechoic_cli::is_heeded(signal))
}

/// Waits for the end of the rank and passes signals on. The first is passed on as SIGUSR2, which does no harm
/// if the rank has received the signal as well: a second SIGTERM would end the rank before it has saved
/// anything.
fn wait(mut rank: Child) -> Result<ExitCode, Problem> {
    let (mut woken, wake) = UnixStream::pair()?;
    let newest = Arc::new(AtomicUsize::new(0));
    for signal in ending() {
        flag::register_usize(signal, Arc::clone(&newest), signal as usize)?;
    }
    for signal in ending().chain([SIGCHLD]) {
        low_level::pipe::register(signal, wake.try_clone()?)?; // after the number, which must be set before the wake-up
    }
    let mut passed_on = false;
    loop {
        if let Some(status) = rank.try_wait()? {
            return Ok(code(status));
        }
        let signal = Signal::from_named_raw(newest.swap(0, Ordering::AcqRel) as i32);
        if let (Some(mut signal), Some(pid)) = (signal, Pid::from_raw(rank.id().cast_signed())) {
            if !passed_on {
                thread::sleep(HELD_BACK);
                newest.store(0, Ordering::Release); // the same signal, delivered a second time
                (signal, passed_on) = (Signal::USR2, true);
            }
            let _ = kill_process(pid, signal); // fails if it has just ended
        }
        let _ = woken.read(&mut [0; 64]); // sleeps until a signal arrives
    }
}

/// Converts a rank's status to the exit code that a shell would return.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(code as u8)
}

impl Launcher {
    /// Makes this process stop, as on SIGTERM, when its parent ends.
    fn follow(parent: Option<Pid>) -> Result<Self, Problem> {
        setpgid(None, None).map_err(io::Error::from)?; // a signal to the parent's group then arrives only once, from the parent
        let stop = anechoic_cli::stop_flag()?;
        let stopped = Arc::clone(&stop);
        let end = move || {
            // A second SIGTERM would end this process at once.
            if !stopped.load(Ordering::Acquire) {
                let _ = low_level::raise(SIGTERM);
            }
        };
        // SAFETY: the handler reads an atomic and raises a signal, which are both allowed in a handler.
        unsafe { low_level::register(SIGUSR2, end)? };
        set_parent_process_death_signal(Some(Signal::USR2)).map_err(io::Error::from)?;
        let launcher = Launcher { parent, stop, met_since: AtomicBool::new(false) };
        if launcher.is_gone() {
            let _ = low_level::raise(SIGTERM); // the parent ended before its death signal was requested
        }
        Ok(launcher)
    }

    /// Returns whether the launcher considers the job ended.
    fn is_gone(&self) -> bool {
        getppid() != self.parent
    }

    /// Returns whether this rank was asked to stop.
    pub(crate) fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Records that all others came to a meeting that this rank reached after it was asked to stop.
    pub(crate) fn all_came(&self) {
        self.met_since.store(true, Ordering::Release);
    }

    /// Checks whether others may still come to a meeting at which this rank waits. `since` stores when the
    /// rank first saw, in this meeting, that it must stop.
    ///
    /// # Errors
    /// Returns [`EnsembleError::Lost`] if they will not come.
    pub(crate) fn still_there(&self, since: &mut Option<Instant>) -> Result<(), EnsembleError> {
        let lost = |why: &str| Err(EnsembleError::Lost { why: why.to_owned() });
        if self.is_gone() {
            return lost("the launcher ended this job");
        }
        if self.must_stop() {
            let met = self.met_since.load(Ordering::Acquire);
            let patience = if met { PATIENCE } else { SHORT_PATIENCE };
            if since.get_or_insert_with(Instant::now).elapsed() > patience {
                return lost("not all ranks came after the signal to stop");
            }
        }
        Ok(())
    }
}
