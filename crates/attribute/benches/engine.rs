//! Throughput of the engine: events per second (timer ticks, softirqs, wake-ups and switches of two CPUs),
//! and samples per second without recorded gaps.

#![allow(clippy::unwrap_used, reason = "a test stops at the first error")]

#[allow(dead_code, reason = "the tests and the bench use different parts")]
#[path = "../tests/stage/mod.rs"]
mod stage;

use anechoic_attribute::{CpuInput, Feed, Input, engine};
use anechoic_recording::EventKind::*;
use anechoic_recording::{Detour, KernelEvent};
use stage::*;
use std::time::Instant;

/// Number of samples of the unwatched CPU, of which one in so many has events.
const SAMPLES: u64 = 10_000_000;
const QUIET: u64 = 400;
/// Number of detours per CPU.
const DETOURS: u64 = 500_000;
/// Ticks from one detour to the next.
const APART: u64 = 10_000;

/// The events of one detour: a timer tick with a softirq, then a worker for a while.
fn course(cpu: u32, victim: i32, at: u64) -> [KernelEvent; 14] {
    let event = |after, pid, kind, args| KernelEvent { cpu, ticks: at + after, kind, pid, args };
    [
        event(100, victim, LocalTimerEntry, [236, 0, 0]),
        event(110, victim, HrtimerEntry, [0xa + u64::from(cpu), TICK, 0]),
        event(200, victim, Waking, [7, u64::from(cpu), 0]),
        event(300, victim, HrtimerExit, [0xa + u64::from(cpu), 0, 0]),
        event(310, victim, HrtimerStart, [0xa + u64::from(cpu), TICK, 0]),
        event(320, victim, LocalTimerExit, [236, 0, 0]),
        event(330, victim, SoftirqEntry, [1, 0, 0]),
        event(340, victim, WorkQueue, [at, VMSTAT, u64::from(cpu)]),
        event(400, victim, SoftirqExit, [1, 0, 0]),
        event(500, victim, Switch, [7, 0x100, 120]),
        event(600, 7, WorkStart, [at, VMSTAT, 0]),
        event(700, 7, WorkEnd, [at, VMSTAT, 0]),
        event(710, 7, CsdQueue, [u64::from(1 - cpu), FLUSH, at]),
        event(800, 7, Switch, [victim as u64, 0x80, 120]),
    ]
}

fn main() {
    detours();
    samples();
}

fn detours() {
    let cpus = [(0, 200), (1, VICTIM)];
    let run = run("other", cpus.map(|(cpu, tid)| cpu_run(cpu, tid)).to_vec());
    let start = |index: u64| 1_000 + index * APART;
    let events = cpus.map(|(cpu, tid)| -> Feed<KernelEvent> {
        Box::new((0..DETOURS).flat_map(move |index| course(cpu, tid, start(index))).map(Ok))
    });
    let inputs = cpus.map(|(cpu, _)| CpuInput {
        cpu,
        stints: whole_run(&run, &cpu_run(cpu, 0)),
        detours: Box::new((0..DETOURS).map(move |index| {
            Ok(Detour { cpu, start_ticks: start(index), end_ticks: start(index) + 1_000 })
        })),
        steal: feed(vec![]),
        losses: vec![],
    });
    let input = Input {
        run: &run,
        names: names().into(),
        cpus: inputs.into(),
        events: events.into(),
        counters: vec![],
    };
    let begin = Instant::now();
    let mut rows = 0;
    let attribution = engine::run(input, &mut |batch| {
        rows += batch.len();
        Ok(())
    });
    let (time, events) = (begin.elapsed().as_secs_f64(), 2 * DETOURS * 14);
    assert_eq!(attribution.map(|found| found.alignment.events).ok(), Some(events));
    println!(
        "{events} events, {rows} rows in {time:.2} s: {:.1} M events/s",
        events as f64 / time / 1e6
    );
}

fn samples() {
    let run = run("other", vec![cpu_run(1, VICTIM)]);
    let start = |index: u64| 1_000 + index * APART;
    let eventful = (0..SAMPLES).step_by(QUIET as usize);
    let cpu = CpuInput {
        cpu: 1,
        stints: vec![stint(start(0), start(SAMPLES), 0, false)],
        detours: Box::new(
            (0..SAMPLES).map(move |index| Ok(detour(start(index), start(index + 1)))),
        ),
        steal: feed(vec![]),
        losses: vec![],
    };
    let input = Input {
        run: &run,
        names: names().into(),
        cpus: vec![cpu],
        events: vec![Box::new(eventful.flat_map(move |at| course(1, VICTIM, start(at))).map(Ok))],
        counters: vec![],
    };
    let begin = Instant::now();
    let mut rows = 0;
    let done = engine::run(input, &mut |batch| {
        rows += batch.len() as u64;
        Ok(())
    });
    let time = begin.elapsed().as_secs_f64();
    assert!(done.is_ok() && rows > SAMPLES / QUIET);
    println!(
        "{SAMPLES} samples, {rows} rows in {time:.2} s: {:.1} M samples/s",
        SAMPLES as f64 / time / 1e6
    );
}
