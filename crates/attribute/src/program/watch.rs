//! Looks, while a program is recorded, for what ends the recording before its time.

use super::contexts::Contexts;
use super::lost_time::LostTime;
use super::releases::Releases;
use super::threads::Wait;
use anechoic_recording::run::Run;
use anechoic_recording::stop::{LEAST_WANTED, LossySecond, StopCondition, StoppedBy};
use anechoic_recording::{DelayKind, Detour, EventKind, KernelEvent, Loss, Members};
use std::collections::{BTreeMap, HashSet, VecDeque};

/// Number of times at which the tool ran that are remembered for each CPU: it runs some ten times a second.
const REMEMBERED: usize = 64;
/// Number of seconds that are remembered: a wait is known when it ends.
const SECONDS: usize = 60;

/// What goes on for longer than this is not waited for, in seconds.
const LONGEST: u64 = 10;

/// Looks for what ends the recording of a program before its time, in its events as they arrive.
///
/// What the tool itself takes from the program ends nothing.
pub struct Watch {
    condition: StopCondition,
    /// A longer detour or wait, or a later release ends the recording.
    longer_ticks: u64,
    /// The CPUs that count; empty if all do.
    counted_cpus: Vec<u32>,
    lost_time: LostTime,
    /// Events that are not processed yet: those of another CPU may come before them.
    waiting: Vec<KernelEvent>,
    /// What timers wake, if a late release ends the recording.
    timed: Option<(Releases<'static>, Contexts)>,
    tool: ToolTime,
    /// Number of detours so far.
    detours: u64,
    seconds: Seconds,
    /// Number of threads of the machine that are known.
    known: usize,
    met: Option<StoppedBy>,
}

/// When the tool itself ran.
struct ToolTime {
    threads: HashSet<i32>,
    /// Since when it runs on a CPU.
    since: BTreeMap<u32, u64>,
    ran: BTreeMap<u32, VecDeque<[u64; 2]>>,
}

/// What the program did in each of the last seconds.
struct Seconds {
    start_ticks: u64,
    length_ticks: u64,
    least_wanted_ticks: u64,
    /// The number of the second that goes on.
    now: u64,
    /// For how long the program had executed at its start.
    executed_before: u64,
    /// The last ones, by number.
    last: BTreeMap<u64, Second>,
}

/// What the program did in a second, in ticks.
#[derive(Default, Clone, Copy)]
struct Second {
    executed: u64,
    lost: u64,
    /// The part of it that the tool itself took.
    lost_to_tool: u64,
    /// The longest of its detours.
    longest: Option<Detour>,
}

impl Watch {
    /// Begins to watch the program of `run`; absent if it recorded none.
    #[must_use]
    pub fn new(condition: StopCondition, run: &Run) -> Option<Self> {
        let program = run.program.as_ref()?;
        let longer_ticks = match condition {
            StopCondition::Longer(ns) | StopCondition::Wait(ns) | StopCondition::Release(ns) => {
                run.clock.ticks(ns)
            }
            _ => u64::MAX,
        };
        let timed = matches!(condition, StopCondition::Release(_))
            .then(|| (Releases::live(run), Contexts::new(&run.clock, vec![])));
        let lost_time = LostTime::new(Members::new(program), &run.clock, run.start_ticks);
        let waits = matches!(condition, StopCondition::Wait(_));
        let threads = run.own_threads.iter().map(|thread| thread.tid).collect();
        Some(Self {
            condition,
            longer_ticks,
            counted_cpus: program.counted_cpus.clone(),
            lost_time: if waits || timed.is_some() { lost_time.by_thread() } else { lost_time },
            waiting: Vec::new(),
            timed,
            tool: ToolTime { threads, since: BTreeMap::new(), ran: BTreeMap::new() },
            detours: 0,
            seconds: Seconds {
                start_ticks: run.start_ticks,
                length_ticks: run.clock.ticks(1_000_000_000).max(1),
                least_wanted_ticks: run.clock.ticks_of(LEAST_WANTED),
                now: 0,
                executed_before: 0,
                last: BTreeMap::new(),
            },
            known: 0,
            met: None,
        })
    }

