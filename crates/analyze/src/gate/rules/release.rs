//! `max-release`: how late a timer releases a thread of a recorded program; see [`crate::gate::releases`].

use super::{Judge, RuleRow, Scope, Unit};
use anechoic_recording::options::duration;

/// The rule.
pub(super) static RELEASE: RuleRow = RuleRow {
    id: "max-release",
    value_name: "TIME",
    help: "Recordings of a program: longest time from the time for which a thread had set a timer to when it had a CPU: 500us",
    scope: Scope::Limit,
    unit: Unit::Nanoseconds,
    limit: |text| duration(text).map(|time| time.as_nanos() as f64),
    judge: Judge::Releases,
};
