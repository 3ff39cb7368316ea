//! Values that tests share.

use anechoic_recording::{Activity, ActivityKind, Clock};

/// A clock of one tick a nanosecond, so that tables of expected values can be read.
pub(crate) fn clock_ns() -> Clock {
    Clock {
        counter: "tsc".into(),
        frequency_mhz: 1_000_000_000_000,
        frequency_source: "test".into(),
        residual_ppm: None,
        invariant: true,
        read_mean_ticks: 10.0,
        read_min_ticks: 10,
        read_deltas: vec![],
        call_costs_ns: vec![],
        skew: vec![],
    }
}

/// An activity on CPU 0 with nothing known but its time.
pub(crate) fn activity(
    detour: u64,
    kind: ActivityKind,
    source: &str,
    name: &str,
    self_ticks: u64,
) -> Activity {
    Activity {
        cpu: 0,
        start_ticks: 0,
        end_ticks: self_ticks,
        self_ticks,
        detour,
        parent: None,
        kind,
        source: source.into(),
        name: name.into(),
        function: None,
        victim_state: "running".into(),
        sent_by_cpu: None,
        sent_by_task: None,
        steal_ns: None,
    }
}
