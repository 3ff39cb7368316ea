//! The last part of a run that waits for its condition: its rows stay in memory, and only those of the last seconds
//! become the recording.
//!
//! The time is divided into parts. Each begins with what the kernel had counted, and names its own threads, so that the
//! recording can begin with any of them. The oldest part is dropped as soon as the later ones are long enough.

use super::describe;
use anechoic_recording::run::{CpuRun, CpuTime, Run};
use anechoic_recording::stop::{Kept, StoppedBy};
use anechoic_recording::who::SeenThread;
use anechoic_recording::{
    Counter, Detour, KernelEvent, LoopPace, Loss, LossKind, Mark, Members, Name, Row, Sample,
    Series, Stack,
};
use anechoic_system::who::{Census, Limits};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Number of parts that the time to keep consists of: one more of them may be kept.
const PARTS: u64 = 4;
/// The most memory that the rows take, in bytes. What is read at once comes on top: all ring buffers together have 1/64
/// of the machine's memory at most.
const MOST_BYTES: u64 = 512 << 20;
/// The rows take no more than one part in this many of the machine's memory.
const MEMORY_PARTS: u64 = 16;
/// Memory of a name beside its row, in bytes.
const NAME_BYTES: usize = 32;
/// For this long a thread may sleep or be late before the events that would explain it are dropped.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);

/// The rows of the last part of a run.
#[derive(Debug)]
pub(super) struct Window {
    began_ticks: u64,
    keep_ticks: u64,
    longest_sleep_ticks: u64,
    most_bytes: u64,
    /// At least one; rows are added to the last.
    parts: VecDeque<Part>,
}

/// What the kernel had counted at one time: of the limits, and without events of all threads.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) limits: Limits,
    pub(super) census: Option<Census>,
    /// What was known of the program that is recorded; absent for loops.
    pub(super) program: Option<BeforeProgram>,
}

/// What was known of a program at one time.
#[derive(Debug)]
pub(super) struct BeforeProgram {
    /// Its threads, after all events that were read before.
    pub(super) members: Members,
    /// The kernel's account of its CPU time up to then; absent if it is not known.
    pub(super) cpu_time: Option<CpuTime>,
}

/// A part of the run.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// When it began: all earlier rows had been read.
    pub(super) from_ticks: u64,
    /// What the kernel had counted then; absent for the start of the run.
    before: Option<Before>,
    /// Readings of the kernel's counters then.
    counters: Vec<Counter>,
    rows: Rows,
    /// The threads that ran in it; those of the last part are in the description of the run.
    threads: Vec<SeenThread>,
}

/// A row that may wait for the end of the run.
pub(super) trait Waits: Row {
    /// Returns where it waits; `None` if it is written at once, because it describes all of the run.
    fn place(_rows: &mut Rows) -> Option<&mut Vec<Self>> {
        None
    }
}

macro_rules! waits {
    ($($place:ident: $row:ident,)*) => {
        /// Rows that wait for the end of the run.
        #[derive(Debug, Default, PartialEq)]
        pub(super) struct Rows { $(pub(super) $place: Vec<$row>,)* }

        impl Rows {
            fn bytes(&self) -> u64 {
                let rows = [$(size_of_val(&*self.$place)),*].iter().sum::<usize>();
                (rows + self.names.len() * NAME_BYTES) as u64
            }

            /// Frees the memory that more rows would have used.
            fn shrink(&mut self) {
                $(self.$place.shrink_to_fit();)*
            }
        }

        $(impl Waits for $row {
            fn place(rows: &mut Rows) -> Option<&mut Vec<Self>> {
                Some(&mut rows.$place)
            }
        })*
    };
}

waits! {
    detours: Detour,
    paces: LoopPace,
    samples: Sample,
    events: KernelEvent,
    losses: Loss,
    counters: Counter,
    names: Name,
    marks: Mark,
    stacks: Stack,
}
impl Waits for Series {}

