//! A small recording: a run and rows of every table.

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a test stops at the first error"
)]

use anechoic_recording::attribution::Attribution;
use anechoic_recording::parallel::{Meeting, Parallel, Rank};
use anechoic_recording::run::{CpuRun, RunState};
use anechoic_recording::switch::{Partners, Ring};
use anechoic_recording::wakeup::{Sleep, Waker, WakingCall};
use anechoic_recording::{
    Activity, ActivityKind, Clock, Counter, Detour, EVENTS, Fixed, KernelEvent, Loss, Name,
    NameKind, Parameters, Recorder, Recording, Run, Sample, Series, machine::Machine,
};
use std::path::Path;
use std::sync::Arc;

/// Start of the sample run, in ticks.
pub const START: u64 = 1_000_000;

/// A run on CPUs 0 and 1.
pub fn run(state: RunState) -> Run {
    let done = state != RunState::Running;
    Run {
        tool_version: "0.1.0".into(),
        command: ["anechoic", "run", "--duration", "1s"].map(String::from).to_vec(),
        state,
        start_utc: "2026-01-02T03:04:05Z".into(),
        end_utc: done.then(|| "2026-01-02T03:04:06Z".into()),
        start_ticks: START,
        end_ticks: START + 2_445_000_000,
        threshold_ticks: 240,
        threshold_source: "calibrated".into(),
        cpus: if done { vec![cpu(0), cpu(1)] } else { Vec::new() },
        parallel: Some(Parallel {
            job: None,
            through: "threads".into(),
            ranks: 2,
            hosts: 1,
            host: "echo".into(),
            here: vec![Rank { rank: 0, cpus: vec![0, 1], tids: vec![1000] }],
        }),
        notes: vec!["made by a test".into()],
        ..Run::unmeasured("detours", clock(), machine())
    }
}

fn clock() -> Clock {
    Clock {
        counter: "tsc".into(),
        frequency_millihertz: 2_444_999_123_457,
        frequency_source: "perf mmap page".into(),
        residual_ppm: Some(-0.25),
        invariant: true,
        read_mean_ticks: 24.45,
        sample_read_mean_ticks: None,
        read_min_ticks: 24,
        read_deltas: vec![(24, 55), (25, 45)],
        call_costs_ns: vec![("clock_gettime".into(), 21.5)],
        skew: Vec::new(),
    }
}

fn cpu(cpu: u32) -> CpuRun {
    CpuRun {
        cpu,
        tid: 100 + cpu.cast_signed(),
        class: "sample".into(),
        first_ticks: START,
        last_ticks: START + 2_445_000_000,
        iterations: 100_000_000,
        own_shortest_gap_ticks: 24,
        shortest_gap_ticks: 24,
        detours: 3,
        lost_detours: 0,
        page_faults: 0,
        last_cpu: cpu,
    }
}

fn machine() -> Machine {
    Machine {
        host: "sample".into(),
        model: "Sample CPU".into(),
        arch: "x86_64".into(),
        kernel: "6.18.0".into(),
        command_line: "quiet".into(),
        tick_hz: Some(250),
        hypervisor: None,

        confidential: None,
        data_tlb: None,
        online: "0-1".into(),
        allowed: "0-1".into(),
        smt: Some(false),
        memory_bytes: 1 << 30,
        cpus: Vec::new(),
        settings: Vec::new(),
    }
}

/// Detours of one CPU: one every 1,000 ticks, and one at the end of time.
pub fn detours(cpu: u32) -> Vec<Detour> {
    let mut rows: Vec<_> = (0..20_u64)
        .map(|i| START + i * 1000)
        .map(|start_ticks| Detour {
            cpu,
            start_ticks,
            end_ticks: start_ticks + 300 + start_ticks % 7,
        })
        .collect();
    rows.push(Detour { cpu, start_ticks: u64::MAX - 5, end_ticks: u64::MAX });
    rows
}

/// One event of every kind.
pub fn events(cpu: u32) -> Vec<KernelEvent> {
    let row = |(i, spec): (u64, &anechoic_recording::EventSpec)| KernelEvent {
        cpu,
        ticks: START + i * 10,
        kind: spec.kind,
        pid: if i == 0 { -1 } else { 42 },
        args: [i, 0xffff_ffff_8123_4560 + i, u64::MAX - i],
    };
    (0..).zip(EVENTS).map(row).collect()
}

/// Losses of both CPUs, mixed.
pub fn losses() -> Vec<Loss> {
    let row = |what: &str, cpu, start_ticks, count| Loss {
        what: what.into(),
        cpu,
        start_ticks,
        end_ticks: start_ticks + 10,
        count,
    };
    vec![
        row("events", 1, START, 17),
        row("detours", 0, START + 5, 0),
        row("untraced", 1, START + 3, u64::MAX),
        row("steal", 0, START, 1),
    ]
}

/// Readings of both CPUs, mixed.
pub fn counters() -> Vec<Counter> {
    let row = |name: &str, cpu, ticks, value| Counter { name: name.into(), cpu, ticks, value };
    vec![
        row("interrupts/LOC", 0, START, 5),
        row("interrupts/LOC", 1, START, 6),
        row("softirqs/TIMER", 0, START, u64::MAX),
        row("softirqs/TIMER", 1, START + 9, 0),
    ]
}

