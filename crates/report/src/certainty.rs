//! How reliable the results are: alignment, explained share, losses, audit, and what was not available.

use crate::screen::{Fact, InBrief};
use crate::style::Tone;
use crate::units::{between, count, counted, length, rough_share, share, time};
use anechoic_analyze::coverage::{AuditDifference, Coverage, LossSummary, SURELY_SEEN_NS};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::program::{Account, ProgramFacts};
use anechoic_analyze::summary::INTERVAL;
use anechoic_analyze::tracer::{Difference, TracerCost};
use anechoic_analyze::{Breakdown, Summary};
use anechoic_recording::LossKind;
use anechoic_recording::attribution::Alignment;
use anechoic_recording::run::{DrainPolicy, NotAvailable};
use anechoic_recording::sources::NOT_ATTRIBUTABLE;

mod below_kernel;

/// If a larger share of the events lies outside all detours, the sources cannot be trusted.
const OUTSIDE_BAD: f64 = 0.001;
/// If a smaller share is explained, a brief screen has a line on it.
const LARGELY_EXPLAINED: f64 = 0.75;
/// If events are missing for a larger share, likewise.
const UNKNOWN: f64 = 0.01;
/// Number of audit differences that are listed.
const DIFFERENCES: usize = 3;

/// Returns everything that bears on the reliability of a run.
pub(crate) fn facts(summary: &Summary) -> Vec<Fact> {
    let run = &summary.run;
    let mut facts = vec![];
    if let Some(sources) = &summary.sources {
        facts.extend(breakdown(sources, run));
    }
    if let Some(program) = &run.program {
        facts.extend(below_kernel::facts(
            program,
            run.hypervisor.is_some(),
            summary.interrupts.as_ref(),
        ));
    }
    facts.extend(losses(&summary.losses));
    if let Some(cost) = &summary.tracer_cost {
        facts.push(Fact::new("tracing cost", Tone::Good, tracer_cost(cost)));
    }
    facts.extend(not_available(&run.not_available));
    let missing = summary.not_available.iter().zip(not_available(&summary.not_available));
    // A program's share never has an interval.
    facts.extend(missing.map(|(missing, fact)| {
        let is_usual = run.program.is_some() && missing.what == INTERVAL;
        if is_usual { fact.in_brief(InBrief::Nothing) } else { fact }
    }));
    facts.extend(notes(run));
    facts
}

/// Returns the notes of the run.
pub(crate) fn notes(run: &Facts) -> Vec<Fact> {
    let text =
        "buffers were written out during the run; the time this took is source \"anechoic itself\"";
    let written = (run.drain == DrainPolicy::HighWater).then_some(text);
    let note = |text: &str| Fact::new("note", Tone::Quiet, text);
    let notes = run.notes.iter().map(|text| note(text));
    written.map(|text| note(text).in_brief(InBrief::Nothing)).into_iter().chain(notes).collect()
}

/// Returns alignment, explained share, audit and steal.
pub(crate) fn breakdown(sources: &Breakdown, run: &Facts) -> Vec<Fact> {
    let mut facts = match &run.program {
        Some(program) => program_facts(program),
        None => {
            let (tone, text) = alignment(&sources.alignment, run.threshold_ns);
            vec![check(tone, "alignment", text)]
        }
    };
    let text = match &sources.coverage {
        Some(coverage) => explained(coverage, sources, run),
        None => "no detours, so nothing to explain".into(),
    };
    let explained = sources.coverage.map_or(1.0, |coverage| coverage.explained);
    let enough = sources.coverage.is_none_or(|coverage| is_enough(&coverage));
    let tone = if enough { Tone::Good } else { Tone::Warning };
    let in_brief = match sources.coverage {
        Some(coverage) if !is_enough(&coverage) => InBrief::Whole,
        Some(_) => InBrief::Passed(format!("explained {}", rough_share(explained))),
        None => InBrief::Nothing,
    };
    facts.push(Fact::new("explained", tone, text).in_brief(in_brief));
    let (tone, text) = audit(sources, run);
    facts.push(check(tone, "audit", text));
    if !sources.untraced.is_empty() {
        let untraced = format!("no kernel event covers: {}", sources.untraced.join(", "));
        facts.push(Fact::new("", Tone::Quiet, untraced).in_brief(InBrief::Nothing));
    }
    if let (Some(read), Some(placed)) = (sources.steal_read_ns, sources.steal_placed_ns) {
        let text = match read {
            0 => "the hypervisor reported none".to_owned(),
            _ => format!(
                "{} of {} of reported steal fall inside detours",
                length(placed),
                length(read)
            ),
        };
        facts.push(Fact::new("steal", Tone::Good, text).in_brief(InBrief::Nothing));
    }
    facts
}

