//! Judges recordings one by one, and what they come to together.

use super::by_program;
use super::counts::Counts;
use super::fold::GateFold;
use super::program::ProgramRun;
use super::releases;
use super::rules::{Rule, Unit, judge_increase};
use super::{Doubt, Doubtful, Finding, Gate, Judged, Outcome, Requirements, RuleOutcome, doubts};
use super::{waits, wakeups};
use crate::cluster::host_name;
use crate::compare::Comparison;
use crate::counted::{Ranges, ranges};
use crate::fold::{Progress, read_once};
use crate::jobs::by_job;
use crate::loops::watched;
use crate::summary::{Summary, SummaryBuilder};
use crate::waits::{are_known, releases_are_known};
use anechoic_recording::parallel::Parallel;
use anechoic_recording::{Problem, ProblemKind, Recording, Run, methods};
use std::cmp::Ordering;

/// A recording on which rules were judged.
#[derive(Debug, Clone)]
pub struct Examined {
    /// Its summary, for a comparison with a baseline; absent if it has only counts by length.
    pub summary: Option<Summary>,
    pub(super) judged: Judged,
    /// The findings of each rule.
    pub(super) findings: Vec<Vec<Finding>>,
    /// Why each rule cannot be judged, if so.
    pub(super) refused: Vec<Option<Doubt>>,
    /// What each rule counts in the run of a program; absent for other recordings.
    pub(super) program: Option<ProgramRun>,
    /// The parallel job that it is a part of.
    pub(super) job: Option<Parallel>,
}

/// Judges rules on the CPUs of a recording, which is read once.
///
/// # Errors
///
/// The recording is of another method than those that it judges, or a file is damaged.
pub fn examine(
    recording: &Recording,
    rules: &[Rule],
    requirements: &Requirements,
    progress: &mut dyn FnMut(Progress),
) -> Result<Examined, Problem> {
    let run = recording.run();
    if methods::COUNTED.contains(&&*run.method) {
        return examine_counts(recording, rules, requirements);
    }
    if run.method == methods::WAKEUP {
        let (judged, findings) = wakeups::examine(recording, rules)?;
        let refused = rules.iter().map(|rule| refusal(rule, (run, judged.wall_ns), requirements));
        let refused = refused.collect();
        let job = run.parallel.clone();
        return Ok(Examined { summary: None, judged, findings, refused, program: None, job });
    }
    if !methods::WHOLE.contains(&&*run.method) {
        let why = format!("it is a recording of `measure {}`", run.method);
        let problem = ProblemKind::Usage.problem(
            why,
            "the gate judges those of `anechoic run`, `anechoic record` and `measure wakeup`",
        );
        return Err(problem.about(recording.dir().display()));
    }
    let loops = watched(recording)?;
    let mut summary = SummaryBuilder::new(run, &loops);
    let mut gate = GateFold::new(rules, run.clock.ns(loops.threshold_ticks()));
    let mut folds = summary.folds();
    folds.push(&mut gate);
    let strays = read_once(recording, &loops, &mut folds, progress)?;
    let summary = summary.finish(recording, &loops, strays)?;
    let judged = Judged {
        path: recording.dir().display().to_string(),
        host: host_name(recording),
        start_utc: run.start_utc.clone(),
        wall_ns: doubts::shortest_ns(&summary),
        program: run.program.as_ref().map(|program| program.name.clone()),
        threshold_ns: summary.run.threshold_ns,
        hypervisor: summary.run.hypervisor.clone(),
        cpus: summary.run.cpus.clone(),
        counts_only: false,
        doubts: requirements.doubts(recording, &summary),
        doubts_of_sources: requirements.doubts_of_sources(&summary),
    };
    let elapsed_ns = run.clock.ns(run.end_ticks.saturating_sub(run.start_ticks));
    let (mut findings, counted) = gate.finish();
    let has_waits = are_known(recording);
    for (rule, findings) in rules.iter().zip(&mut findings) {
        if let Some(other) = found_beside(rule, recording, &summary)? {
            *findings = other;
        }
    }
    let program = run.program.as_ref().map(|program| ProgramRun {
        name: program.name.clone(),
        place: (run.machine.host.clone(), program.counted_cpus.clone()),
        elapsed_ns,
        rules: counted,
    });
    let judged_rules = rules.iter().zip(&findings);
    let refused = judged_rules.map(|(rule, findings)| {
        let refused = refusal(rule, (run, judged.wall_ns), requirements);
        refused.or_else(|| unknown(rule, findings, has_waits))
    });
    let refused = refused.collect();
    let (summary, job) = (Some(summary), run.parallel.clone());
    Ok(Examined { summary, judged, findings, refused, program, job })
}

