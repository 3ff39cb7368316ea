//! Reads the iterations of a recorded program: its marks, and what its threads did between them.

use super::MOST_MARKS;
use super::lost::{Charge, Lost};
use super::threads::{Stretch, Threads};
use crate::places::Places;
use anechoic_recording::{
    Feed, KernelEvent, LossKind, Mark, Members, Merge, Problem, ProgramThread, Recording,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A longer stretch of a thread is read in several pieces.
const LONGEST_NS: u64 = 1_000_000_000;

/// Number of stretches after which detours are forgotten that nobody needs any more.
const MANY: u32 = 4_096;

/// An iteration, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passed {
    /// Its number among those of its thread, from 1.
    pub(super) number: u64,
    pub(super) thread: i32,
    pub(super) label: Arc<str>,
    pub(super) start_ticks: u64,
    pub(super) end_ticks: u64,
    /// The thread had a CPU.
    pub(super) ran_ticks: u64,
    /// It waited for one.
    pub(super) waiting_ticks: u64,
    /// The parts of both in which the CPU executed something else than the program.
    pub(super) lost_running_ticks: u64,
    pub(super) lost_waiting_ticks: u64,
    /// The sum of both; or what all threads of the program lost.
    pub(super) lost_ticks: u64,
    /// What each source took of that, by number.
    pub(super) charges: Vec<Charge>,
}

impl Passed {
    /// Returns whether it overlaps one of these intervals.
    fn meets(&self, intervals: &[(u64, u64)]) -> bool {
        intervals.iter().any(|&(from, until)| from < self.end_ticks && self.start_ticks < until)
    }
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// The iterations that count, by their end.
    pub(super) passed: Vec<Passed>,
    /// Sources and names by number.
    pub(super) places: Places,
    /// Number of marks.
    pub(super) marks: u64,
    /// Those of threads that did not belong to the program.
    pub(super) foreign_marks: u64,
    /// Number of iterations in which events were lost.
    pub(super) left_out: u64,
}

/// Reads the iterations.
///
/// # Errors
/// A table is damaged.
pub(super) fn read(recording: &Recording) -> Result<Read, Problem> {
    let run = recording.run();
    let (marks, all, strangers) = marks(recording)?;
    let mut read = Read { marks: all, foreign_marks: strangers, ..Read::default() };
    let Some(last) = marks.last() else { return Ok(read) };
    let end_ticks = last.ticks;
    let loops = recording.loops()?;
    let program = run.program.clone().unwrap_or_default();
    let mut reader = Reader {
        threads: Threads::new(repeated(&marks), run.clock.ticks(LONGEST_NS)),
        members: Members::new(&program).knowing(&run.threads),
        lost: Lost::new(recording, &loops),
        open: HashMap::new(),
        numbers: HashMap::new(),
        passed: vec![],
        foreign_marks: 0,
        taken: 0,
        whole: program.marked.as_ref().is_some_and(|marked| marked.whole),
    };
    let events = |cpu| Box::new(recording.rows_of_cpu(cpu).each()) as Feed<'_, KernelEvent>;
    let online = run.machine.cpus.iter().map(|cpu| cpu.cpu);
    let mut events = Merge::new(online.map(events).collect())?;
    let mut marks = marks.into_iter().peekable();
    while let Some(event) = events.next_event()?.filter(|event| event.ticks <= end_ticks) {
        while let Some(mark) = marks.next_if(|mark| mark.ticks < event.ticks) {
            reader.mark(mark)?;
        }
        reader.event(&event)?;
    }
    marks.try_for_each(|mark| reader.mark(mark))?;
    read.passed = reader.passed;
    read.foreign_marks += reader.foreign_marks;
    read.places = reader.lost.into_places();
    read.left_out = leave_out_lossy(recording, &mut read.passed)?;
    Ok(read)
}

/// Returns the marks of the run in time order, at most [`MOST_MARKS`] of them, the number of all, and that of marks of threads
/// that never belonged to the program: before the start of the run no lost time is known.
///
/// # Errors
/// A table is damaged.
pub fn marks(recording: &Recording) -> Result<(Vec<Mark>, u64, u64), Problem> {
    let run = recording.run();
    let (mut marks, mut all, mut strangers) = (vec![], 0, 0);
    let mut own = HashSet::new();
    for rows in recording.rows::<ProgramThread>() {
        own.extend(rows?.iter().map(|thread| thread.tid));
    }
    for rows in recording.rows::<Mark>() {
        let mut rows = rows?;
        all += rows.len() as u64;
        rows.retain(|mark| (run.start_ticks..=run.end_ticks).contains(&mark.ticks));
        let before = rows.len();
        rows.retain(|mark| own.is_empty() || own.contains(&mark.thread));
        strangers += (before - rows.len()) as u64;
        marks.extend(rows);
        if marks.len() >= 2 * MOST_MARKS {
            first_ones(&mut marks);
        }
    }
    first_ones(&mut marks);
    Ok((marks, all, strangers))
}