/// Returns a check, which was not made if its tone is quiet.
fn check(tone: Tone, name: &'static str, text: String) -> Fact {
    let fact = Fact::new(name, tone, text);
    match tone {
        Tone::Quiet => fact.in_brief(InBrief::Unchecked(name)),
        _ => fact.checks(name),
    }
}

/// Returns whether most of the lost time is explained, and hardly any of the rest for want of events.
fn is_enough(coverage: &Coverage) -> bool {
    coverage.explained >= LARGELY_EXPLAINED
        && coverage.not_attributable + coverage.unattributed < UNKNOWN
}

/// Returns which check does not apply to a recorded program, and what its events do not show.
fn program_facts(program: &ProgramFacts) -> Vec<Fact> {
    let (tone, account) = program.account.as_ref().map_or_else(
        || (Tone::Quiet, "the kernel's account of it is not known".to_owned()),
        account,
    );
    vec![check(tone, "CPU time", account)]
}

/// Returns whether the kernel's account of a program's CPU time agrees with the events.
fn account(account: &Account) -> (Tone, String) {
    let current = account.executed_ns.saturating_add(account.interrupted_ns);
    let mut text = format!(
        "the kernel counted {}, the events show {}",
        length(account.kernel_ns),
        length(current)
    );
    if account.waking_ns > account.tolerance_ns {
        let waking = length(account.waking_ns);
        text += &format!(" and up to {waking} more between wakings and switches");
    }
    for (ns, what) in [
        (account.steal_ns, "of steal, which the kernel may not count"),
        (account.unseen_ns, "that may lie before switches which the kernel does not report"),
    ] {
        if ns > account.tolerance_ns {
            text += &format!(", less up to {} {what}", length(ns));
        }
    }
    let off = length(account.outside_ns.unsigned_abs().saturating_add(account.tolerance_ns));
    match account.outside_ns {
        0 => (Tone::Good, text),
        1.. => {
            let why = "events of the program are missing";
            (
                Tone::Warning,
                format!("{text}: {off} more than these, so {why}; do not trust the result"),
            )
        }
        _ => {
            let why = "it left processes behind for which nobody waited, or the kernel counts interrupts apart";
            (Tone::Warning, format!("{text}: {off} less than these, so {why}"))
        }
    }
}

/// Returns whether a check failed: too many events lie outside all detours, or the kernel's own counts differ from the
/// recorded events. The sources cannot be trusted then.
pub(crate) fn check_failed(summary: &Summary) -> bool {
    let program = summary.run.program.as_ref().and_then(|program| program.account);
    program.is_some_and(|account| account.lacks_events())
        || summary.sources.as_ref().is_some_and(|sources| {
            let (aligned, _) = alignment(&sources.alignment, summary.run.threshold_ns);
            let (audited, _) = audit(sources, &summary.run);
            aligned == Tone::Bad || audited == Tone::Warning
        })
}

/// Returns the sentence that the sources cannot be trusted, if too many events lie outside all detours.
pub(crate) fn not_aligned(found: &Alignment, threshold_ns: u64) -> Option<String> {
    let (tone, text) = alignment(found, threshold_ns);
    (tone == Tone::Bad).then_some(text)
}

fn alignment(alignment: &Alignment, threshold_ns: u64) -> (Tone, String) {
    let Alignment { events, outside, .. } = *alignment;
    let all = counted(events, "kernel event", "kernel events");
    let lie = if outside == 1 { "lies" } else { "lie" };
    let some_lie = format!("{} of {all} {lie}", count(outside));
    match (events, outside) {
        (0, _) => (Tone::Quiet, "no kernel events on the measured CPUs".into()),
        (1, 0) => (Tone::Good, "the only kernel event lies inside a detour".into()),
        (_, 0) => (Tone::Good, format!("all {all} lie inside detours")),
        _ if threshold_ns > SURELY_SEEN_NS => {
            (Tone::Quiet, format!("not checked: {some_lie} in gaps below the threshold"))
        }
        _ => {
            let bad = outside as f64 > OUTSIDE_BAD * events as f64;
            let distrust = if bad { ": do not trust the sources" } else { "" };
            let text = format!("{some_lie} outside all detours{distrust}");
            (if bad { Tone::Bad } else { Tone::Warning }, text)
        }
    }
}

