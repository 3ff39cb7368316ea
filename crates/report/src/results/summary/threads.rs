//! The table of the threads of a recorded program: for how long each executed and waited, and who had the CPU.

use super::releases;
use crate::names::holder;
use crate::screen::{Screen, Section};
use crate::style::{View, plain};
use crate::table::Table;
use crate::units::{count, cpu_list, length, time};
use anechoic_analyze::Summary;
use anechoic_analyze::waits::{Blocked, HolderKind, ThreadRow};

/// Number of threads in a brief table.
const FEW: usize = 3;
/// The same beside a table of releases.
const FEW_BESIDE_RELEASES: usize = 2;
/// Number of holders that are named beside a row.
const NAMED: usize = 2;
/// Widest name of a thread on a narrow screen.
const NAME_COLUMNS: usize = 20;
/// Groups of columns.
const GROUPS: [(&str, usize); 3] = [("", 2), ("delayed by", 2), ("waits for a CPU", 4)];
/// The same where there is room for two more columns.
const GROUPS_IF_WIDE: [(&str, usize); 3] = [("", 4), ("delayed by", 2), ("waits for a CPU", 4)];

/// Its section on a page.
const SECTION: Section =
    Section { anchor: "threads", title: "Threads of the program", short: "Threads" };

/// Adds the most delayed threads.
pub(crate) fn add_briefly(summary: &Summary, screen: &mut Screen) {
    let Some(threads) = summary.threads.as_deref().filter(|threads| !threads.is_empty()) else {
        return;
    };
    let lines: Vec<Line<'_>> = threads.iter().map(Line::whole).collect();
    let asides: Vec<String> = threads.iter().map(blocked_most).collect();
    let mut table = table(&lines, false);
    table.asides(asides.iter().map(String::as_str));
    let few = if releases::shown(summary).is_empty() { FEW } else { FEW_BESIDE_RELEASES };
    let left = threads.len().saturating_sub(few);
    screen.table(table.first(few, false, |_| format!("{left} more")));
    screen.gap();
}

/// Adds all threads, with those of each pool and who delayed them.
pub(crate) fn part(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let Some(threads) = summary.threads.as_deref() else {
        if summary.run.program.is_some() && summary.sources.is_some() {
            screen.note(
                "its threads are not derived: `anechoic attribute` on the recording does that",
            );
        }
        return;
    };
    if threads.is_empty() {
        return; // the program was idle
    }
    screen.part(SECTION, |part| {
        let lines: Vec<Line<'_>> = threads.iter().flat_map(Line::with_members).collect();
        let wide = view.columns() > WIDE;
        let mut table = table(&lines, wide);
        let asides: Vec<String> = lines.iter().map(|line| line.aside(summary, wide)).collect();
        table.asides(asides.iter().map(String::as_str));
        part.table(table);
        part.note(EXPLANATION);
        part.gap();
    });
}

/// A wider screen has columns for what a narrower one has beside the row.
const WIDE: usize = 120;

const EXPLANATION: &str = "delayed by others: interrupts on top of the thread, and waiting while no thread of its program executed on that CPU. delayed by \
     own: waiting while one did; no CPU loses time by that, so it is no noise. behind: who had the CPU for most of the longest wait; \
     wake-up: nobody, it took less than 20 µs. blocked by, priority inversion: it slept until that thread woke it, which had waited meanwhile; \
     that may have held its lock, or produced what it needed.";

/// A row of the table: a thread, a pool, or a thread of a pool.
struct Line<'a> {
    name: String,
    executed_ns: u64,
    lost_ns: u64,
    own_ns: u64,
    waits: u64,
    p99_ns: Option<u64>,
    longest_ns: Option<u64>,
    behind: String,
    /// The thread or the pool; absent for a thread of one.
    row: Option<&'a ThreadRow>,
}

impl<'a> Line<'a> {
    fn whole(row: &'a ThreadRow) -> Self {
        let name = plain(&row.name);
        Self {
            name: match row.tid {
                Some(tid) => format!("{name} {tid}"),
                None => format!("{name} × {}", count(row.threads)),
            },
            executed_ns: row.executed_ns,
            lost_ns: row.lost_ns,
            own_ns: row.own_ns,
            waits: row.waits,
            p99_ns: row.p99_ns,
            longest_ns: row.longest.as_ref().map(|longest| longest.length_ns),
            behind: row.longest.as_ref().map_or("–".into(), |longest| holder(&longest.behind)),
            row: Some(row),
        }
    }

