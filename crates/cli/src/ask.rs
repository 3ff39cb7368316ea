//! Parsers for the option values that are not described by an option row.

use anechoic_system::cpus;
use std::time::Duration;

pub use anechoic_recording::options::{duration, rate};

/// Formats a duration for people: `45 s`, `12 min`.
pub fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

/// Parses a non-empty CPU list like `0-3,8`, or names of sets of CPUs of this machine.
pub fn cpu_list(text: &str) -> Result<CpuList, String> {
    cpus::select(text).map(CpuList)
}

/// A list of CPUs that a user typed.
#[derive(Debug, Clone)]
pub struct CpuList(pub Vec<u32>);
