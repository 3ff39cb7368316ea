//! The names of kinds of wake-ups.

use crate::units::asked;
use anechoic_analyze::wakeup::Kind;

/// Names a kind by what distinguishes it from the others: `every 1 ms, idle shallow`; absent if there is no other.
pub(crate) fn name(kind: Kind, among: &[Kind]) -> Option<String> {
    let interval = among.iter().any(|other| other.interval_ns != kind.interval_ns);
    let idle = among.iter().any(|other| other.shallow != kind.shallow);
    let call = among.iter().any(|other| other.call != kind.call);
    let parts = [
        interval.then(|| every_of(kind, among)),
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

/// Writes the interval of a kind in three digits; in all, if another one has the same three.
fn every_of(kind: Kind, among: &[Kind]) -> String {
    let is_alike =
        |other: &Kind| other.interval_ns != kind.interval_ns && every(*other) == every(kind);
    match among.iter().any(is_alike) {
        true => format!("every {} µs", kind.interval_ns as f64 / 1e3),
        false => every(kind),
    }
}

fn every(kind: Kind) -> String {
    format!("every {}", asked(kind.interval_ns))
}

fn idle_name(kind: Kind) -> String {
    format!("idle {}", super::idle(kind.shallow))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_differ_have_names_that_differ() {
        let kind = |interval_ns, shallow| Kind { interval_ns, shallow, call: None };
        let all = [
            kind(1_000_000, false),
            kind(1_000_100, false),
            kind(1_000_101, false),
            kind(250_000, true),
            kind(250_000, false),
        ];
        let names: Vec<String> = all.iter().filter_map(|one| name(*one, &all)).collect();
        let expected = [
            "every 1 ms, idle any",
            "every 1000.1 µs, idle any",
            "every 1000.101 µs, idle any",
            "every 250 µs, idle shallow",
            "every 250 µs, idle any",
        ];
        assert_eq!(names, expected);
    }
}
