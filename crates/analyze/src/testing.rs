//! Values that tests share.

use anechoic_recording::testing::clock;
use anechoic_recording::{Activity, ActivityKind, Clock};

/// A clock of one tick a nanosecond, so that tables of expected values can be read.
pub(crate) fn clock_ns() -> Clock {
    clock(1_000_000_000)
}

/// An activity on CPU 0 with nothing known but its time.
pub(crate) fn activity(
    detour: u64,
    kind: ActivityKind,
    source: &str,
    name: &str,
    self_ticks: u64,
) -> Activity {
    let row = anechoic_recording::testing::activity((0, detour), kind, source, 0, self_ticks);
    Activity { name: name.into(), ..row }
}
