//! What interrupts a program, while it is recorded: its detours are derived as events arrive, and attributed as they are found.

use super::{Explained, attribute, feed, selected};
use crate::input::{CpuInput, Input};
use crate::names::Names;
use crate::program::{self, LostTime};
use anechoic_recording::run::{CpuRun, Program, Run};
use anechoic_recording::{Counter, Detour, KernelEvent, Loss, Members, News, Problem, Stint};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Events this long before a detour show who had the CPU, who armed a timer, and who woke a thread.
const BEFORE_NS: u64 = 50_000_000;
/// The longest period of a quota that is followed: the longest that the kernel takes.
const LONGEST_PERIOD_NS: u64 = 1_000_000_000;
/// Events of a detour that goes on for longer are forgotten.
const LONGEST_NS: u64 = 10_000_000_000;
/// Each event is read about this many times: where many are kept, detours wait for their attribution.
const PASSES: usize = 4;
/// Up to this number of events are read each time.
const FEW: usize = 20_000;
/// The largest number of events that are kept.
const KEPT: usize = 1 << 21;

/// Returns how long before a detour the events are kept, in ns. Whether a quota was used up is known after a whole period, and
/// after the switch to the thread that used it.
fn before_ns(run: &Run) -> u64 {
    let quota = run.limits.as_ref().and_then(|limits| limits.quota_us);
    let period_ns = quota.map_or(0, |(_, period_us)| period_us.saturating_mul(1_000));
    BEFORE_NS.max(period_ns.min(LONGEST_PERIOD_NS).saturating_mul(3))
}

/// Follows a program, and attributes its detours.
pub(super) struct LiveProgram {
    lost_time: LostTime,
    /// Events that are not followed yet: those of another CPU may come before them.
    waiting: Vec<KernelEvent>,
    /// The last events that were followed, in time order.
    kept: VecDeque<KernelEvent>,
    /// Number of those that were followed since detours were attributed last.
    fresh: usize,
    /// The detours that are over and not attributed.
    found: BTreeMap<u32, Vec<Detour>>,
    /// The threads of the program just before the first of the events that are kept.
    before: Members,
    losses: Vec<Loss>,
    steal: Vec<Counter>,
    until_ticks: u64,
    /// Number of threads of the machine that are known.
    known: usize,
}

impl LiveProgram {
    pub(super) fn new(run: &Run, program: &Program) -> Self {
        let members = Members::new(program).knowing(&run.threads);
        Self {
            lost_time: LostTime::new(members.clone(), &run.clock, run.start_ticks),
            waiting: Vec::new(),
            kept: VecDeque::new(),
            fresh: 0,
            found: BTreeMap::new(),
            before: members,
            losses: Vec::new(),
            steal: Vec::new(),
            until_ticks: run.start_ticks,
            known: run.threads.len(),
        }
    }

    /// Returns the CPUs on which a thread of the program waits while it does not have them, with the time since when.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u32, u64)> {
        self.lost_time.waiting()
    }

    /// Returns for how long the program has executed on each CPU that it used or wanted, in ticks.
    pub(super) fn executed(&self) -> impl Iterator<Item = (u32, u64)> {
        let cpus = self.lost_time.ran().map(|ran| ran.cpu);
        cpus.map(|cpu| (cpu, self.lost_time.executed_until(self.until_ticks, |other| other == cpu)))
    }

    /// Lets the timers be known that give control groups with a quota new time.
    pub(super) fn know_refills(&mut self, names: &Names) {
        self.lost_time.timers().know_refills(names.refills());
    }

    /// Takes what is new of `run`, and attributes the detours that are over now: all events before the end of `news` have arrived.
    pub(super) fn explain(
        &mut self,
        run: &Run,
        names: &Arc<Names>,
        news: News,
    ) -> Result<Vec<Explained>, Problem> {
        if let Some(program) = run.program.as_ref().filter(|_| self.known != run.threads.len()) {
            self.lost_time.know(program, &run.threads);
            self.before.know(program, &run.threads);
            self.known = run.threads.len();
        }
        self.lost_time.losses(news.losses.iter().cloned());
        self.losses.extend(news.losses);
        self.steal.extend(news.steal);
        self.waiting.extend(news.events);
        self.waiting.sort_by_key(|event| event.ticks);
        self.until_ticks = news.until_ticks;
        let due = self.waiting.partition_point(|event| event.ticks < news.until_ticks);
        let later = self.waiting.split_off(due);
        for event in std::mem::replace(&mut self.waiting, later) {
            self.lost_time.event(&event);
            self.lost_time.forget_ended(&event);
            self.kept.push_back(event);
            self.fresh += 1;
        }
        let counted = run.program.as_ref().map_or(&[][..], |program| &program.counted_cpus);
        let found = self.lost_time.found();
        for detour in found.filter(|it| counted.is_empty() || counted.contains(&it.cpu)) {
            self.found.entry(detour.cpu).or_default().push(detour);
        }
        let is_due = self.kept.len() <= FEW.max(self.fresh.saturating_mul(PASSES));
        let explained = match self.found.is_empty() || !is_due {
            true => Vec::new(),
            false => {
                self.fresh = 0;
                let found = std::mem::take(&mut self.found);
                self.attribute(run, names, found)?
            }
        };
        self.forget(run);
        Ok(explained)
    }

    fn attribute(
        &self,
        run: &Run,
        names: &Arc<Names>,
        detours: BTreeMap<u32, Vec<Detour>>,
    ) -> Result<Vec<Explained>, Problem> {
        let program =
            Program { threads: self.before.threads(), ..run.program.clone().unwrap_or_default() };
        let cpus: Vec<CpuRun> = detours
            .keys()
            .map(|&cpu| program::describe(run, cpu, detours[&cpu].len() as u64))
            .map(|cpu| CpuRun { last_ticks: self.until_ticks, ..cpu })
            .collect();
        let window =
            Run { cpus, end_ticks: self.until_ticks, program: Some(program), ..run.clone() };
        let inputs = window.cpus.iter().map(|cpu| CpuInput {
            cpu: cpu.cpu,
            stints: vec![Stint::from_run(&window, cpu, self.until_ticks)],
            detours: feed(detours[&cpu.cpu].clone()),
            steal: feed(selected(&self.steal, |reading: &Counter| reading.cpu == cpu.cpu)),
            losses: selected(&self.losses, |loss: &Loss| loss.cpu == cpu.cpu),
        });
        let input = Input {
            run: &window,
            names: Arc::clone(names),
            cpus: inputs.collect(),
            events: vec![Box::new(self.kept.iter().copied().map(Ok))],
            counters: Vec::new(),
        };
        attribute(input, detours)
    }

    /// Forgets what no detour that goes on needs.
    fn forget(&mut self, run: &Run) {
        let least_ticks = self.until_ticks.saturating_sub(run.clock.ticks(LONGEST_NS));
        let since = self.lost_time.going_on_since(least_ticks).unwrap_or(self.until_ticks);
        let found = self.found.values().filter_map(|detours| detours.first());
        let since = found.map(|detour| detour.start_ticks).fold(since, u64::min);
        let since = since.min(self.until_ticks).saturating_sub(run.clock.ticks(before_ns(run)));
        let old = self.kept.partition_point(|event| event.ticks < since);
        for event in self.kept.drain(..old.max(self.kept.len().saturating_sub(KEPT))) {
            self.before.event(&event);
            self.before.forget_ended(&event);
        }
        self.losses.retain(|loss| loss.end_ticks >= since);
        self.steal.retain(|reading| reading.ticks >= since);
    }
}
