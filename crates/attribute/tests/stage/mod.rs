//! A small machine on which events are played: CPU 1 is measured, its loop is thread 100 of process 90.
//!
//! One tick is one nanosecond and the shortest gap is 10 ticks.

use anechoic_attribute::{CpuInput, Feed, Input, Names, engine};
use anechoic_recording::Problem;
use anechoic_recording::attribution::Attribution;
use anechoic_recording::machine::{Cpu, Machine};
use anechoic_recording::run::{CpuRun, OwnThread, RecordedEvent, Run, RunState, Trace};
use anechoic_recording::{
    Activity, ActivityKind, Clock, Counter, Detour, EVENTS, EventKind, KernelEvent, Loss, Name,
    NameKind, Stint,
};

/// The measured loop's thread.
pub const VICTIM: i32 = 100;
/// The time subtracted from every gap, in ticks.
pub const SHORTEST: u64 = 10;
/// Addresses with names.
pub const TICK: u64 = 0xf1;
pub const REFILL: u64 = 0xf9;
pub const PERF: u64 = 0xf2;
pub const VMSTAT: u64 = 0xf3;
pub const FLUSH: u64 = 0xf4;
pub const SHORT_WORK: u64 = 0xf5;

pub fn clock() -> Clock {
    Clock {
        counter: "tsc".into(),
        frequency_millihertz: 1_000_000_000_000,
        frequency_source: "test".into(),
        residual_ppm: None,
        invariant: true,
        read_mean_ticks: 10.0,
        sample_read_mean_ticks: None,
        read_min_ticks: 10,
        read_deltas: vec![(10, 1), (20, 1)],
        call_costs_ns: vec![],
        skew: vec![],
    }
}

fn machine(cpus: &[u32]) -> Machine {
    let cpu = |cpu: &u32| Cpu {
        cpu: *cpu,
        class: "c".into(),
        package: None,
        core: None,
        node: None,
        siblings: cpu.to_string(),
        caches: vec![],
        governor: None,
    };
    Machine {
        host: "stage".into(),
        model: "model".into(),
        arch: "x86_64".into(),
        kernel: "6.18".into(),
        command_line: String::new(),
        tick_hz: Some(250),
        hypervisor: Some("kvm".into()),

        confidential: None,
        data_tlb: None,
        online: "0-1".into(),
        allowed: "0-1".into(),
        smt: None,
        memory_bytes: 1 << 30,
        cpus: cpus.iter().map(cpu).collect(),
        settings: vec![],
    }
}

pub fn cpu_run(cpu: u32, tid: i32) -> CpuRun {
    CpuRun {
        cpu,
        tid,
        class: "c".into(),
        first_ticks: 0,
        last_ticks: u64::MAX,
        iterations: 1,
        own_shortest_gap_ticks: SHORTEST,
        shortest_gap_ticks: SHORTEST,
        detours: 0,
        lost_detours: 0,
        page_faults: 0,
        last_cpu: cpu,
    }
}

/// A run on the CPUs with all events of the table.
pub fn run(policy: &str, cpus: Vec<CpuRun>) -> Run {
    let event = |spec: &anechoic_recording::EventSpec| RecordedEvent {
        number: spec.kind as u16,
        name: format!("{}:{}", spec.system, spec.name),
        args: spec.args.iter().map(ToString::to_string).collect(),
    };
    let machine = machine(&cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>());
    Run {
        tool_version: "0".into(),
        state: RunState::Complete,
        end_ticks: 1 << 40,
        threshold_ticks: 20,
        threshold_source: "asked".into(),
        policy: policy.into(),
        cpus,
        own_threads: vec![OwnThread::new(90, "main"), OwnThread::new(91, "writer")],
        trace: Some(Trace {
            clock: "x86-tsc".into(),
            buffer_kb: 1,
            events: EVENTS.iter().map(event).collect(),
            missing: vec![],
            alternate_ns: None,
        }),
        ..Run::unmeasured("detours", clock(), machine)
    }
}

pub fn names() -> Names {
    let name = |kind, key, name: &str| Name { kind, key, ticks: 0, name: name.into() };
    Names::new([
        name(NameKind::Task, 7, "kworker/1:1-events"),
        name(NameKind::Task, 42, "bash"),
        name(NameKind::Task, 43, "stress"),
        name(NameKind::Task, 45, "sh"),
        // It executed another program, and was seen with its new name when it was switched out.
        Name { ticks: 300, ..name(NameKind::Task, 45, "make") },
        name(NameKind::Symbol, TICK, "tick_nohz_handler"),
        name(NameKind::Symbol, REFILL, "sched_cfs_period_timer"),
        name(NameKind::Symbol, PERF, "perf_swevent_hrtimer"),
        name(NameKind::Symbol, VMSTAT, "vmstat_update"),
        name(NameKind::Symbol, FLUSH, "flush_tlb_func"),
        name(NameKind::Symbol, SHORT_WORK, "wb_workfn"),
        name(NameKind::Irq, 24, "virtio0"),
    ])
}

/// An event on the measured CPU.
pub fn on(ticks: u64, pid: i32, kind: EventKind, args: [u64; 3]) -> KernelEvent {
    KernelEvent { cpu: 1, ticks, kind, pid, args }
}

/// An event while the victim is current.
pub fn ev(ticks: u64, kind: EventKind, args: [u64; 3]) -> KernelEvent {
    on(ticks, VICTIM, kind, args)
}

