//! SIGINT, SIGTERM and SIGHUP end a measurement early and keep what was measured.

use anechoic_recording::Problem;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Returns a flag that the first of these signals sets. The second one ends the program. A signal that our
/// parent ignored (nohup, a background job) stays ignored.
pub fn flag() -> Result<Arc<AtomicBool>, Problem> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in caught() {
        flag::register_conditional_default(signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Returns the number of the latest of these signals, 0 before the first. None of them ends the program.
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
