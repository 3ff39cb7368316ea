//! What the reader of a result must know about a user's own function.

use crate::timed::worker::LoopResult;
use anechoic_recording::paging::counts::{FAULTS, SYSTEM_CALLS, VOLUNTARY_SWITCHES};
use std::collections::BTreeMap;

/// Returns a note for each function that did more than compute: such time is in its samples, and is not noise of the host.
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
    let count = |name| counts.get(name).copied().unwrap_or(0);
    let times = |count| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let did = [(SYSTEM_CALLS, "called the system"), (VOLUNTARY_SWITCHES, "gave up its CPU")];
    let did = did.map(|(name, what)| (count(name), format!("{what} {}", times(count(name)))));
    let faults = match count(FAULTS) {
        1 => "had a page fault".to_owned(),
        many => format!("had {many} page faults"),
    };
    let all = did.into_iter().chain([(count(FAULTS), faults)]);
    let parts = all.filter(|(count, _)| *count > 0).map(|(_, what)| what);
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
        let cases: [(Counts, Option<&str>); 5] = [
            (&[(SYSTEM_CALLS, 0), (FAULTS, 0)], None),
            (&[(SYSTEM_CALLS, 1)], Some("called the system once")),
            (&[(FAULTS, 1)], Some("had a page fault")),
            (
                &[(SYSTEM_CALLS, 20), (VOLUNTARY_SWITCHES, 20), ("llc_misses_user", 7)],
                Some("called the system 20 times and gave up its CPU 20 times"),
            ),
            (
                &[(SYSTEM_CALLS, 2), (VOLUNTARY_SWITCHES, 1), (FAULTS, 512)],
                Some("called the system 2 times, gave up its CPU once and had 512 page faults"),
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
