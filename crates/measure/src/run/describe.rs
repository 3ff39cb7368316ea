//! What is known of a run before it starts.

use super::victim::FIFO_PRIORITY;
use super::{Plan, RunError};
use crate::cpus;
use anechoic_recording::Clock;
use anechoic_recording::machine::Machine;
use anechoic_recording::run::{CpuRun, DrainPolicy, FORMAT_VERSION, OwnThread, Run, RunState};

/// Iterations that a gap must last to be called a detour, where no threshold is asked.
const THRESHOLD_ITERATIONS: f64 = 8.0;

/// The run as far as it is known before it starts.
pub(super) fn run(plan: &Plan, clock: Clock, machine: Machine) -> Result<Run, RunError> {
    let calibrated = (THRESHOLD_ITERATIONS * clock.read_mean_ticks) as u64;
    let asked = plan.threshold_ns.map(|ns| clock.ticks(ns));
    let least = 2.0 * clock.read_mean_ticks;
    if let Some(asked_ns) = plan.threshold_ns.filter(|&ns| (clock.ticks(ns) as f64) < least) {
        let iteration_ns = clock.ns(clock.read_mean_ticks as u64);
        let least_ns = clock.ns(least.ceil() as u64) + 1;
        return Err(RunError::Threshold { asked_ns, iteration_ns, least_ns });
    }
    let own = OwnThread { tid: thread_id(), role: "housekeeper".to_owned() };
    let mut run = Run {
        format_version: FORMAT_VERSION,
        tool_version: plan.tool_version.clone(),
        command: plan.command.clone(),
        method: "detours".to_owned(),
        state: RunState::Running,
        start_utc: String::new(),
        end_utc: None,
        start_ticks: 0,
        end_ticks: 0,
        clock,
        threshold_ticks: asked.unwrap_or(calibrated),
        threshold_source: if asked.is_some() { "asked" } else { "calibrated" }.to_owned(),
        policy: policy(plan),
        drain: DrainPolicy::AtEnd,
        repetition: plan.repetition,
        cpus: Vec::new(),
        outcomes: Vec::new(),
        own_threads: vec![own],
        trace: None,
        steal_readings: false,
        not_available: Vec::new(),
        notes: Vec::new(),
        machine,
    };
    note_siblings(&mut run, &plan.cpus);
    if (run.threshold_ticks as f64) < least + run.clock.step_ticks() as f64 {
        let note =
            "the threshold is so near to one iteration that iterations are among the detours";
        run.notes.push(note.to_owned());
    }
    Ok(run)
}

fn policy(plan: &Plan) -> String {
    if plan.fifo { format!("fifo {}", FIFO_PRIORITY) } else { "other".to_owned() }
}

fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Two loops on one core share it: their iterations are longer for that reason alone.
fn note_siblings(run: &mut Run, measured: &[u32]) {
    let shared = run.machine.cpus.iter().filter(|cpu| measured.contains(&cpu.cpu)).any(|cpu| {
        let siblings = cpus::parse(&cpu.siblings).unwrap_or_default();
        siblings.iter().filter(|sibling| measured.contains(sibling)).count() > 1
    });
    if shared {
        let note = "SMT siblings were measured together and loaded each other; --cpus takes one of each pair";
        run.notes.push(note.to_owned());
    }
}

/// What one undisturbed iteration lasts, by the shortest gap of a class of CPUs.
///
/// Two reads that fall within one step of a coarse counter differ by a tick or by nothing: such
/// a gap is no iteration. The mean of the calibration's undisturbed reads then stands for it.
pub(super) fn one_iteration(shortest_gap_ticks: u64, clock: &Clock) -> u64 {
    let mean = clock.read_mean_ticks as u64;
    if shortest_gap_ticks * 2 < mean { mean } else { shortest_gap_ticks }
}

/// What is known of one CPU before its loop runs, and all that is if the run is cut off.
pub(super) fn cpu(run: &Run, cpu: u32, tid: i32) -> CpuRun {
    let known = run.machine.cpus.iter().find(|known| known.cpu == cpu);
    CpuRun {
        cpu,
        tid,
        class: known.map_or_else(|| run.machine.model.clone(), |known| known.class.clone()),
        first_ticks: run.start_ticks,
        last_ticks: run.start_ticks,
        iterations: 0,
        own_shortest_gap_ticks: run.clock.read_min_ticks,
        shortest_gap_ticks: one_iteration(run.clock.read_min_ticks, &run.clock),
        detours: 0,
        lost_detours: 0,
        page_faults: 0,
        last_cpu: cpu,
    }
}
