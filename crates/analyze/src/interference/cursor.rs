//! The activities of the kernel on one CPU around the current time.

use crate::injection::delivered::{Came, Follower, Functions};
use crate::injection::watch::{Activity, activity};
use anechoic_recording::injection::{Injected, Spell};
use anechoic_recording::{KernelEvent, Problem, Recording, Rows, Run};
use std::collections::VecDeque;

/// Largest number of marks of one CPU: those of a second of nothing but interrupts.
const MOST_MARKS: usize = 1 << 20;

/// Something that took time of the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// An interrupt of this injection.
    Injected(u32),
    /// An interrupt in which timers expire; each injected one needs one.
    Interrupt,
    /// Anything else.
    Other,
}

/// Number of marks of each kind in a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Number for the requested injection.
    pub(super) injected: u64,
    pub(super) interrupts: u64,
    /// Number for other injections.
    pub(super) others: u64,
}

/// Reads the events of one CPU once, in time order, and keeps the latest marks.
pub(super) struct Cursor<'a> {
    rows: Rows<'a, KernelEvent>,
    group: std::iter::Peekable<std::vec::IntoIter<KernelEvent>>,
    /// Watchers by number of the injection.
    followers: Vec<(u32, Follower)>,
    /// Thread of the CPU's loop.
    victim: i32,
    marks: VecDeque<(u64, Mark)>,
    /// Time before which marks were dropped.
    known_from: u64,
}

impl<'a> Cursor<'a> {
    /// Begins at the first event of `cpu`.
    pub(super) fn new(recording: &'a Recording, cpu: u32, functions: &Functions) -> Self {
        let run = recording.run();
        let victim = run.cpus.iter().find(|known| known.cpu == cpu).map_or(0, |known| known.tid);
        Self {
            rows: recording.rows_of_cpu(cpu),
            group: vec![].into_iter().peekable(),
            followers: followers(run, cpu, functions),
            victim,
            marks: VecDeque::new(),
            known_from: 0,
        }
    }

    /// Returns whether the events contain that injection.
    pub(super) fn follows(&self, injection: u32) -> bool {
        self.followers.iter().any(|(number, _)| *number == injection)
    }

    /// Reads events before `until_ticks`.
    ///
    /// # Errors
    ///
    /// The table is damaged.
    pub(super) fn read_to(&mut self, until_ticks: u64) -> Result<(), Problem> {
        loop {
            while let Some(event) = self.group.next_if(|event| event.ticks < until_ticks) {
                self.take(&event);
            }
            if self.group.peek().is_some() {
                return Ok(());
            }
            match self.rows.next().transpose()? {
                Some(group) => self.group = group.into_iter().peekable(),
                None => return Ok(()),
            }
        }
    }

    fn take(&mut self, event: &KernelEvent) {
        let ours = self.followers.iter().any(|(_, follower)| follower.owns(event, self.victim));
        let mut mark = match activity(event.kind) {
            Activity::Interrupt => Some(Mark::Interrupt),
            Activity::Other if !ours => Some(Mark::Other),
            Activity::Other | Activity::None => None,
        };
        for (number, follower) in &mut self.followers {
            if let Some(Came::Began { .. }) = follower.take(event) {
                mark = Some(Mark::Injected(*number));
            }
        }
        self.marks.extend(mark.map(|mark| (event.ticks, mark)));
        if self.marks.len() > MOST_MARKS {
            self.forget_before(self.marks[MOST_MARKS / 2].0);
        }
    }

    /// Returns the number of marks, which must be dropped from time to time.
    pub(super) fn len(&self) -> usize {
        self.marks.len()
    }

    /// Drops all marks before `ticks`.
    pub(super) fn forget_before(&mut self, ticks: u64) {
        let before = self.marks.partition_point(|(at, _)| *at < ticks);
        self.marks.drain(..before);
        self.known_from = self.known_from.max(ticks);
    }

    /// Counts the marks from `start_ticks` to before `end_ticks`; absent if they were dropped.
    pub(super) fn between(
        &self,
        start_ticks: u64,
        end_ticks: u64,
        injection: u32,
    ) -> Option<Marks> {
        if start_ticks < self.known_from {
            return None;
        }
        let mut marks = Marks::default();
        let first = self.marks.partition_point(|(at, _)| *at < start_ticks);
        for (_, mark) in self.marks.range(first..).take_while(|(at, _)| *at < end_ticks) {
            match mark {
                Mark::Injected(number) if *number == injection => marks.injected += 1,
                Mark::Interrupt => marks.interrupts += 1,
                Mark::Injected(_) | Mark::Other => marks.others += 1,
            }
        }
        Some(marks)
    }
}

/// Returns one watcher for each injection on `cpu` that the events contain.
fn followers(run: &Run, cpu: u32, functions: &Functions) -> Vec<(u32, Follower)> {
    let on_cpu = (0..).zip(&run.injections).filter(|(_, injected)| injected.cpus.contains(&cpu));
    on_cpu
        .filter_map(|(number, injected)| Some((number, follower(run, injected, cpu, functions)?)))
        .collect()
}

/// Returns the watcher of an injection on `cpu`; absent if the events do not contain it.
fn follower(run: &Run, injected: &Injected, cpu: u32, functions: &Functions) -> Option<Follower> {
    // A run that was cut off did not note when it was on.
    let (start_ticks, end_ticks) = (0, u64::MAX);
    let (delivered, cut_short, overruns) = (None, 0, None);
    let always = Spell { cpu, start_ticks, end_ticks, delivered, cut_short, overruns };
    let first = injected.spells.iter().find(|spell| spell.cpu == cpu);
    Follower::new(run, injected, first.unwrap_or(&always), functions).ok()
}
