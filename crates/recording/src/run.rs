//! `run.json`: what ran, where, and what was not available.

use crate::clock::Clock;
use crate::injection::{Injected, SelfTest};
use crate::machine::Machine;
use crate::paging::Allocation;
use crate::parallel::Parallel;
use crate::policy::Policy;
pub use crate::problem::NotAvailable;
pub use crate::program::{CpuTime, EventCost, Program, ProgramCgroup, RanOn};
use crate::stop::{Kept, Stop, StopCondition};
use crate::wakeup::IdleState;
use crate::who::{CpuLimits, SeenThread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the recording format that this code writes.
pub const FORMAT_VERSION: u32 = 2;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The state at the start. If a finished recording has it, the run was cut off (SIGKILL, power failure).
    Running,
    /// Everything that was requested was measured.
    Complete,
    /// The run ended early, for this reason.
    Interrupted(String),
}

/// When buffers are written from memory to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DrainPolicy {
    /// At the end only: the tool wrote nothing while it measured.
    AtEnd,
    /// When they were half full; the time of the writer is source `anechoic`.
    HighWater,
}

/// The loop of one measured CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuRun {
    /// The CPU.
    pub cpu: u32,
    /// Thread id of the loop, the victim in kernel events; 0 where a program was recorded, which has threads of its own.
    pub tid: i32,
    /// Class of equal CPUs (model, core type, counter), which share the shortest gap.
    pub class: String,
    /// First counter value that the loop read.
    pub first_ticks: u64,
    /// Last counter value that the loop read.
    pub last_ticks: u64,
    /// Iterations of the loop.
    pub iterations: u64,
    /// The shortest gap of this CPU's loop.
    pub own_shortest_gap_ticks: u64,
    /// The time subtracted from every gap: the shortest gap of the CPU's class, or the mean of undisturbed
    /// reads if that gap is only two reads within one step of a coarse counter.
    pub shortest_gap_ticks: u64,
    /// Number of detours stored.
    pub detours: u64,
    /// Number of detours lost for lack of a free buffer or of disk space.
    pub lost_detours: u64,
    /// Number of page faults of the loop's thread between start and end; other than 0 is a bug, unless it ran a user's
    /// function.
    pub page_faults: u64,
    /// The CPU of the thread at the end.
    pub last_cpu: u32,
}

/// The outcome of a series.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Number of the series.
    pub series: u32,
    /// Start of its first sample.
    pub first_ticks: u64,
    /// End of its last sample; if the series was ended within a sample, of the last step of work.
    pub last_ticks: u64,
    /// Number of samples taken, lost ones included.
    pub samples: u64,
    /// Number of samples lost for lack of a free buffer or of disk space.
    pub lost: u64,
    /// Number of samples whose work returned a wrong value; other than 0 means a faulty machine.
    pub wrong: u64,
    /// Why the series ended.
    pub ended: Ended,
    /// Mean duration of a step that was no detour, in the series itself, if gaps inside samples were recorded. It
    /// replaces the calibrated `step_ticks`, which was measured before, with the other CPUs idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ticks: Option<u64>,
    /// The longest time between two counter reads of a wait for other ranks that was no detour; absent if it never waited, or
    /// was not alone on its CPU. Recordings of before have 2 µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_threshold_ticks: Option<u64>,
    /// How long its thread took to read its working set after a wake-up; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<crate::wakeup::Passes>,
    /// Events of its thread that were counted during the series, by name; those of the kernel include what interrupts did on
    /// its account. Without names where nothing could be counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
}

impl Outcome {
    /// Returns whether all its samples are there, with the right result, and it ended by itself.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let ended = matches!(
            self.ended,
            Ended::Complete | Ended::Steady | Ended::Unsteady | Ended::Stopped
        );
        ended && self.wrong == 0 && self.lost == 0
    }
}

impl Run {
    /// Returns the time of day at the start in ns since 1970, UTC; absent if the recording does not have it.
    #[must_use]
    pub fn start_day_ns(&self) -> Option<u64> {
        let start = self.start_utc.parse::<jiff::Timestamp>().ok()?;
        u64::try_from(start.as_nanosecond()).ok()
    }

