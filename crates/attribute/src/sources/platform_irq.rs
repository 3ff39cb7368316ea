//! The CPU's own alarms.

use super::{Claim, Source, named};
use crate::frame::{Frame, Vector, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "platform-irq",
    title: "platform interrupt",
    what: "The CPU reports its own state: thermal throttling, machine-check thresholds, interrupt controller errors, spurious interrupts.",
    reduce: &[
        "thermal: better cooling, or a lower fixed frequency; see thermal_throttle/*_count",
        "threshold: failing memory wants replacing; mce=ignore_ce hides corrected errors and their telemetry",
    ],
    events: &[
        EventKind::ThermalEntry,
        EventKind::ThresholdEntry,
        EventKind::DeferredErrorEntry,
        EventKind::ErrorEntry,
        EventKind::SpuriousEntry,
    ],
    claim,
};

fn claim(frame: &Frame, _: &Labels) -> Option<Claim> {
    let What::Vector(vector) = frame.what else { return None };
    let name = match vector {
        Vector::Thermal => "thermal",
        Vector::Threshold => "threshold",
        Vector::DeferredError => "deferred error",
        Vector::Error => "error",
        Vector::Spurious => "spurious",
        _ => return None,
    };
    named(name.into())
}
