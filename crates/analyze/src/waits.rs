//! The threads of a recorded program: for how long each executed, for how long it waited for a CPU, and who had that.
//!
//! Threads of equal names, and those whose names differ by the number at their end, are one row: a pool.

mod blocked;
mod holder;
mod latest;
mod lengths;
mod longest;
mod places;
mod releases;
mod stacks;
mod table;
mod wakers;

pub use holder::{Holder, HolderKind};
pub use latest::LateRelease;
pub use longest::LongWait;
pub use places::{Calls, PoolPlace, WaitPlace, WaitPlaces, places, places_of_pools, read_calls};
pub use releases::{
    LateBy, OVERRUN, ReleaseParts, ReleaseRow, Releases, SLACK, released_names, releases,
    releases_are_known,
};
pub use stacks::{StackNumbers, with_stacks};
pub use wakers::WokenBy;

pub(crate) use releases::cause;

pub(crate) use latest::latest_releases;
pub(crate) use longest::{longest_waits, wait_that_met};

use blocked::Blockers;
use holder::Held;
use lengths::WaitLengths;
use table::ThreadTable;
use wakers::Wakers;

use anechoic_recording::{Clock, Delay, DelayKind, Problem, Recording, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Number of holders of a pool that are kept.
const HOLDERS: usize = 8;
/// The directory of the table of threads.
const THREADS: &str = "threads";
/// Number of the threads of a pool that are kept, the most delayed.
const MEMBERS: usize = 20;

/// A thread of a recorded program, or a pool of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRow {
    /// Its name. A star stands for the numbers at the end of the names of a pool.
    pub name: String,
    /// Number of threads.
    pub threads: u64,
    /// The thread id, if it is one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<i32>,
    /// The CPUs on which it executed.
    pub cpus: Vec<u32>,
    /// The policy that its priority shows: `other`, `nice 5`, `real-time 10` (SCHED_FIFO or SCHED_RR), `deadline`; `several` if
    /// its threads differ, `unknown` if none executed.
    pub policy: String,
    /// For how long it executed, without interrupts on top of it.
    pub executed_ns: u64,
    /// For how long interrupts ran on top of it.
    pub interrupted_ns: u64,
    /// The time of interrupts on top of it, and that in which it waited and no thread of its program executed on the CPU.
    pub lost_ns: u64,
    /// The time in which it waited and another thread of its program executed on the CPU.
    pub own_ns: u64,
    /// How often it waited for a CPU: after each waking and preemption, and when it began.
    pub waits: u64,
    /// The length that 99 % of these waits do not exceed, within 2 %; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// The longest of them; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<LongestWait>,
    /// Who had the CPU while it waited, the longest time first; at most eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
    /// What woke it, and how long it then waited for a CPU; that of the longest time first, at most eight. Empty in older recordings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub woken_by: Vec<WokenBy>,
    /// Threads of the program that woke it, and had waited while it slept; the longest time first, at most eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<Blocked>,
    /// The threads of a pool, the most delayed first; at most twenty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
}

impl ThreadRow {
    /// Returns for how long it could have executed and did not.
    fn delayed_ns(&self) -> u64 {
        self.lost_ns.saturating_add(self.own_ns)
    }
}

/// The longest wait of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LongestWait {
    /// How long it took.
    pub length_ns: u64,
    /// When it began, in ns since the run's start.
    pub start_ns: u64,
    /// Who had the CPU for most of it.
    pub behind: Holder,
}

/// What had the CPU while a thread waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Behind {
    /// What it was.
    #[serde(flatten)]
    pub holder: Holder,
    /// Number of waits in which it had the CPU longest.
    pub waits: u64,
    /// For how long it had the CPU in these waits.
    pub held_ns: u64,
    /// The most in one wait.
    pub longest_ns: u64,
}

/// Sleeps of a thread that another thread of its program ended, which itself had waited for a CPU meanwhile.
///
/// Events show who woke a thread, but not what for: the other thread may have held a lock, or produced what this one waited
/// for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blocked {
    /// The thread that woke it, or its pool.
    pub woken_by: String,
    /// What had the CPU for which that one waited.
    pub behind: Holder,
    /// Whether that one has a lower priority: then it is a priority inversion.
    pub inversion: bool,
    /// Number of waits of that thread in such sleeps.
    pub waits: u64,
    /// Their time in the sleeps.
    pub waited_ns: u64,
    /// The longest of them.
    pub longest_ns: u64,
}

/// A thread of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its thread id.
    pub tid: i32,
    /// For how long it executed.
    pub executed_ns: u64,
    /// As in the row of the pool.
    pub lost_ns: u64,
    /// As in the row of the pool.
    pub own_ns: u64,
    /// How often it waited.
    pub waits: u64,
    /// The longest wait; absent without one.
    pub longest_ns: Option<u64>,
}

