//! Where the threads of a program were in their code when they lost a CPU, from the call stacks of a recording.

use super::Times;
use super::stacks::{StackNumbers, are_recorded, each_wait, with_stacks};
use super::table::ThreadTable;
use anechoic_recording::{
    Clock, Delay, DelayKind, KERNEL_FUNCTION, Name, NameKind, Problem, Recording,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What stands for a thread or a call that is not known.
const UNKNOWN: &str = "[unknown]";
/// Number of places that are kept.
const PLACES: usize = 20;
/// Functions with which a thread of a program begins.
const BEGINNINGS: [&str; 9] = [
    "main",
    "_start",
    "__libc_start_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "runtime.main",
    "runtime.goexit",
];
/// Number of calls of a program that the kernel is asked to follow.
const MOST_CALLS: usize = 8;
/// How the kernel leaves a CPU. These functions say nothing about why.
const LEAVING: [&str; 12] = [
    "__schedule",
    "schedule",
    "preempt_schedule",
    "__cond_resched",
    "irqentry_exit",
    "raw_irqentry_exit",
    "exit_to_user_mode",
    "syscall_exit_to_user_mode",
    "do_sched_yield",
    "__traceiter_",
    "trace_event_",
    "trace_buffer_",
];
/// How it was entered.
const ENTERING: [&str; 9] = [
    "entry_SYSCALL",
    "do_syscall_64",
    "x64_sys_call",
    "asm_",
    "ret_from_fork",
    "el0",
    "el1",
    "do_el0",
    "invoke_syscall",
];

/// The calls of a thread when it left a CPU, the innermost first. How the kernel switches is left out.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Calls {
    /// The calls of its program; `[FILE]` where the file names no function.
    pub program: Vec<String>,
    /// The calls in the kernel, on top of them.
    pub kernel: Vec<String>,
}

impl Calls {
    /// Returns whether the program's calls end before the function with which a thread begins: it has no frame pointers.
    #[must_use]
    fn end_early(&self) -> bool {
        let begins =
            |call: &String| BEGINNINGS.contains(&&**call) || call.ends_with("lang_start_internal");
        // The C library has no frame pointers as distributions build it: what it calls first is called by its file.
        let by_library = self.program.len() > 1
            && self.program.last().is_some_and(|call| call.starts_with("[libc"));
        let is_full = self.program.len() >= MOST_CALLS;
        !(self.program.is_empty() || is_full || by_library || self.program.iter().any(begins))
    }
}

/// A place in its code where a program lost a CPU, or from which it came back late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitPlace {
    /// The threads that lost most there: their name, or that of their pool. Absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Number of other pools and threads that lost a CPU there too.
    #[serde(default)]
    pub other_threads: u64,
    /// Where it was.
    pub calls: Calls,
    /// How it waited: `preempted` there, or `woken` after it had slept there.
    pub kind: DelayKind,
    /// Number of waits.
    pub waits: u64,
    /// Their time, without that in which threads of the same program executed on the CPU.
    pub delayed_ns: u64,
    /// The longest of them.
    pub longest_ns: u64,
}

/// Where the threads of a program lost their CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitPlaces {
    /// The places, the largest lost time first; at most twenty.
    pub places: Vec<WaitPlace>,
    /// The lost time of all other places, in ns.
    pub others_ns: u64,
    /// The lost time of waits without a stack, in ns: threads that began, and switches whose stack was not read.
    pub unknown_ns: u64,
    /// The part of the lost time at known places whose calls in the program end before the function with which a thread
    /// begins, in ns: code without frame pointers.
    #[serde(default)]
    pub cut_short_ns: u64,
}

impl Calls {
    /// Reads a name of [`NameKind::Stack`].
    fn parse(text: &str) -> Self {
        let (mut program, mut kernel) = (vec![], vec![]);
        for call in text.rsplit(';').filter(|call| !call.is_empty()) {
            match call.strip_suffix(KERNEL_FUNCTION) {
                // What compilers made of a function is that function.
                Some(function) => {
                    kernel.push(function.split('.').next().unwrap_or_default().to_owned())
                }
                None => program.push(call.to_owned()),
            }
        }
        let begins = |call: &String, known: &[&str]| known.iter().any(|it| call.starts_with(it));
        let kept = kernel.iter().position(|call| !begins(call, &LEAVING)).unwrap_or(kernel.len());
        kernel.drain(..kept);
        let end = kernel.iter().rposition(|call| !begins(call, &ENTERING)).map_or(0, |at| at + 1);
        kernel.truncate(end);
        Self { program, kernel }
    }

