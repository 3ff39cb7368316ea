//! Tests of whole simulations.

mod bad_input;
mod closed_forms;
mod formats;
mod measured;
mod ranks;
mod reference;

mod tolerance;
mod traces;
mod waves;

use anechoic_predict::phases::{Span, Timeline};
use anechoic_simulate::patterns::{Job, find};
use anechoic_simulate::{Model, Noise, Outcome, Parameters, Schedule, Trace, simulate};

/// The defaults of LogGOPSim.
const LOGGOPSIM: Parameters = Parameters {
    latency_ps: 2_500_000,
    overhead_ps: 1_500_000,
    gap_ps: 1_000_000,
    gap_per_byte_ps: 6_000,
    overhead_per_byte_ps: 0,
    eager_bytes: 65_535,
};

/// Messages that cost nothing.
const FREE: Parameters = Parameters {
    latency_ps: 0,
    overhead_ps: 0,
    gap_ps: 0,
    gap_per_byte_ps: 0,
    overhead_per_byte_ps: 0,
    eager_bytes: u64::MAX,
};

fn schedule(pattern: &str, ranks: u32, iterations: u32, grain_ns: u64, bytes: u64) -> Schedule {
    let job = Job { ranks, iterations, grain_ns, bytes };
    find(pattern).expect("a pattern").schedule(&job).expect("a schedule")
}

fn simulated(schedule: &Schedule, parameters: &Parameters, noise: &mut Noise) -> Outcome {
    simulate(schedule, parameters, Model::Anechoic, noise, &mut |_, _| true)
        .expect("all is executed")
}

/// Returns a recording of 2,000 detours between 0.5 and 20.5 µs, one about every 97 µs.
fn timeline() -> Timeline {
    let detour = |number: u64| {
        let start_ns = number * 97_003 + number * number * 7_919 % 50_000;
        Span { start_ns, end_ns: start_ns + 500 + number * 7_331 % 20_000 }
    };
    Timeline::new(2_000 * 97_003, (0..2_000).map(detour).collect())
}

/// Returns that recording as noise.
fn trace() -> Trace {
    Trace::from_timeline(&timeline()).expect("in memory")
}
