//! The longest waits of a program's threads, and which threads long detours of CPUs delayed.

use super::holder::{Held, Holder};
use super::is_inversion;
use super::places::{self, Calls};
use super::table::{Thread, ThreadTable};
use crate::story::{DetourStory, Victim};
use anechoic_recording::stop::StoppedBy;
use anechoic_recording::{Delay, DelayKind, Problem, Recording};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// A long wait of a thread of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongWait {
    /// The name of the thread that waited.
    pub name: String,
    /// Its thread id.
    pub tid: i32,
    /// The CPU.
    pub cpu: u32,
    /// When it began, in ns since the run's start.
    pub start_ns: u64,
    /// How long it took, in ns.
    pub length_ns: u64,
    /// Why it waited. `blocked` is the wait of the thread that then woke it.
    pub kind: DelayKind,
    /// The part in which threads of the same program executed on the CPU, in ns.
    pub own_ns: u64,
    /// What had the CPU for most of it.
    pub behind: Holder,
    /// The id of that thread; absent if it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_tid: Option<i32>,
    /// For how long that had it, in ns.
    pub held_ns: u64,
    /// The thread of the program that woke it; absent for others and interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken_by: Option<String>,
    /// Where it was in its code when it had left a CPU; absent if no stack was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Calls>,
    /// Where the thread that had the CPU was in its code when it left that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_calls: Option<Calls>,
    /// Whether the thread that had the CPU, or that woke it, has a lower priority and belongs to the same program.
    pub inversion: bool,
}

/// The order of waits: the longest first, of equal ones the earlier.
type Rank = (Reverse<u64>, u64, u32, u32);

fn rank(delay: &Delay) -> Rank {
    let length = delay.end_ticks.saturating_sub(delay.start_ticks);
    (Reverse(length), delay.start_ticks, delay.cpu, delay.thread)
}

/// Returns the `most` longest waits of threads, on all CPUs or on these, and adds to `stories` the thread that each delayed
/// most. Without threads in the recording there are none.
///
/// # Errors
/// A table is damaged.
pub(crate) fn longest_waits(
    recording: &Recording,
    most: usize,
    cpus: Option<&[u32]>,
    stories: &mut [DetourStory],
) -> Result<Vec<LongWait>, Problem> {
    let table = ThreadTable::read(recording)?;
    let mut kept: Vec<(Rank, Delay)> = vec![];
    let mut victims: Vec<Delayed> = stories.iter().map(|_| Delayed::default()).collect();
    for delays in recording.rows::<Delay>() {
        for delay in delays?.iter().filter(|d| cpus.is_none_or(|cpus| cpus.contains(&d.cpu))) {
            let rank = rank(delay);
            if kept.len() < most || kept.last().is_some_and(|(last, _)| rank < *last) {
                let place = kept.partition_point(|(kept, _)| *kept < rank);
                kept.insert(place, (rank, delay.clone()));
                kept.truncate(most);
            }
            for (victim, story) in victims.iter_mut().zip(&*stories) {
                victim.add(delay, story);
            }
        }
    }
    for (delayed, story) in victims.iter().zip(stories) {
        story.victim = delayed.victim(&table, story);
    }
    let kept: Vec<Delay> = kept.into_iter().map(|(_, delay)| delay).collect();
    let calls = places::beside(recording, &kept)?;
    let waits = kept.iter().zip(calls);
    Ok(waits.filter_map(|(delay, calls)| long_wait(delay, calls, &table, recording)).collect())
}

