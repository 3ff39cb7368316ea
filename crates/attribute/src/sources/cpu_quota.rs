//! A cgroup's CPU quota.

use super::{Claim, Source, named};
use crate::frame::{Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "cpu-quota",
    title: "CPU quota",
    what: "The CPU idled although the measured thread could run: its control group had used up its CPU time.",
    reduce: &[
        "cpu.max of the control group (max lifts the limit): a container's CPU limit sets it",
    ],
    events: &[EventKind::Switch],
    claim,
};

/// Idle with a real-time victim is claimed by `rt-throttling` before.
fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Thread { pid: 0, .. } => named(labels.names().none()),
        _ => None,
    }
}