/// Judges a rule on something else than detours: the waits and releases of a program's threads, or the pace. Absent for other
/// rules, and where nothing is known of that.
fn found_beside(
    rule: &Rule,
    recording: &Recording,
    summary: &Summary,
) -> Result<Option<Vec<Finding>>, Problem> {
    if rule.judges_waits() && are_known(recording) {
        return waits::findings(rule, recording).map(Some);
    }
    if rule.judges_releases() && releases_are_known(recording) {
        return releases::findings(rule, recording).map(Some);
    }
    Ok(rule.judge_pace(summary))
}

/// Returns why a rule cannot be judged on a run of which `wall_ns` are kept, if so: it is no sample for it, or was watched for too
/// short a time. Runs of a program are as long as they are.
fn refusal(rule: &Rule, (run, wall_ns): (&Run, u64), required: &Requirements) -> Option<Doubt> {
    let watched_ns = wall_ns.saturating_add(rule.unseen_ns(run));
    let has_length = run.program.is_none() && wall_ns > 0;
    let short = || required.too_short(watched_ns).filter(|_| has_length);
    rule.refusal(run).or_else(short)
}

/// Returns why a rule on the threads of a program, or on the pace, cannot be judged that found nothing, if so.
fn unknown(rule: &Rule, findings: &[Finding], has_waits: bool) -> Option<Doubt> {
    match rule {
        _ if rule.judges_waits() && !has_waits => Some(Doubt::NotAttributed),
        _ if rule.judges_releases() && findings.is_empty() => Some(Doubt::NoReleases),
        _ if rule.judges_pace() && findings.is_empty() => Some(Doubt::NoPace),
        _ => None,
    }
}

/// Judges rules on the CPUs of a recording that has only counts by length.
///
/// # Errors
/// A file is damaged.
fn examine_counts(
    recording: &Recording,
    rules: &[Rule],
    requirements: &Requirements,
) -> Result<Examined, Problem> {
    let run = recording.run();
    let by_cpu = ranges(recording)?;
    let none = Ranges::default();
    let cpus = run.cpus.iter().map(|cpu| Counts {
        cpu: cpu.cpu,
        clock: &run.clock,
        wall_ns: run.clock.ns(cpu.last_ticks.saturating_sub(cpu.first_ticks)),
        threshold_ns: run.clock.ns(run.threshold_ticks),
        latencies: run.method == methods::LATENCIES,
        lost: cpu.lost_detours,
        longest_allowed_ns: None,
        ranges: by_cpu.get(&cpu.cpu).unwrap_or(&none),
    });
    let cpus: Vec<Counts<'_>> = cpus.collect();
    let outcomes = rules.iter().map(|rule| judge_counts((rule, rules), &cpus));
    let (findings, refused_rules) =
        outcomes.map(|outcome| outcome.map_or_else(refused, |findings| (findings, None))).unzip();
    let wall_ns = cpus.iter().map(|cpu| cpu.wall_ns).min().unwrap_or(0);
    let judged = Judged {
        path: recording.dir().display().to_string(),
        host: host_name(recording),
        start_utc: run.start_utc.clone(),
        wall_ns,
        threshold_ns: run.clock.ns(run.threshold_ticks),
        hypervisor: run.machine.hypervisor.clone(),
        cpus: cpus.iter().map(|cpu| cpu.cpu).collect(),
        counts_only: true,
        program: None,
        doubts: requirements.doubts_of_counts(run, wall_ns),
        doubts_of_sources: vec![Doubt::NotAttributed],
    };
    Ok(Examined {
        summary: None,
        judged,
        findings,
        refused: refused_rules,
        program: None,
        job: run.parallel.clone(),
    })
}