    /// Lets the function at `address` be known that gives control groups with a CPU quota new time: without it, a thread that was
    /// held back begins at its CPU's next event where the kernel hides that an idle CPU goes on.
    #[must_use]
    pub fn knowing_refills(mut self, address: Option<u64>) -> Self {
        self.lost_time.timers().know_refills(&address.into_iter().collect());
        self
    }

    /// Returns what met the condition, once something did.
    #[must_use]
    pub fn met(&self) -> Option<StoppedBy> {
        self.met
    }

    /// Returns the start of what may still meet the condition at `now_ticks`: of a detour that goes on, or of a second. Of what
    /// goes on for longer than [`LONGEST`] only the end is known.
    #[must_use]
    pub fn since(&self, now_ticks: u64) -> u64 {
        let longest_ticks = LONGEST.saturating_mul(self.seconds.length_ticks);
        let since = match self.condition {
            StopCondition::Lost(_) => {
                Some(self.seconds.start_of(self.seconds.now.saturating_sub(1)))
            }
            _ => self.lost_time.going_on_since(now_ticks.saturating_sub(longest_ticks)),
        };
        since.unwrap_or(now_ticks)
    }

    /// Takes the next events of a CPU, with the intervals in which some were lost.
    pub fn take(&mut self, events: &[KernelEvent], losses: &[Loss]) {
        losses.iter().for_each(|loss| self.tool.lose(loss.cpu));
        self.lost_time.losses(losses.iter().cloned());
        if let Some((releases, contexts)) = &mut self.timed {
            releases.add_losses(losses);
            contexts.lose(losses);
        }
        self.waiting.extend_from_slice(events);
    }

    /// Looks at what happened up to `until_ticks`: all events before it have been taken. `run` has the threads and the groups
    /// that are known so far.
    pub fn look(&mut self, until_ticks: u64, run: &Run) {
        if let Some(program) = run.program.as_ref().filter(|_| run.threads.len() != self.known) {
            self.lost_time.know(program, &run.threads);
            self.known = run.threads.len();
        }
        self.waiting.sort_by_key(|event| event.ticks);
        let due = self.waiting.partition_point(|event| event.ticks < until_ticks);
        let later = self.waiting.split_off(due);
        for event in std::mem::replace(&mut self.waiting, later) {
            self.pass_seconds(event.ticks);
            self.tool.follow(&event);
            self.lost_time.event(&event);
            self.look_at_release(&event);
            self.lost_time.forget_ended(&event); // a recording may last for days
        }
        self.pass_seconds(until_ticks);
        let found: Vec<Detour> = self.lost_time.found().collect();
        found.iter().for_each(|detour| self.count(detour));
        self.judge(&found);
        self.judge_waits();
    }

    /// Looks at the rest of a recording that ended at `end_ticks`, with what still went on then.
    pub fn finish(&mut self, end_ticks: u64, run: &Run) {
        self.look(end_ticks.saturating_add(1), run);
        self.lost_time.finish(end_ticks);
        self.look(end_ticks, run);
    }

    /// Returns the threads of the program after all events that were taken.
    #[must_use]
    pub fn members(&self) -> Members {
        let mut members = self.lost_time.members().clone();
        let mut waiting = self.waiting.clone();
        waiting.sort_by_key(|event| event.ticks);
        waiting.iter().for_each(|event| {
            members.event(event);
            members.forget_ended(event);
        });
        members
    }

    /// Completes the seconds that are over at `ticks`.
    fn pass_seconds(&mut self, ticks: u64) {
        while ticks >= self.seconds.end_ticks() {
            let end_ticks = self.seconds.end_ticks();
            let counted = &self.counted_cpus;
            let counts = |cpu: u32| counted.is_empty() || counted.contains(&cpu);
            self.seconds.complete(self.lost_time.executed_until(end_ticks, counts));
        }
    }

    fn counts(&self, cpu: u32) -> bool {
        self.counted_cpus.is_empty() || self.counted_cpus.contains(&cpu)
    }

    /// Counts a detour that nothing extends any more.
    fn count(&mut self, detour: &Detour) {
        if !self.counts(detour.cpu) {
            return;
        }
        self.detours += 1;
        self.seconds.add(detour, &self.tool);
        match self.condition {
            StopCondition::Count(count) if self.detours >= count && self.met.is_none() => {
                self.meet(detour);
            }
            _ => {}
        }
    }

