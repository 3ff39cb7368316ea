//! How many iterations of a kernel fill a sample, and how many lie between two counter reads. The same method as the
//! command's, `crates/measure/src/calibrate.rs`, which gives the reasons for the constants.

use crate::clock::{Clock, ReadCost};
use anechoic_kernels::counter;
use core::hint::black_box;

const CALLS: usize = 101;
const CALL_NS: u64 = 50_000;
const AGREEMENT: f64 = 0.005;
const TRIALS: usize = 20;
const STEP_NS: u64 = 500;
const STEPS_OF_SAMPLE: u64 = 16;
const STEPS_OF_WINDOW: u64 = 1_000;
const FEWEST_STEPS: u64 = 8;
const STEP_GROUP: u64 = 64;
const PASSES_NS: u64 = 20_000_000;

/// How a kernel's work fills a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    /// Iterations in a sample, or in a unit if the time is fixed.
    pub iterations: u64,
    /// Duration of these iterations without noise, counter reads included.
    pub calibrated_ticks: u64,
    /// Duration of a million iterations without counter reads; 0 for no work at all.
    pub megaiteration_ticks: u64,
    /// The work between two counter reads, if gaps inside samples are recorded.
    pub step: Option<Step>,
}

/// The work between two counter reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Iterations in a step.
    pub iterations: u64,
    /// Duration of a step without noise.
    pub ticks: u64,
    /// A longer step is a detour.
    pub threshold_ticks: u64,
    /// Steps in a sample of fixed work.
    pub in_sample: u64,
}

/// What a sample should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Work that lasts this number of nanoseconds, and whether the counter is read inside it.
    Grain(u64, bool),
    /// Number of iterations in a sample, and in a step of it.
    Iterations(u64, u64),
    /// A unit of work for windows of this number of nanoseconds.
    Window(u64),
}

/// Calibrates a kernel. An error is the shortest grain that can be measured, in nanoseconds.
///
/// # Errors
/// Fails if the grain is too short.
pub fn pace(
    clock: &Clock,
    reads: &ReadCost,
    body: &mut impl FnMut(u64) -> u64,
    amount: Amount,
) -> Result<Pace, u64> {
    let iteration = iteration(clock, body);
    let megaiteration_ticks = rounded(iteration * 1e6);
    let of_steps = |iterations, step: f64, in_sample| Pace {
        iterations: iterations * in_sample,
        calibrated_ticks: rounded(step * in_sample as f64),
        megaiteration_ticks,
        step: Some(watched(reads, iterations, step, in_sample)),
    };
    let (grain_ns, steps) = match amount {
        Amount::Grain(grain_ns, _) => (grain_ns, STEPS_OF_SAMPLE),
        Amount::Window(window_ns) => (window_ns, STEPS_OF_WINDOW),
        Amount::Iterations(sample, one) => {
            let step = self::step(body, one);
            return Ok(of_steps(one, step, sample / one));
        }
    };
    let grain = clock.ticks(grain_ns) as f64;
    let least_ns = |ticks: f64| clock.ns(rounded(ticks)) + 1;
    let frame = 20.0 * reads.mean_millis as f64 / 1000.0; // a tenth of the sample at most
    if grain < frame {
        return Err(least_ns(frame));
    }
    let step_ns = STEP_NS.min(grain_ns / steps);
    let iterations = rounded(clock.ticks(step_ns) as f64 / iteration).max(1);
    let step = self::step(body, iterations);
    let in_sample = rounded(grain / step);
    match amount {
        Amount::Window(_) if in_sample < FEWEST_STEPS => Err(least_ns(step * FEWEST_STEPS as f64)),
        Amount::Window(_) => Ok(of_steps(iterations, step, 1)),
        Amount::Grain(_, true) if in_sample >= FEWEST_STEPS => {
            Ok(of_steps(iterations, step, in_sample))
        }
        _ => {
            let iterations = rounded(grain / iteration).max(1);
            let calibrated = iteration * iterations as f64;
            if calibrated > 1.5 * grain {
                return Err(least_ns(iteration));
            }
            Ok(Pace {
                iterations,
                calibrated_ticks: rounded(calibrated),
                megaiteration_ticks,
                step: None,
            })
        }
    }
}

