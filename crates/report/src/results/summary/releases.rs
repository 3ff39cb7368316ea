//! The table of the threads of a recorded program that timers released: how late, and what made them late.

use crate::names::{source_name, thread};
use crate::results::longest::release_parts;
use crate::screen::{Screen, Section};
use crate::style::View;
use crate::table::Table;
use crate::units::{asked, count, counted, length, number, time};
use anechoic_analyze::Summary;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::waits::{ReleaseRow, Releases};

/// Number of threads in a brief table.
const FEW: usize = 2;
/// A thread with fewer releases and without a period is not in it.
const FEWEST: u64 = 10;
/// Number of causes that are named beside a row.
const NAMED: usize = 3;
/// Widest name of a thread with its number, and that on a narrow screen.
const NAME_COLUMNS: usize = 20;
const NARROW_NAME_COLUMNS: usize = 16;
/// Groups of columns.
const GROUPS: [(&str, usize); 3] = [("", 4), ("latency", 3), ("", 1)];
/// The same where there is no room for two of the columns.
const NARROW_GROUPS: [(&str, usize); 3] = [("", 3), ("latency", 2), ("", 1)];

/// Its section on a page.
const SECTION: Section =
    Section { anchor: "releases", title: "Releases by timers", short: "Releases" };

const EXPLANATION: &str = "latency: from the time for which the thread had set its timer to the switch to the thread; its return to the program follows. \
     overruns: programmed times that had passed when the thread slept again. late by: what took most of late releases, with its share of their \
     latency; itself: the thread was still busy when the time passed; timer slack: the kernel may delay the timers of ordinary threads.";

/// Adds the threads with most late releases.
pub(crate) fn add_briefly(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let Some(releases) = &summary.releases else { return };
    left_out(releases).iter().for_each(|text| screen.warning(text));
    let rows = shown(summary);
    if rows.is_empty() {
        return;
    }
    let left = rows.len().saturating_sub(FEW);
    let mut table = fitting(&rows, releases, view);
    let asides: Vec<String> =
        rows.iter().map(|row| late_by(row, &summary.run).unwrap_or_default()).collect();
    table.asides(asides.iter().map(String::as_str));
    screen.table(table.first(FEW, false, |_| format!("{left} more")));
    screen.gap();
}

/// Returns the threads that are worth a row of a brief table.
pub(super) fn shown(summary: &Summary) -> Vec<&ReleaseRow> {
    let rows = summary.releases.iter().flat_map(|releases| &releases.rows);
    rows.filter(|row| row.releases >= FEWEST || row.period_ns.is_some()).collect()
}

/// Adds all threads that timers released.
pub(crate) fn part(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let is_worth_it = |found: &&Releases| !found.rows.is_empty() || found.left_out > 0;
    let Some(releases) = summary.releases.as_ref().filter(is_worth_it) else { return };
    screen.part(SECTION, |part| {
        let rows: Vec<&ReleaseRow> = releases.rows.iter().collect();
        let mut table = fitting(&rows, releases, view);
        let asides: Vec<String> = rows.iter().map(|row| aside(row, &summary.run)).collect();
        table.asides(asides.iter().map(String::as_str));
        part.table(table);
        part.note(EXPLANATION);
        left_out(releases).iter().for_each(|text| part.warning(text));
        part.gap();
    });
}

/// Returns how many releases are not in the table, and why; nothing if all are.
fn left_out(releases: &Releases) -> Option<String> {
    let number = counted(releases.left_out, "release is", "releases are");
    (releases.left_out > 0).then(|| {
        format!(
            "{number} left out: the time of day was set while the thread slept until a time of it, so that it is not known how late it was."
        )
    })
}

fn fitting(rows: &[&ReleaseRow], releases: &Releases, view: &View<'_>) -> Table {
    table(rows, releases, true).or_if_too_wide(view, || table(rows, releases, false))
}

fn table(rows: &[&ReleaseRow], releases: &Releases, whole: bool) -> Table {
    let late = format!("> {}", asked(releases.late_ns));
    let some = |ns: Option<u64>| ns.map_or("–".into(), length);
    let columns = if whole { NAME_COLUMNS } else { NARROW_NAME_COLUMNS };
    let mut table = Table::with_rows(rows)
        .name("released", |row| name(row, columns))
        .explained("released", "Name and number of the thread, or number of threads of a pool")
        .number("period", |row| row.period_ns.map_or("–".into(), time));
    if whole {
        table = table.number("times", |row| count(row.releases));
    }
    table =
        table.number("overruns", |row| count(row.overruns)).number("p50", |row| length(row.p50_ns));
    if whole {
        table = table.number("p99", |row| some(row.p99_ns));
    }
    table
        .number("max", |row| length(row.max_ns))
        .number(&late, |row| count(row.late))
        .captioned(
            "The threads of the program that timers released, those with most late releases first",
        )
        .grouped(if whole { &GROUPS } else { &NARROW_GROUPS })
}

/// Returns the name of the thread of a row.
fn name(row: &ReleaseRow, columns: usize) -> String {
    thread(&row.name, row.tid, row.threads, columns)
}

/// Returns the causes of the late releases of a row; nothing if none was late.
fn late_by(row: &ReleaseRow, run: &Facts) -> Option<String> {
    let causes = row.late_by.iter().take(NAMED);
    let causes = causes.map(|by| {
        let name = source_name(&by.source, &by.name, run);
        format!("{name} ({} %)", number(100.0 * by.share))
    });
    let causes: Vec<String> = causes.collect();
    (!causes.is_empty()).then(|| format!("late by {}", causes.join(", ")))
}

/// Returns the causes of the late releases of a row, and its mean parts.
fn aside(row: &ReleaseRow, run: &Facts) -> String {
    let unseen = (row.unseen > 0).then(|| {
        format!(
            "the switch of {} was not reported, so that they may have taken longer",
            count(row.unseen)
        )
    });
    let parts = [Some(format!("mean {}", release_parts(&row.parts))), late_by(row, run), unseen];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_analyze::waits::ReleaseParts;

    #[test]
    fn the_table_fits_a_narrow_screen_and_the_number_of_a_thread_is_whole() {
        let row = ReleaseRow {
            name: "a-thread-with-a-name".into(),
            threads: 1,
            tid: Some(4_194_303),
            period_ns: Some(1_234_567.0),
            releases: 123_456,
            overruns: 12_345,
            p50_ns: 123_456,
            p99_ns: Some(234_567),
            max_ns: 345_678_901,
            late: 54_321,
            parts: ReleaseParts::default(),
            late_parts: None,
            late_by: vec![],
            unseen: 0,
        };
        let releases = Releases { late_ns: 200_000, rows: vec![row], left_out: 0 };
        let rows: Vec<&ReleaseRow> = releases.rows.iter().collect();
        for (width, columns, name) in [(60, 6, "a-threa… 4194303"), (80, 8, "a-thread-wi… 4194303")]
        {
            let view = View { width, ..View::default() };
            let table = fitting(&rows, &releases, &view);
            assert_eq!((table.columns().len(), &*table.rows()[0][0]), (columns, name));
            let grouped: usize = table.groups().iter().map(|(_, columns)| columns).sum();
            assert_eq!(grouped, columns);
            let fits = table.clone().or_if_too_wide(&view, || table.grouped(&[]));
            assert!(!fits.groups().is_empty(), "it is wider than {width} columns");
        }
    }
}
