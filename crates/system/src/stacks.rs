//! Call stacks of the threads of a program whenever they leave a CPU, and of what they follow there.
//!
//! An instance of its own records switches with the stacks that the kernel writes behind them. User code is followed by frame
//! pointers: the kernel reads up to 8 calls. Each different stack is kept once.

mod mapped;
mod names;

use crate::clock::Anchor;
use crate::cpus;
use crate::perf::mappings::Mappings;
use crate::tracefs::{Collector, Config, TraceError, Tracefs};
use anechoic_recording::trace::RawStack;
use anechoic_recording::{Name, NameKind, Problem, Stack, in_words};
use mapped::{Maps, Place};
use names::Names;
use std::collections::HashMap;

/// Largest number of different stacks between two lookups of names. Further ones are counted and not kept.
const MOST_STACKS: usize = 1 << 16;

/// A call of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Call {
    Kernel(u64),
    User(Place),
}

/// Reads stacks. Dropping it removes everything it created.
pub struct StackReader {
    collector: Collector,
    mappings: Option<Mappings>,
    maps: Maps,
    begin: Anchor,
    /// The numbers of the stacks since the last call of [`StackReader::names`].
    numbers: HashMap<Box<[Call]>, u32>,
    /// The number of the next different stack.
    next: u32,
    names: Names,
    lost: u64,
    unkept: u64,
    notes: Vec<String>,
}

impl StackReader {
    /// Begins to record the stacks of the thread that [`Config::stacks`] names, and of those that it starts.
    ///
    /// # Errors
    /// Fails if the kernel cannot do that.
    pub fn start(config: Config, now_ticks: u64) -> Result<Self, TraceError> {
        let online = cpus::online();
        let mut collector = Collector::prepare(Tracefs::open()?, config, &online)?;
        let (mut notes, mut mappings) = (vec![], None);
        match Mappings::start(&online) {
            Ok(started) => mappings = Some(started),
            Err(error) => notes.push(format!(
                "functions of processes that end at once have no names in stacks: {}",
                in_words(&error)
            )),
        }
        collector.on(now_ticks)?;
        Ok(Self {
            collector,
            mappings,
            maps: Maps::default(),
            begin: Anchor::take(),
            numbers: HashMap::new(),
            next: 0,
            names: Names::default(),
            lost: 0,
            unkept: 0,
            notes,
        })
    }

    /// Records the stacks of these threads too, and of those that they start.
    ///
    /// # Errors
    /// Fails if the kernel cannot do that.
    pub fn follow(&self, threads: &[i32]) -> Result<(), TraceError> {
        self.collector.instance().follow(threads)
    }

    /// Returns the stacks since the last call, and the last ones too if it is the `end`; and whether all could be read.
    pub fn read(&mut self, end: bool) -> (Vec<Stack>, Result<(), TraceError>) {
        if end {
            let _ = self.collector.off();
        }
        let mut lost = 0;
        let read = self.collector.drain_to(usize::MAX, &mut |batch| {
            lost += batch.losses.iter().map(|loss| loss.count.max(1)).sum::<u64>();
        });
        let stacks = self.collector.take_stacks(end);
        // Read after the stacks: what a process had mapped before a stack is then known.
        if let Some(mappings) = &mut self.mappings {
            let (changes, lost_changes) = mappings.read();
            changes.into_iter().for_each(|change| self.maps.note(change));
            if lost_changes > 0 {
                let note =
                    "some functions in stacks have no name: what their processes mapped was lost";
                self.note(note.to_owned());
            }
        }
        self.lost += lost;
        let now = Anchor::take();
        let rows = stacks.into_iter().filter_map(|stack| self.row(stack, now)).collect();
        self.maps.forget_ended();
        (rows, read)
    }

    fn row(&mut self, raw: RawStack, now: Anchor) -> Option<Stack> {
        let at_ns = self.begin.monotonic_of_ticks(now, raw.ticks);
        let calls = self.calls(&raw, at_ns);
        let number = match self.numbers.get(&calls) {
            Some(&number) => number,
            None if self.numbers.len() >= MOST_STACKS => {
                self.unkept += 1;
                return None;
            }
            None => {
                let number = self.next;
                self.next = self.next.wrapping_add(1);
                self.numbers.insert(calls, number);
                number
            }
        };
        Some(Stack { cpu: raw.cpu, ticks: raw.ticks, thread: raw.thread, stack: number })
    }

    /// Returns the calls, the innermost first. Behind a call that lies in no code, nothing is known.
    fn calls(&mut self, raw: &RawStack, at_ns: u64) -> Box<[Call]> {
        let mut calls: Vec<Call> = raw.kernel.iter().copied().map(Call::Kernel).collect();
        for (&address, depth) in raw.user.iter().zip(0..) {
            // But for the first, it is where a call returns to: perhaps already behind its function.
            let address = address.saturating_sub(u64::from(depth > 0));
            let Some(place) = self.maps.place(raw.process, address, at_ns) else { break };
            self.names.open(&place.file, raw.process);
            calls.push(Call::User(place));
        }
        calls.into()
    }

    /// Returns the names of the stacks since the last call. Those that follow have other numbers.
    ///
    /// # Errors
    /// Returns why functions of the kernel have no names.
    pub fn names(&mut self) -> (Vec<Name>, Result<(), Problem>) {
        let numbers = std::mem::take(&mut self.numbers);
        let found = self.names.find(numbers.keys().flatten());
        let mut named: Vec<Name> = vec![];
        for (calls, number) in numbers {
            let calls: Vec<String> = calls.iter().rev().map(|call| self.names.name(call)).collect();
            let (key, name) = (u64::from(number), calls.join(";"));
            named.push(Name { kind: NameKind::Stack, key, ticks: 0, name });
        }
        named.sort_by_key(|name| name.key);
        (named, found)
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns what is to be said of the stacks.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.lost > 0 {
            notes.push(format!(
                "{} or more switches have no stack: they came too fast to be read",
                self.lost
            ));
        }
        if self.unkept > 0 {
            notes.push(format!(
                "{} switches have no stack: there were more than {MOST_STACKS} different ones",
                self.unkept
            ));
        }
        notes
    }
}
