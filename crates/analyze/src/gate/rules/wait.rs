//! `max-wait`: how long a thread of a recorded program waits for a CPU.

use super::{Judge, RuleRow, Scope, Unit};
use anechoic_recording::options::duration;
use anechoic_recording::sources::{Class, find};

/// The rule.
pub(super) static WAIT: RuleRow = RuleRow {
    id: "max-wait",
    value_name: "TIME",
    help: "Recordings of a program: longest time that it waited for a CPU, because another thread ran there or the scheduler delayed it: 1ms",
    scope: Scope::Limit,
    unit: Unit::Nanoseconds,
    limit: |text| duration(text).map(|time| time.as_nanos() as f64),
    judge: Judge::Program { waits },
};

/// Returns whether the program waits for a CPU while this source has it; interrupts only run on top of the program.
fn waits(source: &str) -> bool {
    find(source).is_some_and(|source| matches!(source.class, Class::Thread | Class::Held))
}
