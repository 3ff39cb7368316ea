//! The screen of a comparison of wake-ups: whether their latency changed, and what took more or less of it.

mod row;
mod words;

pub use row::COMPARE_WAKEUPS;

use crate::names::title_of;
use crate::results::compare::{commands, differences, not_complete, to_keep};
use crate::results::wakeup::kinds;
use crate::screen::Screen;
use crate::style::{View, capital, clip, plain};
use crate::table::Table;
use crate::units::{asked, count, counted, micros, number, percent_range};
use anechoic_analyze::compare::wakeups::{
    LateShare, WakeSourceChange, WakeupChange, WakeupComparison, WakeupSide,
};
use anechoic_analyze::wakeup::Kind;
use std::cmp::Reverse;

/// Widest name in a table.
const NAME: usize = 34;
/// Number of sources that a short screen shows.
const MOST_SOURCES: usize = 5;
/// Number of rows of latencies that it shows, the clear differences first.
const MOST_ROWS: usize = 6;

fn more(left: usize) -> String {
    counted(left as u64, "more (--all)", "more (--all)")
}

fn side(side: &WakeupSide) -> String {
    format!("{} ({})", clip(&plain(&side.name), NAME), counted(side.runs, "run", "runs"))
}

/// Shows whether wake-up latency changed, and what took more or less of it.
#[must_use]
pub fn compare_wakeups(found: &WakeupComparison, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| {
        let [before, after] = [&found.before, &found.after].map(side);
        terminal.heading(&format!("comparison of wake-ups: {before} · {after}"));
        terminal.gap();
        terminal.headline(&words::sentences(found).join(" "));
    });
    let notes = found.notes.iter().map(|note| capital(note) + ".");
    let trials = found.trials.as_ref().and_then(not_complete);
    for warning in notes.chain(trials).chain(words::advice(found)) {
        screen.warning(&warning);
    }
    if let Some(trials) = &found.trials {
        screen.section("trials");
        screen.facts(commands(trials));
        to_keep(trials, &mut screen);
    }
    screen.section(match found.by_blocks {
        true => "latency, µs",
        false => "latency, µs: means over the runs of a side",
    });
    let rows: Vec<Line> = lines(found, view.all);
    screen.table(latencies(&rows, found).first(MOST_ROWS, view.all, more));
    screen.section(&format!("late wake-ups, over {}", asked(found.late_ns)));
    screen.table(late(found, view.all).first(MOST_ROWS, view.all, more));
    if !found.changed.is_empty() {
        screen.section("settings that differ");
        let known = |value: &Option<String>| value.as_deref().map_or("unknown".into(), plain);
        screen.table(
            Table::with_rows(&found.changed)
                .name("setting", |setting| plain(&setting.name))
                .name(heads(found)[0], |setting| known(&setting.before))
                .name(heads(found)[1], |setting| known(&setting.after))
                .captioned("Settings of the machine and of the runs that differ"),
        );
    }
    if !found.sources.is_empty() {
        screen.section("what took the time of a wake-up on average, µs");
        screen.table(sources(found, view));
    }
    screen.section("how certain this is");
    screen.sentence(&words::certainty(found));
    screen
}

/// Returns what the columns of both sides are called.
fn heads(found: &WakeupComparison) -> [&'static str; 2] {
    if found.trials.is_some() { ["A", "B"] } else { ["before", "after"] }
}

/// Names the wake-ups of a row by what distinguishes them from others.
fn name(row: &WakeupChange, found: &WakeupComparison) -> String {
    let all: Vec<Kind> = found.rows.iter().map(|row| row.kind).collect();
    let kind = kinds::name(row.kind, &all);
    let cpu = row.cpu.map(|cpu| format!("CPU {cpu}"));
    let parts: Vec<String> = kind.into_iter().chain(cpu).collect();
    if parts.is_empty() { "all".into() } else { parts.join(", ") }
}

/// A line of the table of latencies.
struct Line {
    name: String,
    difference: anechoic_analyze::compare::Difference,
}

fn lines(found: &WakeupComparison, all: bool) -> Vec<Line> {
    let shown = found.rows.iter().filter(|row| all || row.cpu.is_none());
    let mut lines: Vec<Line> = shown.flat_map(|row| lines_of_row(row, &name(row, found))).collect();
    lines.sort_by_key(|line| !all && !line.difference.clear); // stable
    lines
}

fn lines_of_row(row: &WakeupChange, whose: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for (quantile, difference) in [("median", row.p50_ns), ("99 %", row.p99_ns)] {
        let name = match whose {
            "all" => quantile.to_owned(),
            whose => format!("{quantile}, {whose}"),
        };
        lines.extend(difference.map(|difference| Line { name, difference }));
    }
    lines
}

fn latencies(lines: &[Line], found: &WakeupComparison) -> Table {
    differences(
        lines,
        "",
        |line| line.name.clone(),
        |line| line.difference,
        heads(found),
        [micros, micros],
    )
    .captioned("Wake-up latency on both sides, µs")
}

fn late(found: &WakeupComparison, all: bool) -> Table {
    let mut shown: Vec<&WakeupChange> =
        found.rows.iter().filter(|row| all || row.cpu.is_none()).collect();
    // Stable: clear differences first, and then those with the most late ones.
    let number = |row: &WakeupChange| row.late.before.late + row.late.after.late;
    shown.sort_by_key(|row| (!all).then(|| (!row.late.clear, Reverse(number(row)))));
    Table::with_rows(&shown)
        .name("", |row| name(row, found))
        .number(heads(found)[0], |row| number_late(&row.late.before))
        .number("share", |row| share(&row.late.before))
        .number(heads(found)[1], |row| number_late(&row.late.after))
        .number("share ", |row| share(&row.late.after))
        .some_names(" ", 0, |row| Some(if row.late.clear { "clear" } else { "" }.to_owned()))
        .captioned("Late wake-ups on both sides, with the bounds of their share")
}

fn number_late(late: &LateShare) -> String {
    format!("{} of {}", count(late.late), count(late.wakeups))
}

fn share(late: &LateShare) -> String {
    match late.share {
        None => "–".into(),
        Some(share) if share.low > 0.0 => percent_range(share.low * 100.0, share.high * 100.0),
        Some(share) => format!("< {} %", number(share.high * 100.0)),
    }
}

fn sources(found: &WakeupComparison, view: &View<'_>) -> Table {
    let name =
        |source: &WakeSourceChange| clip(&title_of(&source.source, &source.name, true), NAME);
    differences(
        &found.sources,
        "source",
        name,
        |source| source.difference,
        heads(found),
        [micros, micros],
    )
    .captioned("What took the time of a wake-up on average, µs")
    .first(MOST_SOURCES, view.all, |left| counted(left as u64, "more source", "more sources"))
}
