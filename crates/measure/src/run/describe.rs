//! Describes a run before it starts, and each CPU's loop after it.

use super::plan::Plan;
use crate::experiment::{Policy, Watch};
use crate::inject::INJECTED;
use crate::self_test;
use crate::timed::watching::Watching;
use crate::timed::worker::LoopResult;
use anechoic_recording::machine::Machine;
use anechoic_recording::notes::INJECTED_AROUND;
use anechoic_recording::run::{CpuRun, NotAvailable, OwnThread, Run};
use anechoic_recording::stop::{Kept, Stop, StopCondition};
use anechoic_recording::{Clock, Problem, ProblemKind, methods};
use anechoic_system::machine::Root;
use anechoic_system::quantum::quantum_ns;
use anechoic_system::{cpus, machine};
use std::time::Duration;

/// [`Run::method`] of a run that watches the counter.
pub(super) const DETOURS: &str = methods::DETOURS;
/// A gap must last this many iterations to count as a detour by default.
const THRESHOLD_ITERATIONS: f64 = 8.0;
/// It must last this many steps of a coarse counter.
const THRESHOLD_STEPS: u64 = 4;
/// It must last this many times as long as an iteration that stores a gap: or each would cause the next.
const THRESHOLD_STORES: u64 = 2;

/// Describes the run as far as it is known before the start.
pub(super) fn run(plan: &Plan, clock: Clock, machine: Machine) -> Result<Run, Problem> {
    let own = [
        Some(OwnThread::new(cpus::thread_id(), "housekeeper")),
        plan.watcher.map(|tid| OwnThread::new(tid, "screen")),
    ];
    let storing_ticks = plan.experiment.watch().map_or(0, |_| Watching::storing_ticks(&clock));
    let (threshold_ticks, threshold_source) = threshold(plan, &clock, storing_ticks)?;
    let stop_on = stop_on(plan, threshold_ticks, &clock)?;
    let mut run = Run {
        tool_version: plan.tool_version.clone(),
        command: plan.command.clone(),
        threshold_ticks,
        threshold_source: threshold_source.to_owned(),
        policy: policies(plan),
        quantum_ns: quantum(plan),
        stop_on,
        repetition: plan.repetition,
        parallel: plan.team.as_ref().map(|team| team.placement.parallel.clone()),
        self_test: self_test::last(&machine, &plan.tool_version),
        own_threads: own.into_iter().flatten().collect(),
        not_available: out_of_reach(plan).into_iter().collect(),
        ..Run::unmeasured(plan.experiment.method, clock, machine)
    };
    note_siblings(&mut run, plan);
    if !plan.left_out.is_empty() {
        let note = "were not measured, because this process did not inherit them (isolcpus, taskset); --cpus all measures them";
        run.notes.push(format!("CPUs {} {note}", cpus::list(&plan.left_out)));
    }
    note_injected(&mut run, std::env::var(INJECTED).ok());
    run.notes.extend(machine::measured_by_others(&plan.experiment.cpus()));
    let near = least_threshold(&run.clock) + run.clock.step_ticks() as f64;
    if threshold_ticks > 0 && (threshold_ticks as f64) < near {
        let note =
            "the threshold is so close to one iteration that slow iterations count as detours";
        run.notes.push(note.to_owned());
    } else if (1..storing_ticks).contains(&threshold_ticks) {
        let note = "the threshold is shorter than the time that storing a detour takes: each one makes the next";
        run.notes.push(note.to_owned());
    }
    Ok(run)
}

/// Notes that `anechoic inject` runs this command and injects noise around it.
fn note_injected(run: &mut Run, injected: Option<String>) {
    /// More letters than any description of an injection has.
    const MOST: usize = 200;
    if let Some(injected) = injected.filter(|injected| !injected.is_empty()) {
        let injected: String = injected.chars().filter(|c| !c.is_control()).take(MOST).collect();
        run.notes.push(format!("{INJECTED_AROUND} on CPU {injected}"));
    }
}

/// Returns the CPUs of other ranks on this host that the measuring rank may not use.
fn out_of_reach(plan: &Plan) -> Option<NotAvailable> {
    let team = plan.team.as_ref().filter(|_| plan.experiment.watch().is_some())?;
    let allowed = cpus::allowed();
    let mut given = team.placement.cpus();
    given.retain(|cpu| !allowed.contains(cpu));
    (!given.is_empty()).then(|| {
        NotAvailable::new(
            format!("noise of CPUs {}", cpus::list(&given)),
            "their ranks are in other control groups than the measuring rank of this host",
            "start one rank per host, with all its CPUs",
        )
    })
}

/// Returns the smallest valid threshold, in ticks: at least a step of the counter, because two reads around a step
/// always differ by it.
fn least_threshold(clock: &Clock) -> f64 {
    (2.0 * clock.read_mean_ticks).max(clock.step_ticks() as f64)
}

