//! `max-detour`: the longest detour.

use super::{Judge, Rule, RuleRow, Scope, Unit, hides};
use crate::gate::tally::Watched;
use crate::gate::{Finding, Outcome};
use anechoic_recording::options::duration;

/// The rule.
pub(super) static DETOUR: RuleRow = RuleRow {
    id: "max-detour",
    value_name: "[SOURCE=]TIME",
    help: "Longest detour, or longest time that a source takes of one: 50us, 'thread:*=1ms'",
    scope: Scope::Source,
    unit: Unit::Nanoseconds,
    limit: |text| duration(text).map(|of| of.as_nanos() as f64),
    judge: Judge::Cpu(judge),
};

/// It is about the detours of the recording. How rare longer ones are beyond it follows from its length: the rule of
/// three.
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
