//! Call stacks of the threads of a program whenever they leave a CPU, and of what they follow there.
//!
//! An instance of its own records switches with the stacks that the kernel writes behind them. User code is followed by frame
//! pointers: the kernel reads up to 8 calls. Each different stack is kept once.

mod mapped;

use crate::clock::Anchor;
use crate::cpus;
use crate::functions;
use crate::perf::mappings::Mappings;
use crate::tracefs::{Collector, Config, TraceError, Tracefs, symbols};
use anechoic_recording::trace::RawStack;
use anechoic_recording::{KERNEL_FUNCTION, Name, NameKind, Problem, Stack, in_words};
use mapped::{CodeFile, Maps, Place};
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// Largest number of different stacks. Further ones are counted and not kept.
const MOST_STACKS: usize = 1 << 16;

/// A call of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Call {
    Kernel(u64),
    User(Place),
}

impl Call {
    /// Returns its name, from the names of the kernel's functions and of places in files.
    fn shown(
        &self,
        kernel: &HashMap<u64, String>,
        user: &HashMap<(&CodeFile, u64), String>,
    ) -> String {
        const UNKNOWN: &str = "[unknown]";
        match self {
            Call::Kernel(address) => {
                format!("{}{KERNEL_FUNCTION}", kernel.get(address).map_or(UNKNOWN, String::as_str))
            }
            Call::User(place) => {
                let name = user.get(&(&*place.file, place.offset));
                name.map_or(UNKNOWN, String::as_str).replace(';', ":")
            }
        }
    }
}

/// Reads stacks. Dropping it removes everything it created.
pub struct StackReader {
    collector: Collector,
    mappings: Option<Mappings>,
    maps: Maps,
    begin: Anchor,
    numbers: HashMap<Box<[Call]>, u32>,
    unnamed: Vec<(u32, Box<[Call]>)>,
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
            unnamed: vec![],
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
        let next = self.numbers.len();
        let number = match self.numbers.get(&calls) {
            Some(&number) => number,
            None if next >= MOST_STACKS => {
                self.unkept += 1;
                return None;
            }
            None => {
                let number = next as u32;
                self.unnamed.push((number, calls.clone()));
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
            calls.push(Call::User(place));
        }
        calls.into()
    }

    /// Returns the names of the stacks that have none yet.
    ///
    /// # Errors
    /// Returns why functions of the kernel have no names; their stacks then have their addresses hidden.
    pub fn names(&mut self) -> (Vec<Name>, Result<(), Problem>) {
        let unnamed = std::mem::take(&mut self.unnamed);
        let calls = || unnamed.iter().flat_map(|(_, calls)| calls);
        let addresses = calls().filter_map(|call| match call {
            Call::Kernel(address) => Some(address - 1),
            Call::User(_) => None,
        });
        let (kernel, found) = match symbols::resolve(addresses) {
            Ok(names) => {
                (names.into_iter().map(|name| (name.key + 1, name.name)).collect(), Ok(()))
            }
            Err(problem) => (HashMap::new(), Err(problem)),
        };
        let mut places: BTreeMap<&CodeFile, Vec<u64>> = BTreeMap::new();
        for call in calls() {
            if let Call::User(place) = call {
                places.entry(&*place.file).or_default().push(place.offset);
            }
        }
        let user = places.into_iter().flat_map(|(file, offsets)| {
            let names = names_in(file, &offsets);
            offsets.into_iter().zip(names).map(move |(offset, name)| ((file, offset), name))
        });
        let user: HashMap<(&CodeFile, u64), String> = user.collect();
        let names = unnamed.iter().map(|(number, calls)| {
            let name = calls
                .iter()
                .rev()
                .map(|call| call.shown(&kernel, &user))
                .collect::<Vec<_>>()
                .join(";");
            Name { kind: NameKind::Stack, key: u64::from(*number), ticks: 0, name }
        });
        (names.collect(), found)
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

/// Returns the names of the functions at these offsets, or of the file where it names none.
fn names_in(file: &CodeFile, offsets: &[u64]) -> Vec<String> {
    let found = open(file).and_then(|file| functions::names_at(&file, offsets).ok());
    let found = found.unwrap_or_else(|| vec![None; offsets.len()]);
    found.into_iter().map(|name| name.unwrap_or_else(|| file.shown())).collect()
}

/// Opens a file of code, if it is the one that was mapped.
fn open(file: &CodeFile) -> Option<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(&file.path).ok()?;
    let known = opened.metadata().ok()?;
    (known.is_file() && known.ino() == file.inode).then_some(opened)
}

impl CodeFile {
    /// Returns what stands for code without a name.
    fn shown(&self) -> String {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        match name.trim_end_matches(" (deleted)").trim_start_matches('[').trim_end_matches(']') {
            "" | "anon" => "[no file]".to_owned(),
            name => format!("[{name}]"),
        }
    }
}
