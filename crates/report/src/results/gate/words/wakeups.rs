//! What was found for rules on wake-ups, in words.

use super::{bound, is_of_counts};
use crate::results::wakeup::kinds;
use crate::units::{asked, count, counted, length, span};
use anechoic_analyze::gate::{Finding, Gate, JudgedWakeups, Outcome, RuleOutcome, Unit};
use anechoic_analyze::wakeup::Kind;

/// Returns the kinds of wake-ups that a rule judged.
pub(super) fn kinds(rule: &RuleOutcome) -> Vec<Kind> {
    let kinds = rule.findings.iter().filter_map(|finding| finding.wakeups?.kind);
    let mut kinds: Vec<Kind> = kinds.collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Returns the kind of wake-ups of a finding, to follow their CPU; nothing if there is only one.
pub(in crate::results::gate) fn kind(rule: &RuleOutcome, finding: &Finding) -> String {
    let kind = finding.wakeups.and_then(|wakeups| wakeups.kind);
    let name = kind.and_then(|kind| kinds::name(kind, &kinds(rule)));
    name.map(|name| format!(", {name}")).unwrap_or_default()
}

/// Writes a share of wake-ups: `1 in 285`, `38.2 %`.
pub(in crate::results::gate) fn one_in(share: f64) -> String {
    match share {
        0.0 => "none".into(),
        _ if share > 0.1 => format!("{:.1} %", share * 100.0),
        _ => format!("1 in {}", count((1.0 / share).round() as u64)),
    }
}

/// Returns the longest wake-up, and what it says about longer ones.
pub(super) fn longest(rule: &RuleOutcome, finding: &Finding, wakeups: &JudgedWakeups) -> String {
    let longest = format!("the longest took {}", length(finding.value as u64));
    let samples = counted(wakeups.samples, "wake-up", "wake-ups");
    match finding.outcome {
        Outcome::Fail => {
            format!("{longest}; {} of {samples} took longer than the limit", count(finding.events))
        }
        Outcome::Pass => {
            let fewest = rule.findings.iter().filter_map(|one| Some(one.wakeups?.samples)).min();
            let rarer = super::RULE_OF_THREE / fewest.unwrap_or(1).max(1) as f64;
            let limit = asked(rule.limit as u64);
            format!(
                "{longest}; any over {limit} are at most {} with 95 % confidence",
                one_in(rarer.min(1.0))
            )
        }
        // A doubt that is stated elsewhere.
        Outcome::Undecided if finding.uncertain == 0 => format!("{longest} in {samples}"),
        Outcome::Undecided => {
            let number = counted(finding.uncertain, "that was", "that were");
            format!("{longest}, but {number} lost may be longer")
        }
    }
}

/// Returns the share of the late wake-ups.
pub(super) fn late(rule: &RuleOutcome, finding: &Finding, gate: &Gate) -> String {
    let samples = finding.wakeups.map_or(0, |wakeups| wakeups.samples);
    let samples = counted(samples, "wake-up", "wake-ups");
    let seen = match finding.events {
        0 => format!("none of {samples}"),
        events => format!("{} of {samples} ({})", count(events), one_in(finding.value)),
    };
    let kind = if is_of_counts(finding, gate) {
        "in a range that contains the length"
    } else {
        "lost or passed meanwhile"
    };
    let uncertain = match (finding.outcome, finding.uncertain) {
        (Outcome::Fail, _) | (_, 0) => String::new(),
        (_, number) => format!(" and {} that are {kind}", count(number)),
    };
    let enough = match (finding.outcome, finding.needed_ns) {
        (Outcome::Undecided, Some(needed)) => format!("; measure for {} or longer", span(needed)),
        // A doubt that is stated elsewhere.
        (Outcome::Undecided, None) if finding.at_least > rule.limit => String::new(),
        (Outcome::Undecided, None) if finding.value > rule.limit => {
            "; over the limit, but perhaps by chance".into()
        }
        (Outcome::Undecided, None) if finding.uncertain > 0 => "; these may be too many".into(),
        (Outcome::Undecided, None) => "; too close to the limit to decide".into(),
        _ => String::new(),
    };
    format!("{seen}{uncertain}, {}{enough}", bound(Unit::WakeupShare, finding))
}
