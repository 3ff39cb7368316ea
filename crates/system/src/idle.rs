//! Keeps CPUs out of deep idle states.

use crate::rights;
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