fn refused(why: Doubt) -> (Vec<Finding>, Option<Doubt>) {
    (vec![], Some(why))
}

/// Returns the finding of a rule, one of these, on each CPU, or why it cannot be judged.
fn judge_counts(
    (rule, rules): (&Rule, &[Rule]),
    cpus: &[Counts<'_>],
) -> Result<Vec<Finding>, Doubt> {
    if rule.source.is_some() {
        return Ok(vec![]); // no source is known, which is a doubt about the recording
    }
    let longest_allowed_ns = rule.longest_allowed_ns(rules);
    let judge = |cpu: &Counts<'_>| rule.judge_counts(&Counts { longest_allowed_ns, ..*cpu });
    cpus.iter().filter_map(judge).collect()
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
            None => findings(&examined, rules, number),
        };
        rule_outcome(rule, findings, doubts((number, rule), &examined, !unread.is_empty()))
    };
    let rules: Vec<RuleOutcome> = rules.iter().enumerate().map(outcome).collect();
    Gate {
        // Without a rule nothing was shown.
        outcome: rules.iter().map(|rule| rule.outcome).max().unwrap_or(Outcome::Undecided),
        rules,
        requirements,
        recordings: examined.into_iter().map(|recording| recording.judged).collect(),
        unread,
    }
}

/// Returns the findings of a rule on all programs, and on all CPUs of all other recordings.
fn findings(examined: &[Examined], rules: &[Rule], rule: usize) -> Vec<Finding> {
    let mut all =
        by_program::findings(examined.iter().map(|one| one.program.as_ref()), rules, rule);
    for (recording, examined) in (0..).zip(examined) {
        let findings = examined.findings.get(rule).into_iter().flatten().cloned();
        all.extend(findings.map(|finding| Finding { recording: Some(recording), ..finding }));
    }
    all
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
    for (recording, Examined { judged, refused, .. }) in (0..).zip(examined) {
        let source_doubts = judged.doubts_of_sources.iter().filter(|_| rule.selects());
        let refused = refused.get(number).and_then(Option::as_ref);
        let others = judged.doubts.iter().filter(|doubt| refused != Some(doubt));
        let all = refused.into_iter().chain(others).chain(source_doubts);
        doubts
            .extend(all.map(|doubt| Doubtful { recording: Some(recording), doubt: doubt.clone() }));
    }
    doubts
}

/// Returns a doubt about the first recording of each parallel job of which hosts are missing.
fn missing_hosts(examined: &[Examined]) -> Vec<Doubtful> {
    let part = |recording: &'_ Examined| {
        Some((recording.job.clone()?, recording.judged.start_utc.clone()))
    };
    let parts: Vec<_> = (0_u64..)
        .zip(examined)
        .filter_map(|(at, recording)| Some((at, part(recording)?)))
        .collect();
    let jobs = by_job(parts.iter().map(|(at, (job, start))| (*at, job, &**start)));
    let missing = jobs.into_iter().filter_map(|job| {
        let (present, hosts) = (job.present.len() as u64, u64::from(job.hosts));
        let doubt = Doubt::MissingHosts { present, hosts };
        (present < hosts).then(|| Doubtful { recording: job.parts.iter().min().copied(), doubt })
    });
    missing.collect()
}

/// Returns whether a doubt and a finding may be about the same recording.
fn concerns(doubtful: &Doubtful, finding: &Finding) -> bool {
    let common = doubtful.recording.is_none() || finding.recording.is_none();
    common || doubtful.recording == finding.recording
}

