//! The table of the threads of a recorded program that timers released: how late, and what made them late.

use crate::names::source_name;
use crate::screen::{Screen, Section};
use crate::style::plain;
use crate::table::Table;
use crate::units::{asked, count, length, number, time};
use anechoic_analyze::Summary;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::waits::{LateBy, OVERRUN, ReleaseParts, ReleaseRow, Releases, SLACK};

/// Number of threads in a brief table.
const FEW: usize = 3;
/// A thread with fewer releases and without a period is not in it.
const FEWEST: u64 = 10;
/// Number of causes that are named beside a row.
const NAMED: usize = 3;
/// Widest name of a thread.
const NAME_COLUMNS: usize = 20;
/// Groups of columns.
const GROUPS: [(&str, usize); 3] = [("", 4), ("latency", 3), ("", 1)];

/// Its section on a page.
const SECTION: Section =
    Section { anchor: "releases", title: "Releases by timers", short: "Releases" };

const EXPLANATION: &str = "latency: from the time for which the thread had set its timer to the switch to the thread; its return to the program follows. \
     overruns: programmed times that had passed when the thread slept again. late by: what took most of late releases, with its share of their \
     latency; busy thread: the time had passed before the thread set its timer; timer slack: the kernel may delay the timers of ordinary threads.";

/// Adds the threads with most late releases.
pub(crate) fn add_briefly(summary: &Summary, screen: &mut Screen) {
    let Some(releases) = &summary.releases else { return };
    let counts = |row: &&ReleaseRow| row.releases >= FEWEST || row.period_ns.is_some();
    let rows: Vec<&ReleaseRow> = releases.rows.iter().filter(counts).collect();
    if rows.is_empty() {
        return;
    }
    let left = rows.len().saturating_sub(FEW);
    let mut table = table(&rows, releases);
    let asides: Vec<String> =
        rows.iter().map(|row| late_by(row, &summary.run).unwrap_or_default()).collect();
    table.asides(asides.iter().map(String::as_str));
    screen.table(table.first(FEW, false, |_| format!("{left} more")));
    screen.gap();
}

/// Adds all threads that timers released.
pub(crate) fn part(summary: &Summary, screen: &mut Screen) {
    let Some(releases) = summary.releases.as_ref().filter(|found| !found.rows.is_empty()) else {
        return;
    };
    screen.part(SECTION, |part| {
        let rows: Vec<&ReleaseRow> = releases.rows.iter().collect();
        let mut table = table(&rows, releases);
        let asides: Vec<String> = rows.iter().map(|row| aside(row, &summary.run)).collect();
        table.asides(asides.iter().map(String::as_str));
        part.table(table);
        part.note(EXPLANATION);
        part.gap();
    });
}

fn table(rows: &[&ReleaseRow], releases: &Releases) -> Table {
    let late = format!("> {}", asked(releases.late_ns));
    let some = |ns: Option<u64>| ns.map_or("–".into(), length);
    Table::with_rows(rows)
        .name("released", |row| name(row))
        .explained("released", "Name and number of the thread, or number of threads of a pool")
        .cut_at(NAME_COLUMNS)
        .number("period", |row| row.period_ns.map_or("–".into(), time))
        .number("times", |row| count(row.releases))
        .number("overruns", |row| count(row.overruns))
        .number("p50", |row| length(row.p50_ns))
        .number("p99", |row| some(row.p99_ns))
        .number("max", |row| length(row.max_ns))
        .number(&late, |row| count(row.late))
        .captioned(
            "The threads of the program that timers released, those with most late releases first",
        )
        .grouped(&GROUPS)
}

fn name(row: &ReleaseRow) -> String {
    let name = plain(&row.name);
    match row.tid {
        Some(tid) => format!("{name} {tid}"),
        None => format!("{name} × {}", count(row.threads)),
    }
}

fn cause(by: &LateBy, run: &Facts) -> String {
    match by.source.as_str() {
        OVERRUN => "busy thread".into(),
        SLACK => "timer slack".into(),
        source => source_name(source, &by.name, run),
    }
}

/// Returns the causes of the late releases of a row; nothing if none was late.
fn late_by(row: &ReleaseRow, run: &Facts) -> Option<String> {
    let causes = row.late_by.iter().take(NAMED);
    let causes = causes.map(|by| format!("{} ({} %)", cause(by, run), number(100.0 * by.share)));
    let causes: Vec<String> = causes.collect();
    (!causes.is_empty()).then(|| format!("late by {}", causes.join(", ")))
}

/// Returns the causes of the late releases of a row, and its mean parts.
fn aside(row: &ReleaseRow, run: &Facts) -> String {
    let unseen = (row.unseen > 0).then(|| {
        format!("the switch of {} was not reported, so that they took longer", count(row.unseen))
    });
    let parts = [Some(format!("mean {}", parts(&row.parts))), late_by(row, run), unseen];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Names the parts of a release that took time.
fn parts(parts: &ReleaseParts) -> String {
    let all = [
        ("busy thread", parts.overrun_ns),
        ("slack", parts.slack_ns),
        ("timer", parts.timer_ns),
        ("interrupt", parts.interrupt_ns),
        ("scheduling", parts.scheduling_ns),
    ];
    let some = all.into_iter().filter(|(_, ns)| *ns >= 1.0);
    let named: Vec<String> = some.map(|(name, ns)| format!("{name} {}", time(ns))).collect();
    named.join(", ")
}
