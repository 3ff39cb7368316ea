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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::block_shares::BlockShares;
    use crate::samples::distribution::SeriesValues;
    use crate::samples::moments::Moments;
    use crate::samples::values::Scale;
    use crate::testing::clock_ns;
    use anechoic_lab::sample;
    use anechoic_recording::run::{Outcome, RunState};

    /// Returns the distribution of samples that all have this value.
    fn equal(value: u64, fixed: Fixed) -> Distribution {
        let (mut moments, mut shares) = (Moments::default(), BlockShares::new(1));
        moments.add(&[value; 10]);
        shares.add(&[value; 10]);
        let (mut cells, blocks) = shares.finish();
        let (rounding, scale) = (cells.rounding(), Scale::new(fixed, &clock_ns()));
        let (moments, cells) = (&moments, cells.cells());
        let values = SeriesValues { moments, cells, rounding, blocks: &blocks, scale };
        Distribution::from_values(&values).expect("ten values")
    }

    /// The kernel has 512 instructions in an iteration, and 1,000 iterations in a sample. A tick takes half a nanosecond.
    fn pace(fixed: Fixed, change: fn(&mut Series)) -> Option<Pace> {
        let mut series = sample::series().swap_remove(0);
        series.fixed = fixed;
        change(&mut series);
        let facts =
            SeriesFacts::new(&series, &Outcome::default(), &sample::run(RunState::Complete));
        // Samples of 1 ms, or 4 units of work in each.
        let samples = equal(if fixed == Fixed::Work { 1_000_000 } else { 4 }, fixed);
        Pace::new(&facts, &series, &samples, 1e6, 0.5)
    }

    fn close(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-12
    }

    #[test]
    fn the_pace_is_that_of_the_calibration_or_else_of_the_samples() {
        // A million iterations took 307,200,000 ticks, a million cycles 600,000.
        let known = pace(Fixed::Work, |_| {}).expect("a calibration");
        assert!(close(known.ns_per_instruction, 307.2 * 0.5 / 512.0), "{known:?}");
        assert!(close(known.ticks_per_instruction, 307.2 / 512.0), "{known:?}");
        let cycles = known.cycles.expect("the length of a cycle");
        assert!(close(cycles.per_instruction, 307.2 / 512.0 / 0.6), "{cycles:?}");
        assert!(close(cycles.core_mhz, 1e3 / 0.3), "{cycles:?}");
        let unknown = |series: &mut Series| series.parameters.megaiteration_ticks = 0;
        let work = pace(Fixed::Work, unknown).expect("samples");
        assert!(close(work.ns_per_instruction, 1e6 / 512_000.0), "{work:?}");
        let time = pace(Fixed::Time, unknown).expect("samples");
        assert!(close(time.ns_per_instruction, 1e6 / (4.0 * 512_000.0)), "{time:?}");
        let without = |series: &mut Series| series.parameters.instructions = 0;
        assert_eq!(pace(Fixed::Work, without), None, "a kernel without instructions");
        let no_cycle = |series: &mut Series| series.parameters.megacycle_ticks = 0;
        assert_eq!(pace(Fixed::Work, no_cycle).expect("a calibration").cycles, None);
    }

    #[test]
    fn cycles_come_from_both_calibrations() {
        let found = |change: fn(&mut Series)| {
            let mut series = sample::series().swap_remove(0);
            change(&mut series);
            cycles_per_instruction(&series)
        };
        assert!(found(|_| {}).is_some_and(|cycles| close(cycles, 307.2 / (0.6 * 512.0))));
        assert_eq!(found(|series| series.parameters.megacycle_ticks = 0), None);
        assert_eq!(found(|series| series.parameters.megaiteration_ticks = 0), None);
        assert_eq!(found(|series| series.parameters.instructions = 0), None);
    }
}
