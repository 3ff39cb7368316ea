//! How kernel events are recorded: the size of their buffers, their clock, and what else is recorded with them.

use super::plan::Plan;
use anechoic_kernels::counter;
use anechoic_recording::run::{Run, Trace};
use anechoic_recording::{Clock, EventKind, methods};
use anechoic_system::clock::Anchor;
use anechoic_system::idle;
use anechoic_system::tracefs::{Collector, Config, TraceError, Tracefs};

/// Ring buffer of one CPU, in KiB; smaller if all buffers would exceed 1/64 of the memory.
const BUFFER_KB: u64 = 16 * 1024;
/// The smallest useful ring buffer.
const LEAST_BUFFER_KB: u64 = 1024;

/// Returns how events are recorded: with buffers of a usual size, and times in ticks.
pub(super) fn config(run: &Run) -> Config {
    let cpus = run.machine.cpus.len().max(1) as u64;
    let share_kb = run.machine.memory_bytes / 1024 / 64 / cpus;
    let mut config =
        Config { buffer_kb: BUFFER_KB.min(share_kb).max(LEAST_BUFFER_KB), ..Config::default() };
    if config.clock == "mono_raw" {
        config.to_ticks = Some(from_raw(Anchor::take(), run.clock.clone()));
    }
    config
}

/// Starts to record the events that a plan needs.
///
/// # Errors
/// Returns what prevents it, with its remedy.
pub(super) fn collector(plan: &Plan, run: &Run) -> Result<Collector, TraceError> {
    let mark = plan.mark.as_ref().map(|(event, _)| event.clone());
    // Where threads sleep between samples, what their CPUs do meanwhile is part of the result.
    let idle = run.method == methods::WAKEUP;
    let config = Config { mark, idle, ..config(run) };
    let mut collector = Collector::prepare(Tracefs::open()?, config, &plan.traced())?;
    collector.on(counter::ordered())?;
    collector.marker().mark(); // the housekeeper
    Ok(collector)
}

/// Describes in `run` how events are recorded.
pub(super) fn describe(collector: &Collector, plan: &Plan, run: &mut Run) {
    let alternate_ns = plan.experiment.alternate.map(|period| period.as_nanos() as u64);
    let trace = Trace { alternate_ns, ..collector.description() };
    if trace.events.iter().any(|event| event.number == EventKind::CpuIdle as u16) {
        run.idle_states = idle::states(&plan.measured());
    }
    run.trace = Some(trace);
}

/// Returns a function that converts times of `CLOCK_MONOTONIC_RAW` to ticks.
fn from_raw(anchor: Anchor, clock: Clock) -> Box<dyn Fn(u64) -> u64 + Send> {
    Box::new(move |ns| match ns.checked_sub(anchor.raw_ns) {
        Some(after) => anchor.ticks + clock.ticks(after),
        None => anchor.ticks.saturating_sub(clock.ticks(anchor.raw_ns - ns)),
    })
}