/// Returns the wait that ended a recording; `None` if it was none, or if it could not be saved.
///
/// # Errors
/// A table is damaged.
pub(crate) fn wait_that_met(
    recording: &Recording,
    met: &StoppedBy,
) -> Result<Option<LongWait>, Problem> {
    let Some(tid) = met.thread else { return Ok(None) };
    let table = ThreadTable::read(recording)?;
    for delay in recording.rows_of_cpu::<Delay>(met.cpu).each() {
        let delay = delay?;
        let thread = table.thread(delay.thread).map(|thread| thread.tid);
        // That of a late release begins with the waking, which is after the time of the timer.
        let is_it = delay.start_ticks == met.start_ticks || delay.end_ticks == met.end_ticks;
        if is_it && thread == Some(tid) && delay.kind != DelayKind::Blocked {
            let calls =
                places::beside(recording, std::slice::from_ref(&delay))?.pop().unwrap_or_default();
            return Ok(long_wait(&delay, calls, &table, recording));
        }
    }
    Ok(None)
}

/// The threads that waited in a detour.
#[derive(Debug, Default)]
struct Delayed {
    count: u64,
    /// The one that waited longest in it: for how long, its number, and why.
    longest: Option<(u64, Reverse<u32>, DelayKind)>,
    /// The numbers of those that were preempted in it, and went on elsewhere.
    moved: Vec<u32>,
}

impl Delayed {
    fn add(&mut self, delay: &Delay, story: &DetourStory) {
        let (start, end) = story.ticks;
        let (from, to) = (delay.start_ticks.max(start), delay.end_ticks.min(end));
        let preempted = delay.kind == DelayKind::Preempted && delay.start_ticks >= start;
        if preempted && delay.cpu != story.cpu && from < to {
            self.moved.push(delay.thread);
        }
        if delay.cpu != story.cpu || delay.kind == DelayKind::Blocked || from >= to {
            return;
        }
        self.count += 1;
        let found = (to - from, Reverse(delay.thread), delay.kind);
        if self.longest.is_none_or(|longest| (found.0, found.1) > (longest.0, longest.1)) {
            self.longest = Some(found);
        }
    }

    /// Returns who waited longest in a detour, or else which thread was interrupted.
    fn victim(&self, table: &ThreadTable, story: &DetourStory) -> Option<Victim> {
        let (thread, kind) = match self.longest {
            Some((_, number, kind)) => (table.thread(number.0)?, Some(kind)),
            None => {
                let thread = table.at(story.current?, story.ticks.0)?;
                let is_it =
                    |number: &u32| table.thread(*number).is_some_and(|it| std::ptr::eq(it, thread));
                let moved = self.moved.iter().any(is_it);
                (thread, moved.then_some(DelayKind::Preempted))
            }
        };
        let Thread { name, tid, .. } = thread;
        let others = self.count.saturating_sub(1);
        Some(Victim { name: name.to_string(), tid: *tid, kind, others })
    }
}

fn long_wait(
    delay: &Delay,
    [calls, behind_calls]: [Option<Calls>; 2],
    table: &ThreadTable,
    recording: &Recording,
) -> Option<LongWait> {
    let (run, thread) = (recording.run(), table.thread(delay.thread)?);
    let clock = &run.clock;
    let waker = delay.waker_thread.and_then(|waker| table.thread(waker));
    let holder = delay.holder_thread.and_then(|holder| table.thread(holder));
    let other = if delay.kind == DelayKind::Blocked { waker } else { holder };
    Some(LongWait {
        name: thread.name.to_string(),
        tid: thread.tid,
        cpu: delay.cpu,
        start_ns: clock.ns(delay.start_ticks.saturating_sub(run.start_ticks)),
        length_ns: clock.ns(delay.end_ticks.saturating_sub(delay.start_ticks)),
        kind: delay.kind,
        own_ns: clock.ns(delay.own_ticks),
        behind: Held::in_delay(delay, table, run).holder(),
        behind_tid: delay.holder.filter(|&tid| tid > 0),
        held_ns: clock.ns(delay.held_ticks),
        woken_by: waker.map(|waker| waker.name.to_string()),
        calls,
        behind_calls,
        inversion: other.is_some_and(|it| is_inversion(delay, thread.priority, it.priority)),
    })
}
