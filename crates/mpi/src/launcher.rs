//! The process that the job's launcher knows, and the rank itself, which is its child.
//!
//! Launchers end a job in which a rank died by SIGKILL: MPICH's at once, Open MPI's after a second. Nothing would be
//! saved. So the process that they start only waits for a child and passes signals on. When it is killed the child
//! hears of it, ends its loops and saves what they saw. It is also how a rank knows that nobody will come any more.

use anechoic_measure::ensemble::EnsembleError;
use rustix::process::{
    Pid, Signal, getppid, kill_process, set_parent_process_death_signal, setpgid,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR2};
use signal_hook::{flag, low_level};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Tells a rank which process it is the child of.
const VARIABLE: &str = "ANECHOIC_MPI_PARENT";
/// How long a rank that was told to end waits for the others at first: they come soon, also on a busy host, or not at
/// all; and it has saved nothing yet.
const SHORT_PATIENCE: Duration = Duration::from_secs(4);
/// How long it waits later, while others may still be saving.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long the first signal is held back. Slurm signals every process of a step, the rank too: by then it has heard.
const HELD_BACK: Duration = Duration::from_millis(200);

/// What this process is.
pub(crate) enum Part {
    /// A rank.
    Rank(Arc<Launcher>),
    /// The one that the launcher started; its rank has ended.
    Parent(ExitCode),
}

/// What a rank knows of whoever started it.
#[derive(Debug)]
pub(crate) struct Launcher {
    parent: Option<Pid>,
    stop: Arc<AtomicBool>,
    /// Whether the others came to a meeting that this rank came to after it was told to end.
    met_since: AtomicBool,
}

/// Becomes a rank, or starts one and waits for its end.
pub(crate) fn part() -> anyhow::Result<Part> {
    let parent = getppid();
    let told = std::env::var(VARIABLE).ok().and_then(|pid| pid.parse().ok());
    if parent.is_some() && parent.map(Pid::as_raw_nonzero).map(i32::from) == told {
        return Ok(Part::Rank(Arc::new(Launcher::follow(parent)?)));
    }
    let mut rank = Command::new(std::env::current_exe()?);
    rank.args(std::env::args_os().skip(1)).env(VARIABLE, std::process::id().to_string());
    Ok(Part::Parent(wait(rank.spawn()?)?))
}

/// Waits for the end of the rank; passes signals on, the first by one that does no harm to a rank that has had it too:
/// a second SIGTERM would end it before it has saved anything.
fn wait(mut rank: Child) -> anyhow::Result<ExitCode> {
    let (mut woken, wake) = UnixStream::pair()?;
    let newest = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_usize(signal, Arc::clone(&newest), signal as usize)?;
    }
    for signal in [SIGCHLD, SIGINT, SIGTERM, SIGHUP] {
        low_level::pipe::register(signal, wake.try_clone()?)?; // after the number, which it tells of
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
                newest.store(0, Ordering::Release); // the same one, by another way
                (signal, passed_on) = (Signal::USR2, true);
            }
            let _ = kill_process(pid, signal); // it may just have ended
        }
        let _ = woken.read(&mut [0; 64]); // asleep until a signal comes
    }
}

/// The exit code of a rank, as a shell tells it.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(code as u8)
}

impl Launcher {
    /// Ends, by the way that SIGTERM ends, when the parent does.
    fn follow(parent: Option<Pid>) -> anyhow::Result<Self> {
        setpgid(None, None)?; // what the launcher or a terminal sends to all of a group comes once, from the parent
        let stop = anechoic_cli::stop_flag()?;
        let stopped = Arc::clone(&stop);
        let end = move || {
            // A second SIGTERM would end this process at once.
            if !stopped.load(Ordering::Acquire) {
                let _ = low_level::raise(SIGTERM);
            }
        };
        // SAFETY: the handler reads an atomic and raises a signal, both of which a handler may.
        unsafe { low_level::register(SIGUSR2, end)? };
        set_parent_process_death_signal(Some(Signal::USR2))?;
        let launcher = Launcher { parent, stop, met_since: AtomicBool::new(false) };
        if launcher.is_gone() {
            let _ = low_level::raise(SIGTERM); // it ended before this could hear of it
        }
        Ok(launcher)
    }

    /// Whether the job is over for its launcher.
    fn is_gone(&self) -> bool {
        getppid() != self.parent
    }

    /// Whether this rank was told to end.
    pub(crate) fn says_stop(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Takes note that all others came to a meeting that this rank came to after it was told to end.
    pub(crate) fn all_came(&self) {
        self.met_since.store(true, Ordering::Release);
    }

    /// Whether others may still come to a meeting that this rank waits at. `told` is when it was first seen there that
    /// it is to end.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`], where they will not.
    pub(crate) fn still_there(&self, told: &mut Option<Instant>) -> Result<(), EnsembleError> {
        let lost = |why: &str| Err(EnsembleError::Lost { why: why.to_owned() });
        if self.is_gone() {
            return lost("the launcher ended this job");
        }
        if self.says_stop() {
            let met = self.met_since.load(Ordering::Acquire);
            let patience = if met { PATIENCE } else { SHORT_PATIENCE };
            if told.get_or_insert_with(Instant::now).elapsed() > patience {
                return lost("after the signal to end, not all of them came");
            }
        }
        Ok(())
    }
}
