//! The table of sources: what took the time.

use crate::names::{gap, sender, source_name};
use crate::screen::Screen;
use crate::style::{Tone, View, clip, plain, width};
use crate::table::{Align, GAP, Table};
use crate::units::{cpu_list, length, noise, rate, share};
use crate::{advice, certainty, heading};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::sources::SourceRow;
use anechoic_analyze::{Breakdown, Sources};
use anechoic_recording::sources;
use std::io::{self, Write};

/// More rows than this are folded.
const MOST_ROWS: usize = 12;
/// Rows with less than this share are folded.
const LEAST_SHARE: f64 = 0.000_5;
/// Gaps are mentioned where they are this part of the median.
const GAP_PART: f64 = 0.2;
/// Steal is mentioned from this share on.
const STEAL_PART: f64 = 0.01;
/// Functions and senders are mentioned from this part of a source's time on,
const LARGE_PART: f64 = 0.2;
/// and without their share from this.
const NEARLY_ALL: f64 = 0.9;
/// The widest column of names on a narrow screen.
const NAME_COLUMNS: usize = 28;
const HEADS: [(&str, Align); 7] = [
    ("what took the time", Align::Left),
    ("share", Align::Right),
    ("per s", Align::Right),
    ("p50", Align::Right),
    ("p99", Align::Right),
    ("max", Align::Right),
    ("CPUs", Align::Right),
];

/// What took the time of one recording, as a screen of its own.
#[must_use]
pub fn sources(sources: &Sources, view: &View<'_>) -> Screen {
    Screen::printed(|out| print(sources, view, out))
}

fn print(sources: &Sources, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    heading::write(&sources.run, view, out)?;
    writeln!(out)?;
    let lost = sources.losses.iter().any(|loss| loss.what == "detours");
    let least = if lost { "at least " } else { "" };
    writeln!(out, "noise {least}{} of the CPUs' time", noise(sources.noise))?;
    writeln!(out)?;
    table(&sources.sources, &sources.run, view, out)?;
    writeln!(out)?;
    certainty::write_breakdown(&sources.sources, &sources.run, view, out)?;
    certainty::write_losses(&sources.losses, view, out)?;
    advice::glossary(&sources.sources, &sources.run, view, out)
}

/// Writes the table alone.
pub(crate) fn table(
    sources: &Breakdown,
    run: &Facts,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let unattributed = sources.coverage.map_or(0.0, |coverage| coverage.unattributed);
    if sources.rows.is_empty() && unattributed == 0.0 {
        return writeln!(out, "no detour was recorded");
    }
    let (shown, folded) = fold(&sources.rows, view.all);
    let mut table = Table::new(&HEADS);
    let name_columns = if view.columns() > 100 { 2 * NAME_COLUMNS } else { NAME_COLUMNS };
    for row in shown {
        table.row(cells(row, run, name_columns));
    }
    if unattributed > 0.0 {
        let mut cells = vec!["(no activity recorded)".to_owned(), share(unattributed)];
        cells.resize(HEADS.len(), String::new());
        table.row(cells);
    }
    let table = table.fit(view.columns());
    let (heading, lines) = table.lines();
    writeln!(out, "{}", view.style.paint(Tone::Heading, heading.trim_end()))?;
    let notes = shown.iter().map(|row| notes(row, run)).chain(std::iter::repeat(vec![]));
    for (line, notes) in lines.iter().zip(notes) {
        line_with_notes(line, table.width(), &notes, view, out)?;
    }
    if !folded.is_empty() {
        let rest = share(folded.iter().map(|row| row.share).sum());
        let line = format!("{} more, {rest}", folded.len());
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
    }
    Ok(())
}

/// The rows to show and those to fold; one row alone is never folded.
fn fold(rows: &[SourceRow], all: bool) -> (&[SourceRow], &[SourceRow]) {
    let large = rows.partition_point(|row| row.share >= LEAST_SHARE);
    let shown = large.clamp(1.min(rows.len()), MOST_ROWS);
    let all = all || rows.len() <= shown + 1;
    rows.split_at(if all { rows.len() } else { shown })
}

fn cells(row: &SourceRow, run: &Facts, name_columns: usize) -> Vec<String> {
    let charged = &row.charged;
    vec![
        clip(&source_name(&row.source, &row.name, run), name_columns),
        share(row.share),
        rate(row.rate_per_s),
        length(charged.p50_ns),
        length(charged.p99_ns),
        length(charged.max_ns),
        cpus(&row.cpus, run.cpus.len()),
    ]
}

/// Which of the CPUs: `all`, their numbers, or how many.
fn cpus(touched: &[u32], measured: usize) -> String {
    if touched.len() == measured && measured > 1 {
        return "all".into();
    }
    let list = cpu_list(touched);
    if width(&list) <= 5 { list } else { format!("{}/{measured}", touched.len()) }
}

/// What else is known of a source, the most telling first.
fn notes(row: &SourceRow, run: &Facts) -> Vec<String> {
    let steal = row.steal.filter(|steal| steal.share >= STEAL_PART);
    let steal = steal.map(|steal| format!("steal {:.0} %", steal.share * 100.0));
    let gaps = row.gap_p50_ns as f64 >= GAP_PART * row.charged.p50_ns as f64;
    let gaps = (gaps && row.gap_p50_ns > 0)
        .then(|| format!("{} of it {}", length(row.gap_p50_ns), gap(run)));
    let function = row.functions.first();
    let function =
        function.filter(|f| f.function != row.name && !sources::TIMER_TICK.is(&row.source));
    let function = function.and_then(|f| mostly(f.share, plain(&f.function)));
    let sent = row.senders.first();
    let sent = sent.and_then(|s| Some((s.share, sender(s.cpu, s.task.as_deref())?)));
    let sent = sent.and_then(|(share, sent)| mostly(share, format!("from {sent}")));
    [steal, gaps, function, sent].into_iter().flatten().collect()
}

/// What took most of a source, with its share where that is not nearly all; nothing for a small part.
fn mostly(share: f64, what: String) -> Option<String> {
    match share {
        NEARLY_ALL.. => Some(what),
        LARGE_PART.. => Some(format!("{:.0} % {what}", share * 100.0)),
        _ => None,
    }
}

/// A row, and its notes beside it where they fit, below it where they do not.
fn line_with_notes(
    line: &str,
    columns: usize,
    notes: &[String],
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let notes = notes.join(" · ");
    if notes.is_empty() {
        return writeln!(out, "{}", line.trim_end());
    }
    let beside = columns + GAP + width(&notes) <= view.columns();
    if beside {
        return writeln!(out, "{line}{}{}", " ".repeat(GAP), view.style.paint(Tone::Quiet, &notes));
    }
    writeln!(out, "{}", line.trim_end())?;
    let notes = clip(&format!("  └ {notes}"), view.columns());
    writeln!(out, "{}", view.style.paint(Tone::Quiet, &notes))
}
