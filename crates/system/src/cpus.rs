//! CPU lists, the CPUs that this process may use, and pinning.

use anechoic_recording::{Problem, ProblemKind};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeSet;
use std::fs;

/// Why a CPU list or a pinning failed.
#[derive(Debug)]
pub enum CpuError {
    /// The text is not a CPU list.
    Syntax {
        /// The text.
        text: String,
    },
    /// The CPU does not exist.
    Absent {
        /// The CPU.
        cpu: u32,
        /// The existing CPUs.
        present: String,
    },
    /// The CPU exists and is offline.
    Offline {
        /// The CPU.
        cpu: u32,
    },
    /// The process may not run on the CPU.
    NotAllowed {
        /// The CPU.
        cpu: u32,
        /// The allowed CPUs.
        allowed: String,
    },
    /// The kernel refused.
    Pin {
        /// The CPU.
        cpu: u32,
        /// The kernel's error.
        error: rustix::io::Errno,
    },
}

impl CpuError {
    fn problem(&self) -> Problem {
        match self {
            Self::Syntax { text } => ProblemKind::Usage
                .problem(format!("'{text}' is not a CPU list"), "write one, for example 0-3,8"),
            Self::Absent { cpu, present } => ProblemKind::Usage.problem(
                format!("CPU {cpu} does not exist"),
                format!("this machine has CPUs {present}"),
            ),
            Self::Offline { cpu } => ProblemKind::Usage.problem(
                format!("CPU {cpu} is offline"),
                format!("bring it up with: echo 1 > /sys/devices/system/cpu/cpu{cpu}/online"),
            ),
            Self::NotAllowed { cpu, allowed } => ProblemKind::Usage.problem(
                format!("CPU {cpu} is not allowed for this process (affinity or cpuset)"),
                format!("allowed CPUs: {allowed}"),
            ),
            Self::Pin { cpu, error } => ProblemKind::Unavailable.problem(
                format!("cannot pin a thread to CPU {cpu}: {error}"),
                "choose other CPUs with --cpus, or check the cpuset of this process",
            ),
        }
    }
}

anechoic_recording::error_from_problem!(CpuError);

/// Parses a list in the kernel's notation, `0-3,8`. Empty text is an empty list.
///
/// # Errors
/// Returns [`CpuError::Syntax`] for anything else, including a reversed range and a number over 65535.
pub fn parse(text: &str) -> Result<Vec<u32>, CpuError> {
    let bad = || CpuError::Syntax { text: text.to_owned() };
    let number = |t: &str| t.trim().parse::<u16>().map(u32::from).map_err(|_| bad());
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',').filter(|_| !text.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(bad());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus.into_iter().collect())
}

/// Formats CPUs as a list: `0-3,8`.
#[must_use]
pub fn list(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let text = |&(a, b): &(u32, u32)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Returns the CPUs in a list of `/sys/devices/system/cpu`: `present`, `online`, `isolated`, `nohz_full`.
///
/// The result is empty if the file does not exist.
#[must_use]
pub fn system(which: &str) -> Vec<u32> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/{which}")).unwrap_or_default();
    parse(&text).unwrap_or_default()
}

/// Returns the CPUs that the calling thread may run on.
#[must_use]
pub fn allowed() -> Vec<u32> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect()
}

/// Checks that this process may measure on each of `cpus`.
///
/// # Errors
/// Returns the first CPU that is absent, offline or not allowed.
pub fn verify(cpus: &[u32]) -> Result<(), CpuError> {
    let (present, online, allowed) = (system("present"), system("online"), allowed());
    for &cpu in cpus {
        if !present.is_empty() && !present.contains(&cpu) {
            return Err(CpuError::Absent { cpu, present: list(&present) });
        }
        if !online.is_empty() && !online.contains(&cpu) {
            return Err(CpuError::Offline { cpu });
        }
        if !allowed.contains(&cpu) {
            return Err(CpuError::NotAllowed { cpu, allowed: list(&allowed) });
        }
    }
    Ok(())
}

/// Pins the calling thread to `cpus`.
///
/// # Errors
/// Returns [`CpuError::Pin`] with the kernel's error.
pub fn pin(cpus: &[u32]) -> Result<(), CpuError> {
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU) {
        set.set(cpu as usize);
    }
    let cpu = cpus.first().copied().unwrap_or(0);
    sched_setaffinity(None, &set).map_err(|error| CpuError::Pin { cpu, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_parsed_and_written() {
        let cases: &[(&str, &str, Option<&str>)] = &[
            ("one", "3", Some("3")),
            ("range and one", "0-3,8\n", Some("0-3,8")),
            ("out of order, twice", "8,0-3,2", Some("0-3,8")),
            ("neighbours join", "0,1,2", Some("0-2")),
            ("empty", "\n", Some("")),
            ("backwards", "3-0", None),
            ("words", "all", None),
            ("negative", "-1", None),
            ("empty part", "0,,1", None),
            ("too large", "70000", None),
        ];
        for (name, text, expected) in cases {
            let got = parse(text).ok().map(|cpus| list(&cpus));
            assert_eq!(got.as_deref(), *expected, "case: {name}");
        }
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let error = verify(&[60000]).unwrap_err().to_string();
        assert!(error.contains("60000") && error.contains("has CPUs"), "{error}");
    }
}