/// Returns the threads of the program of a recording, the most delayed first; `None` if it has no program, or if its threads
/// were not derived from the events.
///
/// # Errors
/// A table is damaged.
pub fn threads(recording: &Recording) -> Result<Option<Vec<ThreadRow>>, Problem> {
    if !are_known(recording) {
        return Ok(None);
    }
    let mut sums = Sums::new(recording.run(), ThreadTable::read(recording)?);
    for delays in recording.rows::<Delay>() {
        delays?.iter().for_each(|delay| sums.delay(delay));
    }
    Ok(Some(sums.finish()))
}

/// Returns whether a recording has the waits of a program's threads, of which an idle program has none.
pub(crate) fn are_known(recording: &Recording) -> bool {
    recording.run().program.is_some() && recording.dir().join(THREADS).is_dir()
}

/// What the delays of each thread and of each pool add up to, in ticks.
struct Sums<'a> {
    run: &'a Run,
    table: ThreadTable,
    /// By the number of the thread.
    threads: HashMap<u32, OfThread>,
    pools: Vec<OfPool>,
}

#[derive(Debug, Clone, Copy, Default)]
struct OfThread {
    waits: u64,
    waited: u64,
    own: u64,
    longest: u64,
}

#[derive(Default)]
struct OfPool {
    lengths: WaitLengths,
    behind: HashMap<Held, Times>,
    blocked: Blockers,
    wakers: Wakers,
    longest: Option<(u64, Reverse<u64>, Held)>,
}

/// Number, sum and maximum of times.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    count: u64,
    ticks: u64,
    longest: u64,
}

impl Times {
    fn add(&mut self, ticks: u64) {
        self.count += 1;
        self.ticks = self.ticks.saturating_add(ticks);
        self.longest = self.longest.max(ticks);
    }

    fn merge(&mut self, other: Times) {
        self.count += other.count;
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.longest = self.longest.max(other.longest);
    }
}

impl<'a> Sums<'a> {
    fn new(run: &'a Run, table: ThreadTable) -> Self {
        let pools = table.pools.iter().map(|_| OfPool::default()).collect();
        Self { run, table, threads: HashMap::new(), pools }
    }

    fn delay(&mut self, delay: &Delay) {
        let Some(thread) = self.table.thread(delay.thread) else { return };
        let (pool, priority) = (thread.pool as usize, thread.priority);
        let length = delay.end_ticks.saturating_sub(delay.start_ticks);
        let held = Held::in_delay(delay, &self.table, self.run);
        let pool = &mut self.pools[pool];
        if delay.kind == DelayKind::Blocked {
            let Some(number) = delay.waker_thread else { return };
            let Some(waker) = self.table.thread(number) else { return };
            let inversion = is_inversion(delay, priority, waker.priority);
            pool.blocked.add(number, delay, (waker.pool, held, inversion));
            return;
        }
        let sums = self.threads.entry(delay.thread).or_default();
        sums.waits += 1;
        sums.waited = sums.waited.saturating_add(length);
        sums.own = sums.own.saturating_add(delay.own_ticks.min(length));
        sums.longest = sums.longest.max(length);
        pool.lengths.add(length);
        pool.wakers.add(delay, &self.table);
        let rank = (length, Reverse(delay.start_ticks));
        if pool.longest.as_ref().is_none_or(|longest| rank > (longest.0, longest.1)) {
            pool.longest = Some((rank.0, rank.1, held.clone()));
        }
        pool.behind.entry(held).or_default().add(delay.held_ticks);
    }

