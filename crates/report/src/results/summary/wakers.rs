//! The table of what woke the threads of a recorded program, and how long they then waited for a CPU.

use crate::names::{source_name, thread};
use crate::screen::{Screen, Section};
use crate::style::View;
use crate::table::Table;
use crate::units::{count, length};
use anechoic_analyze::Summary;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::waits::{ThreadRow, WokenBy};
use anechoic_recording::sources;

/// Number of rows of a brief table.
const FEW: usize = 2;
/// What woke a thread less often is not in it.
const FEWEST: u64 = 10;
/// Widest name of a thread with its number.
const NAME_COLUMNS: usize = 20;

/// Its section on a page.
const SECTION: Section =
    Section { anchor: "wakers", title: "What woke the threads", short: "Wakers" };

const EXPLANATION: &str = "times: how often it woke the thread, and the thread then waited for a CPU. p50, p99, max: from the waking to the switch to the thread. by: (own) is a thread of the same \
     program. Interrupts are named where one woke the thread; a softirq that a thread runs in its own system call counts as the thread.";

/// A thread, and what woke it.
struct Line<'a> {
    thread: &'a ThreadRow,
    by: &'a WokenBy,
}

/// Returns a line for each thread and each that woke it, those with the longest delays together first.
fn lines(summary: &Summary) -> Vec<Line<'_>> {
    let threads = summary.threads.iter().flatten();
    let each = threads.flat_map(|thread| thread.woken_by.iter().map(move |by| Line { thread, by }));
    let mut lines: Vec<Line<'_>> = each.collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.by.delayed_ns)); // stable
    lines
}

/// Adds what woke threads with the longest delays, without timers: these are in the table of releases.
pub(crate) fn add_briefly(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let mut lines = lines(summary);
    lines.retain(|line| {
        let in_releases = summary.releases.is_some() && is_timer(line.by);
        line.by.wakings >= FEWEST && !in_releases
    });
    if lines.is_empty() {
        return;
    }
    let left = lines.len().saturating_sub(FEW);
    let table = fitting(&lines, &summary.run, view);
    screen.table(table.first(FEW, false, |_| format!("{left} more")));
    screen.gap();
}

/// Adds all that woke threads.
pub(crate) fn part(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let lines = lines(summary);
    if lines.is_empty() {
        return;
    }
    screen.part(SECTION, |part| {
        part.table(fitting(&lines, &summary.run, view));
        part.note(EXPLANATION);
        part.gap();
    });
}

fn is_timer(by: &WokenBy) -> bool {
    sources::TIMER.is(&by.source) || sources::TIMER_TICK.is(&by.source)
}

fn fitting(lines: &[Line<'_>], run: &Facts, view: &View<'_>) -> Table {
    table(lines, run, true).or_if_too_wide(view, || table(lines, run, false))
}

fn table(lines: &[Line<'_>], run: &Facts, whole: bool) -> Table {
    let some = |ns: Option<u64>| ns.map_or("–".into(), length);
    let mut table = Table::with_rows(lines)
        .name("woken", |line| {
            thread(&line.thread.name, line.thread.tid, line.thread.threads, NAME_COLUMNS)
        })
        .explained("woken", "Name and number of the thread, or number of threads of a pool")
        .number("times", |line| count(line.by.wakings))
        .number("p50", |line| length(line.by.p50_ns));
    if whole {
        table = table.number("p99", |line| some(line.by.p99_ns));
    }
    table
        .number("max", |line| length(line.by.max_ns))
        .name("by", |line| by(line.by, run))
        .captioned("What woke the threads of the program, that with the longest delays first")
        .last_takes_rest()
}

/// Returns what woke a thread.
fn by(by: &WokenBy, run: &Facts) -> String {
    let name = match sources::NOT_ATTRIBUTABLE.is(&by.source) {
        true => "an interrupt without events".to_owned(),
        false => source_name(&by.source, &by.name, run),
    };
    if by.own { format!("{name} (own)") } else { name }
}
