//! `max-slow`: the share of the CPU time that a pace slower than calm takes.

use super::{Judge, Rule, RuleRow, Scope, Unit};
use crate::gate::doubts::percentage;
use crate::gate::{Finding, Outcome};
use crate::pace::{CpuPace, most_unseen, needed_ns};
use crate::summary::Summary;

/// The rule.
pub(super) static SLOW: RuleRow = RuleRow {
    id: "max-slow",
    value_name: "PERCENT",
    help: "Most time lost by a slower pace, as a share of a CPU's time: 1%",
    scope: Scope::Limit,
    unit: Unit::SlowShare,
    limit: percentage,
    judge: Judge::Pace(judge),
};

/// Judges each CPU; nothing if the pace of the loops is not known.
fn judge(rule: &Rule, summary: &Summary) -> Vec<Finding> {
    let paces = summary.pace.iter().flat_map(|pace| &pace.cpus);
    paces.map(|pace| judge_cpu(rule, pace, summary)).collect()
}

fn judge_cpu(rule: &Rule, pace: &CpuPace, summary: &Summary) -> Finding {
    let at_least = pace.at_least.unwrap_or(0.0);
    let outcome = Outcome::from_bounds(rule.limit, at_least, pace.at_most);
    let watched = summary.cpus.iter().find(|row| row.cpu == pace.cpu);
    let wall_ns = watched.map_or(0, |row| row.wall_ns);
    // A longer run decides where what did not occur bounds it, and not what occurred.
    let by_unseen = pace.at_most.is_some_and(|most| most <= 1.01 * most_unseen(wall_ns));
    let needed = needed_ns(rule.limit).filter(|needed| by_unseen && *needed > wall_ns);
    Finding {
        recording: None,
        cpu: Some(pace.cpu),
        program: None,
        runs: None,
        outcome,
        value: pace.slow,
        at_least,
        at_most: pace.at_most,
        events: 0,
        uncertain: 0,
        wall_ns,
        wakeups: None,
        needed_ns: needed.filter(|_| outcome == Outcome::Undecided && pace.slow < rule.limit),
        doubt: None,
        largest_source: None,
    }
}
