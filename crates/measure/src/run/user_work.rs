//! What the reader of a result must know about a user's own function.

use crate::timed::worker::LoopResult;
use anechoic_recording::paging::counts::{FAULTS, SYSTEM_CALLS, VOLUNTARY_SWITCHES};
use std::collections::BTreeMap;

/// Returns a note for each function that did more than compute: such time is in its samples, and no noise of the host.
pub(super) fn notes<'a>(seen: impl Iterator<Item = &'a LoopResult>) -> Vec<String> {
    let mut functions: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for result in seen {
        let Some(function) = result.user else { continue };
        let sums = functions.entry(function).or_default();
        for (name, count) in &result.counts {
            *sums.entry(name).or_default() += count;
        }
    }
    functions.into_iter().filter_map(|(function, sums)| note(function, &sums)).collect()
}

fn note(function: &str, counts: &BTreeMap<&str, u64>) -> Option<String> {
    let did = [
        (SYSTEM_CALLS, "called the system", "called the system"),
        (VOLUNTARY_SWITCHES, "gave up its CPU", "gave up its CPU"),
        (FAULTS, "had a page fault", "had page faults"),
    ];
    let parts = did.into_iter().filter_map(|(name, once, often)| match counts.get(name) {
        None | Some(0) => None,
        Some(1) => Some(format!("{once} once")),
        Some(count) => Some(format!("{often} {count} times")),
    });
    let parts: Vec<String> = parts.collect();
    let all = match &parts[..] {
        [] => return None,
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        one => one.concat(),
    };
    Some(format!("{function} {all}; the time of that is in its samples"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_function_did_besides_computing_is_a_sentence() {
        type Counts = &'static [(&'static str, u64)];
        let cases: [(Counts, Option<&str>); 4] = [
            (&[(SYSTEM_CALLS, 0), (FAULTS, 0)], None),
            (&[(SYSTEM_CALLS, 1)], Some("called the system once")),
            (
                &[(SYSTEM_CALLS, 20), (VOLUNTARY_SWITCHES, 20), ("llc_misses_user", 7)],
                Some("called the system 20 times and gave up its CPU 20 times"),
            ),
            (
                &[(SYSTEM_CALLS, 2), (VOLUNTARY_SWITCHES, 1), (FAULTS, 512)],
                Some(
                    "called the system 2 times, gave up its CPU once and had page faults 512 times",
                ),
            ),
        ];
        for (counts, expected) in cases {
            let found = note("./k.so:step", &counts.iter().copied().collect());
            let whole =
                |did: &str| format!("./k.so:step {did}; the time of that is in its samples");
            assert_eq!(found, expected.map(whole));
        }
    }
}