fn explained(coverage: &Coverage, sources: &Breakdown, run: &Facts) -> String {
    let mut text = format!(
        "{} of the lost time ({} without entry and exit gaps)",
        share(coverage.explained),
        share(coverage.explained_without_gaps)
    );
    text += &format!("; {} has no kernel event", share(coverage.unexplained));
    if coverage.not_attributable > 0.0 {
        let unknown = sources.rows.iter().filter(|row| NOT_ATTRIBUTABLE.is(&row.source));
        let names: Vec<&str> = unknown.map(|row| &*row.name).collect();
        let why = match run.alternate_ns {
            Some(_) => "events were switched off on purpose",
            None if !names.is_empty() && !names.contains(&"") => "the kernel hides the events",
            None => "events were lost",
        };
        text += &format!("; {} cannot be attributed ({why})", share(coverage.not_attributable));
    }
    if coverage.unattributed > 0.0 {
        text += &format!("; {} has no activity recorded", share(coverage.unattributed));
    }
    text
}

fn audit(sources: &Breakdown, run: &Facts) -> (Tone, String) {
    let differ = &sources.audit_differences;
    if run.alternate_ns.is_some() {
        return (
            Tone::Quiet,
            "not available (events were switched off half of the time on purpose)".into(),
        );
    }
    if sources.audited == 0 {
        return (Tone::Quiet, "not available (no kernel counters were read)".into());
    }
    if differ.is_empty() {
        let counters = counted(sources.audited, "kernel counter", "kernel counters");
        return (Tone::Good, format!("{counters} agree with the recorded events"));
    }
    let named: Vec<String> = differ.iter().take(DIFFERENCES).map(difference).collect();
    let text = format!(
        "{} of {} {} from the recorded events: {}",
        differ.len(),
        counted(sources.audited, "kernel counter", "kernel counters"),
        if differ.len() == 1 { "differs" } else { "differ" },
        named.join("; ")
    );
    let more = differ.len().saturating_sub(DIFFERENCES);
    (Tone::Warning, if more > 0 { format!("{text}; {more} more") } else { text })
}

fn difference(difference: &AuditDifference) -> String {
    format!(
        "{} on CPU {}: {} counted, {} recorded",
        difference.counter,
        difference.cpu,
        count(difference.counted),
        count(difference.seen)
    )
}

/// Returns what was lost; tracing that was switched off on purpose is not a loss.
pub(crate) fn losses(losses: &[LossSummary]) -> Vec<Fact> {
    let lost = losses.iter().filter(|loss| loss.what != LossKind::Untraced);
    let facts: Vec<Fact> = lost
        .map(|loss| {
            let number =
                if loss.count > 0 { count(loss.count) } else { "an unknown number of".into() };
            let text = format!(
                "{number} {} in {}, {} of the time, on {}",
                loss.what,
                counted(loss.intervals, "interval", "intervals"),
                share(loss.time_share),
                counted(loss.cpus.len() as u64, "CPU", "CPUs"),
            );
            Fact::new("losses", Tone::Warning, text)
        })
        .collect();
    match facts.is_empty() {
        true => vec![Fact::new("losses", Tone::Good, "none").checks("losses none")],
        false => facts,
    }
}

fn tracer_cost(cost: &TracerCost) -> String {
    format!(
        "recording events lengthens the median tick by {}, the mean tick by {}; {} pairs of windows",
        lengthened(&cost.median),
        lengthened(&cost.mean),
        count(cost.pairs),
    )
}

/// Writes by how much ticks are longer, its interval, and what could be detected.
fn lengthened(difference: &Difference) -> String {
    format!(
        "{} (95 %: {}; detectable from {})",
        time(difference.difference_ns),
        between(&time(difference.interval.low), &time(difference.interval.high)),
        time(difference.smallest_effect_ns),
    )
}

/// Returns what was not available, why, and what would enable it.
pub(crate) fn not_available(missing: &[NotAvailable]) -> Vec<Fact> {
    let facts = missing.iter().map(|NotAvailable { what, why, remedy }| {
        let remedy = if remedy.is_empty() { String::new() } else { format!(": {remedy}") };
        Fact::new("not available", Tone::Warning, format!("{what} ({why}){remedy}"))
    });
    facts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_events_outside_detours_are_an_error() {
        let cases = [
            ("none", 0, 0, 70, Tone::Quiet),
            ("all inside", 380_000, 0, 70, Tone::Good),
            ("one", 380_000, 1, 70, Tone::Warning),
            ("many", 1_000, 2, 70, Tone::Bad),
            ("many under a high threshold", 1_000, 500, 1_000_000, Tone::Quiet),
        ];
        for (name, events, outside, threshold_ns, expected) in cases {
            let found =
                alignment(&Alignment { events, outside, ..Alignment::default() }, threshold_ns);
            assert_eq!(found.0, expected, "case: {name}: {}", found.1);
        }
    }
}
