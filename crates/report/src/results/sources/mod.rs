//! The table of sources, which shows what took the time.

pub(crate) mod owners;
mod row;
pub(crate) mod suspects;

pub use row::SOURCES;

use crate::names::{cpus, gap, sender, source_name};
use crate::screen::{Screen, Section};
use crate::style::{View, plain};
use crate::table::{Form, Table};
use crate::units::{count, length, noise, rate, rough_share, share, time};
use crate::{advice, certainty, heading};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::sources::SourceRow;
use anechoic_analyze::{Breakdown, Sources, Summary};
use anechoic_recording::{LossKind, sources};

/// What the column of sources is called.
pub(in crate::results) const TITLE: &str = "what took the time";
/// The table shows at most this many rows.
const MOST_ROWS: usize = 12;
/// A terminal that does not show all shows at most this many, a brief table fewer; that of a program leaves room for its
/// threads.
const SOME: usize = 9;
const FEW: usize = 6;
/// The same in lines, with the notes below its rows.
const FEW_LINES: usize = 8;
const FEW_OF_PROGRAM: usize = 3;
/// The same beside many other tables.
const FEWEST: usize = 2;
/// Rows with a smaller share are left out.
const LEAST_SHARE: f64 = 0.000_5;
/// Gaps are mentioned from this part of the median on.
const GAP_PART: f64 = 0.2;
/// Steal is mentioned from this share on.
const STEAL_PART: f64 = 0.01;
/// Functions and senders are mentioned from this part of a source's time on.
const LARGE_PART: f64 = 0.2;
/// From this part on their share is left out.
const NEARLY_ALL: f64 = 0.9;
/// Widest column of names on a narrow screen.
const NAME_COLUMNS: usize = 28;

/// A source with the shares of its row and of those above it.
struct Ranked<'a> {
    row: &'a SourceRow,
    total: f64,
}

