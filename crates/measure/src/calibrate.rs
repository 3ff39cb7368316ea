//! Calibration: how many iterations of a kernel fill a sample, and how many lie between two counter reads.

use crate::experiment::Amount;
use crate::kernel::user::{self, UserBody};
use crate::kernel::{AnyBody, Body, Kernel, Memory};
use anechoic_kernels::calibration::{self, Calibration, Calls, Counter, Pace, TooShort};
use anechoic_recording::{Clock, Problem, ProblemKind};

/// What a sample should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PaceRequest {
    pub(crate) amount: Amount,
    /// Whether to read the counter inside a sample of fixed work.
    pub(crate) watched: bool,
}

/// The interquartile range of a calibration's trials, as a share of their median; 0 where two in a row
/// agreed. It is the largest one of a kernel's calibrations.
pub(crate) type Doubt = f64;

/// Calibrates a kernel on the CPU that the calling thread is pinned to, in memory that is large enough for it.
///
/// # Errors
/// Fails if the grain is too short to measure.
pub(crate) fn calibrate(
    kernel: Kernel,
    wanted: PaceRequest,
    clock: &Clock,
    memory: &mut Memory,
) -> Result<(Pace, Doubt), Problem> {
    let mut on = Calibration::new(counter(clock));
    let pace = match AnyBody::prepare(kernel, memory) {
        AnyBody::Plain(body) => pace(&mut on, kernel, body, wanted),
        AnyBody::User(body) => user_pace(&mut on, kernel, body, wanted),
        AnyBody::Memory(body) => pace(&mut on, kernel, body, wanted),
    };
    Ok((pace?, on.take_doubt()))
}

/// Measures how many ticks a million core cycles take on the CPU that the calling thread is pinned to.
pub(crate) fn megacycle(chain: Kernel, clock: &Clock, memory: &mut Memory) -> (u64, Doubt) {
    let mut on = Calibration::new(counter(clock));
    let mut body = AnyBody::prepare(chain, memory);
    let ticks = on.megacycle(&mut |n| body.run(n), chain.instructions());
    (ticks, on.take_doubt())
}

fn counter(clock: &Clock) -> Counter {
    Counter {
        ticks_per_ns: clock.frequency_millihertz as f64 / 1e12,
        read_ticks: clock.read_mean_ticks,
        step_ticks: clock.step_ticks(),
    }
}

/// Calibrates a function of the user's own, which may crash, or do nothing.
fn user_pace(
    on: &mut Calibration,
    kernel: Kernel,
    body: UserBody<'_>,
    wanted: PaceRequest,
) -> Result<Pace, Problem> {
    let found = pace(on, kernel, body, wanted);
    if let Some(failure) = user::failure() {
        return Err(failure.problem("during calibration"));
    }
    let found = found?;
    if found.megaiteration_ticks == 0 {
        let why = format!("{}: a million units take no time", kernel.id());
        let remedy = "have each unit do work, on which the value that is returned depends";
        return Err(ProblemKind::Data.problem(why, remedy));
    }
    Ok(found)
}

fn pace(
    on: &mut Calibration,
    kernel: Kernel,
    mut body: impl Body,
    wanted: PaceRequest,
) -> Result<Pace, Problem> {
    let watched = wanted.watched;
    let (ns, amount) = match wanted.amount {
        Amount::Grain(length) => {
            let ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
            (ns, calibration::Amount::Grain { ns, watched })
        }
        Amount::Window(length) => {
            let ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
            (ns, calibration::Amount::Window { ns })
        }
        Amount::Pass => (0, calibration::Amount::Pass { iterations: kernel.pass() }),
    };
    let mut body = |iterations| body.run(iterations);
    if kernel.is_null() {
        return Ok(on.null_pace(&mut body, amount));
    }
    let calls = if kernel.is_do_nothing() { Calls::Million } else { Calls::Long };
    on.pace(&mut body, calls, amount).map_err(|TooShort { least_ns }| {
        let why = format!("{}: {ns} ns is too short to measure", kernel.id());
        ProblemKind::Usage.problem(why, format!("ask for at least {least_ns} ns"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Pages;
    use anechoic_kernels::memory::Params;
    use anechoic_kernels::work::{Family, KERNELS};
    use std::time::Duration;

    fn calibrated(
        kernel: Kernel,
        wanted: PaceRequest,
        clock: &Clock,
    ) -> Result<(Pace, Doubt), Problem> {
        let mut memory = Memory::for_largest(std::iter::once(kernel), Pages::default())?;
        calibrate(kernel, wanted, clock, &mut memory)
    }

    #[test]
    fn every_kernel_fills_its_grain() {
        let clock = anechoic_system::clock::calibrate(&[0], true).expect("a counter");
        anechoic_system::cpus::pin(&anechoic_system::cpus::allowed()[..1]).expect("a CPU");
        for kernel in KERNELS.iter().filter(|kernel| kernel.family != Family::Null) {
            let length = Duration::from_millis(1);
            let (grain, window) = (Amount::Grain(length), Amount::Window(length));
            for (amount, watched) in [(grain, true), (grain, false), (window, true)] {
                let wanted = PaceRequest { amount, watched };
                let plain = Kernel::Plain(kernel);
                let (pace, doubt) = calibrated(plain, wanted, &clock).expect(kernel.id);
                println!("{} {wanted:?}: {pace:?} {doubt}", kernel.id);
                assert_eq!(pace.step.is_some(), watched);
                if amount == grain {
                    let off = clock.ns(pace.calibrated_ticks) as f64 / 1e6 - 1.0;
                    assert!(off.abs() < 0.02, "{}: {off}", kernel.id);
                }
            }
        }
    }

    #[test]
    fn a_pass_goes_through_the_whole_workspace() {
        let clock = anechoic_system::clock::calibrate(&[0], true).expect("a counter");
        let sort = |bytes| {
            let kernel = Kernel::on_memory("sort", Params { bytes }).expect("a kernel of ours");
            let wanted = PaceRequest { amount: Amount::Pass, watched: true };
            calibrated(kernel, wanted, &clock).expect("a pass needs no agreement").0
        };
        let [small, large] = [4_096, 65_536].map(sort);
        assert_eq!((small.iterations, large.iterations), (1_024, 16_384));
        assert!(large.calibrated_ticks > 4 * small.calibrated_ticks, "{small:?} {large:?}");
        assert!(small.step.is_none() && small.megaiteration_ticks > 0);
    }

    #[test]
    fn a_grain_of_nothing_is_refused_with_the_least() {
        let clock = anechoic_system::clock::calibrate(&[0], true).expect("a counter");
        let kernel = KERNELS.iter().find(|kernel| kernel.family != Family::Null).expect("one");
        let wanted = PaceRequest { amount: Amount::Grain(Duration::from_nanos(10)), watched: true };
        let error = calibrated(Kernel::Plain(kernel), wanted, &clock).unwrap_err().to_string();
        assert!(error.contains(": 10 ns is too short") && error.contains("at least"), "{error}");
    }
}
