//! Checks the counter: its reliability, rate, cost, and offset between CPUs.

use super::{RowResult, Scene};
use crate::cpus;
use std::collections::HashSet;

/// The frequency is not trusted with a larger residual: 0.1 s per hour. CLOCK_MONOTONIC_RAW and a good
/// counter agree to a few ppm even over the short time of a check.
const MAX_RESIDUAL_PPM: f64 = 30.0;

pub(super) fn counter(scene: &Scene) -> RowResult {
    match &scene.clock {
        Ok(clock) if clock.invariant => {
            RowResult::good(format!("{}, constant rate in all power states", clock.counter))
        }
        Ok(clock) => RowResult::limited(
            format!("{} may change rate or stop", clock.counter),
            "measure anyway with: anechoic run --allow-variant-tsc",
        ),
        Err(error) => RowResult::refused(error.into()),
    }
}

pub(super) fn frequency(scene: &Scene) -> RowResult {
    let Ok(clock) = &scene.clock else { return no_counter() };
    let rate = format!(
        "{:.3} MHz from {}",
        clock.frequency_millihertz as f64 / 1e9,
        clock.frequency_source
    );
    match clock.residual_ppm {
        Some(ppm) if ppm.abs() <= MAX_RESIDUAL_PPM => {
            RowResult::good(format!("{rate}, residual {ppm:+.2} ppm"))
        }
        Some(ppm) => RowResult::limited(
            format!("{rate}, residual {ppm:+.1} ppm"),
            "the clock is being adjusted or the machine is loaded; check again",
        ),
        None => RowResult::limited(
            format!("{rate}, not confirmed by a second source"),
            second_source(scene),
        ),
    }
}

/// Returns what would let a second source confirm the rate.
///
/// A kernel reports its rate through perf events only if its scheduler clock uses the counter; a guest that
/// booted with kvm-clock does not, even if its clock source is the counter later.
fn second_source(scene: &Scene) -> &'static str {
    let sources = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let sources = scene.root.read(sources).unwrap_or_default();
    if !super::perf::is_permitted() {
        "allow perf events, which report the rate: sysctl kernel.perf_event_paranoid=2"
    } else if sources.split_whitespace().any(|source| source == "kvm-clock") {
        "boot with no-kvmclock, so that the kernel reports its rate"
    } else {
        "none: neither the kernel nor the CPU reports the rate; longer runs measure it more exactly"
    }
}

pub(super) fn read(scene: &Scene) -> RowResult {
    let Ok(clock) = &scene.clock else { return no_counter() };
    let ns = |ticks: f64| ticks * 1e12 / clock.frequency_millihertz.max(1) as f64;
    let step = match clock.step_ticks() {
        1 => String::new(),
        step => format!(", steps of {step} ticks ({:.1} ns)", ns(step as f64)),
    };
    let mean = clock.read_mean_ticks;
    let calls = clock.call_costs_ns.iter().map(|(call, ns)| format!("; {call} {ns:.1} ns"));
    let calls: String = calls.collect();
    RowResult::good(format!("{mean:.1} ticks ({:.1} ns) each{step}{calls}", ns(mean)))
}

pub(super) fn skew(scene: &Scene) -> RowResult {
    let Ok(clock) = &scene.clock else { return no_counter() };
    let answered: HashSet<u32> = clock.skew.iter().map(|skew| skew.cpu).collect();
    let mut silent = scene.allowed.clone();
    silent.retain(|cpu| !answered.contains(cpu));
    if !silent.is_empty() {
        return RowResult::limited(
            format!("no answer from CPU {}", cpus::list(&silent)),
            "find what keeps it busy: ps -eLo tid,rtprio,psr,comm",
        );
    }
    if clock.skew.len() < 2 {
        return RowResult::fact("one CPU only");
    }
    let worst = clock.skew.iter().max_by_key(|skew| skew.offset_ticks.unsigned_abs());
    let bound = clock.skew.iter().map(|skew| skew.bound_ticks).max().unwrap_or(0);
    let offset = worst.map_or(0, |skew| skew.offset_ticks);
    let found = format!(
        "{} CPUs differ by {} ticks or less, known to ± {bound} ticks",
        clock.skew.len(),
        offset.unsigned_abs()
    );
    // An offset within its bound is not a measured offset.
    if clock.skew.iter().all(|skew| skew.offset_ticks.unsigned_abs() <= skew.bound_ticks) {
        return RowResult::good(found);
    }
    RowResult::limited(
        found,
        "compare times of one CPU only; a firmware update may align the counters",
    )
}

fn no_counter() -> RowResult {
    RowResult::missing("not available without a counter", "see the row 'counter'")
}