fn rule_outcome(rule: &Rule, mut findings: Vec<Finding>, mut doubts: Vec<Doubtful>) -> RuleOutcome {
    for finding in &findings {
        let doubt = finding.doubt.clone();
        let doubt = doubt.map(|doubt| Doubtful { recording: finding.recording, doubt });
        if let Some(doubtful) = doubt.filter(|doubtful| !doubts.contains(doubtful)) {
            doubts.push(doubtful);
        }
    }
    // A doubt about one recording takes nothing from what another one shows.
    for finding in findings.iter_mut().filter(|finding| finding.outcome == Outcome::Fail) {
        let mut concerned = doubts.iter().filter(|doubtful| concerns(doubtful, finding));
        if concerned.any(|doubtful| may_be_wrong(&doubtful.doubt, rule.row.unit)) {
            finding.outcome = Outcome::Undecided;
        }
    }
    // The first is stated. No other matters where times mean nothing.
    doubts.sort_by_key(|doubtful| doubtful.doubt != Doubt::Emulated);
    let decisive = (0..findings.len()).max_by(|a, b| worse(&findings[*a], &findings[*b]));
    let found = decisive.map_or(Outcome::Undecided, |at| findings[at].outcome);
    let outcome = match found {
        Outcome::Pass if !doubts.is_empty() => Outcome::Undecided,
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
        // That a detour was longer is a fact, however its recording was chosen.
        Doubt::Kept { .. } => unit != Unit::Nanoseconds,
        Doubt::Misaligned { .. }
        | Doubt::CpuTime { .. }
        | Doubt::Audit { .. }
        | Doubt::Competition { .. }
        | Doubt::MeasuredTogether
        | Doubt::Emulated => true,
        _ => unit == Unit::Increase,
    }
}

