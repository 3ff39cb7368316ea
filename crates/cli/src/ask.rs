//! Parsers for the option values that are not described by an option row.

use anechoic_recording::stop::StopCondition;
use anechoic_system::cpus;
use std::time::Duration;

pub use anechoic_recording::options::{duration, rate};

/// Parses a non-empty CPU list like `0-3,8`, or names of sets of CPUs of this machine.
pub fn cpu_list(text: &str) -> Result<CpuList, String> {
    cpus::select(text).map(CpuList)
}

/// Parses a duration that may be zero.
pub(crate) fn pause(text: &str) -> Result<Duration, String> {
    let unit = text.trim().strip_prefix('0');
    let is_zero = unit.is_some_and(|unit| ["", "s", "ms", "us", "ns", "m", "h"].contains(&unit));
    if is_zero { Ok(Duration::ZERO) } else { duration(text) }
}

/// Parses what ends the recording of a program before its time, like `detour>1ms`, `wait>1ms` or `lost>5%`.
pub(crate) fn program_stop_condition(text: &str) -> Result<StopCondition, String> {
    match text.parse()? {
        StopCondition::Wakeup(_) => Err(only_for_wakeups(text)),
        condition => Ok(condition),
    }
}

fn only_for_wakeups(text: &str) -> String {
    format!(
        "'{text}' is a condition of `anechoic measure wakeup`; write for example 'detour>100us' or 'detours>=100000'"
    )
}

/// Parses what ends a run before its time, like `detour>100us`.
pub(crate) fn stop_condition(text: &str) -> Result<StopCondition, String> {
    match text.parse()? {
        StopCondition::Wakeup(_) => Err(only_for_wakeups(text)),
        StopCondition::Lost(_) | StopCondition::Wait(_) | StopCondition::Release(_) => {
            Err(format!(
                "'{text}' is a condition of `anechoic record`; write for example 'detour>100us' or 'detours>=100000'"
            ))
        }
        condition => Ok(condition),
    }
}

/// Parses what ends a run or a measurement of wake-ups before its time.
pub(crate) fn watched_condition(text: &str) -> Result<StopCondition, String> {
    match text.parse()? {
        condition @ StopCondition::Wakeup(_) => Ok(condition),
        _ => stop_condition(text),
    }
}

/// A list of CPUs that a user typed.
#[derive(Debug, Clone)]
pub struct CpuList(pub Vec<u32>);
