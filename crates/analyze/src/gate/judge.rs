//! Judges recordings one by one, and what they come to together.

use super::fold::GateFold;
use super::rules::{Rule, Unit, judge_increase};
use super::{
    Doubt, Doubtful, Finding, Gate, Judged, Outcome, Requirements, RuleOutcome, counts, doubts,
};
use crate::cluster::host_name;
use crate::compare::Comparison;
use crate::fold::{Progress, read_once};
use crate::loops::watched;
use crate::summary::{Summary, SummaryBuilder};
use anechoic_recording::parallel::Parallel;
use anechoic_recording::{Problem, ProblemKind, Recording, methods};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A recording on which rules were judged.
#[derive(Debug, Clone)]
pub struct Examined {
    /// Its summary, for a comparison with a baseline; absent if it has only counts by length.
    pub summary: Option<Summary>,
    pub(super) of: Judged,
    /// The findings of each rule.
    pub(super) findings: Vec<Vec<Finding>>,
    /// Why each rule cannot be judged, if so.
    pub(super) refused: Vec<Option<Doubt>>,
    /// The parallel job that it is a part of.
    pub(super) job: Option<Parallel>,
}

/// Judges rules on the CPUs of a recording, which is read once.
///
/// # Errors
///
/// The recording is not one of `anechoic run`, or a file is damaged.
pub fn examine(
    recording: &Recording,
    rules: &[Rule],
    requirements: &Requirements,
    progress: &mut dyn FnMut(Progress),
) -> Result<Examined, Problem> {
    let run = recording.run();
    if methods::COUNTED.contains(&&*run.method) {
        return counts::examine(recording, rules, requirements);
    }
    if run.method != methods::DETOURS {
        let why = format!("it is a recording of `measure {}`", run.method);
        let problem = ProblemKind::Usage.problem(why, "the gate judges those of `anechoic run`");
        return Err(problem.about(recording.dir().display()));
    }
    let loops = watched(recording)?;
    let mut summary = SummaryBuilder::new(run, &loops);
    let mut gate = GateFold::new(rules, run.clock.ns(loops.threshold_ticks()));
    let mut folds = summary.folds();
    folds.push(&mut gate);
    let strays = read_once(recording, &loops, &mut folds, progress)?;
    let summary = summary.finish(recording, &loops, strays)?;
    let of = Judged {
        path: recording.dir().display().to_string(),
        host: host_name(recording),
        start_utc: run.start_utc.clone(),
        wall_ns: doubts::shortest_ns(&summary),
        threshold_ns: summary.run.threshold_ns,
        cpus: summary.run.cpus.clone(),
        counts_only: false,
        doubts: requirements.doubts(recording, &summary),
        doubts_of_sources: requirements.doubts_of_sources(&summary),
    };
    let (summary, findings) = (Some(summary), gate.finish());
    Ok(Examined { summary, of, findings, refused: vec![], job: run.parallel.clone() })
}

/// Returns what recordings come to together: a rule must hold on every CPU of each. `unread` names what could not be
/// read; with any of that nothing is passed.
#[must_use]
pub fn conclude(
    examined: Vec<Examined>,
    rules: &[Rule],
    requirements: Requirements,
    baseline: Option<&Comparison>,
    unread: Vec<String>,
) -> Gate {
    let outcome = |(number, rule): (usize, &Rule)| {
        let findings = match baseline.filter(|_| rule.row.needs_baseline()) {
            Some(comparison) => vec![judge_increase(rule, comparison)],
            None => findings(&examined, number),
        };
        rule_outcome(rule, findings, doubts((number, rule), &examined, !unread.is_empty()))
    };
    let rules: Vec<RuleOutcome> = rules.iter().enumerate().map(outcome).collect();
    Gate {
        // Without a rule nothing was shown.
        outcome: rules.iter().map(|rule| rule.outcome).max().unwrap_or(Outcome::Undecided),
        rules,
        requirements,
        recordings: examined.into_iter().map(|of| of.of).collect(),
        unread,
    }
}

/// Returns the findings of a rule on all CPUs of all recordings.
fn findings(examined: &[Examined], rule: usize) -> Vec<Finding> {
    let of = |(recording, examined): (u64, &Examined)| {
        let findings = examined.findings.get(rule).cloned().unwrap_or_default();
        findings.into_iter().map(move |of| Finding { recording: Some(recording), ..of })
    };
    (0..).zip(examined).flat_map(of).collect()
}