    fn finish(self) -> Vec<ThreadRow> {
        let mut by_pool: Vec<Vec<u32>> = vec![vec![]; self.pools.len()];
        for (&number, thread) in &self.table.threads {
            by_pool[thread.pool as usize].push(number);
        }
        let rows = by_pool.iter().zip(&self.pools).zip(&self.table.pools);
        let rows = rows.map(|((members, sums), name)| self.row(name, members, sums));
        let mut rows: Vec<ThreadRow> = rows.collect();
        rows.sort_by(|a, b| {
            let rank = |row: &ThreadRow| (Reverse(row.delayed_ns()), Reverse(row.executed_ns));
            rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name))
        });
        rows
    }

    fn row(&self, name: &str, numbers: &[u32], sums: &OfPool) -> ThreadRow {
        let clock = &self.run.clock;
        let (threads, mut members): (Vec<_>, Vec<_>) =
            numbers.iter().filter_map(|&number| self.member(number)).unzip();
        let sum = |value: &dyn Fn(usize) -> u64| {
            (0..threads.len()).map(value).fold(0, u64::saturating_add)
        };
        let executed_ns = clock.ns(sum(&|place| threads[place].executed));
        let interrupted_ns = clock.ns(sum(&|place| threads[place].interrupted));
        let of_threads = |number: &u32| self.threads.get(number).copied().unwrap_or_default();
        let waited = sum(&|place| of_threads(&numbers[place]).waited);
        let own = sum(&|place| of_threads(&numbers[place]).own);
        let mut cpus: Vec<u32> =
            threads.iter().flat_map(|thread| thread.cpus.iter().copied()).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let mut policies: Vec<String> =
            threads.iter().filter_map(|thread| Some(policy(thread.priority?))).collect();
        policies.dedup();
        members.sort_by_key(|member| (Reverse(member.lost_ns + member.own_ns), member.tid));
        let one = if let [one] = &members[..] { Some(one.tid) } else { None };
        members.truncate(if one.is_some() { 0 } else { MEMBERS });
        ThreadRow {
            name: name.to_owned(),
            threads: threads.len() as u64,
            tid: one,
            cpus,
            policy: match &policies[..] {
                [] => "unknown".to_owned(),
                [policy] => policy.clone(),
                _ => "several".to_owned(),
            },
            executed_ns,
            interrupted_ns,
            lost_ns: interrupted_ns.saturating_add(clock.ns(waited - own)),
            own_ns: clock.ns(own),
            waits: sums.lengths.count(),
            p99_ns: sums.lengths.quantile(0.99).map(|ticks| clock.ns(ticks)),
            longest: sums.longest.as_ref().map(|(length, start, held)| LongestWait {
                length_ns: clock.ns(*length),
                start_ns: clock.ns(start.0.saturating_sub(self.run.start_ticks)),
                behind: held.holder(),
            }),
            behind: behind(sums, clock),
            woken_by: sums.wakers.rows(clock),
            blocked: self.blocked(sums),
            members,
        }
    }

    fn member(&self, number: u32) -> Option<(&table::Thread, Member)> {
        let clock = &self.run.clock;
        let thread = self.table.thread(number)?;
        let sums = self.threads.get(&number).copied().unwrap_or_default();
        let lost = (sums.waited - sums.own).saturating_add(thread.interrupted);
        let member = Member {
            name: thread.name.to_string(),
            tid: thread.tid,
            executed_ns: clock.ns(thread.executed),
            lost_ns: clock.ns(lost),
            own_ns: clock.ns(sums.own),
            waits: sums.waits,
            longest_ns: (sums.waits > 0).then(|| clock.ns(sums.longest)),
        };
        Some((thread, member))
    }

    fn blocked(&self, sums: &OfPool) -> Vec<Blocked> {
        let clock = &self.run.clock;
        let each = sums.blocked.sums().into_iter().map(|((waker, held, inversion), times)| {
            let blocked = Blocked {
                woken_by: self.table.pools[waker as usize].clone(),
                behind: held.holder(),
                inversion,
                waits: times.count,
                waited_ns: clock.ns(times.ticks),
                longest_ns: clock.ns(times.longest),
            };
            (times, blocked)
        });
        let mut found: Vec<(Times, Blocked)> = each.collect();
        found.sort_by(|(a, first), (b, second)| {
            let name = |row: &Blocked| (row.woken_by.clone(), row.behind.clone(), row.inversion);
            b.ticks.cmp(&a.ticks).then_with(|| name(first).cmp(&name(second)))
        });
        found.truncate(HOLDERS);
        found.into_iter().map(|(_, blocked)| blocked).collect()
    }
}

/// Returns whether the other thread of a delay, that had the CPU or woke the one that waited, had a lower priority then; in
/// recordings without these priorities the last ones count.
fn is_inversion(delay: &Delay, last: Option<i32>, last_of_other: Option<i32>) -> bool {
    let then = delay.priority.zip(delay.other_priority);
    then.or(last.zip(last_of_other)).is_some_and(|(own, other)| own < other)
}

fn behind(sums: &OfPool, clock: &Clock) -> Vec<Behind> {
    let mut found: Vec<(&Held, &Times)> = sums.behind.iter().collect();
    found.sort_by(|a, b| b.1.ticks.cmp(&a.1.ticks).then_with(|| a.0.cmp(b.0)));
    found.truncate(HOLDERS);
    let rows = found.into_iter().map(|(held, times)| Behind {
        holder: held.holder(),
        waits: times.count,
        held_ns: clock.ns(times.ticks),
        longest_ns: clock.ns(times.longest),
    });
    rows.collect()
}

/// Returns the scheduling policy that a priority of the kernel shows.
fn policy(priority: i32) -> String {
    match priority {
        ..0 => "deadline".to_owned(),
        0..100 => format!("real-time {}", 99 - priority),
        120 => "other".to_owned(),
        _ => format!("nice {}", priority - 120),
    }
}

#[cfg(test)]
mod tests;