    /// Returns what is kept of a run that dropped all but the part before the detour for which it waited. That part is no
    /// sample of the time that the run watched.
    #[must_use]
    pub fn kept_after_stop(&self) -> Option<Kept> {
        self.stop_on.as_ref().and_then(Stop::part_before_met)
    }

    /// Returns the condition that ended it, if that waited for something long: its longest values and their number are chosen by
    /// when it ended.
    #[must_use]
    pub fn ended_at(&self) -> Option<StopCondition> {
        self.stop_on.as_ref().filter(|stop| stop.exceeded()).map(|stop| stop.condition)
    }

    /// Returns for how long it had watched before the part that is kept, in ns; 0 if that is all of it.
    #[must_use]
    pub fn dropped_ns(&self) -> u64 {
        let kept = self.stop_on.as_ref().and_then(|stop| stop.kept);
        kept.map_or(0, |kept| kept.dropped_ns)
    }

    /// Returns whether it ended by itself, and all samples of its series are there with the right result.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.state == RunState::Complete && self.outcomes.iter().all(Outcome::is_sound)
    }
}

/// Why a series ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// All requested samples were taken.
    #[default]
    Complete,
    /// The accumulated mean became steady before that.
    Steady,
    /// All samples were taken, and the accumulated mean still changed by more than allowed.
    Unsteady,
    /// A condition ended the run.
    Stopped,
    /// A signal, a full disk, or the time limit.
    Interrupted,
    /// Its CPU went offline.
    Offline,
    /// The counter jumped back.
    Clock,
    /// It did not begin: the kernel gave no memory with the pages that were asked for.
    NoMemory,
    /// The run was cut off; the outcome is computed from the samples.
    CutOff,
}

/// A thread of the tool itself that existed during the measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnThread {
    /// Thread id.
    pub tid: i32,
    /// What the thread does: `housekeeper`, `screen`, `preempting thread`, `partner in the ring`, `waking thread`, `unpinned loop`, `copy of the
    /// work`; `main` or `writer` in recordings of other versions.
    pub role: String,
    /// Its scheduling policy, if it is not that of ordinary threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

impl OwnThread {
    /// The role of a thread that preempts a loop between its samples.
    pub const PREEMPTING: &'static str = "preempting thread";

    /// The role of a thread that wakes the one of a measured CPU.
    pub const WAKING: &'static str = "waking thread";

    /// Describes an ordinary thread.
    #[must_use]
    pub fn new(tid: i32, role: &str) -> Self {
        OwnThread { tid, role: role.to_owned(), policy: None }
    }
}

/// A kind of event in this recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedEvent {
    /// Number of the event in the `events` table.
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
    /// Size of the ring buffer per CPU, in KiB.
    pub buffer_kb: u64,
    /// The recorded events.
    pub events: Vec<RecordedEvent>,
    /// Events that this kernel does not have, as `system:name`.
    pub missing: Vec<String>,
    /// Period of switching the events on and off (ns), if the tracer's cost was measured.
    pub alternate_ns: Option<u64>,
}