impl Part {
    /// Returns a part that begins now, with what the kernel has counted.
    pub(super) fn new(from_ticks: u64, before: Before, counters: Vec<Counter>) -> Self {
        Self { from_ticks, before: Some(before), counters, ..Self::default() }
    }
}

impl Window {
    /// Keeps at least `keep` of a run, as far as there is memory for it.
    pub(super) fn new(keep: Duration, run: &Run) -> Self {
        let first = Part { from_ticks: run.start_ticks, ..Part::default() };
        Self {
            began_ticks: run.start_ticks,
            keep_ticks: run.clock.ticks_of(keep),
            longest_sleep_ticks: run.clock.ticks_of(LONGEST_SLEEP),
            most_bytes: MOST_BYTES.min(run.machine.memory_bytes / MEMORY_PARTS),
            parts: VecDeque::from([first]),
        }
    }

    /// Returns the rows of the last part.
    pub(super) fn rows(&mut self) -> &mut Rows {
        if self.parts.is_empty() {
            self.parts.push_back(Part::default());
        }
        let last = self.parts.len() - 1;
        &mut self.parts[last].rows
    }

    /// Returns whether the next part should begin.
    pub(super) fn is_over(&self, now_ticks: u64) -> bool {
        self.parts.back().is_none_or(|last| {
            let passed = now_ticks.saturating_sub(last.from_ticks);
            passed >= self.keep_ticks / PARTS || last.rows.bytes() >= self.most_bytes / PARTS
        })
    }

    /// Returns since when a wake-up may go on that ends the run: since the earliest of the `last` wake-ups of all CPUs, unless
    /// that was long ago.
    pub(super) fn asleep_since(&self, last: impl Iterator<Item = u64>, now_ticks: u64) -> u64 {
        let earliest = now_ticks.saturating_sub(self.longest_sleep_ticks);
        last.min().map_or(now_ticks, |since| since.clamp(earliest, now_ticks))
    }

    /// Begins the next part. The last one had these threads. What goes on since `since_ticks` may end the run.
    pub(super) fn begin(&mut self, part: Part, threads: Vec<SeenThread>, since_ticks: u64) {
        let now_ticks = part.from_ticks;
        if let Some(last) = self.parts.back_mut() {
            last.threads = threads;
            last.rows.shrink();
        }
        self.parts.push_back(part);
        // A detour that goes on now may be the one that ends the run, and counts from its start.
        self.drop_before(now_ticks.saturating_sub(self.keep_ticks / PARTS).min(since_ticks));
    }

    /// Drops the parts without which there is still enough time before `end_ticks`, and those that there is no memory for.
    fn drop_before(&mut self, end_ticks: u64) {
        while let Some(second) = self.parts.get(1) {
            let enough = second.from_ticks.saturating_add(self.keep_ticks) <= end_ticks;
            let bytes: u64 = self.parts.iter().map(|part| part.rows.bytes()).sum();
            if !enough && bytes <= self.most_bytes {
                return;
            }
            self.parts.pop_front();
        }
    }

    /// Decides what is kept of a run that ends now, at `end_ticks`, or ended by `met`. Returns what the kernel had counted
    /// where that begins; `None` if it is the start of the run.
    pub(super) fn close(&mut self, end_ticks: u64, met: Option<StoppedBy>) -> Option<Before> {
        self.drop_before(met.map_or(end_ticks, |met| met.begun_ticks()));
        self.parts.front_mut().and_then(|first| first.before.take())
    }

    /// Returns the events of the first part that came before it, in time order: after all others had been read.
    pub(super) fn events_before(&self) -> Vec<KernelEvent> {
        let Some(first) = self.parts.front() else { return vec![] };
        let events = first.rows.events.iter().filter(|event| event.ticks < first.from_ticks);
        let mut events: Vec<KernelEvent> = events.copied().collect();
        events.sort_by_key(|event| event.ticks);
        events
    }