    /// Looks for the first detour that is too long among these and those that may be extended, or for the first second in
    /// which too much was lost.
    fn judge(&mut self, found: &[Detour]) {
        if self.met.is_some() {
            return;
        }
        let held: Vec<Detour> =
            self.lost_time.held().filter(|detour| self.counts(detour.cpu)).collect();
        match self.condition {
            StopCondition::Longer(_) => {
                let counted = found.iter().filter(|detour| self.counts(detour.cpu)).chain(&held);
                let longer = counted.filter(|detour| {
                    let length = detour.end_ticks.saturating_sub(detour.start_ticks);
                    length > self.longer_ticks
                        && length.saturating_sub(self.tool.within(detour)) > self.longer_ticks
                });
                if let Some(first) = longer.min_by_key(|detour| detour.start_ticks).copied() {
                    self.meet(&first);
                }
            }
            StopCondition::Lost(ppm) => self.met = self.seconds.lossy(ppm, &held, &self.tool),
            _ => {}
        }
    }

    /// Looks whether a release that this event ends is too late: the time for which the thread had set its timer counts. The
    /// time of the tool in it does not.
    fn look_at_release(&mut self, event: &KernelEvent) {
        let Some((releases, contexts)) = &mut self.timed else { return };
        let (members, threads) = self.lost_time.by_number();
        let Some(threads) = threads else { return };
        contexts.event(event);
        let number = |tid| threads.number(tid);
        let Some((tid, release)) = releases.event(event, members, number, contexts) else { return };
        let (cpu, start_ticks, end_ticks) = (release.cpu, release.due_ticks, release.end_ticks);
        let late_ticks = end_ticks.saturating_sub(start_ticks);
        let tool_ticks = self.tool.within(&Detour { cpu, start_ticks, end_ticks });
        let is_late = late_ticks.saturating_sub(tool_ticks) > self.longer_ticks;
        if is_late && self.met.is_none() && self.counts(cpu) {
            let thread = Some(tid);
            self.met = Some(StoppedBy { cpu, start_ticks, end_ticks, second: None, thread });
        }
    }

    /// Looks for the first thread that waited too long, among the waits that are over. The time in which threads of the program
    /// executed on the CPU does not count, nor does that of the tool.
    fn judge_waits(&mut self) {
        let Some(threads) = self.lost_time.by_number().1 else { return };
        threads.take_ended();
        let waits = threads.take_waits();
        if !matches!(self.condition, StopCondition::Wait(_)) {
            return;
        }
        let longer = waits.iter().filter(|wait| {
            let Wait { cpu, start: start_ticks, end: end_ticks, .. } = **wait;
            let of_others = end_ticks.saturating_sub(start_ticks).saturating_sub(wait.own_ticks);
            let tool_ticks = self.tool.within(&Detour { cpu, start_ticks, end_ticks });
            wait.kind != DelayKind::Blocked
                && end_ticks > self.seconds.start_ticks // the recording begins with events before it
                && self.counts(cpu)
                && of_others.saturating_sub(tool_ticks) > self.longer_ticks
        });
        if let Some(first) = longer.min_by_key(|wait| wait.start).filter(|_| self.met.is_none()) {
            let (start_ticks, end_ticks) = (first.start, first.end);
            let thread = Some(first.tid);
            self.met =
                Some(StoppedBy { cpu: first.cpu, start_ticks, end_ticks, second: None, thread });
        }
    }

    fn meet(&mut self, detour: &Detour) {
        let Detour { cpu, start_ticks, end_ticks } = *detour;
        self.met = Some(StoppedBy { cpu, start_ticks, end_ticks, second: None, thread: None });
    }
}

impl ToolTime {
    fn follow(&mut self, event: &KernelEvent) {
        if event.kind != EventKind::Switch {
            return;
        }
        if let Some(since) = self.since.remove(&event.cpu) {
            let ran = self.ran.entry(event.cpu).or_default();
            ran.truncate(REMEMBERED - 1);
            ran.push_front([since, event.ticks]);
        }
        if self.threads.contains(&(event.args[0] as i32)) {
            self.since.insert(event.cpu, event.ticks);
        }
    }

    /// Forgets that the tool runs on a CPU, some of whose events were lost: what took it away may be among them.
    fn lose(&mut self, cpu: u32) {
        self.since.remove(&cpu);
    }

