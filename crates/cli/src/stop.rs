//! Every signal that can be caught and would end the process ends a measurement early and keeps what was measured.
//!
//! Batch systems announce the end of a job by SIGUSR1, SIGUSR2 or SIGXCPU, and Ctrl-\ sends SIGQUIT. Signals that report
//! damage (SIGSEGV, SIGABRT) end the process as usual, except within a function of `--work`. SIGPIPE is ignored, as by every
//! Rust program.
//!
//! One interruption often arrives as several signals: `timeout` signals the command and its process group, a launcher
//! signals every rank, a user presses Ctrl-C twice. All signals of the first two seconds therefore count as one. If
//! the command is still busy after that, it reports that, and one more of SIGINT, SIGTERM, SIGHUP and SIGQUIT ends it at once.

use crate::terminal;
use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::{changes, tracefs};
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM,
    SIGXCPU, SIGXFSZ,
};
use signal_hook::{flag, low_level};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Signals that arrive within this time after the first one count as the same interruption.
const ONE_INTERRUPTION: Duration = Duration::from_secs(2);

/// What users, terminals and job launchers send. Each takes a descriptor, which wakes the thread that counts them.
const USUAL: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
/// The other signals that end a process which does not catch them: of batch systems, of timers, and of limits. 16 is
/// SIGSTKFLT and 30 SIGPWR, which x86 and Arm have and other systems do not.
const RARE: [i32; 9] = [SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGVTALRM, SIGPROF, SIGIO, 16, 30];
/// Real-time signals, without those of the C library.
const REAL_TIME: std::ops::RangeInclusive<i32> = 34..=64;

/// Returns a flag that the first of these signals sets. A signal that our parent ignored (nohup, a background job)
/// stays ignored.
///
/// # Errors
/// Fails if the system has no descriptor or no thread left for waiting.
pub fn flag() -> Result<Arc<AtomicBool>, Problem> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in ending() {
        // The flag is set before the thread wakes up.
        flag::register(signal, Arc::clone(&stop))?;
    }
    watch(usual(), newest()?, wait_for_the_last)?;
    Ok(stop)
}

/// Whether a service started this process, which reads no note on how to end it sooner.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

/// Leaves out the note on how to end it sooner: a service waits for the end.
pub(crate) fn end_silently() {
    IS_SILENT.store(true, Ordering::Release);
}

/// Whether a thread waits for signals.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Has the first signal end the process once what must be done before is done. Real-time signals, which nobody sends to
/// end a command, end it as usual. A command that has a [`flag`] decides itself when it ends.
///
/// # Errors
/// Fails if the system has no descriptor or no thread left for waiting.
pub(crate) fn end_at_once() -> Result<(), Problem> {
    if WATCHED.load(Ordering::Acquire) {
        return Ok(());
    }
    let caught = || ending().filter(|signal| !REAL_TIME.contains(signal));
    watch(caught(), newest_of(caught())?, |mut arrived, newest| {
        if next(&mut arrived).is_some() {
            end(newest);
        }
    })
}

/// Starts a thread that gets these signals as they arrive, and the number of the latest signal.
fn watch(
    signals: impl Iterator<Item = i32>,
    newest: Arc<AtomicUsize>,
    wait: impl FnOnce(UnixStream, &AtomicUsize) + Send + 'static,
) -> Result<(), Problem> {
    let (arrived, handler) = UnixStream::pair()?;
    for signal in signals {
        // The number is set before the thread wakes up.
        low_level::pipe::register(signal, handler.try_clone()?)?;
    }
    WATCHED.store(true, Ordering::Release);
    let waiting = thread::Builder::new().name("signals".to_owned());
    waiting.spawn(move || wait(arrived, &newest)).map_err(|error| {
        let remedy = "raise the limit on processes (ulimit -u, pids.max)";
        ProblemKind::Unavailable.problem(format!("no thread for signals: {error}"), remedy)
    })?;
    Ok(())
}

/// What must be done before a signal ends the process at once.
static BEFORE_THE_END: Mutex<Vec<Box<dyn FnOnce() + Send>>> = Mutex::new(Vec::new());

/// Has this done also before a signal ends the process at once, without its usual end.
pub(crate) fn before_sudden_end(act: impl FnOnce() + Send + 'static) {
    BEFORE_THE_END.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(act));
}

/// Waits for an interruption and then for the signal that drops the results, and ends the process with it.
fn wait_for_the_last(mut arrived: UnixStream, newest: &AtomicUsize) {
    if next(&mut arrived).is_none() {
        return;
    }
    thread::sleep(ONE_INTERRUPTION);
    let _ = arrived.set_nonblocking(true);
    while next(&mut arrived).is_some() {}
    let _ = arrived.set_nonblocking(false);
    if !IS_SILENT.load(Ordering::Acquire) {
        terminal::print_note(
            "anechoic: still ending; one more signal ends it at once, and what is not saved yet is lost",
        );
    }
    if next(&mut arrived).is_some() {
        end(newest);
    }
}

/// Does what must be done before the end, and ends the process with the latest signal.
fn end(newest: &AtomicUsize) -> ! {
    tracefs::end_own();
    for left in changes::undo_all() {
        terminal::print_note(format_args!("anechoic: {left}"));
    }
    let acts = std::mem::take(&mut *BEFORE_THE_END.lock().unwrap_or_else(PoisonError::into_inner));
    acts.into_iter().for_each(|act| act());
    let signal = i32::try_from(newest.load(Ordering::Acquire)).unwrap_or(SIGTERM);
    let _ = low_level::emulate_default_handler(signal);
    // It does not know every signal, and takes others for harmless.
    std::process::exit(128 + signal)
}

/// Waits for the next signals; returns `None` if there are none.
fn next(arrived: &mut UnixStream) -> Option<()> {
    loop {
        match arrived.read(&mut [0; 64]) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(1..) => return Some(()),
            _ => return None,
        }
    }
}

/// Returns the number of the latest of these signals, 0 before the first. None of them ends the program.
///
/// # Errors
/// Fails if the kernel refuses a handler.
pub fn newest() -> Result<Arc<AtomicUsize>, Problem> {
    files_may_be_full()?;
    newest_of(ending())
}

/// Returns the number of the latest of these signals, 0 before the first.
fn newest_of(signals: impl Iterator<Item = i32>) -> Result<Arc<AtomicUsize>, Problem> {
    let newest = Arc::new(AtomicUsize::new(0));
    for signal in signals {
        flag::register_usize(signal, Arc::clone(&newest), signal as usize)?;
    }
    Ok(newest)
}

/// Makes writing beyond the limit on the size of files fail as on a full disk, instead of ending the process. The handler
/// does nothing, and commands that this process starts have the usual one.
///
/// # Errors
/// Fails if the kernel refuses a handler.
pub(crate) fn files_may_be_full() -> Result<(), Problem> {
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    Ok(())
}

/// Returns the signals that end a measurement early: those that our parent does not ignore.
fn ending() -> impl Iterator<Item = i32> {
    let ignored = ignored();
    let all = USUAL.into_iter().chain(RARE).chain(REAL_TIME);
    all.filter(move |signal| ignored >> (signal - 1) & 1 == 0)
}

/// Returns whether our parent does not ignore this signal.
#[must_use]
pub fn is_heeded(signal: i32) -> bool {
    ignored() >> (signal - 1) & 1 == 0
}

/// Returns those of them that users, terminals and job launchers send.
fn usual() -> impl Iterator<Item = i32> {
    ending().filter(|signal| USUAL.contains(signal))
}

/// Returns the set of ignored signals, with bit 0 for signal 1.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
