//! Judges a rule on each recorded program, by all of its runs.

use super::program::{Named, ProgramRun, Runs};
use super::rules::Rule;
use super::{Finding, LargestSource, Outcome};
use std::collections::BTreeMap;

/// Returns the findings of the rule with this number on each recorded program; none if each recording is judged by itself.
pub(super) fn findings<'a>(
    runs: impl Iterator<Item = Option<&'a ProgramRun>>,
    rules: &[Rule],
    number: usize,
) -> Vec<Finding> {
    let Some(rule) = rules.get(number) else { return vec![] };
    let mut programs: Vec<Vec<(usize, &ProgramRun)>> = vec![];
    for (at, run) in runs.enumerate().filter_map(|(at, run)| Some((at, run?))) {
        let is_like = |(_, other): &(usize, &ProgramRun)| {
            (&other.name, &other.place) == (&run.name, &run.place)
        };
        match programs.iter_mut().find(|runs| runs.iter().any(is_like)) {
            Some(runs) => runs.push((at, run)),
            None => programs.push(vec![(at, run)]),
        }
    }
    let judged = programs.into_iter().filter_map(|members| judge((rule, rules), number, &members));
    judged.collect()
}

/// Judges the rule with this number on the runs of one program, each with the number of its recording.
fn judge(
    (rule, rules): (&Rule, &[Rule]),
    number: usize,
    members: &[(usize, &ProgramRun)],
) -> Option<Finding> {
    let counted =
        members.iter().filter_map(|(_, run)| Some((run.rules.get(number)?, run.elapsed_ns)));
    let runs = Runs::new(counted.collect(), rule.longest_allowed_ns(rules));
    let mut finding = rule.judge_runs(&runs)?;
    if finding.outcome == Outcome::Fail {
        finding.largest_source = largest_source(&runs);
    }
    let recording = (members.len() == 1).then(|| members[0].0 as u64);
    let program = members.first().map(|(_, run)| run.name.clone());
    Some(Finding { recording, program, ..finding })
}

/// Returns the source that took most of what counts in all runs; absent if no source is known.
fn largest_source(runs: &Runs<'_>) -> Option<LargestSource> {
    let mut taken = BTreeMap::<&Named, u64>::new();
    for (named, ticks) in runs.runs.iter().flat_map(|(run, _)| &run.taken_ticks) {
        let sum = taken.entry(named).or_default();
        *sum = sum.saturating_add(*ticks);
    }
    let all = taken.values().copied().fold(0, u64::saturating_add);
    let ((source, name), ticks) = taken.into_iter().rev().max_by_key(|(_, ticks)| *ticks)?;
    Some(LargestSource {
        source: source.to_string(),
        name: name.to_string(),
        share: crate::share(ticks, all),
    })
}
