//! The checks: each is a script that runs in the machine, and a function that judges what it left.

mod container;
mod ftq;
mod inject;
mod interference;
mod isolated;
mod kexec;
mod killed;
mod many_cpus;
mod memory_node;
mod no_bpf;
mod old_recordings;
mod osnoise;
mod run;
mod timerlat;
mod unprivileged;
mod what_is_possible;

use super::boots::Boot;
use super::evidence::Evidence;

/// A check.
#[derive(Debug)]
pub struct Check {
    /// Its name, also that of its script and its directory of results.
    pub name: &'static str,
    /// What it tests, as part of a sentence.
    pub tests: &'static str,
    /// A script for busybox's shell. It runs in a directory of its own.
    pub script: &'static str,
    /// Returns why a boot cannot have this check.
    pub skipped: fn(&Boot) -> Option<&'static str>,
    /// Returns what was seen, or an error that states what is wrong.
    pub judge: fn(&Evidence<'_>) -> anyhow::Result<String>,
}

/// All checks.
pub const CHECKS: &[Check] = &[
    what_is_possible::CHECK,
    run::CHECK,
    old_recordings::CHECK,
    inject::CHECK,
    ftq::CHECK,
    interference::CHECK,
    isolated::CHECK,
    memory_node::CHECK,
    unprivileged::CHECK,
    kexec::CHECK,
    killed::CHECK,
    many_cpus::CHECK,
    container::CHECK,
    no_bpf::CHECK,
    osnoise::CHECK,
    timerlat::CHECK,
];

/// No boot lacks what the check needs.
fn everywhere(_: &Boot) -> Option<&'static str> {
    None
}