    /// Describes in `run` the part that is kept, whose CPUs are described as those of the whole run, and returns its rows.
    pub(super) fn finish(self, run: &mut Run) -> Vec<Rows> {
        let from_ticks = self.parts.front().map_or(self.began_ticks, |first| first.from_ticks);
        let dropped = from_ticks > self.began_ticks;
        let mut parts: Vec<Part> = self.parts.into();
        threads(run, &mut parts);
        let met = run.stop_on.as_ref().and_then(|stop| stop.met);
        // A detour of a program is derived from events, of which there are none before that.
        let reaches_back = |met: &StoppedBy| dropped && met.start_ticks < from_ticks;
        let met = met.filter(|met| run.program.is_none() && reaches_back(met));
        let first = firsts(run, &parts, from_ticks, met);
        let start_ticks = met.map_or(from_ticks, |met| met.start_ticks);
        if let Some(first) = parts.first_mut() {
            first.rows.counters.splice(0..0, std::mem::take(&mut first.counters));
            let unseen = met.filter(|_| run.trace.is_some()).map(|met| unseen(met, from_ticks));
            first.rows.losses.extend(unseen);
        }
        let mut rows: Vec<Rows> = parts.into_iter().map(|part| part.rows).collect();
        if dropped {
            let begun = |cpu| first.get(&cpu).copied().unwrap_or(start_ticks);
            rows.iter_mut().for_each(|rows| clip(rows, from_ticks, start_ticks, begun));
            move_start(run, start_ticks, self.began_ticks, &first);
            renumber(run, &mut rows);
        }
        count(run, &rows);
        rows
    }
}

/// Adds to the threads of the run those of earlier parts. What was read of a thread last holds.
fn threads(run: &mut Run, parts: &mut [Part]) {
    let of_parts = parts.iter_mut().flat_map(|part| std::mem::take(&mut part.threads));
    let of_last = std::mem::take(&mut run.threads);
    let mut seen: BTreeMap<i32, SeenThread> = BTreeMap::new();
    seen.extend(of_parts.chain(of_last).map(|thread| (thread.tid, thread)));
    run.threads = seen.into_values().collect();
}

/// Returns from when on each CPU was watched in the part that is kept: at its start a detour may have gone on. The one
/// that ended the run is kept whole.
fn firsts(
    run: &Run,
    parts: &[Part],
    from_ticks: u64,
    met: Option<StoppedBy>,
) -> BTreeMap<u32, u64> {
    let begun = |cpu: &CpuRun| (cpu.cpu, cpu.first_ticks.max(from_ticks));
    let mut first: BTreeMap<u32, u64> = run.cpus.iter().map(begun).collect();
    for detour in parts.iter().flat_map(|part| &part.rows.detours) {
        if let Some(first) = first.get_mut(&detour.cpu).filter(|f| detour.start_ticks < **f) {
            *first = detour.end_ticks.max(*first);
        }
    }
    first.extend(met.map(|met| (met.cpu, met.start_ticks)));
    first
}

/// Returns the loss of the events before the part that is kept, in a detour that began there.
fn unseen(met: StoppedBy, from_ticks: u64) -> Loss {
    let (cpu, start_ticks) = (met.cpu, met.start_ticks);
    Loss { what: LossKind::Events, cpu, start_ticks, end_ticks: from_ticks, count: 0 }
}

/// Removes what lies before the part that is kept. `begun` is from when on each CPU was watched in it.
fn clip(rows: &mut Rows, from_ticks: u64, start_ticks: u64, begun: impl Fn(u32) -> u64) {
    rows.detours.retain(|detour| detour.start_ticks >= begun(detour.cpu));
    rows.paces.retain_mut(|pace| begin_pace(pace, begun(pace.cpu)));
    rows.samples.retain(|sample| sample.start_ticks >= begun(sample.cpu));
    rows.events.retain(|event| event.ticks >= from_ticks);
    rows.counters.retain(|counter| counter.ticks >= from_ticks);
    rows.losses.retain_mut(|loss| {
        loss.start_ticks = loss.start_ticks.max(start_ticks);
        loss.end_ticks > loss.start_ticks
    });
}

