//! The names of kinds of wake-ups.

use crate::units::asked;
use anechoic_analyze::wakeup::Kind;

/// Names a kind by what distinguishes it from the others: `every 1 ms, idle shallow`; absent if there is no other.
pub(crate) fn name(kind: Kind, among: &[Kind]) -> Option<String> {
    let interval = among.iter().any(|other| other.interval_ns != kind.interval_ns);
    let idle = among.iter().any(|other| other.shallow != kind.shallow);
    let call = among.iter().any(|other| other.call != kind.call);
    let parts = [
        interval.then(|| every(kind)),
        idle.then(|| idle_name(kind)),
        call.then(|| super::words::name(kind.call).to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Names all of a kind: `every 1 ms, idle any`, and the call, if another thread wakes.
pub(crate) fn whole_name(kind: Kind) -> String {
    let call = kind.call.map_or(String::new(), |call| format!(", {}", call.name()));
    format!("{}, {}{call}", every(kind), idle_name(kind))
}

fn every(kind: Kind) -> String {
    format!("every {}", asked(kind.interval_ns))
}

fn idle_name(kind: Kind) -> String {
    format!("idle {}", super::idle(kind.shallow))
}
