//! The speed of a kernel: time and cycles per instruction.

use crate::samples::Fixed;
use crate::samples::distribution::Distribution;
use crate::samples::facts::SeriesFacts;
use anechoic_recording::{Parameters, Series};
use schemars::JsonSchema;
use serde::Serialize;

/// Undisturbed speed of a kernel.
///
/// It comes from the calibration just before the run, without counter reads; samples of a watched series contain one
/// after each step, which is not part of the kernel. If the recording lacks the calibration, it comes from the third
/// decile of the samples (see `Distribution::third_decile_mean`), including these reads.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pace {
    /// Nanoseconds per instruction of the kernel's kind; for a do-nothing loop, per iteration.
    pub ns_per_instruction: f64,
    /// Counter ticks per instruction or iteration.
    pub ticks_per_instruction: f64,
    /// Core cycles per instruction or iteration; absent if the recording does not contain the length of a cycle.
    pub cycles: Option<Cycles>,
}

/// Core cycles, by comparison with a chain of additions that take one cycle each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Cycles {
    /// Cycles per instruction; for a do-nothing loop, per iteration.
    pub per_instruction: f64,
    /// Frequency of the core in MHz during the chain of additions, just before the run.
    pub core_mhz: f64,
}

/// One million, the unit of counts of iterations and cycles.
const MEGA: f64 = 1e6;

impl Pace {
    /// Returns the speed in a series; absent if the kernel has no instructions of its kind or ran none.
    ///
    /// `window_ns` is the length of a window of fixed time, `tick_ns` that of a counter tick.
    pub(crate) fn new(
        facts: &SeriesFacts,
        series: &Series,
        distribution: &Distribution,
        window_ns: f64,
        tick_ns: f64,
    ) -> Option<Self> {
        let instructions = f64::from(facts.instructions);
        let unit = facts.iterations as f64 * instructions;
        let ns_per_instruction = match (series.parameters.megaiteration_ticks, facts.fixed) {
            (0, Fixed::Work) => distribution.third_decile_mean / unit,
            (0, Fixed::Time) => window_ns / (distribution.third_decile_mean * unit),
            (ticks, _) => ticks as f64 * tick_ns / (MEGA * instructions),
        };
        let cycle_ns = series.parameters.megacycle_ticks as f64 * tick_ns / MEGA;
        (ns_per_instruction.is_finite() && ns_per_instruction > 0.0).then(|| Self {
            ns_per_instruction,
            ticks_per_instruction: ns_per_instruction / tick_ns,
            cycles: (cycle_ns > 0.0).then(|| Cycles {
                per_instruction: ns_per_instruction / cycle_ns,
                core_mhz: 1e3 / cycle_ns,
            }),
        })
    }
}

/// Returns the core cycles per instruction of the kernel's kind from the calibration just before the run; absent if the
/// recording does not contain it, or if the kernel has no such instruction.
pub(crate) fn cycles_per_instruction(series: &Series) -> Option<f64> {
    let Parameters { megacycle_ticks, megaiteration_ticks, instructions, .. } = series.parameters;
    let cycles = megacycle_ticks as f64 * f64::from(instructions);
    (cycles > 0.0 && megaiteration_ticks > 0).then(|| megaiteration_ticks as f64 / cycles)
}
