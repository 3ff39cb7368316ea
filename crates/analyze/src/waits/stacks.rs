//! Which call stacks belong to a wait: where its thread had left a CPU, and where the thread that had the CPU left that.

use super::table::ThreadTable;
use anechoic_recording::{Clock, Delay, DelayKind, Feed, Problem, Recording, Stack};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};

/// The directory of the table of stacks.
const STACKS: &str = "stacks";
/// Largest time between a stack and the event of the same switch, in ns: each is written by itself.
const BESIDE_NS: u64 = 50_000;

/// The numbers of the stacks of a wait, where they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StackNumbers {
    /// Where the thread that waited had left a CPU.
    pub own: Option<u32>,
    /// Where the thread that had the CPU left it.
    pub holder: Option<u32>,
}

/// Returns whether the recording has stacks.
pub(super) fn are_recorded(recording: &Recording) -> bool {
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
pub(super) type EachWait<'a> = dyn FnMut(&Delay, StackNumbers) -> Result<(), Problem> + 'a;

/// The same, with the threads of the recording.
pub(super) fn each_wait(
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
