//! Values that users type where an argument is no row of options.

use anechoic_recording::options;
use std::time::Duration;

pub use anechoic_recording::options::{duration, rate};

/// A length of time for people: `45 s`, `12 min`.
pub fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

/// Parses a CPU list like `0-3,8`; an empty one is refused.
pub fn cpu_list(text: &str) -> Result<CpuList, String> {
    options::cpu_list(text).map(CpuList)
}

/// CPUs that a user listed.
#[derive(Debug, Clone)]
pub struct CpuList(pub Vec<u32>);