    /// Returns the calls as flame graphs have them: `main;read;pipe_read_[k]`, the innermost last.
    #[must_use]
    pub fn folded(&self) -> String {
        let program = self.program.iter().rev().cloned();
        let kernel = self.kernel.iter().rev().map(|call| format!("{call}{KERNEL_FUNCTION}"));
        let calls: Vec<String> = program.chain(kernel).collect();
        if calls.is_empty() { UNKNOWN.to_owned() } else { calls.join(";") }
    }
}

/// The time that the threads of a pool lost at a place in their code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolPlace {
    /// The name of the pool, or of its only thread.
    pub pool: String,
    /// Where it was; absent for the waits without a stack.
    pub calls: Option<Calls>,
    /// The time of the waits, without that in which threads of the same program executed on the CPU, in ns.
    pub delayed_ns: u64,
}

/// Reads the names of these stacks.
///
/// # Errors
/// The table is damaged.
pub fn read_calls(
    recording: &Recording,
    wanted: &HashSet<u32>,
) -> Result<HashMap<u32, Calls>, Problem> {
    let mut found = HashMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    for names in recording.rows::<Name>() {
        for name in names?.iter().filter(|name| name.kind == NameKind::Stack) {
            let number = u32::try_from(name.key).ok().filter(|number| wanted.contains(number));
            found.extend(number.map(|number| (number, Calls::parse(&name.name))));
        }
    }
    Ok(found)
}

/// What the waits add up to, by the pool of the thread, the number of the stack, and why it waited.
type Sums = HashMap<(Option<u32>, Option<u32>, DelayKind), Times>;

/// The calls of stacks, by their numbers.
type CallsByNumber = HashMap<u32, Calls>;

/// Adds up the waits on the chosen CPUs; `None` if the recording has no stacks.
fn sums(
    recording: &Recording,
    table: &ThreadTable,
    chosen: &dyn Fn(u32) -> bool,
) -> Result<Option<(Sums, CallsByNumber)>, Problem> {
    if !are_recorded(recording) {
        return Ok(None);
    }
    let mut sums = Sums::new();
    let has_stacks = each_wait(recording, table, &mut |delay, stacks| {
        if delay.kind != DelayKind::Blocked && chosen(delay.cpu) {
            let pool = table.thread(delay.thread).map(|thread| thread.pool);
            let length = delay.end_ticks.saturating_sub(delay.start_ticks);
            let lost = length.saturating_sub(delay.own_ticks);
            sums.entry((pool, stacks.own, delay.kind)).or_default().add(lost);
        }
        Ok(())
    })?;
    if !has_stacks {
        return Ok(None);
    }
    let calls = read_calls(recording, &sums.keys().filter_map(|(_, number, _)| *number).collect())?;
    Ok(Some((sums, calls)))
}

/// Returns where a program lost its CPUs; `None` if the recording has no stacks.
///
/// # Errors
/// A table is damaged.
pub fn places(recording: &Recording) -> Result<Option<WaitPlaces>, Problem> {
    let clock = &recording.run().clock;
    let table = ThreadTable::read(recording)?;
    let Some((sums, calls)) = sums(recording, &table, &|_| true)? else { return Ok(None) };
    // Places in one function are one place.
    let mut places: HashMap<(&Calls, DelayKind), AtPlace> = HashMap::new();
    let (mut unknown, mut cut_short) = (0_u64, 0_u64);
    for ((pool, number, kind), times) in &sums {
        match number.and_then(|number| calls.get(&number)) {
            Some(calls) => {
                cut_short =
                    cut_short.saturating_add(if calls.end_early() { times.ticks } else { 0 });
                places.entry((calls, *kind)).or_default().add(*pool, *times);
            }
            None => unknown = unknown.saturating_add(times.ticks),
        }
    }
    let mut found: Vec<_> = places.into_iter().collect();
    found.sort_by(|(a, first), (b, second)| {
        second.all.ticks.cmp(&first.all.ticks).then_with(|| a.cmp(b))
    });
    let others = found.iter().skip(PLACES).map(|(_, at)| at.all.ticks).sum();
    Ok(Some(WaitPlaces {
        places: found.iter().take(PLACES).map(|(key, at)| place(*key, at, &table, clock)).collect(),
        others_ns: clock.ns(others),
        unknown_ns: clock.ns(unknown),
        cut_short_ns: clock.ns(cut_short),
    }))
}

