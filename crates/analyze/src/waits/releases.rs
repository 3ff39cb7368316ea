//! How late timers released the threads of a program, with the period of each and what made them late.

mod period;

use super::lengths::WaitLengths;
use super::table::{Thread, ThreadTable};
use anechoic_recording::{Clock, Problem, Recording, Release, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The directory of the table of releases.
const RELEASES: &str = "releases";
/// Number of releases of a thread that show its period.
const SHOW_PERIOD: usize = 512;
/// Number of causes of a row that are kept.
const CAUSES: usize = 8;
/// The periods of the threads of a pool are one if they differ by less than this share.
const SAME_PERIOD: f64 = 0.01;
/// A quantile is given only if at least this many releases lie beyond it.
const BEYOND: f64 = 10.0;

/// The cause of a release whose time had passed before the thread set its timer.
pub const OVERRUN: &str = "overrun";
/// The cause of a release that the kernel delayed to expire several timers together.
pub const SLACK: &str = "slack";

/// How late timers released the threads of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Releases {
    /// A release that took longer counts as late, in ns.
    pub late_ns: u64,
    /// The threads that timers released, and pools of them: those with most late releases first.
    pub rows: Vec<ReleaseRow>,
    /// Number of releases that are left out, because the time of day was set while the thread slept until a time of it.
    #[serde(default)]
    pub left_out: u64,
}

/// The releases of a thread of a program, or of a pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseRow {
    /// Its name. A star stands for the numbers at the end of the names of a pool.
    pub name: String,
    /// Number of threads that timers released.
    pub threads: u64,
    /// The thread id, if it is one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<i32>,
    /// The period of its programmed times, in ns; absent if they lie on no grid, or if its threads differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<f64>,
    /// Number of releases.
    pub releases: u64,
    /// Number of programmed times that had passed when the thread slept again.
    pub overruns: u64,
    /// The median latency, from the programmed time to the switch to the thread, within 2 %, in ns.
    pub p50_ns: u64,
    /// The latency that 99 % of the releases do not exceed, within 2 %; absent for fewer than 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// The longest latency, in ns.
    pub max_ns: u64,
    /// Number of late releases.
    pub late: u64,
    /// The mean parts of all releases.
    pub parts: ReleaseParts,
    /// The mean parts of the late ones; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_parts: Option<ReleaseParts>,
    /// What took most of late releases, that of the largest part of their time first; at most eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_by: Vec<LateBy>,
    /// Number of releases after which the kernel did not report the switch to the thread: their latency is a lower bound.
    pub unseen: u64,
}

/// The parts of a release in ns, which add up to its latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseParts {
    /// The programmed time had passed, and the thread had not set its timer yet.
    pub overrun_ns: f64,
    /// The kernel could still let the timer expire later.
    pub slack_ns: f64,
    /// Until the timer expired.
    pub timer_ns: f64,
    /// From then until the thread was woken.
    pub interrupt_ns: f64,
    /// From the waking to the switch to the thread.
    pub scheduling_ns: f64,
}

/// What took most of late releases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateBy {
    /// Identifier of the source; `overrun`: the thread was still busy; `slack`: the timer slack.
    pub source: String,
    /// Which instance of it; empty if there is only one.
    pub name: String,
    /// Number of late releases of which it took most.
    pub late: u64,
    /// What it took of them, as a share of the latency of all late ones.
    pub share: f64,
}