/// Returns the threshold that is used if none is asked for, in ticks. Where a step of the counter is longer than an
/// iteration, as at 25 MHz, it is some steps; where storing a gap takes as long as some iterations, as in an emulated
/// CPU, which takes the same time for every instruction, it is above that.
fn usual_threshold(clock: &Clock, storing_ticks: u64) -> u64 {
    let steps = THRESHOLD_STEPS * clock.step_ticks();
    let iterations = (THRESHOLD_ITERATIONS * clock.read_mean_ticks) as u64;
    iterations.max(steps).max(THRESHOLD_STORES * storing_ticks)
}

/// Returns what the loops of equal CPUs have in common, from hosts with different counters too: the class, and the rate
/// of the counter that their ticks are of, to 10 MHz.
pub(super) fn same_loop(class: &str, clock: &Clock) -> String {
    const TEN_MHZ: u64 = 10_000_000_000;
    let mhz = (clock.frequency_millihertz + TEN_MHZ / 2) / TEN_MHZ * 10;
    format!("{class}, counter of {mhz} MHz")
}

/// Returns the run's threshold and its origin. Series have their own thresholds.
fn threshold(
    plan: &Plan,
    clock: &Clock,
    storing_ticks: u64,
) -> Result<(u64, &'static str), Problem> {
    let Some(Watch { threshold_ns, duration }) = plan.experiment.watch() else {
        return Ok((0, "calibrated"));
    };
    let (ticks, source) = match threshold_ns {
        None => (usual_threshold(clock, storing_ticks), "calibrated"),
        Some(asked_ns) if (clock.ticks(asked_ns) as f64) < least_threshold(clock) => {
            let iteration_ns = clock.ns(clock.read_mean_ticks as u64);
            let least_ns = clock.ns(least_threshold(clock).ceil() as u64) + 1;
            let why = format!(
                "a threshold of {asked_ns} ns is not above two iterations of the loop \
                 ({iteration_ns} ns each on this machine)"
            );
            let remedy = format!("ask for at least {least_ns} ns");
            return Err(ProblemKind::Usage.problem(why, remedy));
        }
        Some(asked_ns) => (clock.ticks(asked_ns), "asked"),
    };
    let threshold = Duration::from_nanos(clock.ns(ticks));
    if duration <= threshold {
        let why = format!("no detour over {threshold:?} fits into {duration:?}");
        let remedy = "measure longer with --duration, or use a lower --threshold";
        return Err(ProblemKind::Usage.problem(why, remedy));
    }
    Ok((ticks, source))
}

/// Returns what is to end the run before its time.
fn stop_on(plan: &Plan, threshold_ticks: u64, clock: &Clock) -> Result<Option<Stop>, Problem> {
    let Some(condition) = plan.stop_on else { return Ok(None) };
    if let StopCondition::Longer(ns) = condition
        && clock.ticks(ns) < threshold_ticks
    {
        let threshold = Duration::from_nanos(clock.ns(threshold_ticks));
        let why = format!(
            "'{condition}' is below the threshold of {threshold:?}, under which no detour is seen"
        );
        return Err(
            ProblemKind::Usage.problem(why, "wait for a longer detour, or use a lower --threshold")
        );
    }
    let asked_ns = |keep: Duration| u64::try_from(keep.as_nanos()).unwrap_or(u64::MAX);
    let kept = plan.keep.map(|keep| Kept { asked_ns: asked_ns(keep), dropped_ns: 0 });
    Ok(Some(Stop { condition, met: None, kept }))
}

fn policies(plan: &Plan) -> anechoic_recording::Policy {
    let policies = plan.experiment.policies();
    let names: Vec<_> = policies.into_iter().map(Policy::recorded).collect();
    anechoic_recording::Policy::several(&names)
}

/// Returns the quantum of ordinary loops, which inherit it from this thread.
fn quantum(plan: &Plan) -> Option<u64> {
    plan.experiment.policies().contains(&Policy::Other).then(|| quantum_ns(&Root::live()))?
}

/// Notes that two loops on one core share it, which alone makes their iterations longer.
fn note_siblings(run: &mut Run, plan: &Plan) {
    let share = |measured: &[u32]| {
        run.machine.cpus.iter().filter(|cpu| measured.contains(&cpu.cpu)).any(|cpu| {
            let siblings = cpus::parse(&cpu.siblings).unwrap_or_default();
            siblings.iter().filter(|sibling| measured.contains(sibling)).count() > 1
        })
    };
    if plan.experiment.cells.iter().any(|cell| share(cell.on.cpus())) {
        let note = "SMT siblings were measured together and slowed each other down; use --cpus to measure one of each pair";
        run.notes.push(note.to_owned());
    }
}