/// The content of `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The version of the format.
    pub format_version: u32,
    /// The version of anechoic that measured.
    pub tool_version: String,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// The method, one of the identifiers in [`crate::methods`]: `detours`, `program`, or that of its series, such as `fwq`.
    pub method: String,
    /// How the run ended.
    pub state: RunState,
    /// Start of the run, RFC 3339 in UTC.
    pub start_utc: String,
    /// End of the run, RFC 3339 in UTC; absent while running.
    pub end_utc: Option<String>,
    /// Common start of all loops.
    pub start_ticks: u64,
    /// Planned common end of all loops; after the run, the end of the last loop.
    pub end_ticks: u64,
    /// `CLOCK_BOOTTIME` at the end, in ns: the clock of a monitor, which nobody sets. Absent but for recordings of programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_boottime_ns: Option<u64>,
    /// The counter.
    pub clock: Clock,
    /// A longer gap is a detour.
    pub threshold_ticks: u64,
    /// The origin of the threshold: `calibrated` or `asked`.
    pub threshold_source: String,
    /// Scheduling policy of the loops: `other`, or `fifo PRIORITY`.
    pub policy: Policy,
    /// How long an ordinary loop keeps its CPU while other threads wait for it, the scheduler's quantum, in ns. Absent if
    /// the kernel does not report it; SCHED_FIFO has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum_ns: Option<u64>,
    /// When buffers were emptied.
    pub drain: DrainPolicy,
    /// What was to end the run before its time, and what did; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_on: Option<Stop>,
    /// The number of this run of `--repeat N`, from 1, and N.
    pub repetition: Option<(u32, u32)>,
    /// The measured CPUs.
    pub cpus: Vec<CpuRun>,
    /// The outcomes of the series; empty for detours, and if the run was cut off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Outcome>,
    /// The memory of the series that had their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocations: Vec<Allocation>,
    /// The tool's own threads, except those of the loops.
    pub own_threads: Vec<OwnThread>,
    /// Noise that was injected during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injections: Vec<Injected>,
    /// The user's program that was recorded instead of loops; absent for all other methods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// What was monitored instead of loops; absent for all other methods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Monitoring>,
    /// The parallel job in which this host's CPUs were measured, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<Parallel>,
    /// The result of the last self-test on this machine, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// How kernel events were recorded; absent if they were not available.
    pub trace: Option<Trace>,
    /// The idle states of the measured CPUs, if the events record which one a CPU enters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_states: Vec<IdleState>,
    /// Whether `counters` contains steal readings of each timer tick.
    pub steal_readings: bool,
    /// What was not available, and why.
    pub not_available: Vec<NotAvailable>,
    /// Notes for the reader: SMT siblings both loaded, a CPU went offline, no CPU left for the tool.
    pub notes: Vec<String>,
    /// Threads that ran on measured CPUs, as far as /proc still showed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<SeenThread>,
    /// The CPU quota of the run's cgroup and how long it waited for CPUs; absent if the kernel shows neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<CpuLimits>,
    /// The machine.
    pub machine: Machine,
}

/// What `anechoic monitor` was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Monitoring {
    /// What saves a recording of what ran, as it is typed: `unusual`, or a limit like `steal>20%`.
    pub save_on: Vec<String>,
    /// The control groups that are monitored beside the machine.
    pub groups: Vec<String>,
    /// When the service began, RFC 3339 in UTC: what is usual is known from then on.
    #[serde(default)]
    pub began_utc: String,
    /// What was saved while this was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saved: Vec<SavedFor>,
}

/// A recording of what ran, and why it was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedFor {
    /// Name of its directory, beside that of the counters.
    pub name: String,
    /// Why it was saved, in words.
    pub reasons: Vec<String>,
}

impl Run {
    /// Returns a run of `method` before anything is measured or read: nothing was asked for, and nothing is known but the clock and
    /// the machine.
    #[must_use]
    pub fn unmeasured(method: &str, clock: Clock, machine: Machine) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            tool_version: String::new(),
            command: Vec::new(),
            method: method.to_owned(),
            state: RunState::Running,
            start_utc: String::new(),
            end_utc: None,
            start_ticks: 0,
            end_ticks: 0,
            end_boottime_ns: None,
            clock,
            threshold_ticks: 0,
            threshold_source: String::new(),
            policy: Policy::from("other"),
            quantum_ns: None,
            drain: DrainPolicy::AtEnd,
            stop_on: None,
            repetition: None,
            cpus: Vec::new(),
            outcomes: Vec::new(),
            allocations: Vec::new(),
            own_threads: Vec::new(),
            injections: Vec::new(),
            program: None,
            monitor: None,
            parallel: None,
            self_test: None,
            trace: None,
            idle_states: Vec::new(),
            steal_readings: false,
            not_available: Vec::new(),
            notes: Vec::new(),
            threads: Vec::new(),
            limits: None,
            machine,
        }
    }
}