/// Returns the releases of the program of a recording; `None` without a program, and if they were not derived from the events.
///
/// # Errors
/// A table is damaged.
pub fn releases(recording: &Recording) -> Result<Option<Releases>, Problem> {
    let run = recording.run();
    let Some(program) = run.program.as_ref().filter(|_| releases_are_known(recording)) else {
        return Ok(None);
    };
    let late_ns = program.late_after_ns();
    let mut due: HashMap<u32, Vec<u64>> = HashMap::new();
    for rows in recording.rows::<Release>() {
        for row in rows? {
            let due = due.entry(row.thread).or_default();
            due.extend((due.len() < SHOW_PERIOD).then_some(row.due_ticks));
        }
    }
    let periods = due.into_iter().filter_map(|(thread, mut due)| {
        due.sort_unstable();
        Some((thread, period::period(&due)?))
    });
    let table = ThreadTable::read(recording)?;
    let late_ticks = run.clock.ticks(late_ns);
    let mut sums = Sums { periods: periods.collect(), late_ticks, pools: BTreeMap::new() };
    for rows in recording.rows::<Release>() {
        for row in rows? {
            if let Some(thread) = table.thread(row.thread) {
                sums.add(thread.pool, &row);
            }
        }
    }
    let rows = sums.pools.iter().map(|(pool, found)| sums.row(*pool, found, &table, run));
    let mut rows: Vec<ReleaseRow> = rows.collect();
    rows.sort_by(|a, b| {
        let rank = |row: &ReleaseRow| (Reverse(row.late), Reverse(row.max_ns));
        rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name))
    });
    let left_out = recording.attribution()?.and_then(|it| it.releases_left_out).unwrap_or(0);
    Ok(Some(Releases { late_ns, rows, left_out }))
}

/// Returns whether it was derived from the events of a recording which threads of its program timers released.
#[must_use]
pub fn releases_are_known(recording: &Recording) -> bool {
    recording.run().program.is_some() && recording.dir().join(RELEASES).is_dir()
}

/// Returns the name of each thread by number, as rows of releases have it: that of its pool.
///
/// # Errors
/// The table of threads is damaged.
pub fn released_names(recording: &Recording) -> Result<BTreeMap<u32, Arc<str>>, Problem> {
    let table = ThreadTable::read(recording)?;
    let named = |thread: &Thread| Arc::clone(&table.names[thread.pool as usize]);
    Ok(table.threads.iter().map(|(number, thread)| (*number, named(thread))).collect())
}

/// What the releases of all pools add up to.
struct Sums {
    /// In ticks, by the number of the thread.
    periods: HashMap<u32, f64>,
    late_ticks: u64,
    pools: BTreeMap<u32, OfPool>,
}

/// The releases of a pool, in ticks.
#[derive(Debug, Default)]
struct OfPool {
    /// Its threads with their periods.
    threads: BTreeMap<u32, Option<f64>>,
    lengths: WaitLengths,
    longest: u64,
    overruns: u64,
    late: u64,
    late_ticks: u64,
    unseen: u64,
    parts: TickParts,
    late_parts: TickParts,
    late_by: HashMap<(Arc<str>, Arc<str>), (u64, u64)>,
}

/// The parts of a release: overrun, slack, timer, interrupt, scheduling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TickParts([u64; 5]);

impl TickParts {
    pub(super) fn new(row: &Release) -> Self {
        let expired = row.expired_ticks.max(row.due_ticks);
        let armed = row.armed_ticks.clamp(row.due_ticks, expired);
        let slack = row.due_ticks.saturating_add(row.slack_ticks).clamp(armed, expired);
        let woken = row.woken_ticks.max(expired);
        let end = row.end_ticks.max(woken);
        Self([armed - row.due_ticks, slack - armed, expired - slack, woken - expired, end - woken])
    }

    fn add(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, part)| *sum = sum.saturating_add(part));
    }

    /// Returns the parts of `number` releases on average.
    pub(super) fn mean(self, number: u64, clock: &Clock) -> ReleaseParts {
        let ns = |part: usize| clock.seconds(self.0[part]) * 1e9 / number.max(1) as f64;
        ReleaseParts {
            overrun_ns: ns(0),
            slack_ns: ns(1),
            timer_ns: ns(2),
            interrupt_ns: ns(3),
            scheduling_ns: ns(4),
        }
    }
}