/// Returns where the threads of each pool lost the chosen CPUs, sorted by pool and place; `None` if the recording has no stacks.
///
/// # Errors
/// A table is damaged.
pub fn places_of_pools(
    recording: &Recording,
    chosen: &dyn Fn(u32) -> bool,
) -> Result<Option<Vec<PoolPlace>>, Problem> {
    let table = ThreadTable::read(recording)?;
    let Some((sums, calls)) = sums(recording, &table, chosen)? else { return Ok(None) };
    let mut places: BTreeMap<(&str, Option<&Calls>), u64> = BTreeMap::new();
    for ((pool, number, _), times) in &sums {
        let pool = pool.map_or(UNKNOWN, |pool| &*table.pools[pool as usize]);
        let calls = number.and_then(|number| calls.get(&number));
        let lost = places.entry((pool, calls)).or_default();
        *lost = lost.saturating_add(times.ticks);
    }
    let found = places.into_iter().map(|((pool, calls), ticks)| PoolPlace {
        pool: pool.to_owned(),
        calls: calls.cloned(),
        delayed_ns: recording.run().clock.ns(ticks),
    });
    Ok(Some(found.collect()))
}

/// The waits at one place.
#[derive(Default)]
struct AtPlace {
    all: Times,
    /// The lost time of each pool, in ticks.
    pools: BTreeMap<Option<u32>, u64>,
}

impl AtPlace {
    fn add(&mut self, pool: Option<u32>, times: Times) {
        self.all.merge(times);
        let ticks = self.pools.entry(pool).or_default();
        *ticks = ticks.saturating_add(times.ticks);
    }
}

fn place(
    (calls, kind): (&Calls, DelayKind),
    at: &AtPlace,
    table: &ThreadTable,
    clock: &Clock,
) -> WaitPlace {
    // Of several with the same time, the first by number.
    let most = at.pools.iter().max_by_key(|(pool, ticks)| (**ticks, Reverse(**pool)));
    let pool = most.and_then(|(pool, _)| *pool);
    WaitPlace {
        thread: pool.map(|pool| table.pools[pool as usize].to_string()),
        other_threads: at.pools.len().saturating_sub(1) as u64,
        calls: calls.clone(),
        kind,
        waits: at.all.count,
        delayed_ns: clock.ns(at.all.ticks),
        longest_ns: clock.ns(at.all.longest),
    }
}

/// Returns the calls at these waits: of the thread that waited, and of what left the CPU to it.
///
/// # Errors
/// A table is damaged.
pub(super) fn beside(
    recording: &Recording,
    waits: &[Delay],
) -> Result<Vec<[Option<Calls>; 2]>, Problem> {
    let key = |delay: &Delay| (delay.cpu, delay.thread, delay.start_ticks, delay.kind);
    let wanted: HashMap<_, usize> = waits.iter().map(key).zip(0..).collect();
    let mut numbers = vec![StackNumbers::default(); waits.len()];
    if are_recorded(recording) {
        with_stacks(recording, &mut |delay, stacks| {
            if let Some(&at) = wanted.get(&key(delay)) {
                numbers[at] = stacks;
            }
            Ok(())
        })?;
    }
    let all = numbers.iter().flat_map(|found| [found.own, found.holder]).flatten();
    let calls = read_calls(recording, &all.collect())?;
    let named = |number: Option<u32>| calls.get(&number?).cloned();
    Ok(numbers.iter().map(|found| [named(found.own), named(found.holder)]).collect())
}

#[cfg(test)]
mod tests;
