//! `max-detour`: the longest detour.

use super::{Judge, Rule, RuleRow, Scope, Unit, hides};
use crate::gate::counts::Counts;
use crate::gate::tally::Watched;
use crate::gate::{Doubt, Finding, Outcome};
use anechoic_recording::options::duration;

/// The rule.
pub(super) static DETOUR: RuleRow = RuleRow {
    id: "max-detour",
    value_name: "[SOURCE=]TIME",
    help: "Longest detour, or longest time that a source takes of one: 50us, 'thread:*=1ms'",
    scope: Scope::Source,
    unit: Unit::Nanoseconds,
    limit: |text| duration(text).map(|time| time.as_nanos() as f64),
    judge: Judge::Cpu { detours: judge, counts: judge_counts, runs: None },
};

/// Judges the longest detour of the recording. How rare longer ones are outside it follows from its length, by the rule
/// of three.
pub(super) fn judge(rule: &Rule, watched: &Watched<'_>) -> Finding {
    let value = watched.clock.ns(watched.seen.longest_ticks) as f64;
    // A lost detour may have had any length.
    let possible = watched.clock.ns(watched.possible.longest_ticks) as f64;
    let at_most = (watched.lost_detours == 0).then_some(possible);
    Finding {
        outcome: Outcome::from_bounds(rule.limit, value, at_most),
        value,
        at_least: value,
        at_most,
        doubt: hides(watched.threshold_ns, rule.limit as u64),
        ..watched.finding()
    }
}

/// Latencies are judged too: the longest wake-up.
pub(super) fn judge_counts(rule: &Rule, counts: &Counts<'_>) -> Result<Finding, Doubt> {
    let longest = counts.longest();
    let [at_least, at_most] = [longest.at_least, longest.at_most].map(|ns| ns as f64);
    Ok(Finding {
        outcome: Outcome::from_bounds(rule.limit, at_least, Some(at_most)),
        value: at_least,
        at_least,
        at_most: Some(at_most),
        doubt: hides(counts.threshold_ns, rule.limit as u64),
        ..counts.finding(counts.longer_than(rule.limit as u64))
    })
}