/// Returns what took most of a release: a source, [`OVERRUN`] or [`SLACK`]; which instance of it; and for how many ticks.
pub(crate) fn cause(row: &Release) -> (Arc<str>, Arc<str>, u64) {
    let [overrun, slack, ..] = TickParts::new(row).0;
    let own = if overrun >= slack { (OVERRUN, overrun) } else { (SLACK, slack) };
    match own.1 > row.source_ticks {
        true => (own.0.into(), "".into(), own.1),
        false => (Arc::clone(&row.source), Arc::clone(&row.name), row.source_ticks),
    }
}

/// Returns how many programmed times had passed when the thread set its timer for this one.
fn overruns(row: &Release, period: Option<f64>) -> u64 {
    match (period, row.previous_ticks) {
        (Some(period), Some(previous)) => {
            let periods = |ticks: u64| ticks.saturating_sub(previous) as f64 / period;
            periods(row.armed_ticks).floor().min(periods(row.due_ticks).round()) as u64
        }
        _ => u64::from(row.armed_ticks > row.due_ticks),
    }
}

impl Sums {
    fn add(&mut self, pool: u32, row: &Release) {
        let period = self.periods.get(&row.thread).copied();
        let pool = self.pools.entry(pool).or_default();
        pool.threads.insert(row.thread, period);
        let latency = row.end_ticks.saturating_sub(row.due_ticks);
        let parts = TickParts::new(row);
        pool.lengths.add(latency);
        pool.longest = pool.longest.max(latency);
        pool.overruns = pool.overruns.saturating_add(overruns(row, period));
        pool.unseen += u64::from(row.unseen_ticks > 0);
        pool.parts.add(parts);
        if latency <= self.late_ticks {
            return;
        }
        pool.late += 1;
        pool.late_ticks = pool.late_ticks.saturating_add(latency);
        pool.late_parts.add(parts);
        let (source, name, ticks) = cause(row);
        let taken = pool.late_by.entry((source, name)).or_default();
        *taken = (taken.0 + 1, taken.1.saturating_add(ticks));
    }

    fn row(&self, pool: u32, found: &OfPool, table: &ThreadTable, run: &Run) -> ReleaseRow {
        let clock = &run.clock;
        let releases = found.lengths.count();
        let ns = |share: f64| found.lengths.quantile(share).map(|ticks| clock.ns(ticks));
        let one = match &found.threads.keys().collect::<Vec<_>>()[..] {
            [one] => table.thread(**one).map(|thread| thread.tid),
            _ => None,
        };
        ReleaseRow {
            name: table.pools[pool as usize].clone(),
            threads: found.threads.len() as u64,
            tid: one,
            period_ns: same_period(found.threads.values())
                .map(|ticks| ticks * clock.seconds(1) * 1e9),
            releases,
            overruns: found.overruns,
            p50_ns: ns(0.5).unwrap_or(0),
            p99_ns: ns(0.99).filter(|_| releases as f64 * 0.01 >= BEYOND - 1e-6),
            max_ns: clock.ns(found.longest),
            late: found.late,
            parts: found.parts.mean(releases, clock),
            late_parts: (found.late > 0).then(|| found.late_parts.mean(found.late, clock)),
            late_by: late_by(found),
            unseen: found.unseen,
        }
    }
}

/// Returns the period that all these threads have.
fn same_period<'a>(mut periods: impl Iterator<Item = &'a Option<f64>>) -> Option<f64> {
    let first = (*periods.next()?)?;
    let same = |period: &Option<f64>| {
        period.is_some_and(|period| (period / first - 1.0).abs() < SAME_PERIOD)
    };
    periods.all(same).then_some(first)
}

