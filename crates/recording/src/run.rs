//! `run.json`: what ran, where, and what could not be had.

use crate::clock::Clock;
use crate::injection::{Injected, SelfTest};
use crate::machine::Machine;
use crate::parallel::Parallel;
use crate::policy::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the recording format that this code writes.
pub const FORMAT_VERSION: u32 = 2;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Written at the start. Found later, it says that the run was cut off (SIGKILL, power).
    Running,
    /// All that was asked for was measured.
    Complete,
    /// Ended early; why, in words.
    Interrupted(String),
}

/// When blocks leave memory for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DrainPolicy {
    /// Everything stayed in memory until the end: the tool wrote nothing while it measured.
    AtEnd,
    /// A writer emptied the buffers when they were half full; its own share is source `anechoic`.
    HighWater,
}

/// Something that was asked for or is usual and could not be had here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotAvailable {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
    /// What would enable it.
    pub remedy: String,
}

/// What one measured CPU's loop did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuRun {
    /// The CPU.
    pub cpu: u32,
    /// Thread id of its loop: the victim in kernel events.
    pub tid: i32,
    /// Class of equal CPUs (model, core type, counter): the shortest gap is shared in a class.
    pub class: String,
    /// First counter value that the loop read.
    pub first_ticks: u64,
    /// Last counter value that the loop read.
    pub last_ticks: u64,
    /// Iterations of the loop.
    pub iterations: u64,
    /// Shortest gap that this CPU's loop saw.
    pub own_shortest_gap_ticks: u64,
    /// What is subtracted from every gap: the shortest gap of the CPU's class, or the mean of
    /// undisturbed reads where that gap is only two reads within one step of a coarse counter.
    pub shortest_gap_ticks: u64,
    /// Detours stored.
    pub detours: u64,
    /// Detours that found no free buffer, or no space on the disk.
    pub lost_detours: u64,
    /// Page faults of the loop's thread between start and end: 0, or a bug.
    pub page_faults: u64,
    /// CPU that the thread was found on at the end.
    pub last_cpu: u32,
}

/// How one series went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Number of the series.
    pub series: u32,
    /// Start of its first sample.
    pub first_ticks: u64,
    /// End of its last sample; of the last step of work where the series was ended within a sample.
    pub last_ticks: u64,
    /// Samples taken, the lost ones included.
    pub samples: u64,
    /// Samples that found no free buffer, or no space on the disk.
    pub lost: u64,
    /// Samples whose work returned a wrong value: 0, or the machine cannot be trusted.
    pub wrong: u64,
    /// Why it ended.
    pub ended: Ended,
}

/// Why a series ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// All samples that were asked for were taken.
    Complete,
    /// The accumulated mean had come to rest before that.
    Steady,
    /// All were taken and the accumulated mean still moved by more than was allowed.
    Unsteady,
    /// A signal, a full disk, or the time that was set.
    Interrupted,
    /// Its CPU went offline.
    Offline,
    /// The counter jumped back.
    Clock,
    /// The run was cut off: this is what its samples tell.
    CutOff,
}

/// A thread of the tool itself that lived during the measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnThread {
    /// Thread id.
    pub tid: i32,
    /// What it does: `main`, `writer`, `trace reader`.
    pub role: String,
}

/// One event kind of this recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedEvent {
    /// Number in the `events` table.
    pub number: u16,
    /// `system:name` as in tracefs.
    pub name: String,
    /// Names of the arguments.
    pub args: Vec<String>,
}

/// How kernel events were recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// The clock of the ring buffer: `x86-tsc`, or `mono_raw` converted to ticks.
    pub clock: String,
    /// Ring buffer per CPU, in KiB.
    pub buffer_kb: u64,
    /// Events that were on.
    pub events: Vec<RecordedEvent>,
    /// Events of the table that this kernel does not have, as `system:name`.
    pub missing: Vec<String>,
    /// Period of switching the events on and off (ns), where the tracer's cost was measured.
    pub alternate_ns: Option<u64>,
}

/// The whole of `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of the format.
    pub format_version: u32,
    /// Version of anechoic that measured.
    pub tool_version: String,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// What was measured: `detours`, or the method of its series: `fwq`, `ftq`, `tick`, `loops`.
    pub method: String,
    /// How the run ended.
    pub state: RunState,
    /// Start, RFC 3339 in UTC.
    pub start_utc: String,
    /// End, RFC 3339 in UTC; absent while running.
    pub end_utc: Option<String>,
    /// Common start of all loops.
    pub start_ticks: u64,
    /// Common end of all loops as planned; of the last loop as it was, once done.
    pub end_ticks: u64,
    /// The counter.
    pub clock: Clock,
    /// A gap longer than this is a detour.
    pub threshold_ticks: u64,
    /// `calibrated` or `asked`.
    pub threshold_source: String,
    /// Scheduling of the loops: `other`, or `fifo PRIORITY`.
    pub policy: Policy,
    /// When buffers were emptied.
    pub drain: DrainPolicy,
    /// Which run of `--repeat N` this is, from 1, and N.
    pub repetition: Option<(u32, u32)>,
    /// The measured CPUs.
    pub cpus: Vec<CpuRun>,
    /// How each series went; empty for detours, and where the run was cut off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Outcome>,
    /// The tool's own threads, those of the loops excepted.
    pub own_threads: Vec<OwnThread>,
    /// Noise that was made on purpose meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injections: Vec<Injected>,
    /// The parallel job that this host's CPUs were measured in; absent where it was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<Parallel>,
    /// What the last self-test on this machine found; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// Kernel events; absent where they could not be had.
    pub trace: Option<Trace>,
    /// Whether per-tick steal readings are in `counters`.
    pub steal_readings: bool,
    /// What could not be had, and why.
    pub not_available: Vec<NotAvailable>,
    /// What the reader should know: SMT siblings loaded, a CPU went offline, no CPU left for the tool.
    pub notes: Vec<String>,
    /// The machine.
    pub machine: Machine,
}