/// A column of numbers.
struct Numbers {
    /// Its headings in the terminal and on a page.
    heads: [&'static str; 2],
    /// What its numbers are.
    what: &'static str,
    place: Place,
    value: fn(&Ranked<'_>, &Facts) -> f64,
    text: fn(&Ranked<'_>, &Facts) -> String,
}

/// Where a column is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Everywhere,
    /// Where every row is shown.
    All,
    OnPage,
}

const COLUMNS: [Numbers; 11] = [
    Numbers {
        heads: [SHARE, SHARE],
        what: "Share of the lost time, including entry and exit gaps",
        place: Place::Everywhere,
        value: |source, _| source.row.share,
        text: |source, _| share(source.row.share),
    },
    Numbers {
        heads: [TOTAL, TOTAL],
        what: "Sum of the shares of this row and those above it",
        place: Place::OnPage,
        value: |source, _| source.total,
        text: |source, _| share(source.total),
    },
    Numbers {
        heads: ["detours", "detours"],
        what: "Number of detours that contain it",
        place: Place::All,
        value: |source, _| source.row.detours as f64,
        text: |source, _| count(source.row.detours),
    },
    Numbers {
        heads: ["time", "time"],
        what: "All time that it took, on all CPUs together",
        place: Place::All,
        value: |source, run| total_ns(source.row, run),
        text: |source, run| time(total_ns(source.row, run)),
    },
    Numbers {
        heads: ["of the run", "noise"],
        what: "Share of the CPUs' time",
        place: Place::All,
        value: |source, _| source.row.noise,
        text: |source, _| noise(source.row.noise),
    },
    Numbers {
        heads: ["per s", "per s"],
        what: "Rate of detours that contain it, per CPU that has any",
        place: Place::Everywhere,
        value: |source, _| source.row.rate_per_s,
        text: |source, _| rate(source.row.rate_per_s),
    },
    Numbers {
        heads: ["p50", "median"],
        what: "Median of its time in a detour",
        place: Place::Everywhere,
        value: |source, _| source.row.charged.p50_ns as f64,
        text: |source, _| length(source.row.charged.p50_ns),
    },
    Numbers {
        heads: ["p99", "p99"],
        what: "99th percentile of its time in a detour",
        place: Place::Everywhere,
        value: |source, _| source.row.charged.p99_ns as f64,
        text: |source, _| length(source.row.charged.p99_ns),
    },
    Numbers {
        heads: ["max", "longest"],
        what: "Maximum of its time in a detour",
        place: Place::Everywhere,
        value: |source, _| source.row.charged.max_ns as f64,
        text: |source, _| length(source.row.charged.max_ns),
    },
    Numbers {
        heads: ["gaps", "gaps"],
        what: "Entry and exit gaps in its median: trap, return, VM exit",
        place: Place::OnPage,
        value: |source, _| source.row.gap_p50_ns as f64,
        text: |source, _| length(source.row.gap_p50_ns),
    },
    Numbers {
        heads: ["CPUs", "CPUs"],
        what: "CPUs on which it occurred",
        place: Place::Everywhere,
        value: |source, _| source.row.cpus.len() as f64,
        text: |source, run| cpus(&source.row.cpus, run.cpus.len()),
    },
];

/// The column by which the rows are sorted.
const SHARE: &str = "share";
/// The column that adds up the shares.
const TOTAL: &str = "total";

/// Shows what took the time in one recording.
#[must_use]
pub fn sources(sources: &Sources, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    heading::all(&sources.run, view, &mut screen);
    screen.gap();
    let lost = sources.losses.iter().any(|loss| loss.what == LossKind::Detours);
    let least = if lost { "at least " } else { "" };
    let (who, their) = match &sources.run.cpus[..] {
        [cpu] => (format!("CPU {cpu}"), "its"),
        cpus => (format!("The {} CPUs", cpus.len()), "their"),
    };
    screen.headline(&match &sources.run.program {
        Some(program) => {
            format!(
                "{} lost {} of the time in which it wanted a CPU.",
                plain(&program.name),
                noise(sources.noise)
            )
        }
        None => format!("{who} lost {least}{} of {their} time.", noise(sources.noise)),
    });
    screen.gap();
    add(&sources.sources, &sources.run, view, &mut screen);
    screen.gap();
    let mut facts = certainty::breakdown(&sources.sources, &sources.run);
    facts.extend(certainty::losses(&sources.losses));
    screen.checked(facts, view.all);
    if view.all {
        advice::glossary(&sources.sources, &sources.run, &mut screen);
    } else {
        advice::add_briefly(&sources.sources, &sources.run, view, &mut screen);
        screen.gap();
        screen.note("--all shows all sources, what each is, and all that reduces it");
    }
    screen
}

/// Adds what the page shows as a section of its own: the sources with whose the lost time is, or the suspects.
pub(crate) fn part(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    screen.part(SECTION, |part| {
        match (&summary.sources, &summary.suspects) {
            (Some(found), _) => {
                add(found, &summary.run, view, part);
                part.on_page(|page| explain(found, page));
            }
            (None, Some(found)) => suspects::add(found, &summary.run, view, part),
            (None, None) => return,
        }
        part.gap();
        owners::add(summary, view, part);
        if let Some(found) = &summary.sources {
            part.on_page(|page| {
                let glossary =
                    Screen::from_fn(|screen| advice::glossary(found, &summary.run, screen));
                page.details("What these sources are, and what reduces them", glossary);
            });
        }
    });
}

/// Explains the table on a page.
fn explain(sources: &Breakdown, page: &mut Screen) {
    if !sources.rows.is_empty() {
        page.note(&format!("The column \"{TOTAL}\" adds up the shares from the top."));
    }
    let unattributed = sources.coverage.map_or(0.0, |coverage| coverage.unattributed);
    if unattributed > 0.0 {
        let share = share(unattributed);
        page.sentence(&format!("No activity is recorded for {share} of the lost time."));
    }
}

const SECTION: Section =
    Section { anchor: "sources", title: "What took the time", short: "Sources" };

/// Adds the table only.
pub(crate) fn add(sources: &Breakdown, run: &Facts, view: &View<'_>, screen: &mut Screen) {
    let unattributed = sources.coverage.map_or(0.0, |coverage| coverage.unattributed);
    if sources.rows.is_empty() && unattributed == 0.0 {
        return screen.sentence("No detour was recorded.");
    }
    let mut table = table(&sources.rows, run, view, notes);
    if unattributed > 0.0 {
        table.total(vec!["(no activity recorded)".to_owned(), share(unattributed)]);
    }
    let shown = if view.all { sources.rows.len() } else { shown(&sources.rows).min(SOME) };
    screen.table(shortened(table, &sources.rows, shown));
    screen.note(match run.cpus.len() {
        ..2 => "share: of the lost time",
        _ => "share: of the lost time; per s: on each CPU that has any",
    });
}

/// Adds the largest sources, with the thread, function or sender of each.
pub(crate) fn add_briefly(sources: &Breakdown, run: &Facts, view: &View<'_>, screen: &mut Screen) {
    if sources.rows.is_empty() {
        return add(sources, run, view, screen);
    }
    let table = table(&sources.rows, run, view, |row, _| who(row));
    let few = if run.program.is_some() { FEW_OF_PROGRAM } else { few(&sources.rows) };
    screen.table(shortened(table, &sources.rows, shown(&sources.rows).min(few)));
}

/// Returns how many rows a brief table has, with what is known of each below it.
fn few(rows: &[SourceRow]) -> usize {
    let mut lines = 0;
    let fit = rows.iter().take(FEW).take_while(|row| {
        lines += 1 + usize::from(!who(row).is_empty());
        lines <= FEW_LINES
    });
    fit.count()
}

/// Adds the largest sources alone, where other tables need the room.
pub(crate) fn add_fewest(sources: &Breakdown, run: &Facts, view: &View<'_>, screen: &mut Screen) {
    let table = table(&sources.rows, run, view, |_, _| vec![]);
    screen.table(shortened(table, &sources.rows, shown(&sources.rows).min(FEWEST)));
}

/// Returns the table, shortened to this many rows.
fn shortened(table: Table, rows: &[SourceRow], shown: usize) -> Table {
    let folded = &rows[shown..];
    let rest = share(folded.iter().map(|row| row.share).sum());
    table.folded(shown, format!("{} more, {rest}", folded.len()))
}

/// Returns the sources with their numbers, and notes on each.
fn table(
    sources: &[SourceRow],
    run: &Facts,
    view: &View<'_>,
    notes: fn(&SourceRow, &Facts) -> Vec<String>,
) -> Table {
    let ranked = sources.iter().scan(0.0, |total, row| {
        *total += row.share;
        Some(Ranked { row, total: *total })
    });
    let ranked: Vec<Ranked<'_>> = ranked.collect();
    let name_columns = if view.columns() > 100 { 2 * NAME_COLUMNS } else { NAME_COLUMNS };
    let mut rows = Table::with_rows(&ranked)
        .name(TITLE, |source| source_name(&source.row.source, &source.row.name, run))
        .explained("source", "What the CPU did instead")
        .cut_at(name_columns);
    for column in COLUMNS.iter().filter(|column| view.all || column.place != Place::All) {
        let [head, long] = column.heads;
        rows = rows
            .number(head, |source| (column.text)(source, run))
            .sorting(|source| (column.value)(source, run))
            .explained(long, column.what);
        rows = match head {
            SHARE => rows.form(Form::Shares),
            TOTAL => rows.form(Form::RunningTotal),
            _ => rows,
        };
        if column.place == Place::OnPage {
            rows = rows.only_on_page();
        }
    }
    let table = rows.captioned("What took the time").leaving_out(&["per s", "p50", "CPUs", "p99"]);
    let symbols = sources.iter().map(|row| (row.source.to_string(), row.name.to_string()));
    let mut table = table.sorted_by(SHARE).with_symbols(symbols);
    let notes: Vec<String> = sources.iter().map(|row| notes(row, run).join(" · ")).collect();
    table.asides(notes.iter().map(String::as_str));
    table
}

/// Returns all time that a source took, in ns.
fn total_ns(row: &SourceRow, run: &Facts) -> f64 {
    match run.program {
        Some(_) => row.charged.mean_ns * row.detours as f64,
        None => row.noise * run.wall_ns as f64 * run.cpus.len() as f64,
    }
}

/// Returns how many rows a shortened table shows; it never leaves out a single row.
fn shown(rows: &[SourceRow]) -> usize {
    let large = rows.partition_point(|row| row.share >= LEAST_SHARE);
    let shown = large.clamp(1.min(rows.len()), MOST_ROWS);
    if rows.len() <= shown + 1 { rows.len() } else { shown }
}

/// What else is known of a source, the most telling first.
fn notes(row: &SourceRow, run: &Facts) -> Vec<String> {
    let steal = row.steal.filter(|steal| steal.share >= STEAL_PART);
    let steal = steal.map(|steal| format!("steal {}", rough_share(steal.share)));
    let gaps = row.gap_p50_ns as f64 >= GAP_PART * row.charged.p50_ns as f64;
    // A detour of a program begins and ends with events.
    let gaps = (gaps && row.gap_p50_ns > 0 && run.program.is_none())
        .then(|| format!("{} of it {}", length(row.gap_p50_ns), gap(run)));
    [thread(row), steal, gaps, function(row), sent(row)].into_iter().flatten().collect()
}

/// Returns the thread, function and sender of most of a source.
fn who(row: &SourceRow) -> Vec<String> {
    [thread(row), function(row), sent(row)].into_iter().flatten().collect()
}

fn function(row: &SourceRow) -> Option<String> {
    let first = row.functions.first()?;
    let known = first.function == row.name || sources::TIMER_TICK.is(&row.source);
    if known { None } else { mostly(first.share, plain(&first.function)) }
}

fn sent(row: &SourceRow) -> Option<String> {
    let first = row.senders.first()?;
    mostly(first.share, format!("from {}", sender(first.cpu, first.task.as_deref())?))
}

/// Returns the thread that took most of a source: its process, unit and command line. Threads of the kernel are known by
/// their names.
fn thread(row: &SourceRow) -> Option<String> {
    let most = row.threads.first().filter(|most| most.command.as_deref() != Some(""))?;
    if most.pid.is_none() && sources::ANECHOIC.is(&row.source) {
        return None; // it is known without /proc
    }
    let who = owners::described(most.tid, most.pid, most.command.as_deref(), most.unit.as_deref());
    mostly(most.share, who)
}

/// Returns what took most of a source, with its share unless that is nearly all; nothing for a small part.
fn mostly(share: f64, what: String) -> Option<String> {
    match share {
        NEARLY_ALL.. => Some(what),
        LARGE_PART.. => Some(format!("{} {what}", rough_share(share))),
        _ => None,
    }
}