/// Returns the duration of one undisturbed iteration, from the shortest gap of a class of CPUs.
///
/// Two reads within one step of a coarse counter differ by a tick or by nothing, which is not an iteration.
/// The mean of the calibration's undisturbed reads is used instead.
pub(super) fn one_iteration(shortest_gap_ticks: u64, clock: &Clock) -> u64 {
    let mean = clock.read_mean_ticks as u64;
    if shortest_gap_ticks * 2 < mean { mean } else { shortest_gap_ticks }
}

/// Describes one CPU before its loop runs; if the run is cut off, nothing more is known.
pub(super) fn cpu(run: &Run, cpu: u32, tid: i32) -> CpuRun {
    let detours = run.method == DETOURS;
    let shortest = if detours { one_iteration(run.clock.read_min_ticks, &run.clock) } else { 0 };
    let known = run.machine.cpus.iter().find(|known| known.cpu == cpu);
    CpuRun {
        cpu,
        tid,
        class: known.map_or_else(|| run.machine.model.clone(), |known| known.class.clone()),
        first_ticks: run.start_ticks,
        last_ticks: run.start_ticks,
        iterations: 0,
        own_shortest_gap_ticks: if detours { run.clock.read_min_ticks } else { 0 },
        shortest_gap_ticks: shortest,
        detours: 0,
        lost_detours: 0,
        page_faults: 0,
        last_cpu: cpu,
    }
}

/// Completes the description with what the CPU's loop measured in all its rounds.
pub(super) fn complete(cpu: &mut CpuRun, seen: &[&LoopResult]) {
    let (Some(first), Some(last)) = (seen.first(), seen.last()) else { return };
    cpu.first_ticks = first.first_ticks;
    cpu.last_ticks = last.last_ticks;
    cpu.last_cpu = last.last_cpu;
    if let Some(watch) = &last.watch {
        cpu.iterations = watch.iterations;
        cpu.own_shortest_gap_ticks = watch.shortest;
    }
    cpu.detours = seen.iter().map(|seen| seen.gaps.0).sum();
    cpu.lost_detours = seen.iter().map(|seen| seen.gaps.1).sum();
    cpu.page_faults = seen.iter().map(|seen| seen.usage.page_faults()).sum();
}

/// Returns the UTC time `later` from now, to the microsecond.
pub(super) fn now_utc(later: Duration) -> String {
    let now = jiff::Timestamp::now();
    format!("{:.6}", now.checked_add(later).unwrap_or(now))
}

/// Returns a UTC time moved by `later`; unchanged if it is none.
pub(super) fn later(utc: &str, later: Duration) -> String {
    let moved = utc.parse::<jiff::Timestamp>().ok().and_then(|time| time.checked_add(later).ok());
    moved.map_or_else(|| utc.to_owned(), |time| format!("{time:.6}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;

    fn counter(hertz: u64, read_mean_ticks: f64, deltas: &[u64]) -> Clock {
        let read_deltas = deltas.iter().map(|&delta| (delta, 1)).collect();
        Clock { read_mean_ticks, read_deltas, ..builders::clock(hertz) }
    }

    #[test]
    fn the_usual_threshold_is_some_iterations_and_some_steps_of_the_counter() {
        let cases = [
            ("TSC", counter(2_600_000_000, 24.5, &[24, 49, 73]), 78, 196, 49.0),
            ("a fine counter", counter(1_000_000_000, 20.0, &[20, 21, 22]), 40, 160, 40.0),
            ("AArch64 at 25 MHz, 10 ns per read", counter(25_000_000, 0.25, &[0, 1]), 0, 4, 1.0),
            ("an emulated CPU", counter(1_000_000_000, 17.5, &[12, 24]), 140, 280, 35.0),
            (
                "AArch64 at 1 GHz, in steps of 40 ticks",
                counter(1_000_000_000, 10.0, &[0, 40, 80]),
                20,
                160,
                40.0,
            ),
        ];
        for (name, clock, storing, usual, least) in cases {
            assert_eq!(
                (usual_threshold(&clock, storing), least_threshold(&clock)),
                (usual, least),
                "case: {name}"
            );
        }
    }

    #[test]
    fn loops_of_one_class_with_different_counters_are_not_alike() {
        let loop_at = |millihertz| {
            let clock = Clock { frequency_millihertz: millihertz, ..builders::clock(1) };
            same_loop("EPYC", &clock)
        };
        assert_ne!(loop_at(2_000_000_000_000), loop_at(2_600_000_000_000));
        assert_eq!(
            loop_at(2_596_100_000_000),
            loop_at(2_596_200_000_123),
            "two calibrations of one counter"
        );
    }
}