/// Orders findings by outcome, then by what was measured; of equal ones the first is the worst. Where all pass, the
/// highest bound is the worst, because it holds for all of them.
fn worse(a: &Finding, b: &Finding) -> Ordering {
    let most = |finding: &Finding| finding.at_most.unwrap_or(f64::INFINITY);
    let by_value = a.value.total_cmp(&b.value);
    let by_bound = most(a).total_cmp(&most(b));
    let by_size = match a.outcome {
        Outcome::Pass => by_bound.then(by_value),
        _ => by_value.then(by_bound),
    };
    let later = (b.recording, b.cpu).cmp(&(a.recording, a.cpu));
    a.outcome.cmp(&b.outcome).then(by_size).then(later)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::RULES;
    use crate::testing::clock_ns;

    const SECOND: u64 = 1_000_000_000;

    /// Judges a rule on ranges `(from, to, count)` in ns that were counted in 100 s.
    fn outcome(rule: &str, counts: &[(u64, u64, u64)], latencies: bool) -> Result<Outcome, Doubt> {
        Ok(finding(rule, counts, latencies, 500)?.outcome)
    }

    fn finding(
        rule: &str,
        counts: &[(u64, u64, u64)],
        latencies: bool,
        threshold_ns: u64,
    ) -> Result<Finding, Doubt> {
        let (id, text) = rule.split_once(' ').expect("a rule and its limit");
        let row = RULES.iter().find(|row| row.id == id).expect("a rule");
        let rule = row.read(text).expect("a limit");
        let ranges = Ranges::from_counts(counts.iter().copied());
        let clock = clock_ns();
        let cpu = Counts {
            cpu: 0,
            clock: &clock,
            wall_ns: 100 * SECOND,
            threshold_ns,
            latencies,
            lost: 0,
            longest_allowed_ns: None,
            ranges: &ranges,
        };
        let finding = rule.judge_counts(&cpu).expect("a rule on a CPU")?;
        let at_most = finding.at_most.expect("a bound");
        assert!(finding.at_least <= at_most, "{finding:?}");
        Ok(finding)
    }

    #[test]
    fn the_ranges_decide_what_they_can() {
        let us = 1_000;
        // 1,000,000 detours of 1 to 2 µs in 100 s: 1 to 2 % of the time; the longest takes 40 to 50 µs.
        let counts = [(us, 2 * us, 1_000_000), (40 * us, 50 * us, 1)];
        let cases = [
            ("max-detour 50us", Outcome::Pass),
            ("max-detour 45us", Outcome::Undecided),
            ("max-detour 39us", Outcome::Fail),
            ("max-noise 2.1%", Outcome::Pass),
            ("max-noise 1.5%", Outcome::Undecided),
            ("max-noise 0.9%", Outcome::Fail),
            ("max-rate 11000/s", Outcome::Pass),
            ("max-rate 9000/s", Outcome::Fail),
            ("max-rate >45us=1/s", Outcome::Pass),
            ("max-rate >1500ns=9000/s", Outcome::Undecided),
            ("max-rate >30us=1/h", Outcome::Fail),
        ];
        for (rule, expected) in cases {
            assert_eq!(outcome(rule, &counts, false), Ok(expected), "{rule}");
        }
        assert_eq!(outcome("max-detour 1us", &[], false), Ok(Outcome::Pass), "nothing was counted");
    }

    #[test]
    fn latencies_are_no_lost_time() {
        let counts = [(5_000, 6_000, 1_000_000)];
        assert_eq!(outcome("max-noise 1%", &counts, true), Err(Doubt::Latencies));
        assert_eq!(outcome("max-rate 1/s", &counts, true), Err(Doubt::Latencies));
        assert_eq!(outcome("max-detour 6us", &counts, true), Ok(Outcome::Pass));
        assert_eq!(outcome("max-rate >4us=1/s", &counts, true), Ok(Outcome::Fail));
        assert_eq!(outcome("max-wakeup 6us", &counts, true), Ok(Outcome::Pass));
        assert_eq!(outcome("max-wakeup 6us", &counts, false), Err(Doubt::NoWakeups));
    }

    #[test]
    fn the_noise_of_counts_is_their_shortest_sum_and_their_number_is_sure_where_no_limit_divides_it()
     {
        // 1 to 2 % of the time.
        let counts = [(1_000, 2_000, 1_000_000)];
        for (limit, certain) in [("0.9%", 1_000_000), ("1.5%", 0), ("2.1%", 1_000_000)] {
            let rule = format!("max-noise {limit}");
            let found = finding(&rule, &counts, false, 500).expect("counts of lost time");
            assert!((found.value - 0.01).abs() < 1e-12, "{limit}: {}", found.value);
            assert_eq!((found.events, found.uncertain), (certain, 1_000_000 - certain), "{limit}");
        }
    }

    #[test]
    fn a_threshold_over_a_microsecond_hides_noise() {
        let counts = [(5_000, 6_000, 10)];
        for (threshold_ns, hides) in [(500, false), (1_000, false), (1_001, true)] {
            let doubt =
                finding("max-noise 1%", &counts, false, threshold_ns).expect("counts").doubt;
            assert_eq!(doubt, hides.then_some(Doubt::Threshold { threshold_ns }));
        }
    }

    #[test]
    fn a_value_at_the_limit_passes() {
        let cases = [
            ("both at the limit", 1.0, Some(1.0), Outcome::Pass),
            ("the lower end at it", 1.0, Some(1.1), Outcome::Undecided),
            ("around it", 0.9, Some(1.1), Outcome::Undecided),
            ("without an upper end", 0.9, None, Outcome::Undecided),
            ("above it without an upper end", 1.1, None, Outcome::Fail),
            ("above it", 1.1, Some(1.2), Outcome::Fail),
        ];
        for (name, at_least, at_most, expected) in cases {
            assert_eq!(Outcome::from_bounds(1.0, at_least, at_most), expected, "case: {name}");
        }
    }
}
