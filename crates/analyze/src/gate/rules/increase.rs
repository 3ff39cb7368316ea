//! `max-increase`: the noise compared with a baseline of repeated runs.

use super::{Judge, Rule, RuleRow, Scope, Unit};
use crate::compare::{Change, Comparison, Order};
use crate::gate::doubts::share;
use crate::gate::{Doubt, Finding, Outcome};

/// The rule.
pub(super) static INCREASE: RuleRow = RuleRow {
    id: "max-increase",
    value_name: "PERCENT",
    help: "Largest increase of the noise over the runs of --baseline: 10%",
    scope: Scope::Limit,
    unit: Unit::Increase,
    limit: share,
    judge: Judge::Baseline,
};

/// Judges the rule by the interval of the ratio of both sides.
pub(in crate::gate) fn judge(rule: &Rule, of: &Comparison) -> Finding {
    let value = of.ratio.map_or(0.0, |ratio| ratio - 1.0);
    let bounds = of.interval.map(|of| (of.low - 1.0, of.high - 1.0));
    let doubt = doubt(of);
    let outcome = match bounds {
        Some((low, high)) if doubt.is_none() => Outcome::of(rule.limit, low, Some(high)),
        _ => Outcome::Undecided,
    };
    let planned = of.plan.first().map(|plan| plan.runs);
    Finding {
        recording: None,
        cpu: None,
        outcome,
        value,
        at_least: bounds.map_or(-1.0, |bounds| bounds.0),
        at_most: bounds.map(|bounds| bounds.1),
        events: of.after.runs,
        uncertain: 0,
        wall_ns: of.after.wall_ns.saturating_mul(of.after.runs),
        needed_ns: None,
        doubt: doubt
            .or_else(|| (outcome == Outcome::Undecided).then_some(Doubt::FewRuns { planned })),
        largest_source: None,
    }
}

/// Returns why the comparison proves nothing in either direction.
fn doubt(of: &Comparison) -> Option<Doubt> {
    let all = [
        (matches!(of.verdict, Change::OneRun | Change::OneRunDiffers), Doubt::OneRun),
        (of.hides_correlation(), Doubt::Successive),
        (of.ratio.is_none(), Doubt::NoNoise),
        (of.other_cpus, Doubt::OtherCpus),
        (of.thresholds_differ(), Doubt::OtherThresholds),
        (of.control_moved(), Doubt::HostMoved),
        (of.order != Order::Kept && of.verdict == Change::Unproven, Doubt::OneSession),
        (of.order == Order::OneSession, Doubt::OneSession),
        (!of.notes.is_empty(), Doubt::NotWhole { why: of.notes.join("; ") }),
    ];
    all.into_iter().find(|(is_so, _)| *is_so).map(|(_, doubt)| doubt)
}