fn first_ones(marks: &mut Vec<Mark>) {
    marks.sort_by_key(|mark| (mark.ticks, mark.cpu));
    marks.truncate(MOST_MARKS);
}

/// Returns the threads that passed two marks or more: others have no iteration.
fn repeated(marks: &[Mark]) -> impl Iterator<Item = i32> {
    let mut counts = BTreeMap::<i32, u32>::new();
    marks.iter().for_each(|mark| *counts.entry(mark.thread).or_default() += 1);
    counts.into_iter().filter(|&(_, count)| count > 1).map(|(thread, _)| thread)
}

/// Removes the iterations in which events were lost on any CPU: where their thread was is not known. Returns their number.
fn leave_out_lossy(recording: &Recording, passed: &mut Vec<Passed>) -> Result<u64, Problem> {
    let all = passed.len();
    let losses = recording.losses()?;
    for (kind, _, losses) in losses.iter() {
        if *kind == LossKind::Events {
            passed.retain(|iteration| !iteration.meets(&losses.intervals));
        }
    }
    Ok((all - passed.len()) as u64)
}

/// Adds up what threads do between their marks.
struct Reader<'a> {
    threads: Threads,
    members: Members,
    lost: Lost<'a>,
    /// The iteration of each thread.
    open: HashMap<i32, Passed>,
    /// The number of the last iteration of each thread.
    numbers: HashMap<i32, u64>,
    passed: Vec<Passed>,
    foreign_marks: u64,
    /// Whether an iteration has what all threads lost.
    whole: bool,
    /// Number of stretches since detours were forgotten.
    taken: u32,
}

impl Reader<'_> {
    fn event(&mut self, event: &KernelEvent) -> Result<(), Problem> {
        self.members.event(event);
        self.threads.event(event);
        self.add_stretches(event.ticks)?;
        for thread in self.threads.ended() {
            self.open.remove(&thread);
        }
        Ok(())
    }

    fn mark(&mut self, mark: Mark) -> Result<(), Problem> {
        if !self.members.has(mark.thread) {
            self.foreign_marks += 1;
            return Ok(());
        }
        if !self.threads.follows(mark.thread) {
            return Ok(()); // it has no further mark
        }
        self.threads.mark(mark.thread, mark.cpu, mark.ticks);
        self.add_stretches(mark.ticks)?;
        if let Some(mut over) = self.open.remove(&mark.thread) {
            over.end_ticks = mark.ticks;
            if self.whole {
                self.add_whole(&mut over)?;
            }
            self.passed.push(over);
        }
        let number = self.numbers.entry(mark.thread).or_default();
        *number += 1;
        let begun = Passed {
            number: *number,
            thread: mark.thread,
            label: mark.label,
            start_ticks: mark.ticks,
            end_ticks: mark.ticks,
            ran_ticks: 0,
            waiting_ticks: 0,
            lost_running_ticks: 0,
            lost_waiting_ticks: 0,
            lost_ticks: 0,
            charges: vec![],
        };
        self.open.insert(mark.thread, begun);
        Ok(())
    }

    fn add_stretches(&mut self, now: u64) -> Result<(), Problem> {
        let over: Vec<Stretch> = self.threads.over().collect();
        for stretch in over {
            let Some(open) = self.open.get_mut(&stretch.tid) else { continue };
            let start_ticks = stretch.start_ticks.max(open.start_ticks);
            let stretch = Stretch { start_ticks, ..stretch };
            let mut charges = std::mem::take(&mut open.charges);
            let lost = self.lost.take(&stretch, &mut charges)?;
            let ticks = stretch.end_ticks.saturating_sub(start_ticks);
            let (time, part) = match stretch.ran {
                true => (&mut open.ran_ticks, &mut open.lost_running_ticks),
                false => (&mut open.waiting_ticks, &mut open.lost_waiting_ticks),
            };
            (*time, *part) = (time.saturating_add(ticks), part.saturating_add(lost));
            if !self.whole {
                (open.charges, open.lost_ticks) = (charges, open.lost_ticks.saturating_add(lost));
            }
            self.taken += 1;
        }
        if self.taken >= MANY {
            self.taken = 0;
            self.lost.forget_until(self.needed(now));
        }
        Ok(())
    }

    /// Adds what the program lost on all CPUs.
    fn add_whole(&mut self, over: &mut Passed) -> Result<(), Problem> {
        let (start_ticks, end_ticks) = (over.start_ticks, over.end_ticks);
        for cpu in self.lost.cpus() {
            let all = Stretch { tid: over.thread, cpu, start_ticks, end_ticks, ran: true };
            let lost = self.lost.take(&all, &mut over.charges)?;
            over.lost_ticks = over.lost_ticks.saturating_add(lost);
        }
        Ok(())
    }

    /// Returns from when on detours may still be needed.
    fn needed(&self, now: u64) -> u64 {
        let open = self.open.values().filter(|_| self.whole).map(|open| open.start_ticks).min();
        self.threads.earliest(now).min(open.unwrap_or(now))
    }
}
