//! What one instruction of a kernel took, and how many cycles that is.

use crate::samples::distribution::Distribution;
use crate::samples::facts::SeriesFacts;
use crate::samples::values::Fixed;
use anechoic_recording::{Parameters, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How fast the kernel ran undisturbed.
///
/// From the calibration just before the run, without looks at the counter: the samples of a watched series hold
/// one after each step, which is no part of the kernel. Where the recording does not tell, from the third decile
/// of the samples (see `Distribution::third_decile_mean`), the looks in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pace {
    /// Nanoseconds of one instruction of the kernel's kind; of a do-nothing loop, of one iteration.
    pub ns_per_instruction: f64,
    /// Counter ticks of the same.
    pub ticks_per_instruction: f64,
    /// Core cycles of the same; absent where the recording does not tell how long a cycle is.
    pub cycles: Option<Cycles>,
}

/// Core cycles, by comparison with a chain of additions, each of which takes one cycle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cycles {
    /// Cycles of one instruction; of a do-nothing loop, of one iteration.
    pub per_instruction: f64,
    /// The core's frequency while the chain of additions ran, just before the run, in MHz.
    pub core_mhz: f64,
}

/// A million, in which iterations and cycles are counted.
const MEGA: f64 = 1e6;

impl Pace {
    /// Of one series; absent where the kernel has no instructions of its kind or did none.
    ///
    /// `window_ns` is what a window of fixed time lasts, `tick_ns` a tick.
    pub(crate) fn of(
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

/// Core cycles of one instruction of the kernel's kind, from the calibration just before the run; absent where
/// the recording does not tell, or the kernel has no such instruction.
pub(crate) fn cycles_per_instruction(series: &Series) -> Option<f64> {
    let Parameters { megacycle_ticks, megaiteration_ticks, instructions, .. } = series.parameters;
    let cycles = megacycle_ticks as f64 * f64::from(instructions);
    (cycles > 0.0 && megaiteration_ticks > 0).then(|| megaiteration_ticks as f64 / cycles)
}
