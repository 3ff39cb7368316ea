//! Tsafrir's closed form, with one delay of one length.

use super::timeline::Timeline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The closed form of Tsafrir et al. (ICS 2005): a phase of a rank is delayed by `delay_ns` with probability `p`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClosedForm {
    /// Probability of a delay in one rank's phase: rate of the detours (per free time) multiplied by the grain, at most
    /// 1.
    pub p: f64,
    /// Length of the delay in ns: the mean detour.
    pub delay_ns: f64,
    /// Limit of the slowdown for many ranks: 1 + delay / grain.
    pub limit: f64,
}

impl ClosedForm {
    /// Returns the closed form with the rate and the mean length of these CPUs' detours.
    #[must_use]
    pub fn of<'a>(cpus: impl IntoIterator<Item = &'a Timeline>, grain_ns: u64) -> Self {
        let (mut detours, mut lost, mut free) = (0.0, 0.0, 0.0);
        for cpu in cpus {
            detours += cpu.count() as f64;
            lost += cpu.lost_ns() as f64;
            free += cpu.free_ns() as f64;
        }
        let delay_ns = if detours > 0.0 { lost / detours } else { 0.0 };
        let p = (detours * grain_ns as f64 / free.max(1.0)).min(1.0);
        Self { p, delay_ns, limit: 1.0 + delay_ns / grain_ns.max(1) as f64 }
    }

    /// Returns the slowdown of `ranks`: 1 + (1 - (1 - p)^ranks) delay / grain.
    #[must_use]
    pub fn slowdown(&self, ranks: u64) -> f64 {
        if ranks == 0 {
            return 1.0; // also avoids 0 * ln(0) = NaN when p = 1
        }
        let any = -f64::exp_m1(ranks as f64 * f64::ln_1p(-self.p));
        1.0 + any * (self.limit - 1.0)
    }
}
