//! Judges a rule on each recorded program, by all of its runs.

use super::program::{Named, ProgramRun, Runs};
use super::rules::Rule;
use super::{Finding, LargestSource, Outcome};
use std::collections::BTreeMap;

/// Returns the findings of a rule, the one of this number, on each program of which there are recordings; none if each
/// recording is judged by itself.
pub(super) fn findings<'a>(
    runs: impl Iterator<Item = Option<&'a ProgramRun>>,
    rules: &[Rule],
    number: usize,
) -> Vec<Finding> {
    let Some(rule) = rules.get(number) else { return vec![] };
    let mut programs: Vec<(&str, Vec<(usize, &ProgramRun)>)> = vec![];
    for (at, run) in runs.enumerate().filter_map(|(at, run)| Some((at, run?))) {
        match programs.iter_mut().find(|(name, _)| *name == run.name) {
            Some((_, runs)) => runs.push((at, run)),
            None => programs.push((&run.name, vec![(at, run)])),
        }
    }
    let judged = programs
        .into_iter()
        .filter_map(|(name, members)| judge((rule, rules), number, name, &members));
    judged.collect()
}

/// Judges a rule, the one of this number among all, on the runs of one program, each with the number of its recording.
fn judge(
    (rule, rules): (&Rule, &[Rule]),
    number: usize,
    name: &str,
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
    Some(Finding { recording, program: Some(name.to_owned()), ..finding })
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
