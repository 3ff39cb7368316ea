//! Parsers for the option values that are not described by an option row.

use anechoic_system::cpus;

pub use anechoic_recording::options::{duration, rate};

/// Parses a non-empty CPU list like `0-3,8`, or names of sets of CPUs of this machine.
pub fn cpu_list(text: &str) -> Result<CpuList, String> {
    cpus::select(text).map(CpuList)
}

/// A list of CPUs that a user typed.
#[derive(Debug, Clone)]
pub struct CpuList(pub Vec<u32>);