/// A name of every kind; one is empty, one is not ASCII.
pub fn names() -> Vec<Name> {
    let row = |kind, key, ticks, name: &str| Name { kind, key, ticks, name: name.into() };
    vec![
        row(NameKind::Task, 42, 0, "kworker/1:1"),
        row(NameKind::Task, 43, START, "größer"),
        row(NameKind::Symbol, 0xffff_ffff_8123_4560, 0, "vmstat_update"),
        row(NameKind::Irq, 30, 0, ""),
    ]
}

/// Ten samples of one CPU, one of them after a loss.
pub fn samples(cpu: u32) -> Vec<Sample> {
    let row = |i: u64| Sample {
        series: cpu,
        index: if i < 9 { i } else { 12 },
        cpu,
        start_ticks: START + i * 2_600,
        end_ticks: START + (i + 1) * 2_600,
        count: 1_000 + i,
    };
    (0..10).map(row).collect()
}

/// A series of fixed work on CPU 0, one of fixed time on CPU 1, and one that was not pinned.
pub fn series() -> Vec<Series> {
    let row = |series, method: &str, cpu: Option<u32>, fixed| Series {
        series,
        method: method.into(),
        variant: "intadd".into(),
        cpu,
        tid: 100 + series.cast_signed(),
        policy: if series == 0 { "other" } else { "fifo 1" }.into(),
        grain_ticks: 2_600,
        fixed,
        asked: 10,
        round: series / 2,
        parameters: Parameters {
            iterations: 1_000,
            calibrated_ticks: 2_590,
            instructions: 512,
            megaiteration_ticks: 307_200_000,
            megacycle_ticks: 600_000,
            step_iterations: cpu.map(|_| 10),
            step_ticks: cpu.map(|_| 26),
            threshold_ticks: cpu.map(|_| 39),
            maiv_ppm: cpu.is_none().then_some(10_000),
            copies: 1 + series,
            injection: cpu,
            rank: cpu,
            meeting: cpu.map(|cpu| Meeting::ALL[cpu as usize % 3]),
            working_set_bytes: cpu.is_none().then_some(1 << 20),
            page_bytes: cpu.map(|_| 4096),
            memory_node: cpu,
            experiment: cpu.map(|cpu| format!("experiment-{cpu}")),
            other_bytes: cpu.map(|_| 2 << 20),
            within_ticks: cpu.map(|_| 1_000_000),
            ring: cpu.map(|cpu| Ring {
                members: 2 + cpu,
                partners: Partners::ALL[cpu as usize % 2],
                switches: cpu == 0,
            }),
            library: None,
            sleep: cpu.is_none().then_some(Sleep {
                interval_ns: 1_000_000,
                offset_ns: 500_000,
                shallow: true,
                slack_ns: 50_000,
                late_ns: 100_000,
                waker: Some(Waker { call: WakingCall::Pipe, cpu: 1 }),
            }),
            probes: None,
            events_off: cpu.is_none(),
        },
    };
    vec![
        row(0, "fwq", Some(0), Fixed::Work),
        row(1, "ftq", Some(1), Fixed::Time),
        row(2, "fwq", None, Fixed::Work),
    ]
}

/// Activities of one CPU: every kind, with and without what is optional.
pub fn activities(cpu: u32) -> Vec<Activity> {
    use ActivityKind as K;
    let kinds = [
        K::EntryGap,
        K::Activity,
        K::InnerGap,
        K::OffCpu,
        K::ExitGap,
        K::Unexplained,
        K::NotAttributable,
    ];
    let row = |(i, kind): (u32, K)| {
        let some = i % 2 == 1;
        let text = |text: &str| Arc::<str>::from(text);
        Activity {
            cpu,
            start_ticks: START + u64::from(i) * 10,
            end_ticks: START + u64::from(i) * 10 + 10,
            self_ticks: 10 - u64::from(i),
            detour: u64::from(i / 5),
            parent: some.then(|| i - 1),
            kind,
            source: text("timer"),
            name: text(if some { "LOC" } else { "" }),
            function: some.then(|| text("tick_nohz_handler")),
            victim_state: text("running"),
            sent_by_cpu: some.then_some(1 - cpu),
            sent_by_task: some.then(|| text("bash")),
            steal_ns: some.then_some(602_000),
            thread: None,
        }
    };
    (0..).zip(kinds).map(row).collect()
}

/// Writes a finished recording of all these rows; derived tables included.
pub fn write(dir: &Path) {
    let mut recorder = Recorder::create(dir, &run(RunState::Running)).unwrap();
    for cpu in [0, 1] {
        recorder.append(&detours(cpu)).unwrap();
        recorder.append(&events(cpu)).unwrap();
        recorder.append(&samples(cpu)).unwrap();
    }
    recorder.append(&series()).unwrap();
    recorder.append(&losses()).unwrap();
    recorder.append(&counters()).unwrap();
    recorder.append(&names()).unwrap();
    recorder.finish(&run(RunState::Complete)).unwrap();
    let recording = Recording::open(dir).unwrap();
    let mut derived = recording.derive::<Activity>().unwrap();
    derived.append(&activities(0)).unwrap();
    derived.append(&activities(1)).unwrap();
    derived.finish().unwrap();
    recording.write_attribution(&Attribution::default()).unwrap();
}
