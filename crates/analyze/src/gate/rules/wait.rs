//! `max-wait`: how long a thread of a recorded program waits for a CPU; see [`crate::gate::waits`].

use super::{Judge, RuleRow, Scope, Unit};
use anechoic_recording::options::duration;

/// The rule.
pub(super) static WAIT: RuleRow = RuleRow {
    id: "max-wait",
    value_name: "TIME",
    help: "Recordings of a program: longest time that a thread waited for a CPU that no thread of the program had: 1ms",
    scope: Scope::Limit,
    unit: Unit::Nanoseconds,
    limit: |text| duration(text).map(|time| time.as_nanos() as f64),
    judge: Judge::Waits,
};
