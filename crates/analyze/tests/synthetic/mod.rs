//! A made-up run of two CPUs at 2.5 GHz.

#![allow(dead_code, reason = "the tests and the bench use different parts")]

use anechoic_recording::clock::Clock;
use anechoic_recording::machine::Machine;
use anechoic_recording::run::{CpuRun, DrainPolicy, FORMAT_VERSION, Run, RunState, Trace};
use anechoic_recording::{Activity, ActivityKind};

/// Ticks of a second.
pub const SECOND: u64 = 2_500_000_000;
/// Ticks of a microsecond.
pub const MICRO: u64 = 2_500;
/// What is subtracted from every gap.
pub const SHORTEST: u64 = 24;

/// A complete run of two CPUs over so many ticks, with kernel events.
pub fn run(wall_ticks: u64) -> Run {
    let cpu = |cpu| CpuRun {
        cpu,
        tid: 100 + cpu as i32,
        class: "synthetic".into(),
        first_ticks: 0,
        last_ticks: wall_ticks,
        iterations: wall_ticks / 25,
        own_shortest_gap_ticks: SHORTEST,
        shortest_gap_ticks: SHORTEST,
        detours: 0,
        lost_detours: 0,
        page_faults: 0,
        last_cpu: cpu,
    };
    Run {
        format_version: FORMAT_VERSION,
        tool_version: "0.1.0".into(),
        command: vec!["anechoic".into(), "run".into()],
        method: "detours".into(),
        state: RunState::Complete,
        start_utc: "2026-05-09T07:31:17Z".into(),
        end_utc: None,
        start_ticks: 0,
        end_ticks: wall_ticks,
        clock: clock(),
        threshold_ticks: 150,
        threshold_source: "asked".into(),
        policy: "other".into(),
        drain: DrainPolicy::AtEnd,
        repetition: None,
        cpus: vec![cpu(0), cpu(1)],
        outcomes: Vec::new(),
        injections: Vec::new(),
        parallel: None,
        self_test: None,
        own_threads: vec![],
        trace: Some(Trace {
            clock: "x86-tsc".into(),
            buffer_kb: 1024,
            events: vec![],
            missing: vec![],
            alternate_ns: None,
        }),
        steal_readings: false,
        not_available: vec![],
        notes: vec![],
        machine: machine(),
    }
}

/// A row of CPU `cpu`'s detour `detour` that begins at `start_ticks` and has all its time to itself.
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
    }
}

fn clock() -> Clock {
    Clock {
        counter: "tsc".into(),
        frequency_mhz: 2_500_000_000_000,
        frequency_source: "synthetic".into(),
        residual_ppm: None,
        invariant: true,
        read_mean_ticks: 24.5,
        read_min_ticks: 24,
        read_deltas: vec![],
        call_costs_ns: vec![],
        skew: vec![],
    }
}

fn machine() -> Machine {
    Machine {
        host: "bench".into(),
        model: "synthetic".into(),
        arch: "x86_64".into(),
        kernel: String::new(),
        command_line: String::new(),
        tick_hz: None,
        hypervisor: None,
        online: "0-1".into(),
        allowed: "0-1".into(),
        smt: None,
        memory_bytes: 0,
        cpus: vec![],
        settings: vec![],
    }
}
