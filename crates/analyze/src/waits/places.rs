//! Where the threads of a program were in their code when they lost a CPU, from the call stacks of a recording.

use super::Times;
use super::table::ThreadTable;
use anechoic_recording::{
    Clock, Delay, DelayKind, Feed, KERNEL_FUNCTION, Name, NameKind, Problem, Recording, Stack,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};

/// The directory of the table of stacks.
const STACKS: &str = "stacks";
/// What stands for a thread or a call that is not known.
const UNKNOWN: &str = "[unknown]";
/// Number of places that are kept.
const PLACES: usize = 20;
/// Largest time between a stack and the event of the same switch, in ns: each is written by itself.
const BESIDE_NS: u64 = 50_000;
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

/// A place in its code where a program lost a CPU, or from which it came back late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitPlace {
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

/// The numbers of the stacks of a wait, where they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StackNumbers {
    /// Where the thread that waited had left a CPU.
    pub own: Option<u32>,
    /// Where the thread that had the CPU left it.
    pub holder: Option<u32>,
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
    let mut places: HashMap<(&Calls, DelayKind), Times> = HashMap::new();
    let mut unknown = 0;
    for ((_, number, kind), times) in &sums {
        match number.and_then(|number| calls.get(&number)) {
            Some(calls) => places.entry((calls, *kind)).or_default().merge(*times),
            None => unknown = u64::saturating_add(unknown, times.ticks),
        }
    }
    let mut found: Vec<_> = places.into_iter().collect();
    found.sort_by(|(a, first), (b, second)| second.ticks.cmp(&first.ticks).then_with(|| a.cmp(b)));
    let others = found.iter().skip(PLACES).map(|(_, times)| times.ticks).sum();
    Ok(Some(WaitPlaces {
        places: found.iter().take(PLACES).map(|(key, times)| place(*key, times, clock)).collect(),
        others_ns: clock.ns(others),
        unknown_ns: clock.ns(unknown),
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

fn place((calls, kind): (&Calls, DelayKind), times: &Times, clock: &Clock) -> WaitPlace {
    WaitPlace {
        calls: calls.clone(),
        kind,
        waits: times.count,
        delayed_ns: clock.ns(times.ticks),
        longest_ns: clock.ns(times.longest),
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

fn are_recorded(recording: &Recording) -> bool {
    recording.dir().join(STACKS).is_dir()
}

/// Gives each wait to `each`, with its stacks, in the order in which waits end. Returns whether the recording has stacks.
///
/// # Errors
/// A table is damaged, or `each` fails.
pub fn with_stacks(recording: &Recording, each: &mut EachWait<'_>) -> Result<bool, Problem> {
    each_wait(recording, &ThreadTable::read(recording)?, each)
}

/// What is done with a wait and its stacks.
type EachWait<'a> = dyn FnMut(&Delay, StackNumbers) -> Result<(), Problem> + 'a;

fn each_wait(
    recording: &Recording,
    table: &ThreadTable,
    each: &mut EachWait<'_>,
) -> Result<bool, Problem> {
    let mut beside = Beside::new(&recording.run().clock);
    let mut rows = InOrder::new(recording, beside.tolerance)?;
    let mut has_stacks = false;
    while let Some(row) = rows.next_row()? {
        match row {
            Row::Stack(stack) => {
                has_stacks = true;
                beside.note(&stack);
            }
            Row::Delay(delay) => {
                let thread = table.thread(delay.thread).map(|thread| thread.tid);
                each(&delay, beside.stacks(&delay, thread))?;
            }
        }
    }
    Ok(has_stacks)
}

/// The last stacks of each thread.
struct Beside {
    /// How far a stack may lie from the event of its switch.
    tolerance: u64,
    /// Those of each thread that may belong to a wait which ends: of the time in which that is not known yet, and the last before.
    last: HashMap<i32, VecDeque<Stack>>,
}

impl Beside {
    fn new(clock: &Clock) -> Self {
        Self { tolerance: clock.ticks(BESIDE_NS), last: HashMap::new() }
    }

    fn note(&mut self, stack: &Stack) {
        let kept = self.last.entry(stack.thread).or_default();
        kept.push_back(stack.clone());
        let since = stack.ticks.saturating_sub(3 * self.tolerance);
        while kept.get(1).is_some_and(|next| next.ticks < since) {
            kept.pop_front();
        }
    }

    fn stacks(&self, delay: &Delay, thread: Option<i32>) -> StackNumbers {
        let is_near = |a: u64, b: u64| a.abs_diff(b) <= self.tolerance;
        let last = |thread: Option<i32>| {
            thread.and_then(|tid| self.last.get(&tid)).into_iter().flatten().rev()
        };
        // When it left the CPU before this wait.
        let left = match delay.kind {
            DelayKind::Preempted => Some(delay.start_ticks),
            DelayKind::Woken => {
                delay.slept_ticks.map(|slept| delay.start_ticks.saturating_sub(slept))
            }
            DelayKind::Begun | DelayKind::Blocked => None,
        };
        let own = left.and_then(|left| {
            let before = last(thread).filter(|stack| stack.ticks < delay.end_ticks);
            before
                .min_by_key(|stack| stack.ticks.abs_diff(left))
                .filter(|it| is_near(it.ticks, left))
        });
        let holders = last(delay.holder.filter(|&tid| tid > 0));
        let holders = holders.filter(|stack| stack.cpu == delay.cpu);
        let holder = holders.min_by_key(|stack| stack.ticks.abs_diff(delay.end_ticks));
        let holder = holder.filter(|stack| is_near(stack.ticks, delay.end_ticks));
        StackNumbers { own: own.map(|stack| stack.stack), holder: holder.map(|stack| stack.stack) }
    }
}

enum Row {
    Stack(Stack),
    Delay(Delay),
}

impl Row {
    fn is_stack(&self) -> bool {
        matches!(self, Row::Stack(_))
    }
}

/// Stacks and waits of all CPUs in the order of time; a wait follows the stacks beside its end.
struct InOrder<'a> {
    feeds: Vec<(Feed<'a, Row>, Row)>,
    turns: BinaryHeap<Reverse<(u64, bool, usize)>>,
    tolerance: u64,
}

impl<'a> InOrder<'a> {
    fn new(recording: &'a Recording, tolerance: u64) -> Result<Self, Problem> {
        let mut rows = Self { feeds: vec![], turns: BinaryHeap::new(), tolerance };
        let run = recording.run();
        let measured = run.cpus.iter().map(|cpu| cpu.cpu);
        let cpus: BTreeSet<u32> =
            run.machine.cpus.iter().map(|cpu| cpu.cpu).chain(measured).collect();
        for cpu in cpus {
            let stacks = recording.rows_of_cpu::<Stack>(cpu).each().map(|row| row.map(Row::Stack));
            let delays = recording.rows_of_cpu::<Delay>(cpu).each().map(|row| row.map(Row::Delay));
            let feeds: [Feed<'a, Row>; 2] = [Box::new(stacks), Box::new(delays)];
            for mut feed in feeds {
                if let Some(first) = feed.next().transpose()? {
                    rows.turns.push(Reverse(rows.turn(&first, rows.feeds.len())));
                    rows.feeds.push((feed, first));
                }
            }
        }
        Ok(rows)
    }

    fn turn(&self, row: &Row, feed: usize) -> (u64, bool, usize) {
        let ticks = match row {
            Row::Stack(stack) => stack.ticks,
            Row::Delay(delay) => delay.end_ticks.saturating_add(self.tolerance),
        };
        (ticks, !row.is_stack(), feed)
    }

    fn next_row(&mut self) -> Result<Option<Row>, Problem> {
        let Some(Reverse((.., feed))) = self.turns.pop() else { return Ok(None) };
        let Some(next) = self.feeds[feed].0.next().transpose()? else {
            // Its last row: the feed is empty, so what takes its place is not read again.
            let empty: Feed<'a, Row> = Box::new(std::iter::empty());
            let last = Row::Stack(Stack { cpu: 0, ticks: 0, thread: 0, stack: 0 });
            return Ok(Some(std::mem::replace(&mut self.feeds[feed], (empty, last)).1));
        };
        self.turns.push(Reverse(self.turn(&next, feed)));
        Ok(Some(std::mem::replace(&mut self.feeds[feed].1, next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;
    use anechoic_recording::run::{Program, Run};
    use anechoic_recording::{ProgramThread, Recorder};
    use std::path::Path;

    /// Ticks of a microsecond, at 1 GHz.
    const US: u64 = 1_000;

    #[test]
    fn calls_are_read_without_how_the_kernel_switches() {
        let cases: [(&str, &[&str], &[&str], &str); 6] = [
            (
                "main;run;step;asm_sysvec_apic_timer_interrupt_[k];irqentry_exit_to_user_mode_[k];schedule_[k];__schedule_[k]",
                &["step", "run", "main"],
                &[],
                "main;run;step",
            ),
            (
                "main;read;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];ksys_read_[k];pipe_read_[k];schedule_[k];__schedule_[k];__traceiter_sched_switch_[k]",
                &["read", "main"],
                &["pipe_read", "ksys_read"],
                "main;read;ksys_read_[k];pipe_read_[k]",
            ),
            (
                "ret_from_fork_asm_[k];ret_from_fork_[k];kthread_[k];worker_thread_[k];schedule_[k];__schedule_[k]",
                &[],
                &["worker_thread", "kthread"],
                "kthread_[k];worker_thread_[k]",
            ),
            ("main", &["main"], &[], "main"),
            ("__schedule_[k]", &[], &[], "[unknown]"),
            ("", &[], &[], "[unknown]"),
        ];
        for (text, program, kernel, folded) in cases {
            let calls = Calls::parse(text);
            assert_eq!(calls.program, program, "{text}");
            assert_eq!(calls.kernel, kernel, "{text}");
            assert_eq!(calls.folded(), folded, "{text}");
        }
    }

    /// Thread 101 waits on CPU 1 from one time to another, in µs; it had slept for so long, and 50 had the CPU.
    fn wait(kind: DelayKind, from: u64, to: u64, slept: Option<u64>) -> Delay {
        Delay {
            cpu: 1,
            start_ticks: from * US,
            end_ticks: to * US,
            thread: 1,
            kind,
            own_ticks: 0,
            holder: Some(50),
            holder_name: "hog".into(),
            holder_thread: None,
            held_ticks: (to - from) * US,
            waker_thread: None,
            priority: None,
            other_priority: None,
            slept_ticks: slept.map(|slept| slept * US),
        }
    }

    fn stack(cpu: u32, at: u64, thread: i32, stack: u32) -> Stack {
        Stack { cpu, ticks: at * US, thread, stack }
    }

    fn recorded(dir: &Path, stacks: &[Stack], delays: &[Delay]) -> Recording {
        let run = Run {
            program: Some(Program::default()),
            end_ticks: 1_000_000 * US,
            ..builders::run(
                "program",
                builders::clock(1_000_000_000),
                vec![
                    builders::cpu_run(0, (0, 1_000_000 * US), 0),
                    builders::cpu_run(1, (0, 1_000_000 * US), 0),
                ],
            )
        };
        let mut recorder = Recorder::create(dir, &run).expect("a new directory");
        recorder.append(stacks).expect("in order");
        let name =
            |key, name: &str| Name { kind: NameKind::Stack, key, ticks: 0, name: name.into() };
        let names = [
            name(0, "main;here"),
            name(1, "main;there"),
            name(2, "hog;burn"),
            name(3, "main;here;asm_x_[k]"),
        ];
        recorder.append(&names).expect("in order");
        recorder.finish(&run).expect("there is space");
        let recording = Recording::open(dir).expect("just written");
        let thread = ProgramThread {
            thread: 1,
            tid: 101,
            name: "victim".into(),
            priority: None,
            cpus: "1".into(),
            first_ticks: 0,
            last_ticks: 1_000_000 * US,
            executed_ticks: US,
            interrupted_ticks: 0,
        };
        let mut table = recording.derive().expect("writable");
        table.append(&[thread]).expect("in order");
        table.finish().expect("there is space");
        let mut table = recording.derive().expect("writable");
        table.append(delays).expect("in order");
        table.finish().expect("there is space");
        Recording::open(dir).expect("just written")
    }

    /// The innermost call of the thread and of the holder at each wait.
    fn innermost(recording: &Recording, waits: &[Delay]) -> Vec<[Option<String>; 2]> {
        let found = beside(recording, waits).expect("it can be read");
        found
            .into_iter()
            .map(|both| both.map(|calls| calls.and_then(|calls| calls.program.first().cloned())))
            .collect()
    }

    #[test]
    fn a_wait_has_the_stack_of_its_own_switch_and_no_other() {
        use DelayKind::{Begun, Blocked, Preempted, Woken};
        let dir = tempfile::tempdir().expect("a directory");
        let stacks = [
            stack(0, 900, 101, 1), // asleep there from here on
            stack(1, 1_001, 101, 0),
            stack(1, 3_002, 50, 2),
            stack(1, 3_010, 101, 1), // it left again at once
            stack(1, 6_000, 50, 2),
            stack(1, 7_000, 101, 3),
            stack(1, 9_000, 50, 2),
        ];
        let waits = [
            wait(Preempted, 1_000, 3_000, None),
            wait(Woken, 3_500, 4_000, Some(491)), // slept since 3,009; who had the CPU did not leave it to this thread
            wait(Preempted, 5_000, 6_001, None),  // the stack of its switch was lost
            wait(Begun, 6_100, 6_200, None),
            wait(Preempted, 7_001, 9_002, None),
            wait(Woken, 9_500, 9_600, Some(2_000)), // slept since 7,500, where the stack was lost
            wait(Blocked, 9_650, 9_700, Some(10)),
        ];
        let recording = recorded(dir.path(), &stacks, &waits);
        let some = |text: &str| Some(text.to_owned());
        let expected = [
            [some("here"), some("burn")],
            [some("there"), None],
            [None, some("burn")],
            [None, None],
            [some("here"), some("burn")],
            [None, None],
            [None, None],
        ];
        assert_eq!(innermost(&recording, &waits), expected);
        let found = places(&recording).expect("it can be read").expect("there are stacks");
        let rows: Vec<_> = found
            .places
            .iter()
            .map(|it| {
                (it.calls.program[0].as_str(), it.kind, it.waits, it.delayed_ns, it.longest_ns)
            })
            .collect();
        // Both stacks that end in `here` are one place.
        assert_eq!(
            rows,
            [("here", Preempted, 2, 4_001_000, 2_001_000), ("there", Woken, 1, 500_000, 500_000)]
        );
        assert_eq!((found.others_ns, found.unknown_ns), (0, 1_001_000 + 100_000 + 100_000));
        let of_pool = |chosen: &dyn Fn(u32) -> bool| -> Vec<(String, Option<String>, u64)> {
            let found = places_of_pools(&recording, chosen).expect("it can be read");
            let rows = found.expect("there are stacks").into_iter();
            rows.map(|it| (it.pool, it.calls.map(|calls| calls.folded()), it.delayed_ns)).collect()
        };
        let row = |calls: Option<&str>, ns| ("victim".to_owned(), calls.map(str::to_owned), ns);
        let expected = [
            row(None, found.unknown_ns),
            row(Some("main;here"), found.places[0].delayed_ns),
            row(Some("main;there"), found.places[1].delayed_ns),
        ];
        assert_eq!(of_pool(&|_| true), expected);
        assert_eq!(of_pool(&|cpu| cpu == 0), []);
    }

    #[test]
    fn a_thread_that_leaves_again_and_again_has_the_stack_of_each_switch() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = [1_000, 1_010, 1_020, 1_030, 1_040];
        let stacks: Vec<Stack> =
            at.iter().zip([0, 1, 0, 1, 0]).map(|(&at, number)| stack(1, at, 101, number)).collect();
        let waits: Vec<Delay> =
            at.iter().map(|&at| wait(DelayKind::Preempted, at, at + 5, None)).collect();
        let recording = recorded(dir.path(), &stacks, &waits);
        let found: Vec<Option<String>> =
            innermost(&recording, &waits).into_iter().map(|[own, _]| own).collect();
        assert_eq!(
            found,
            ["here", "there", "here", "there", "here"].map(|name| Some(name.to_owned()))
        );
    }

    #[test]
    fn without_stacks_or_waits_there_are_no_places() {
        let dir = tempfile::tempdir().expect("a directory");
        let waits = [wait(DelayKind::Preempted, 1_000, 3_000, None)];
        let recording = recorded(&dir.path().join("a"), &[], &waits);
        assert_eq!(places(&recording).expect("it can be read"), None);
        assert_eq!(places_of_pools(&recording, &|_| true).expect("it can be read"), None);
        assert_eq!(innermost(&recording, &waits), [[None, None]]);
        let recording = recorded(&dir.path().join("b"), &[stack(1, 5, 101, 0)], &[]);
        let found = places(&recording).expect("it can be read").expect("there are stacks");
        assert_eq!((found.places.len(), found.unknown_ns), (0, 0));
    }
}