/// Returns what keeps recordings from passing a rule.
fn doubts(
    (number, rule): (usize, &Rule),
    examined: &[Examined],
    some_unread: bool,
) -> Vec<Doubtful> {
    let mut doubts = vec![];
    if some_unread {
        doubts.push(Doubtful { recording: None, doubt: Doubt::Unread });
    }
    if examined.is_empty() {
        doubts.push(Doubtful { recording: None, doubt: Doubt::NotMeasured { cpu: None } });
    }
    doubts.extend(missing_hosts(examined));
    for (recording, Examined { of, refused, .. }) in (0..).zip(examined) {
        let of_sources = of.doubts_of_sources.iter().filter(|_| rule.source.is_some());
        let refused = refused.get(number).and_then(Option::as_ref);
        let others = of.doubts.iter().filter(|doubt| refused != Some(doubt));
        let all = refused.into_iter().chain(others).chain(of_sources);
        doubts
            .extend(all.map(|doubt| Doubtful { recording: Some(recording), doubt: doubt.clone() }));
    }
    doubts
}

/// Returns a doubt if hosts of a parallel job are missing.
fn missing_hosts(examined: &[Examined]) -> Option<Doubtful> {
    let jobs = || examined.iter().filter_map(|of| of.job.as_ref());
    let present = jobs().map(|job| &*job.host).collect::<BTreeSet<_>>().len() as u64;
    let of = jobs().map(|job| u64::from(job.hosts)).max().filter(|of| *of > present)?;
    Some(Doubtful { recording: None, doubt: Doubt::MissingHosts { present, of } })
}

fn rule_outcome(rule: &Rule, findings: Vec<Finding>, mut doubts: Vec<Doubtful>) -> RuleOutcome {
    for finding in &findings {
        let new = |doubt: &Doubt| {
            let known = |of: &Doubtful| of.recording == finding.recording && of.doubt == *doubt;
            !doubts.iter().any(known)
        };
        if let Some(doubt) = finding.doubt.clone().filter(new) {
            doubts.push(Doubtful { recording: finding.recording, doubt });
        }
    }
    let decisive = (0..findings.len()).max_by(|a, b| worse(&findings[*a], &findings[*b]));
    let found = decisive.map_or(Outcome::Undecided, |at| findings[at].outcome);
    let outcome = match found {
        Outcome::Pass if !doubts.is_empty() => Outcome::Undecided,
        Outcome::Fail if doubts.iter().any(|of| may_be_wrong(&of.doubt, rule.row.unit)) => {
            Outcome::Undecided
        }
        outcome => outcome,
    };
    if outcome == Outcome::Fail {
        doubts.clear();
    }
    RuleOutcome {
        rule: rule.row.id.into(),
        given: rule.given.clone(),
        source: rule.source.as_ref().map(ToString::to_string),
        longer_than_ns: rule.longer_than_ns,
        unit: rule.row.unit,
        limit: rule.limit,
        outcome,
        decisive: decisive.map(|at| at as u64),
        findings,
        doubts,
    }
}

/// Returns whether a doubt means that what a recording shows may be wrong, so that it proves nothing, not even that a
/// limit is exceeded.
fn may_be_wrong(doubt: &Doubt, unit: Unit) -> bool {
    match doubt {
        // A share of the time does not depend on the rate.
        Doubt::WrongRate { .. } => unit != Unit::Share,
        Doubt::Misaligned { .. } | Doubt::Audit { .. } => true,
        _ => unit == Unit::Increase,
    }
}

/// Orders findings by outcome, then by what was measured; of equal ones the first is the worst.
fn worse(a: &Finding, b: &Finding) -> Ordering {
    let bounds = |of: &Finding| of.at_most.unwrap_or(f64::INFINITY);
    let by_value = a.value.total_cmp(&b.value).then(bounds(a).total_cmp(&bounds(b)));
    let later = (b.recording, b.cpu).cmp(&(a.recording, a.cpu));
    a.outcome.cmp(&b.outcome).then(by_value).then(later)
}
