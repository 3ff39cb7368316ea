//! The screen of a gate: every rule with its outcome and the reason, in one line each.

mod health;
mod junit;
mod markdown;
mod row;
mod words;

pub use row::GATE;

pub use health::{HealthAge, gate_nagios, gate_npd, nagios_unknown, npd_unknown};
pub use junit::gate_junit;
pub(in crate::results) use markdown::cell;
pub use markdown::gate_markdown;
use words::{outcome, quantity, reason};

use crate::screen::Screen;
use crate::style::{Tone, View, clip, listed, plain};
use crate::table::{Rows, Table};
use crate::units::{count, counted, span};
use anechoic_analyze::gate::{Finding, Gate, Outcome, RuleOutcome};
use std::collections::BTreeSet;
use std::path::Path;

/// Widest name of a recording in a line.
const NAME: usize = 32;

/// Shows the outcome of every rule.
#[must_use]
pub fn gate(found: &Gate, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.heading(&format!("gate: {}", scope(found)));
    screen.gap();
    screen.headline(&headline(found));
    for rule in &found.rules {
        let tone = match rule.outcome {
            Outcome::Pass => Tone::Good,
            Outcome::Undecided => Tone::Warning,
            Outcome::Fail => Tone::Bad,
        };
        screen.toned_line(tone, &line(rule, found));
    }
    if found.recordings.iter().any(|recording| recording.counts_only) {
        screen.note(
            "another tool counted by length: the ranges that it counted in bound each result, and detours are taken to be \
             independent of each other, because their times are not known",
        );
    }
    for unread in &found.unread {
        screen.warning(&format!("not judged: {unread}"));
    }
    if view.all {
        for rule in found.rules.iter().filter(|rule| !rule.findings.is_empty()) {
            screen.section(&name(rule));
            screen.table(findings(rule, found));
        }
    }
    screen
}

/// Returns what the rules come to, in one sentence.
pub(crate) fn headline(found: &Gate) -> String {
    let number = |outcome| found.rules.iter().filter(|rule| rule.outcome == outcome).count();
    let (failed, undecided) = (number(Outcome::Fail), number(Outcome::Undecided));
    let all = counted(found.rules.len() as u64, "rule", "rules");
    let others = match undecided {
        0 => String::new(),
        undecided => format!(", {undecided} undecided"),
    };
    match (found.outcome, found.rules.len()) {
        (Outcome::Pass, 1) => "Passed: the rule holds.".into(),
        (Outcome::Fail, 1) => "Failed: the limit is exceeded.".into(),
        (Outcome::Undecided, 1) => {
            "Undecided: what was measured neither confirms nor refutes the rule.".into()
        }
        (Outcome::Pass, _) => format!("Passed: all {all} hold."),
        (Outcome::Fail, _) => format!("Failed: {failed} of {all} exceeded{others}."),
        (Outcome::Undecided, _) => {
            format!("Undecided: {undecided} of {all} neither confirmed nor refuted, none exceeded.")
        }
    }
}

/// Returns how much was judged: `2 rules · 1 recording of 10 s · 4 CPUs`, and the names of recorded programs.
fn scope(found: &Gate) -> String {
    let (rules, scope) = rules_and_scope(found);
    format!("{rules} · {scope}")
}

/// Returns the same in two parts: how many rules, and what they judged.
fn rules_and_scope(found: &Gate) -> (String, String) {
    let rules = counted(found.rules.len() as u64, "rule", "rules");
    let recordings = counted(found.recordings.len() as u64, "recording", "recordings");
    let lengths = found.recordings.iter().map(|recording| recording.wall_ns);
    let shortest = lengths.min().filter(|ns| *ns > 0);
    let length = shortest.map(|shortest| {
        let least = if found.recordings.len() > 1 { "at least " } else { "" };
        format!(" of {least}{}", span(shortest))
    });
    let programs: BTreeSet<&String> =
        found.recordings.iter().filter_map(|recording| recording.program.as_ref()).collect();
    let names: Vec<String> = programs.iter().map(|name| clip(&plain(name), NAME)).collect();
    let programs = match names.is_empty() {
        true => String::new(),
        false => format!(" · {}", listed(&names)),
    };
    // A program uses the CPUs that it gets.
    let measured = found.recordings.iter().filter(|recording| recording.program.is_none());
    let cpus: BTreeSet<(&String, &u32)> = measured
        .flat_map(|recording| recording.cpus.iter().map(move |cpu| (&recording.host, cpu)))
        .collect();
    let cpus = match cpus.is_empty() && !programs.is_empty() {
        true => String::new(),
        false => format!(" · {}", counted(cpus.len() as u64, "CPU", "CPUs")),
    };
    (rules, format!("{recordings}{}{cpus}{programs}", length.unwrap_or_default()))
}

/// Returns the line of a rule: outcome, rule, reason.
fn line(rule: &RuleOutcome, found: &Gate) -> String {
    format!("{:<9}  {}: {}", outcome(rule.outcome), name(rule), reason(rule, found))
}

/// Returns a rule as it is given on the command line.
fn name(rule: &RuleOutcome) -> String {
    plain(&format!("{} {}", rule.rule, rule.given))
}

/// Returns where a finding is, or of which program; nothing if it is of all.
fn place(rule: &RuleOutcome, finding: &Finding, found: &Gate) -> Option<String> {
    if let Some(program) = &finding.program {
        return Some(clip(&plain(program), NAME));
    }
    let cpu = format!("CPU {}{}", finding.cpu?, words::kind(rule, finding));
    let recording = finding.recording.and_then(|index| recording(index, found));
    Some(recording.map_or(cpu.clone(), |name| format!("{cpu} of {name}")))
}

/// Returns the name of a recording; nothing if there is only one. With several hosts it is the name of the host,
/// because most hosts have one recording.
fn recording(index: u64, found: &Gate) -> Option<String> {
    let recording = found.recordings.get(usize::try_from(index).ok()?)?;
    let last = Path::new(&recording.path).file_name();
    let last = last.map_or(recording.path.clone(), |name| name.to_string_lossy().into());
    let others = || found.recordings.iter().filter(|other| other.path != recording.path);
    let alone = others().all(|other| other.host != recording.host);
    let name = match others().any(|other| other.host != recording.host) {
        true if alone => recording.host.clone(),
        true => format!("{}/{last}", recording.host),
        false => last,
    };
    (found.recordings.len() > 1).then(|| clip(&plain(&name), NAME))
}

fn findings(rule: &RuleOutcome, found: &Gate) -> Table {
    let write = |value: f64| quantity(rule.unit, value);
    let rows: Rows<'_, Finding> = Table::with_rows(&rule.findings);
    rows.name("where", |finding| place(rule, finding, found).unwrap_or_else(|| "all runs".into()))
        .number("measured", |finding| write(finding.value))
        .number("at least", |finding| write(finding.at_least))
        .some_numbers("at most", 0, |finding| finding.at_most.map(write))
        .number("events", |finding| count(finding.events))
        .some_numbers("perhaps", 1, |finding| {
            (finding.uncertain > 0).then(|| count(finding.uncertain))
        })
        .number("watched", |finding| span(finding.wall_ns))
        .name("", |finding| outcome(finding.outcome).into())
        .captioned("What was found for the rule on each CPU, with bounds of 95 % confidence")
}
