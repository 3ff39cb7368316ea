//! The facts of a run, which are part of every result.

use crate::program::ProgramFacts;
use anechoic_recording::injection::{Injected, SelfTest};
use anechoic_recording::run::{DrainPolicy, NotAvailable, RunState};
use anechoic_recording::tunable::{TUNABLES, Tunable};
use anechoic_recording::who::CpuLimits;
use anechoic_recording::{Policy, Run, topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The facts of a run: machine, method, times, and what was not available.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// Host name.
    pub host: String,
    /// CPU model name.
    pub model: String,
    /// Instruction set.
    pub arch: String,
    /// Kernel release and version.
    pub kernel: String,
    /// Hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// Protection of the guest's memory from its host, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidential: Option<String>,
    /// The CPU quota of the run's cgroup and how long it waited for CPUs, as far as the kernel shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<CpuLimits>,
    /// Version of anechoic that measured.
    pub measured_by: String,
    /// Version of anechoic that computed this result.
    pub summarized_by: String,
    /// Command line, word by word.
    pub command: Vec<String>,
    /// Method of measurement: `detours`, `program`, `fwq`, ….
    pub method: String,
    /// How the run ended.
    pub state: RunState,
    /// Start, RFC 3339 in UTC.
    pub start_utc: String,
    /// End, RFC 3339 in UTC; absent if the run was cut off.
    pub end_utc: Option<String>,
    /// Wall time of the loop that ran longest, or of the recorded program.
    pub wall_ns: u64,
    /// Threshold in ns: longer gaps count as detours.
    pub threshold_ns: u64,
    /// Origin of the threshold: `calibrated` or `asked`.
    pub threshold_source: String,
    /// Scheduling of the loops: `other`, or `fifo PRIORITY`.
    pub policy: Policy,
    /// When buffers were emptied.
    pub drain: DrainPolicy,
    /// Number of the run of `--repeat N`, from 1, and N.
    pub repetition: Option<(u32, u32)>,
    /// The recorded program; absent for all methods but `program`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramFacts>,
    /// Measured CPUs.
    pub cpus: Vec<u32>,
    /// CPUs that were online.
    pub online: String,
    /// CPUs that the scheduler keeps threads off (`isolcpus`, isolated cpusets), as a list; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated: Option<String>,
    /// CPUs that can run without a tick (`nohz_full`), as a list; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nohz_full: Option<String>,
    /// Whether systemd can give a unit its own CPUs: the unified cgroup hierarchy has the controller `cpuset`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unit_cpus: bool,
    /// Values of the settings that `anechoic try` can change, as they were in the run, by the names that it knows.
    #[serde(skip)]
    pub tunables: BTreeMap<&'static str, String>,
    /// Whether kernel events were recorded.
    pub traced: bool,
    /// Period of switching events on and off, if the tracer's cost was measured.
    pub alternate_ns: Option<u64>,
    /// Noise injected during the run, without its on-times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injections: Vec<Injected>,
    /// Result of the last self-test on this machine before the run; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// What was not available, and why.
    pub not_available: Vec<NotAvailable>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Facts {
    /// Returns the facts of a run whose longest loop took `wall_ticks`.
    #[must_use]
    pub fn new(run: &Run, wall_ticks: u64) -> Self {
        Self {
            host: run.machine.host.clone(),
            model: run.machine.model.clone(),
            arch: run.machine.arch.clone(),
            kernel: run.machine.kernel.clone(),
            hypervisor: run.machine.hypervisor.clone(),
            confidential: run.machine.confidential.clone(),
            limits: run.limits.clone(),
            measured_by: run.tool_version.clone(),
            summarized_by: env!("CARGO_PKG_VERSION").into(),
            command: run.command.clone(),
            method: run.method.clone(),
            state: run.state.clone(),
            start_utc: run.start_utc.clone(),
            end_utc: run.end_utc.clone(),
            wall_ns: run.clock.ns(wall_ticks),
            threshold_ns: run.clock.ns(run.threshold_ticks),
            threshold_source: run.threshold_source.clone(),
            policy: run.policy.clone(),
            drain: run.drain,
            repetition: run.repetition,
            program: ProgramFacts::from_run(run),
            cpus: run.cpus.iter().map(|cpu| cpu.cpu).collect(),
            online: run.machine.online.clone(),
            injections: run.injections.iter().map(without_spells).collect(),
            isolated: cpus_of(run, "isolcpus"),
            nohz_full: cpus_of(run, "nohz_full"),
            unit_cpus: effective(run, "cgroup controllers")
                .is_some_and(|all| all.split(' ').any(|one| one == "cpuset")),
            tunables: tunables(run),
            traced: run.trace.is_some(),
            alternate_ns: run.trace.as_ref().and_then(|trace| trace.alternate_ns),
            self_test: run.self_test.clone(),
            not_available: run.not_available.clone(),
            notes: notes(run),
        }
    }
}

/// Returns the notes of a run, and that its counter's rate is wrong, also where whoever recorded it did not note that.
fn notes(run: &Run) -> Vec<String> {
    let rate = run.clock.rate_note().filter(|note| !run.notes.contains(note));
    run.notes.iter().cloned().chain(rate).collect()
}

/// Returns the values of the settings that can be tried.
fn tunables(run: &Run) -> BTreeMap<&'static str, String> {
    let value =
        |row: &Tunable| Some((row.name, effective(run, &row.name.replace('/', " "))?.to_owned()));
    TUNABLES.iter().filter_map(value).collect()
}

/// Returns the effective value of a setting, if it was read.
fn effective<'a>(run: &'a Run, setting: &str) -> Option<&'a str> {
    run.machine.settings.iter().find(|known| known.name == setting)?.effective.as_deref()
}

/// Returns the CPUs of a setting as a list, if it has any.
fn cpus_of(run: &Run, setting: &str) -> Option<String> {
    let list = effective(run, setting)?;
    topology::ranges(list).next().map(|_| list.to_owned())
}

fn without_spells(injected: &Injected) -> Injected {
    Injected { spells: Vec::new(), ..injected.clone() }
}
