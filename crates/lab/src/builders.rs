//! Minimal parts of a recording for tests, which change only what they care about.

use anechoic_recording::clock::Clock;
use anechoic_recording::machine::Machine;
use anechoic_recording::rows::{Activity, ActivityKind};
use anechoic_recording::run::{CpuRun, Run, RunState, Trace};

/// Returns a steady counter of this rate. At 1 GHz ticks are nanoseconds, which keeps tables of expected
/// values readable.
#[must_use]
pub fn clock(frequency_hz: u64) -> Clock {
    Clock {
        counter: "tsc".into(),
        frequency_millihertz: frequency_hz * 1_000,
        frequency_source: "made up".into(),
        residual_ppm: None,
        invariant: true,
        read_mean_ticks: 24.5,
        sample_read_mean_ticks: None,
        read_min_ticks: 24,
        read_deltas: vec![],
        call_costs_ns: vec![],
        skew: vec![],
    }
}

/// Returns a machine of two CPUs about which little is known.
#[must_use]
pub fn machine() -> Machine {
    Machine {
        host: "node17".into(),
        model: "made up".into(),
        arch: "x86_64".into(),
        kernel: "6.18.5".into(),
        command_line: String::new(),
        tick_hz: None,
        hypervisor: None,

        confidential: None,
        data_tlb: None,
        online: "0-1".into(),
        allowed: "0-1".into(),
        smt: None,
        memory_bytes: 0,
        cpus: vec![],
        settings: vec![],
    }
}

/// Returns a loop that ran on `cpu` from `first_ticks` to `last_ticks`, with `shortest_gap_ticks` per
/// iteration; 0 means that no loop ran.
#[must_use]
pub fn cpu_run(cpu: u32, (first_ticks, last_ticks): (u64, u64), shortest_gap_ticks: u64) -> CpuRun {
    CpuRun {
        cpu,
        tid: i32::try_from(cpu).map_or(100, |cpu| cpu.saturating_add(100)),
        class: "made up".into(),
        first_ticks,
        last_ticks,
        iterations: last_ticks
            .saturating_sub(first_ticks)
            .checked_div(shortest_gap_ticks)
            .unwrap_or(0),
        own_shortest_gap_ticks: shortest_gap_ticks,
        shortest_gap_ticks,
        detours: 0,
        lost_detours: 0,
        page_faults: 0,
        last_cpu: cpu,
    }
}

/// Returns a complete run of `method` on these CPUs, from the first start to the last end of their loops,
/// without kernel events.
#[must_use]
pub fn run(method: &str, clock: Clock, cpus: Vec<CpuRun>) -> Run {
    Run {
        tool_version: "0.1.0".into(),
        command: vec!["anechoic".into()],
        state: RunState::Complete,
        start_utc: "2026-05-09T07:31:17Z".into(),
        start_ticks: cpus.iter().map(|cpu| cpu.first_ticks).min().unwrap_or(0),
        end_ticks: cpus.iter().map(|cpu| cpu.last_ticks).max().unwrap_or(0),
        threshold_source: "asked".into(),
        cpus,
        ..Run::unmeasured(method, clock, machine())
    }
}

/// Describes the recording of kernel events, of no particular kind.
#[must_use]
pub fn trace() -> Trace {
    Trace {
        clock: "x86-tsc".into(),
        buffer_kb: 1024,
        events: vec![],
        missing: vec![],
        alternate_ns: None,
    }
}

/// Returns a row of CPU `cpu`'s detour `detour` that begins at `start_ticks` and has no nested rows.
#[must_use]
pub fn activity(
    (cpu, detour): (u32, u64),
    kind: ActivityKind,
    source: &str,
    start_ticks: u64,
    self_ticks: u64,
) -> Activity {
    Activity {
        cpu,
        start_ticks,
        end_ticks: start_ticks + self_ticks,
        self_ticks,
        detour,
        parent: None,
        kind,
        source: source.into(),
        name: "".into(),
        function: None,
        victim_state: "running".into(),
        sent_by_cpu: None,
        sent_by_task: None,
        steal_ns: None,
        thread: None,
    }
}
