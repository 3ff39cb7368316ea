//! What would help: for the costliest sources that a user can reduce, one line each; or for every
//! source all that is known.

use crate::names::{known, source_name};
use crate::style::{Tone, View, plain, wrap};
use crate::units::noise;
use anechoic_analyze::Breakdown;
use anechoic_analyze::facts::Facts;
use std::io::{self, Write};

/// Sources that get a line, at most.
const LINES: usize = 2;
/// A source that took less of the lost time gets none.
const LEAST_SHARE: f64 = 0.01;
/// Nothing on this machine reduces these: they are not in the guest's power, or not known.
const OUT_OF_REACH: [&str; 2] = ["vm-or-hardware", "not-attributable"];

/// Writes the advice.
pub(crate) fn write(
    sources: &Breakdown,
    run: &Facts,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let advised = advised(sources, run);
    if advised.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "{}", view.style.paint(Tone::Heading, "what would help"))?;
    advised.iter().try_for_each(|text| item("· ", text, view, out))
}

/// What would help, a sentence a source.
pub(crate) fn advised(sources: &Breakdown, run: &Facts) -> Vec<String> {
    let mut advised: Vec<(&str, String)> = vec![];
    for row in sources.rows.iter().filter(|row| row.share >= LEAST_SHARE) {
        let in_reach = !OUT_OF_REACH.contains(&row.source.as_str());
        let seen = advised.iter().any(|(source, _)| *source == row.source);
        let reduce = known(&row.source)
            .filter(|_| in_reach && !seen)
            .and_then(|source| reduction(source.reduce, row));
        if let Some(reduce) = reduce {
            let name = source_name(&row.source, &row.name, run);
            advised.push((
                &row.source,
                format!("{name} costs {} of the CPUs' time: {reduce}", noise(row.noise)),
            ));
        }
    }
    advised.into_iter().take(LINES).map(|(_, text)| text).collect()
}

/// Writes what each kind of source in the table is and all that reduces it.
pub(crate) fn glossary(
    sources: &Breakdown,
    run: &Facts,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut told: Vec<&str> = vec![];
    for row in &sources.rows {
        let Some(source) = known(&row.source).filter(|source| !told.contains(&source.id)) else {
            continue;
        };
        told.push(source.id);
        let title = source_name(&row.source, "", run);
        writeln!(out, "\n{}", view.style.paint(Tone::Heading, &title))?;
        item("  ", source.what, view, out)?;
        source.reduce.iter().try_for_each(|reduce| item("· ", reduce, view, out))?;
    }
    Ok(())
}

/// Writes one text, wrapped, behind its mark.
fn item(mark: &str, text: &str, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (number, line) in wrap(&plain(text), view.columns() - 2).iter().enumerate() {
        writeln!(out, "{}{line}", if number == 0 { mark } else { "  " })?;
    }
    Ok(())
}

/// The line that speaks of this very row (`vmstat_update: …`, `NET_RX, …: …`), else the first.
fn reduction(
    lines: &'static [&'static str],
    row: &anechoic_analyze::sources::SourceRow,
) -> Option<&'static str> {
    let function = row.functions.first().map(|first| first.function.as_str());
    let speaks_of = |line: &&&str| {
        let Some((about, _)) = line.split_once(": ") else { return false };
        about.split(", ").any(|about| about == row.name || Some(about) == function)
    };
    lines.iter().find(speaks_of).or(lines.first()).copied()
}
