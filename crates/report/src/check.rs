//! The doctor's table: what can be measured here.

use crate::style::{Tone, View, clip, plain, width, wrap};
use anechoic_recording::check::{Check, Finding, Verdict};
use std::io::{self, Write};

/// The widest column of what was looked at.
const WHAT_COLUMNS: usize = 24;

/// Writes what can be measured on a machine, and what would enable the rest.
///
/// # Errors
/// Those of `out`.
pub fn check(check: &Check, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let machine = &check.machine;
    let release = machine.kernel.split_whitespace().next().unwrap_or("unknown kernel");
    let heading =
        format!("what can be measured on {} · {} · Linux {release}", machine.host, machine.model);
    let heading = clip(&plain(&heading), view.columns());
    writeln!(out, "{}\n", view.style.paint(Tone::Heading, &heading))?;
    let widest = check.findings.iter().map(|finding| width(&finding.what)).max().unwrap_or(0);
    let columns = widest.min(WHAT_COLUMNS);
    check.findings.iter().try_for_each(|found| finding(found, columns, view, out))?;
    let missing = |verdict| check.findings.iter().filter(|f| f.verdict == verdict).count();
    let (limited, missing) = (missing(Verdict::Limited), missing(Verdict::Missing));
    let sum = match (limited, missing) {
        (0, 0) => "everything can be measured here".to_owned(),
        _ => format!("{limited} limited, {missing} missing; the arrows say what would change that"),
    };
    writeln!(out, "\n{}", view.style.paint(Tone::Quiet, &sum))
}

fn finding(
    found: &Finding,
    columns: usize,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (mark, tone) = match found.verdict {
        Verdict::Good => ("✓", Tone::Good),
        Verdict::Limited => ("~", Tone::Warning),
        Verdict::Missing => ("✗", Tone::Bad),
        Verdict::Fact => ("·", Tone::Quiet),
    };
    let indent = columns + 4;
    let room = view.columns() - indent;
    let what = clip(&plain(&found.what), columns);
    for (number, line) in wrap(&plain(&found.found), room).iter().enumerate() {
        match number {
            0 => writeln!(out, "{} {what:columns$}  {line}", view.style.paint(tone, mark))?,
            _ => writeln!(out, "{:indent$}{line}", "")?,
        }
    }
    let Some(remedy) = &found.remedy else { return Ok(()) };
    for (number, line) in wrap(&plain(remedy), room - 2).iter().enumerate() {
        let arrow = if number == 0 { "→" } else { " " };
        let line = view.style.paint(Tone::Quiet, &format!("{arrow} {line}"));
        writeln!(out, "{:indent$}{line}", "")?;
    }
    Ok(())
}
