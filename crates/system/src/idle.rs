//! The idle states of CPUs, and what keeps CPUs out of the deep ones.

use crate::machine::Root;
use crate::rights;
use anechoic_recording::wakeup::IdleState;
use anechoic_recording::{Problem, ProblemKind};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// The kernel's file for the longest time that leaving an idle state may take, in µs. A value counts while its writer has
/// the file open.
const LIMIT: &str = "/dev/cpu_dma_latency";

/// Keeps all CPUs out of idle states that take time to leave, until it is dropped.
#[derive(Debug)]
pub struct Shallow(#[expect(dead_code, reason = "the kernel looks whether it is open")] File);

impl Shallow {
    /// Asks the kernel for idle states that take no time to leave. On x86 an idle CPU then polls.
    ///
    /// # Errors
    /// Fails if the kernel has no such file, or this process may not write it.
    pub fn hold() -> Result<Self, Problem> {
        let path = Path::new(LIMIT);
        let opened = OpenOptions::new().write(true).open(path);
        let written =
            opened.and_then(|mut file| file.write_all(&0_i32.to_ne_bytes()).map(|()| file));
        written.map(Shallow).map_err(|error| {
            let why = format!("{LIMIT} cannot be written ({error})");
            ProblemKind::Unavailable.problem(why, rights::remedy("cap_dac_override"))
        })
    }
}

/// Returns the idle states of these CPUs, in the order of their numbers; none where the kernel has no driver for them.
#[must_use]
pub fn states(cpus: &[u32]) -> Vec<IdleState> {
    states_below(&Root::live(), cpus)
}

fn key(state: &IdleState) -> (u32, &str, Option<u64>) {
    (state.state, &state.name, state.exit_latency_us)
}

fn states_below(root: &Root, cpus: &[u32]) -> Vec<IdleState> {
    let mut found: Vec<IdleState> = Vec::new();
    for &cpu in cpus {
        let directory = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        for entry in root.names(&directory) {
            let number = entry.strip_prefix("state").and_then(|number| number.parse().ok());
            let name = root.read(&format!("{directory}/{entry}/name"));
            let (Some(state), Some(name)) = (number, name) else { continue };
            let exit_latency_us = root.number(&format!("{directory}/{entry}/latency"));
            let new = IdleState { state, name, exit_latency_us, cpus: vec![cpu] };
            let same = |known: &&mut IdleState| key(known) == key(&new);
            match found.iter_mut().find(same) {
                Some(known) => known.cpus.push(cpu),
                None => found.push(new),
            }
        }
    }
    found.sort_by(|a, b| (a.state, &a.cpus).cmp(&(b.state, &b.cpus)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_that_several_cpus_have_are_listed_once() {
        let below = |cpu: u32, state: u32, file: &str| {
            format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{file}")
        };
        let mut files = Vec::new();
        for (cpu, name, latency) in [(0, "C6", "133"), (1, "C6", "133"), (2, "C10", "890")] {
            files.push((below(cpu, 0, "name"), "POLL"));
            files.push((below(cpu, 0, "latency"), "0"));
            files.push((below(cpu, 10, "name"), name));
            files.push((below(cpu, 10, "latency"), latency));
        }
        let (_tree, root) = Root::tree(&files);
        let state = |state, name: &str, us, cpus: &[u32]| IdleState {
            state,
            name: name.into(),
            exit_latency_us: Some(us),
            cpus: cpus.into(),
        };
        let expected = vec![
            state(0, "POLL", 0, &[0, 1, 2]),
            state(10, "C6", 133, &[0, 1]),
            state(10, "C10", 890, &[2]),
        ];
        assert_eq!(states_below(&root, &[0, 1, 2, 3]), expected);
        assert_eq!(states_below(&root, &[3]), []);
    }
}
