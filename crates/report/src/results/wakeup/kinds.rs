//! The names of kinds of wake-ups.

use crate::units::asked;
use anechoic_analyze::wakeup::Kind;

/// Names a kind by what distinguishes it from the others: `every 1 ms, idle shallow`; absent if there is no other.
pub(crate) fn name(kind: Kind, among: &[Kind]) -> Option<String> {
    let interval = among.iter().any(|other| other.interval_ns != kind.interval_ns);
    let idle = among.iter().any(|other| other.shallow != kind.shallow);
    match (interval, idle) {
        (false, false) => None,
        (true, false) => Some(every(kind)),
        (false, true) => Some(idle_name(kind)),
        (true, true) => Some(whole_name(kind)),
    }
}

/// Names all of a kind: `every 1 ms, idle any`.
pub(crate) fn whole_name(kind: Kind) -> String {
    format!("{}, {}", every(kind), idle_name(kind))
}

fn every(kind: Kind) -> String {
    format!("every {}", asked(kind.interval_ns))
}

fn idle_name(kind: Kind) -> String {
    format!("idle {}", super::idle(kind.shallow))
}
