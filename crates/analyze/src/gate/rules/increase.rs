//! `max-increase`: the noise compared with a baseline of repeated runs.

use super::{Judge, Rule, RuleRow, Scope, Unit};
use crate::compare::{Change, Comparison, Order};
use crate::gate::doubts::percentage;
use crate::gate::{Doubt, Finding, Outcome};

/// The rule.
pub(super) static INCREASE: RuleRow = RuleRow {
    id: "max-increase",
    value_name: "PERCENT",
    help: "Largest increase of the noise over the runs of --baseline: 10%",
    scope: Scope::Limit,
    unit: Unit::Increase,
    limit: percentage,
    judge: Judge::Baseline,
};

/// Judges the rule by the interval of the ratio of both sides.
pub(in crate::gate) fn judge(rule: &Rule, comparison: &Comparison) -> Finding {
    let value = comparison.ratio.map_or(0.0, |ratio| ratio - 1.0);
    let bounds = comparison.interval.map(|interval| (interval.low - 1.0, interval.high - 1.0));
    let doubt = doubt(comparison);
    let outcome = match bounds {
        Some((low, high)) if doubt.is_none() => Outcome::from_bounds(rule.limit, low, Some(high)),
        _ => Outcome::Undecided,
    };
    let planned = comparison.plan.first().map(|plan| plan.runs);
    Finding {
        recording: None,
        cpu: None,
        program: None,
        runs: Some(comparison.after.runs),
        outcome,
        value,
        at_least: bounds.map_or(-1.0, |bounds| bounds.0),
        at_most: bounds.map(|bounds| bounds.1),
        events: comparison.after.runs,
        uncertain: 0,
        wall_ns: comparison.after.wall_ns.saturating_mul(comparison.after.runs),
        wakeups: None,
        needed_ns: None,
        doubt: doubt
            .or_else(|| (outcome == Outcome::Undecided).then_some(Doubt::FewRuns { planned })),
        largest_source: None,
    }
}

/// Returns why the comparison proves nothing in either direction.
fn doubt(comparison: &Comparison) -> Option<Doubt> {
    let all = [
        (matches!(comparison.verdict, Change::OneRun | Change::OneRunDiffers), Doubt::OneRun),
        (comparison.hides_correlation(), Doubt::Successive),
        (comparison.ratio.is_none(), Doubt::NoNoise),
        (comparison.other_cpus, Doubt::OtherCpus),
        (comparison.thresholds_differ(), Doubt::OtherThresholds),
        (
            comparison.program.as_ref().is_some_and(|program| !program.is_same()),
            Doubt::OtherPrograms,
        ),
        (comparison.control_moved(), Doubt::HostMoved),
        (
            comparison.order != Order::Kept && comparison.verdict == Change::Unproven,
            Doubt::OneSession,
        ),
        (comparison.order == Order::OneSession, Doubt::OneSession),
        (!comparison.notes.is_empty(), Doubt::NotWhole { why: comparison.notes.join("; ") }),
    ];
    all.into_iter().find(|(is_so, _)| *is_so).map(|(_, doubt)| doubt)
}
