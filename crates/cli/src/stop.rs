//! SIGINT, SIGTERM and SIGHUP end a measurement early and keep what was measured.
//!
//! One interruption often arrives as several signals: `timeout` signals the command and its process group, a launcher
//! signals every rank, a user presses Ctrl-C twice. All signals of the first two seconds therefore count as one. If
//! the command still saves its results after that, it reports that, and one more signal ends it without them.

use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::{huge_pages, tracefs};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Signals that arrive within this time after the first one count as the same interruption.
const ONE_INTERRUPTION: Duration = Duration::from_secs(2);

/// Returns a flag that the first of these signals sets. A signal that our parent ignored (nohup, a background job)
/// stays ignored.
///
/// # Errors
/// Fails if the system has no descriptor or no thread left for waiting.
pub fn flag() -> Result<Arc<AtomicBool>, Problem> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in caught() {
        // The flag is set before the thread wakes up.
        flag::register(signal, Arc::clone(&stop))?;
    }
    watch(wait_for_the_last)?;
    Ok(stop)
}

/// Whether a thread waits for signals.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Has the first of these signals end the process once what must be done before is done. A command that has a [`flag`]
/// decides itself when it ends.
///
/// # Errors
/// Fails if the system has no descriptor or no thread left for waiting.
pub(crate) fn end_at_once() -> Result<(), Problem> {
    if WATCHED.load(Ordering::Acquire) {
        return Ok(());
    }
    watch(|mut arrived, newest| {
        if next(&mut arrived).is_some() {
            end(newest);
        }
    })
}

/// Starts a thread that gets all these signals and their latest number.
fn watch(wait: impl FnOnce(UnixStream, &AtomicUsize) + Send + 'static) -> Result<(), Problem> {
    let newest = newest()?;
    let (arrived, handler) = UnixStream::pair()?;
    for signal in caught() {
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
    let text = "anechoic: saving what was measured; one more signal ends this without saving";
    let _ = writeln!(std::io::stderr(), "{text}"); // fails if the terminal is gone
    if next(&mut arrived).is_some() {
        end(newest);
    }
}

/// Does what must be done before the end, and ends the process with the latest signal.
fn end(newest: &AtomicUsize) {
    tracefs::end_own();
    huge_pages::undo_all();
    let acts = std::mem::take(&mut *BEFORE_THE_END.lock().unwrap_or_else(PoisonError::into_inner));
    acts.into_iter().for_each(|act| act());
    let signal = i32::try_from(newest.load(Ordering::Acquire)).unwrap_or(SIGTERM);
    let _ = low_level::emulate_default_handler(signal);
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
    let newest = Arc::new(AtomicUsize::new(0));
    for signal in caught() {
        flag::register_usize(signal, Arc::clone(&newest), signal as usize)?;
    }
    Ok(newest)
}

/// Returns the signals that our parent does not ignore.
fn caught() -> impl Iterator<Item = i32> {
    let ignored = ignored();
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(move |signal| ignored >> (signal - 1) & 1 == 0)
}

/// Returns the set of ignored signals, with bit 0 for signal 1.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