fn late_by(found: &OfPool) -> Vec<LateBy> {
    let mut causes: Vec<_> = found.late_by.iter().collect();
    causes.sort_by(|a, b| b.1.1.cmp(&a.1.1).then_with(|| a.0.cmp(b.0)));
    causes.truncate(CAUSES);
    let rows = causes.into_iter().map(|((source, name), (late, ticks))| LateBy {
        source: source.to_string(),
        name: name.to_string(),
        late: *late,
        share: crate::share(*ticks, found.late_ticks),
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A release: due, armed, slack, expired, woken, end, the one before.
    fn release(
        [due, armed, slack, expired, woken, end]: [u64; 6],
        previous: Option<u64>,
    ) -> Release {
        Release {
            cpu: 0,
            due_ticks: due,
            end_ticks: end,
            thread: 0,
            armed_ticks: armed,
            slack_ticks: slack,
            expired_ticks: expired,
            timer_cpu: 0,
            woken_ticks: woken,
            unseen_ticks: 0,
            previous_ticks: previous,
            source: "thread".into(),
            name: "hog".into(),
            source_ticks: 5,
        }
    }

    #[test]
    fn parts_add_up_to_the_latency() {
        for (name, times, expected) in [
            ("ordinary", [100, 10, 0, 103, 104, 120], [0, 0, 3, 1, 16]),
            ("slack", [100, 10, 50, 170, 171, 180], [0, 50, 20, 1, 9]),
            ("expired within the slack", [100, 10, 50, 130, 131, 140], [0, 30, 0, 1, 9]),
            ("set too late", [100, 160, 0, 163, 164, 165], [60, 0, 3, 1, 1]),
            ("set within the slack", [100, 120, 50, 163, 164, 165], [20, 30, 13, 1, 1]),
            ("expired a little early", [100, 10, 0, 99, 100, 110], [0, 0, 0, 0, 10]),
        ] {
            let row = release(times, None);
            let parts = TickParts::new(&row).0;
            assert_eq!(parts, expected, "case: {name}");
            assert_eq!(parts.iter().sum::<u64>(), row.end_ticks - row.due_ticks, "case: {name}");
        }
    }

    /// Every 100 ticks.
    #[test]
    fn overruns_are_the_times_that_had_passed_when_the_thread_slept_again() {
        for (name, due, armed, previous, period, expected) in [
            ("in time", 300, 210, Some(200), Some(100.0), 0),
            ("it goes on with the next time", 600, 530, Some(200), Some(100.0), 3),
            ("it makes up for each", 300, 530, Some(200), Some(100.0), 1),
            ("it slept through one", 400, 210, Some(200), Some(100.0), 0),
            ("the first", 300, 210, None, Some(100.0), 0),
            ("no period, in time", 300, 210, Some(200), None, 0),
            ("no period, too late", 300, 310, Some(200), None, 1),
        ] {
            let row = release([due, armed, 0, armed.max(due), armed.max(due), 900], previous);
            assert_eq!(overruns(&row, period), expected, "case: {name}");
        }
    }

    #[test]
    fn late_ones_have_their_largest_cause() {
        let mut sums = Sums { periods: HashMap::new(), late_ticks: 10, pools: BTreeMap::new() };
        sums.add(0, &release([100, 10, 0, 101, 102, 110], None));
        sums.add(0, &release([200, 10, 0, 201, 202, 215], None));
        sums.add(0, &release([300, 10, 8, 309, 310, 315], None));
        sums.add(0, &release([400, 450, 8, 451, 452, 455], None));
        let pool = &sums.pools[&0];
        assert_eq!((pool.lengths.count(), pool.late, pool.longest), (4, 3, 55));
        let causes: Vec<_> =
            late_by(pool).into_iter().map(|it| (it.source, it.late, it.share)).collect();
        let expected =
            [("overrun", 1, 50.0 / 85.0), ("slack", 1, 8.0 / 85.0), ("thread", 1, 5.0 / 85.0)];
        assert_eq!(causes, expected.map(|(source, late, share)| (source.to_owned(), late, share)));
    }

    #[test]
    fn threads_have_one_period_only_if_all_have_it() {
        for (periods, expected) in [
            (&[][..], None),
            (&[None], None),
            (&[Some(100.0), Some(100.5)], Some(100.0)),
            (&[Some(100.0), Some(102.0)], None),
            (&[Some(100.0), None], None),
        ] {
            assert_eq!(same_period(periods.iter()), expected);
        }
    }
}