    /// Returns a row with those of the threads of a pool behind it.
    fn with_members(row: &'a ThreadRow) -> Vec<Self> {
        let members = row.members.iter().map(|member| Self {
            name: format!("  {} {}", plain(&member.name), member.tid),
            executed_ns: member.executed_ns,
            lost_ns: member.lost_ns,
            own_ns: member.own_ns,
            waits: member.waits,
            p99_ns: None,
            longest_ns: member.longest_ns,
            behind: "–".into(),
            row: None,
        });
        [Self::whole(row)].into_iter().chain(members).collect()
    }

    /// Returns what has no column: where it executed and how, who had the CPU while it waited, and who kept it from waking.
    fn aside(&self, summary: &Summary, wide: bool) -> String {
        let Some(row) = self.row else { return String::new() };
        let policy = match row.policy.as_str() {
            "other" | "unknown" => None,
            "several" => Some("several policies".to_owned()),
            policy => Some(policy.to_owned()),
        };
        let policy = policy.filter(|_| !wide);
        let place = (!wide && !row.cpus.is_empty() && summary.run.cpus.len() > 1).then(|| {
            let word = if row.cpus.len() == 1 { "CPU" } else { "CPUs" };
            format!("{word} {}", cpu_list(&row.cpus))
        });
        let waits = row.behind.iter().filter(|behind| behind.holder.kind != HolderKind::WakeUp);
        let behind: Vec<String> = waits
            .take(NAMED)
            .map(|behind| {
                let holder = holder(&behind.holder);
                format!("{holder} {} in {}", time(behind.held_ns as f64), count(behind.waits))
            })
            .collect();
        let behind = (!behind.is_empty()).then(|| format!("behind {}", behind.join(", ")));
        let blocked = row.blocked.first().map(blocked);
        let parts = [policy, blocked, behind, place];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

/// Returns what kept another thread of the program from waking this one.
fn blocked(blocked: &Blocked) -> String {
    let (by, waited) = (plain(&blocked.woken_by), length(blocked.waited_ns));
    let behind = holder(&blocked.behind);
    match blocked.inversion {
        true => format!("priority inversion: {by} waited {waited} behind {behind}"),
        false => format!("blocked by {by}, which waited {waited} behind {behind}"),
    }
}

/// Returns the largest priority inversion of a thread, or what blocked it for more than a quarter of the time for which it waited itself; empty without one.
fn blocked_most(row: &ThreadRow) -> String {
    let waited_ns = row.lost_ns.saturating_add(row.own_ns);
    let most = row.blocked.first().filter(|first| first.waited_ns > waited_ns / 4);
    row.blocked.iter().find(|found| found.inversion).or(most).map_or(String::new(), blocked)
}

fn table(lines: &[Line<'_>], wide: bool) -> Table {
    let some = |ns: Option<u64>| ns.map_or("–".into(), length);
    let mut rows = Table::with_rows(lines)
        .name("thread", |line| line.name.clone())
        .explained("thread", "Name and number of the thread, or number of threads of a pool")
        .cut_at(NAME_COLUMNS);
    if wide {
        let text =
            |line: &Line<'_>, text: fn(&ThreadRow) -> String| line.row.map_or(String::new(), text);
        rows = rows
            .name("CPUs", |line| text(line, |row| cpu_list(&row.cpus)))
            .name("policy", |line| text(line, |row| row.policy.clone()));
    }
    rows.number("ran", |line| time(line.executed_ns as f64))
        .number("others", |line| time(line.lost_ns as f64))
        .number("own", |line| time(line.own_ns as f64))
        .number("number", |line| count(line.waits))
        .number("p99", |line| some(line.p99_ns))
        .number("longest", |line| some(line.longest_ns))
        .name("behind", |line| line.behind.clone())
        .captioned("The threads of the program, the most delayed first")
        .grouped(if wide { &GROUPS_IF_WIDE } else { &GROUPS })
        .last_takes_rest()
}