/// Cuts off what lies before this time, at the same pace; returns whether anything is left.
fn begin_pace(pace: &mut LoopPace, begun: u64) -> bool {
    let (all, left) = (pace.end_ticks - pace.start_ticks, pace.end_ticks.saturating_sub(begun));
    if left < all {
        let part = left as f64 / all as f64;
        let cut = |number: u64| (number as f64 * part).round() as u64;
        pace.start_ticks = begun;
        (pace.work_ticks, pace.iterations) = (cut(pace.work_ticks), cut(pace.iterations));
    }
    left > 0
}

/// Lets the run begin where the part that is kept begins.
fn move_start(run: &mut Run, start_ticks: u64, began_ticks: u64, first: &BTreeMap<u32, u64>) {
    let dropped_ns = run.clock.ns(start_ticks.saturating_sub(began_ticks));
    run.start_utc = describe::later(&run.start_utc, Duration::from_nanos(dropped_ns));
    run.start_ticks = start_ticks;
    if let Some(Kept { dropped_ns: known, .. }) =
        run.stop_on.as_mut().and_then(|stop| stop.kept.as_mut())
    {
        *known = dropped_ns;
    }
    for cpu in &mut run.cpus {
        let before = cpu.last_ticks.saturating_sub(cpu.first_ticks).max(1);
        cpu.first_ticks = first.get(&cpu.cpu).copied().unwrap_or(start_ticks);
        cpu.last_ticks = cpu.last_ticks.max(cpu.first_ticks);
        let kept = (cpu.last_ticks - cpu.first_ticks) as f64 / before as f64;
        cpu.iterations = (cpu.iterations as f64 * kept).round() as u64;
    }
}

/// Lets each series begin with the first of its samples that is kept, and leaves out those that have none.
fn renumber(run: &mut Run, rows: &mut [Rows]) {
    /// The number of the first sample, of the last one, and how many there are.
    type Kept = (u64, u64, u64);
    let mut kept: BTreeMap<u32, Kept> = BTreeMap::new();
    for sample in rows.iter().flat_map(|rows| &rows.samples) {
        let (first, last, number) = kept.entry(sample.series).or_insert((u64::MAX, 0, 0));
        (*first, *last) = (sample.index.min(*first), sample.index.max(*last));
        *number += 1;
    }
    for sample in rows.iter_mut().flat_map(|rows| &mut rows.samples) {
        sample.index -= kept.get(&sample.series).map_or(0, |(first, ..)| *first);
    }
    run.outcomes.retain(|outcome| kept.contains_key(&outcome.series));
    for outcome in &mut run.outcomes {
        let (first, last, number) = kept[&outcome.series];
        outcome.samples = last - first + 1;
        outcome.lost = outcome.samples.saturating_sub(number);
        outcome.first_ticks = outcome.first_ticks.max(run.start_ticks);
        outcome.last_ticks = outcome.last_ticks.max(outcome.first_ticks);
    }
}

/// Counts what is kept of each CPU.
fn count(run: &mut Run, rows: &[Rows]) {
    let all = || rows.iter().flat_map(|rows| &rows.detours);
    let losses = || rows.iter().flat_map(|rows| &rows.losses);
    for cpu in &mut run.cpus {
        cpu.detours = all().filter(|detour| detour.cpu == cpu.cpu).count() as u64;
        let lost = losses().filter(|loss| loss.what == LossKind::Detours && loss.cpu == cpu.cpu);
        cpu.lost_detours = lost.map(|loss| loss.count).sum();
    }
}

#[cfg(test)]
mod tests;