    /// Returns how much of a detour the tool itself took, in ticks.
    fn within(&self, detour: &Detour) -> u64 {
        let goes_on = self.since.get(&detour.cpu).map(|&since| [since, u64::MAX]);
        let ran = self.ran.get(&detour.cpu).into_iter().flatten().copied();
        let both = ran.chain(goes_on).map(|span| overlap(detour, span));
        both.fold(0, u64::saturating_add)
    }
}

impl Seconds {
    fn end_ticks(&self) -> u64 {
        self.start_of(self.now.saturating_add(1))
    }

    /// Returns the start of the second with this number.
    fn start_of(&self, number: u64) -> u64 {
        self.start_ticks.saturating_add(self.length_ticks.saturating_mul(number))
    }

    fn number(&self, ticks: u64) -> u64 {
        ticks.saturating_sub(self.start_ticks) / self.length_ticks
    }

    fn span(&self, number: u64) -> [u64; 2] {
        let start = self.start_ticks.saturating_add(self.length_ticks.saturating_mul(number));
        [start, start.saturating_add(self.length_ticks)]
    }

    /// Begins the next second, at whose start the program had executed for `executed` ticks.
    fn complete(&mut self, executed: u64) {
        let before = std::mem::replace(&mut self.executed_before, executed);
        self.last.entry(self.now).or_default().executed = executed.saturating_sub(before);
        self.now += 1;
        while self.last.len() > SECONDS {
            self.last.pop_first();
        }
    }

    /// Adds a detour to the seconds in which it lies, of those that are remembered.
    fn add(&mut self, detour: &Detour, tool: &ToolTime) {
        let oldest = self.now.saturating_sub(SECONDS as u64);
        let numbers = self.number(detour.start_ticks).max(oldest)..=self.number(detour.end_ticks);
        for number in numbers {
            let span = self.span(number);
            self.last.entry(number).or_default().add(detour, span, tool);
        }
    }

    /// Returns the first second that is over, in which the program wanted its CPUs for long enough and lost more than it may.
    /// The detours of `held` are not added yet.
    fn lossy(&self, ppm: u32, held: &[Detour], tool: &ToolTime) -> Option<StoppedBy> {
        self.last.iter().filter(|(number, _)| **number < self.now).find_map(|(&number, second)| {
            let (mut second, span) = (*second, self.span(number));
            held.iter().for_each(|detour| second.add(detour, span, tool));
            second.exceeds(ppm, self.least_wanted_ticks, span[0])
        })
    }
}

impl Second {
    fn add(&mut self, detour: &Detour, span: [u64; 2], tool: &ToolTime) {
        let lost = overlap(detour, span);
        if lost == 0 {
            return;
        }
        let within = Detour {
            start_ticks: detour.start_ticks.max(span[0]),
            end_ticks: detour.end_ticks.min(span[1]),
            ..*detour
        };
        self.lost = self.lost.saturating_add(lost);
        self.lost_to_tool = self.lost_to_tool.saturating_add(tool.within(&within));
        let length = |detour: &Detour| detour.end_ticks.saturating_sub(detour.start_ticks);
        if self.longest.is_none_or(|longest| length(&longest) < length(detour)) {
            self.longest = Some(*detour);
        }
    }

    fn exceeds(&self, ppm: u32, least_wanted: u64, start_ticks: u64) -> Option<StoppedBy> {
        let wanted_ticks = self.executed.saturating_add(self.lost);
        let lost_ticks = self.lost.saturating_sub(self.lost_to_tool);
        let may_lose = u128::from(wanted_ticks) * u128::from(ppm) / 1_000_000;
        if wanted_ticks < least_wanted || u128::from(lost_ticks) <= may_lose {
            return None;
        }
        let Detour { cpu, start_ticks: start, end_ticks } = self.longest?;
        let second = Some(LossySecond { start_ticks, lost_ticks, wanted_ticks });
        Some(StoppedBy { cpu, start_ticks: start, end_ticks, second, thread: None })
    }
}

/// Returns the ticks of a detour that lie between these two times.
fn overlap(detour: &Detour, [from, until]: [u64; 2]) -> u64 {
    detour.end_ticks.min(until).saturating_sub(detour.start_ticks.max(from))
}

#[cfg(test)]
mod tests;
