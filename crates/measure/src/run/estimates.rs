//! Estimates of how long the samples of a cell take.

use super::paces::OnCpu;
use crate::experiment::{Act, Amount, Cell, Preemption, Sample, Samples};
use crate::kernel::Kernel;
use anechoic_recording::Clock;
use std::time::Duration;

/// Approximate duration of a sample of no work.
const EMPTY_SAMPLE: Duration = Duration::from_nanos(30);
/// Approximate time of a context switch there and back, or of a migration.
const SWITCH: Duration = Duration::from_micros(20);
/// Approximate time for which a token is on its way from one thread to another on the same CPU.
const HOP: Duration = Duration::from_micros(2);
/// Approximate bytes of a workspace that another kernel passes over in a nanosecond.
const BYTES_PER_NS: u64 = 8;

/// Returns whether a sample is one call that does nothing, whatever was requested.
pub(super) fn is_empty(sample: &Sample) -> bool {
    sample.kernel.is_null() && matches!(sample.amount, Amount::Grain(_))
}

/// Returns the duration of a sample without noise.
pub(super) fn length_of(sample: &Sample, on: OnCpu, clock: &Clock) -> Duration {
    match sample.amount.length() {
        Some(_) if is_empty(sample) => EMPTY_SAMPLE,
        Some(length) => length,
        None => Duration::from_nanos(clock.ns(on.pace.calibrated_ticks)),
    }
}

/// Returns the duration of a sample of a cell, in which each member of its ring does the work.
pub(super) fn way_around(cell: &Cell, one: Duration) -> Duration {
    cell.ring.map_or(one, |ring| one.saturating_add(HOP).saturating_mul(ring.members))
}

/// Returns the time that limits a series, and the smallest number of its samples.
pub(super) fn within(sample: &Sample) -> Option<(Duration, u64)> {
    match sample.samples {
        Samples::Within { time, least, .. } => Some((time, least)),
        Samples::Count(_) | Samples::Fill(_) => None,
    }
}

/// Estimates how long the samples of a cell take without noise, one after the other on each CPU.
pub(super) fn expected_of(cell: &Cell, sample: &Sample, one: Duration, samples: u64) -> Duration {
    let times =
        |time: Duration, count: u64| time.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    let all = times(one, samples.saturating_mul(cell.copies.into()));
    let Some((time, least)) = within(sample) else { return all };
    let one = cell.between.iter().map(|act| time_of(act, one)).fold(one, Duration::saturating_add);
    times(one, samples).min(time).max(times(one, least))
}

/// Estimates how long an act takes; `one` is the time of a sample.
fn time_of(act: &Act, one: Duration) -> Duration {
    let of_kernel =
        |kernel: Kernel| SWITCH + Duration::from_nanos(kernel.workspace_bytes() / BYTES_PER_NS);
    match *act {
        Act::Meet(_) | Act::Migrate(_) => SWITCH,
        Act::Look => Duration::ZERO,
        Act::Repeat | Act::Prepare => one,
        Act::Sleep(time) | Act::Preempt(Preemption::Sleep(time)) => SWITCH + time,
        Act::Work(kernel, _) | Act::Preempt(Preemption::Pass(kernel)) => of_kernel(kernel),
    }
}

/// Returns the largest number of samples of one loop.
pub(super) fn samples(sample: &Sample, on: OnCpu, copies: u32, clock: &Clock) -> u64 {
    match sample.samples {
        Samples::Count(count) | Samples::Within { most: count, .. } => count,
        Samples::Fill(time) => {
            let of_all = on.pace.calibrated_ticks.saturating_mul(copies.into()).max(1);
            ((clock.ticks_of(time) + of_all / 2) / of_all).max(1)
        }
    }
}