fn watched(reads: &ReadCost, iterations: u64, ticks: f64, in_sample: u64) -> Step {
    let threshold_ticks = rounded(ticks * 1.5) + 2 * reads.step();
    Step { iterations, ticks: rounded(ticks), threshold_ticks, in_sample }
}

/// Returns the pace of the kernel that does nothing: one call in a sample or unit.
pub fn null(reads: &ReadCost, body: &mut impl FnMut(u64) -> u64, amount: Amount) -> Pace {
    let ticks = step(body, 1);
    let counted = matches!(amount, Amount::Window(_));
    let step = counted.then(|| watched(reads, 1, ticks, 1));
    Pace { iterations: 1, calibrated_ticks: rounded(ticks), megaiteration_ticks: 0, step }
}

/// Returns the ticks of one pass over a working set, undisturbed.
pub fn pass(clock: &Clock, body: &mut impl FnMut(u64) -> u64, iterations: u64) -> f64 {
    let first = call(body, iterations).max(1);
    let passes = (clock.ticks(PASSES_NS) / first).clamp(1, 21) as usize;
    third_decile(passes, || call(body, iterations))
}

/// Returns the ticks of one iteration.
pub fn iteration(clock: &Clock, body: &mut impl FnMut(u64) -> u64) -> f64 {
    let least = clock.ticks(CALL_NS) as f64;
    let mut iterations = 1;
    while third_decile(11, || call(body, iterations)) < least {
        iterations *= 2;
    }
    agreed(|| third_decile(CALLS, || call(body, iterations))) / iterations as f64
}

/// Returns the ticks of a step, including the counter read that ends it.
fn step(body: &mut impl FnMut(u64) -> u64, iterations: u64) -> f64 {
    let mut group = || {
        let begin = counter::boundary().0;
        let mut end = begin;
        for _ in 0..STEP_GROUP {
            black_box(body(iterations));
            end = counter::boundary().0;
        }
        end.saturating_sub(begin)
    };
    agreed(|| third_decile(CALLS, &mut group)) / STEP_GROUP as f64
}

fn call(body: &mut impl FnMut(u64) -> u64, iterations: u64) -> u64 {
    let begin = counter::boundary().0;
    black_box(body(iterations));
    counter::boundary().0.saturating_sub(begin)
}

/// Measures until two trials in a row agree, or returns the median of many.
fn agreed(mut measure: impl FnMut() -> f64) -> f64 {
    let mut trials = [measure(); TRIALS];
    for at in 1..TRIALS {
        let (last, next) = (trials[at - 1], measure());
        if (next - last).abs() / last.min(next).max(1.0) <= AGREEMENT {
            return (last + next) / 2.0;
        }
        trials[at] = next;
    }
    trials.sort_unstable_by(f64::total_cmp);
    trials[TRIALS / 2]
}

/// Returns the mean between the 20th and the 30th percentile of at most [`CALLS`] measurements (Tsafrir 2007).
fn third_decile(calls: usize, mut measure: impl FnMut() -> u64) -> f64 {
    let mut ticks = [0; CALLS];
    let ticks = &mut ticks[..calls];
    ticks.iter_mut().for_each(|one| *one = measure());
    ticks.sort_unstable();
    let at = |tenths: usize| tenths * calls / 10;
    let middle = &ticks[at(2)..at(3).max(at(2) + 1)];
    middle.iter().sum::<u64>() as f64 / middle.len() as f64
}

/// Rounds a positive number to the nearest whole one.
#[must_use]
pub fn rounded(value: f64) -> u64 {
    (value + 0.5) as u64
}
