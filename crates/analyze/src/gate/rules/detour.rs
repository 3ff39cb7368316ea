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
    limit: |text| duration(text).map(|of| of.as_nanos() as f64),
    judge: Judge::Cpu { detours: judge, counts: judge_counts },
};

/// Judges the longest detour of the recording. How rare longer ones are outside it follows from its length, by the rule
/// of three.
fn judge(rule: &Rule, of: &Watched<'_>) -> Finding {
    let value = of.clock.ns(of.seen.longest_ticks) as f64;
    // A lost detour may have had any length.
    let possible = of.clock.ns(of.possible.longest_ticks) as f64;
    let at_most = (of.lost_detours == 0).then_some(possible);
    Finding {
        outcome: Outcome::of(rule.limit, value, at_most),
        value,
        at_least: value,
        at_most,
        doubt: hides(of.threshold_ns, rule.limit as u64),
        ..of.finding()
    }
}

/// Latencies are judged too: the longest wake-up.
fn judge_counts(rule: &Rule, of: &Counts<'_>) -> Result<Finding, Doubt> {
    let longest = of.longest();
    let [at_least, at_most] = [longest.at_least, longest.at_most].map(|ns| ns as f64);
    Ok(Finding {
        outcome: Outcome::of(rule.limit, at_least, Some(at_most)),
        value: at_least,
        at_least,
        at_most: Some(at_most),
        doubt: hides(of.threshold_ns, rule.limit as u64),
        ..of.finding(of.longer_than(rule.limit as u64))
    })
}
