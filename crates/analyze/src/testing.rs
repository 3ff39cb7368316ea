//! Values shared by tests.

use crate::fold::Fold;
use crate::split::Split;
use anechoic_lab::builders::clock;
use anechoic_recording::{Activity, ActivityKind, Clock, DetourView};

/// A clock with one tick per nanosecond, which keeps tables of expected values readable.
pub(crate) fn clock_ns() -> Clock {
    clock(1_000_000_000)
}

/// An activity on CPU 0 with only its time set.
pub(crate) fn activity(
    detour: u64,
    kind: ActivityKind,
    source: &str,
    name: &str,
    self_ticks: u64,
) -> Activity {
    let row = anechoic_lab::builders::activity((0, detour), kind, source, 0, self_ticks);
    Activity { name: name.into(), ..row }
}

/// Passes the detours made of these activities to a fold, each as long as its activities together.
pub(crate) fn show(rows: &[Activity], fold: &mut dyn Fold) {
    let mut split = Split::default();
    for activities in rows.chunk_by(|a, b| a.detour == b.detour) {
        let lost_ticks = activities.iter().map(|activity| activity.self_ticks).sum();
        let detour = DetourView { activities, ..detour(0, lost_ticks) };
        fold.detour(&split.split(DetourView { index: activities[0].detour, ..detour }));
    }
}

/// A detour of CPU 0 without activities.
pub(crate) fn detour(start_ticks: u64, lost_ticks: u64) -> DetourView<'static> {
    DetourView {
        cpu: 0,
        index: 0,
        start_ticks,
        end_ticks: start_ticks + lost_ticks,
        lost_ticks,
        stint: 0,
        activities: &[],
    }
}

/// A generator of random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next number from 0 up to 1.
    pub(crate) fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next number of a normal distribution with mean 0 and variance 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.share()).ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}
