//! Attribution during a run: window by window, each with whole detours or wake-ups. The detours of a program are derived first.
//!
//! Here, what was sent in one window and arrives in the next has no known sender; attributing the finished
//! recording finds it.

mod program;

use crate::engine;
use crate::input::Feed;
use crate::input::{CpuInput, Input};
use crate::names::Names;
use anechoic_recording::Problem;
use anechoic_recording::{Activity, Counter, Detour, KernelEvent, Loss, News, Run, Stint, methods};
use program::LiveProgram;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest number of events of one CPU that wait for their detour to end. If no detour is over the
/// threshold, most events belong to none, and the oldest are dropped.
const WAITING: usize = 1 << 18;

/// A detour or a wake-up, and its activities.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// The detour, or the wake-up from its expiry on.
    pub detour: Detour,
    /// Its rows as in the table of activities; empty without kernel events. The detour's index counts from
    /// the start of the window.
    pub rows: Vec<Activity>,
}

/// Attributes detours and wake-ups as they arrive.
pub struct Live {
    run: Run,
    names: Arc<Names>,
    /// For each CPU, the events after its last detour, whose detour has not ended.
    waiting: BTreeMap<u32, Vec<KernelEvent>>,
    /// For each CPU, where its last detour ended.
    reached: BTreeMap<u32, u64>,
    /// The losses that later detours may contain.
    losses: Vec<Loss>,
    /// The program, if one is recorded.
    program: Option<LiveProgram>,
}

impl Live {
    /// Creates it for a run that has begun.
    #[must_use]
    pub fn new(run: Run) -> Self {
        let program = run.program.as_ref().map(|program| LiveProgram::new(&run, program));
        let (waiting, reached) = (BTreeMap::new(), BTreeMap::new());
        Live { run, names: Arc::new(Names::new([])), waiting, reached, losses: vec![], program }
    }

    /// Returns the CPUs that the recorded program waits for, with the time since when, in ticks.
    pub fn waiting(&self) -> impl Iterator<Item = (u32, u64)> {
        self.program.iter().flat_map(LiveProgram::waiting)
    }

    /// Returns for how long the recorded program has executed on each CPU that it used or wanted, in ticks; nothing where none
    /// is recorded.
    pub fn executed(&self) -> impl Iterator<Item = (u32, u64)> {
        self.program.iter().flat_map(LiveProgram::executed)
    }

    /// Returns the run.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Attributes the detours and wake-ups of `news`, CPU by CPU, in time order for each CPU.
    ///
    /// # Errors
    /// No errors are known, because nothing is read or written.
    pub fn explain(&mut self, mut news: News) -> Result<Vec<Explained>, Problem> {
        let names = Arc::make_mut(&mut self.names);
        news.names.drain(..).for_each(|name| names.add(name));
        if let Some(known) = news.known.take() {
            self.run = *known;
        }
        if let Some(program) = &mut self.program {
            program.know_refills(&self.names);
            return program.explain(&self.run, &self.names, news);
        }
        let mut detours: BTreeMap<u32, Vec<Detour>> = BTreeMap::new();
        let woken = news.samples.iter().map(|sample| Detour {
            cpu: sample.cpu,
            start_ticks: sample.start_ticks,
            end_ticks: sample.end_ticks,
        });
        let all = news.detours.iter().copied().chain(woken);
        all.for_each(|detour| detours.entry(detour.cpu).or_default().push(detour));
        for event in news.events {
            self.waiting.entry(event.cpu).or_default().push(event);
        }
        if self.run.trace.is_none() {
            let bare = |detour| Explained { detour, rows: Vec::new() };
            return Ok(detours.into_values().flatten().map(bare).collect());
        }
        let events = self.due(&detours);
        self.losses.extend(news.losses);
        let cpus = detours.iter().map(|(&cpu, detours)| CpuInput {
            cpu,
            stints: self.stint(cpu, news.until_ticks).into_iter().collect(),
            detours: feed(detours.clone()),
            steal: feed(selected(&news.steal, |reading: &Counter| reading.cpu == cpu)),
            losses: selected(&self.losses, |loss: &Loss| loss.cpu == cpu),
        });
        let input = Input {
            run: &self.run,
            names: Arc::clone(&self.names),
            cpus: cpus.collect(),
            events: events.into_iter().map(feed).collect(),
            counters: Vec::new(),
        };
        let ends = detours.iter().filter_map(|(&cpu, some)| Some((cpu, some.last()?.end_ticks)));
        let ends: Vec<(u32, u64)> = ends.collect();
        let explained = attribute(input, detours);
        self.reached.extend(ends);
        let is_over = |loss: &Loss| self.reached.get(&loss.cpu) >= Some(&loss.end_ticks);
        self.losses.retain(|loss| !is_over(loss));
        self.losses.drain(..self.losses.len().saturating_sub(WAITING));
        explained
    }