/// An event on CPU 0, which is not measured.
pub fn far(ticks: u64, pid: i32, kind: EventKind, args: [u64; 3]) -> KernelEvent {
    KernelEvent { cpu: 0, ticks, kind, pid, args }
}

/// `sched_switch` on the measured CPU.
pub fn switch(ticks: u64, prev: i32, prev_state: u64, next: i32, next_prio: u64) -> KernelEvent {
    on(ticks, prev, EventKind::Switch, [next as u64, prev_state, next_prio])
}

pub fn detour(start_ticks: u64, end_ticks: u64) -> Detour {
    Detour { cpu: 1, start_ticks, end_ticks }
}

pub fn loss(what: &str, start_ticks: u64, end_ticks: u64) -> Loss {
    Loss { what: what.into(), cpu: 1, start_ticks, end_ticks, count: 3 }
}

pub fn feed<T: 'static>(rows: Vec<T>) -> Feed<'static, T> {
    Box::new(rows.into_iter().map(Ok))
}

/// The one stint of a detours run.
pub fn whole_run(run: &Run, cpu: &CpuRun) -> Vec<Stint> {
    vec![Stint {
        first_ticks: cpu.first_ticks,
        last_ticks: cpu.last_ticks,
        shortest_gap_ticks: cpu.shortest_gap_ticks,
        threshold_ticks: run.threshold_ticks,
        fifo: run.policy.starts_with("fifo"),
        series: None,
        watched: true,
        sleeps: false,
        waker_cpu: None,
    }]
}

/// One series, watched with steps of this many ticks; 0 means not watched.
pub fn stint(first_ticks: u64, last_ticks: u64, step_ticks: u64, fifo: bool) -> Stint {
    Stint {
        first_ticks,
        last_ticks,
        shortest_gap_ticks: step_ticks,
        threshold_ticks: step_ticks * 3 / 2,
        fifo,
        series: Some(0),
        watched: step_ticks > 0,
        sleeps: false,
        waker_cpu: None,
    }
}

/// The events and detours to play.
#[derive(Debug, Clone)]
pub struct Play {
    pub run: Run,
    /// None: that of a detours run.
    pub stints: Option<Vec<Stint>>,
    pub detours: Vec<Detour>,
    pub events: Vec<KernelEvent>,
    pub losses: Vec<Loss>,
    pub steal: Vec<Counter>,
    pub counters: Vec<Counter>,
}

impl Play {
    pub fn new(detours: Vec<Detour>, events: Vec<KernelEvent>) -> Self {
        let run = run("other", vec![cpu_run(1, VICTIM)]);
        let (stints, losses, steal, counters) = (None, vec![], vec![], vec![]);
        Self { run, stints, detours, events, losses, steal, counters }
    }

    /// Attributes it; rows come in the order in which they are passed on.
    pub fn attribute(self) -> (Attribution, Vec<Activity>) {
        let mut rows = Vec::new();
        let attribution = self.attribute_into(&mut |batch| {
            rows.extend_from_slice(batch);
            Ok(())
        });
        (attribution.unwrap(), rows)
    }

    pub fn attribute_into(self, sink: &mut engine::Sink) -> Result<Attribution, Problem> {
        let of_cpu =
            |cpu| self.events.iter().filter(move |event| event.cpu == cpu).copied().collect();
        let events: [Vec<KernelEvent>; 2] = [of_cpu(0), of_cpu(1)];
        let stints = self.stints.unwrap_or_else(|| whole_run(&self.run, &self.run.cpus[0]));
        let cpu = CpuInput {
            cpu: 1,
            stints,
            detours: feed(self.detours),
            steal: feed(self.steal),
            losses: self.losses,
        };
        let input = Input {
            run: &self.run,
            names: names().into(),
            cpus: vec![cpu],
            events: events.into_iter().map(feed).collect(),
            counters: self.counters,
        };
        engine::run(input, sink)
    }
}

/// Formats a row: `thread kworker/1:1 | 120..180 = 40 | in 0 | vmstat_update | by 0 bash | runnable`.
pub fn words(row: &Activity) -> String {
    let kind = match row.kind {
        ActivityKind::EntryGap => "entry gap: ",
        ActivityKind::InnerGap => "inner gap: ",
        ActivityKind::ExitGap => "exit gap: ",
        ActivityKind::OffCpu => "off: ",
        ActivityKind::Unexplained => "unexplained: ",
        ActivityKind::NotAttributable => "dark: ",
        ActivityKind::Activity => "",
    };
    let name = if row.name.is_empty() { String::new() } else { format!(" {}", row.name) };
    let mut text = format!(
        "{kind}{}{name} | {}..{} = {}",
        row.source, row.start_ticks, row.end_ticks, row.self_ticks
    );
    if let Some(parent) = row.parent {
        text += &format!(" | in {parent}");
    }
    if let Some(function) = &row.function {
        text += &format!(" | {function}");
    }
    if let Some(cpu) = row.sent_by_cpu {
        text += &format!(" | by {cpu} {}", row.sent_by_task.as_deref().unwrap_or("?"));
    }
    if &*row.victim_state != "running" {
        text += &format!(" | {}", row.victim_state);
    }
    if let Some(ns) = row.steal_ns {
        text += &format!(" | steal {ns}");
    }
    text
}
