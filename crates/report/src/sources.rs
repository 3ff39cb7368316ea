//! The table of sources, which shows what took the time.

use crate::names::{gap, sender, source_name};
use crate::screen::Screen;
use crate::style::{View, clip, plain, width};
use crate::table::Table;
use crate::units::{count, cpu_list, length, noise, rate, rough_share, share, time};
use crate::{advice, certainty, heading, owners};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::sources::SourceRow;
use anechoic_analyze::{Breakdown, Sources};
use anechoic_recording::{LossKind, sources};

/// The table shows at most this many rows.
const MOST_ROWS: usize = 12;
/// A table with all that is known of each row shows at most this many, a brief one fewer.
const SOME: usize = 9;
const FEW: usize = 6;
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
const HEADS: [&str; 6] = ["share", "per s", "p50", "p99", "max", "CPUs"];

/// Further columns where every row is shown.
const TOTALS: [&str; 3] = ["detours", "time", "of the run"];

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
            format!("{} lost {} of its run time.", plain(&program.name), noise(sources.noise))
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

/// Returns the table with a title, shortened to this many rows.
fn finished(table: Table, rows: &[SourceRow], shown: usize) -> Table {
    let folded = &rows[shown..];
    let rest = share(folded.iter().map(|row| row.share).sum());
    let more = format!("{} more, {rest}", folded.len());
    let table = table.leaving_out(&["per s", "p50", "CPUs", "p99"]);
    table.captioned("What took the time").folded(shown, more)
}

/// Adds the largest sources, with the thread, function or sender of each.
pub(crate) fn add_briefly(sources: &Breakdown, run: &Facts, view: &View<'_>, screen: &mut Screen) {
    if sources.rows.is_empty() {
        return add(sources, run, view, screen);
    }
    let mut table = Table::with_names("what took the time", &HEADS);
    for row in &sources.rows {
        table.row(cells(row, run, NAME_COLUMNS));
        table.aside(&who(row).join(" · "));
    }
    screen.table(finished(table, &sources.rows, shown(&sources.rows).min(FEW)));
}

/// Adds the table only.
pub(crate) fn add(sources: &Breakdown, run: &Facts, view: &View<'_>, screen: &mut Screen) {
    let unattributed = sources.coverage.map_or(0.0, |coverage| coverage.unattributed);
    if sources.rows.is_empty() && unattributed == 0.0 {
        return screen.sentence("no detour was recorded");
    }
    let heads: Vec<&str> =
        if view.all { [&HEADS[..1], &TOTALS, &HEADS[1..]].concat() } else { HEADS.to_vec() };
    let mut table = Table::with_names("what took the time", &heads);
    let name_columns = if view.columns() > 100 { 2 * NAME_COLUMNS } else { NAME_COLUMNS };
    for row in &sources.rows {
        let mut cells = cells(row, run, name_columns);
        if view.all {
            cells.splice(2..2, totals(row, run));
        }
        table.row(cells);
        table.aside(&notes(row, run).join(" · "));
    }
    if unattributed > 0.0 {
        table.total(vec!["(no activity recorded)".to_owned(), share(unattributed)]);
    }
    let shown = if view.all { sources.rows.len() } else { shown(&sources.rows).min(SOME) };
    screen.table(finished(table, &sources.rows, shown));
    screen.note(match run.cpus.len() {
        ..2 => "share: of the lost time",
        _ => "share: of the lost time; per s: on each CPU that has any",
    });
}

/// Returns the number of detours with a source, all time that it took, and that as a share of the run.
fn totals(row: &SourceRow, run: &Facts) -> [String; 3] {
    [count(row.detours), time(total_ns(row, run)), noise(row.noise)]
}

/// Returns all time that a source took, in ns.
pub(crate) fn total_ns(row: &SourceRow, run: &Facts) -> f64 {
    match run.program {
        Some(_) => row.charged.mean_ns * row.detours as f64,
        None => row.noise * run.wall_ns as f64 * run.cpus.len() as f64,
    }
}

/// Returns how many rows a shortened table shows; it never leaves out a single row.
pub(crate) fn shown(rows: &[SourceRow]) -> usize {
    let large = rows.partition_point(|row| row.share >= LEAST_SHARE);
    let shown = large.clamp(1.min(rows.len()), MOST_ROWS);
    if rows.len() <= shown + 1 { rows.len() } else { shown }
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

/// Returns which CPUs were touched: `all`, their numbers, or how many.
pub(crate) fn cpus(touched: &[u32], measured: usize) -> String {
    if touched.len() == measured && measured > 1 {
        return "all".into();
    }
    let list = cpu_list(touched);
    if width(&list) <= 5 { list } else { format!("{}/{measured}", touched.len()) }
}

/// What else is known of a source, the most telling first.
pub(crate) fn notes(row: &SourceRow, run: &Facts) -> Vec<String> {
    let steal = row.steal.filter(|steal| steal.share >= STEAL_PART);
    let steal = steal.map(|steal| format!("steal {}", rough_share(steal.share)));
    let gaps = row.gap_p50_ns as f64 >= GAP_PART * row.charged.p50_ns as f64;
    let gaps = (gaps && row.gap_p50_ns > 0)
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