    /// Takes the events that belong to these detours or lie before them, and all events of CPUs without a
    /// loop.
    fn due(&mut self, detours: &BTreeMap<u32, Vec<Detour>>) -> Vec<Vec<KernelEvent>> {
        let tolerance = self.run.clock.step_ticks();
        let measured = |cpu: u32| self.run.cpus.iter().any(|known| known.cpu == cpu);
        let due = |(&cpu, events): (&u32, &mut Vec<KernelEvent>)| {
            let last = detours.get(&cpu).and_then(|detours| detours.last());
            let end = match last {
                Some(last) => last.end_ticks.saturating_add(tolerance),
                None if measured(cpu) => 0,
                None => u64::MAX,
            };
            events.drain(..events.partition_point(|event| event.ticks <= end)).collect()
        };
        let due = self.waiting.iter_mut().map(due).collect();
        for events in self.waiting.values_mut() {
            events.drain(..events.len().saturating_sub(WAITING));
        }
        due
    }

    /// Returns the stint of a CPU's loop so far; of a thread that sleeps, since its last wake-up.
    fn stint(&self, cpu: u32, until_ticks: u64) -> Option<Stint> {
        let known = self.run.cpus.iter().find(|known| known.cpu == cpu)?;
        let stint = Stint::from_run(&self.run, known, until_ticks);
        let first_ticks = self.reached.get(&cpu).copied().unwrap_or(stint.first_ticks);
        Some(match self.run.method == methods::WAKEUP {
            true => {
                Stint { first_ticks, shortest_gap_ticks: 0, watched: false, sleeps: true, ..stint }
            }
            false => stint,
        })
    }
}

/// Attributes the detours of `input`, which are also here by CPU.
fn attribute(input: Input, detours: BTreeMap<u32, Vec<Detour>>) -> Result<Vec<Explained>, Problem> {
    let mut rows: BTreeMap<u32, Vec<Activity>> = BTreeMap::new();
    engine::run(input, &mut |some| {
        if let Some(first) = some.first() {
            rows.entry(first.cpu).or_default().extend_from_slice(some);
        }
        Ok(())
    })?;
    Ok(join(detours, rows))
}

/// Joins each detour with its rows.
fn join(
    detours: BTreeMap<u32, Vec<Detour>>,
    mut rows: BTreeMap<u32, Vec<Activity>>,
) -> Vec<Explained> {
    let mut all = Vec::new();
    for (cpu, detours) in detours {
        let mut rows = rows.remove(&cpu).unwrap_or_default().into_iter().peekable();
        for (index, detour) in (0_u64..).zip(detours) {
            let mut own = Vec::new();
            while let Some(row) = rows.next_if(|row| row.detour <= index) {
                own.push(row);
            }
            all.push(Explained { detour, rows: own });
        }
    }
    all
}

fn feed<'a, T: 'a>(rows: Vec<T>) -> Feed<'a, T> {
    Box::new(rows.into_iter().map(Ok))
}

fn selected<T: Clone>(rows: &[T], wanted: impl Fn(&T) -> bool) -> Vec<T> {
    rows.iter().filter(|row| wanted(row)).cloned().collect()
}
