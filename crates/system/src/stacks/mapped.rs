//! What each process maps as code, at each time.

use crate::perf::mappings::{Change, ChangeKind, Mapped};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::Arc;

/// A place in a file of code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub file: Arc<CodeFile>,
    /// In bytes from the start of the file.
    pub offset: u64,
}

/// A file of code.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CodeFile {
    /// Its path, or what the kernel calls it: `[vdso]`.
    pub path: String,
    /// Its number in its file system, and which file with that number it is.
    pub inode: u64,
    pub generation: u64,
    /// The device of the file system: its larger and its smaller number.
    pub device: (u32, u32),
}

#[derive(Debug, Clone)]
struct Part {
    since_ns: u64,
    start: u64,
    end: u64,
    offset: u64,
    file: Arc<CodeFile>,
}

/// A program that a process executes, and what that maps.
#[derive(Debug, Clone, Default)]
struct Program {
    since_ns: u64,
    parts: Arc<Vec<Part>>,
}

#[derive(Debug, Default)]
struct Process {
    programs: Vec<Program>,
    /// Whether all that it maps is known, because it was seen to execute its program.
    whole: bool,
    ended: bool,
}

/// What all processes map as code.
#[derive(Debug, Default)]
pub(super) struct Maps {
    processes: HashMap<u32, Process>,
    /// Processes that ended before the last call of [`Maps::forget_ended`].
    ended: Vec<u32>,
    files: HashSet<Arc<CodeFile>>,
}

impl Maps {
    /// Notes a change.
    pub(super) fn note(&mut self, change: Change) {
        let Change { at_ns, process, kind } = change;
        match kind {
            ChangeKind::Mapped(mapped) => self.map(process, mapped, at_ns),
            ChangeKind::Executed => {
                let known = self.processes.entry(process).or_default();
                known.whole = true;
                known.programs.push(Program { since_ns: at_ns, ..Program::default() });
            }
            ChangeKind::Forked(parent) => {
                let last = self.processes.get(&parent);
                let last = last.and_then(|it| Some((it.programs.last()?.clone(), it.whole)));
                let (programs, whole) = match last {
                    Some((program, whole)) => (vec![Program { since_ns: at_ns, ..program }], whole),
                    None => (vec![], false),
                };
                self.processes.insert(process, Process { programs, whole, ended: false });
            }
            ChangeKind::Ended => {
                if let Some(known) = self.processes.get_mut(&process) {
                    known.ended = true;
                }
            }
        }
    }

    fn map(&mut self, process: u32, mapped: Mapped, since_ns: u64) {
        let Mapped { file: path, inode, generation, device, .. } = mapped;
        let file = Arc::new(CodeFile { path, inode, generation, device });
        let file = match self.files.get(&file) {
            Some(known) => Arc::clone(known),
            None => {
                self.files.insert(Arc::clone(&file));
                file
            }
        };
        let end = mapped.start.saturating_add(mapped.length);
        let part = Part { since_ns, start: mapped.start, end, offset: mapped.offset, file };
        let programs = &mut self.processes.entry(process).or_default().programs;
        if programs.is_empty() {
            programs.push(Program::default());
        }
        if let Some(program) = programs.last_mut() {
            Arc::make_mut(&mut program.parts).push(part);
        }
    }

    /// Returns the place in a file of an address in a process at a time; `None` if it lies in no code that is known.
    pub(super) fn place(&mut self, process: u32, address: u64, at_ns: u64) -> Option<Place> {
        if let Some(place) = self.known(process, address, at_ns) {
            return Some(place);
        }
        let is_known = self.processes.get(&process).is_some_and(|known| known.whole);
        if is_known {
            return None;
        }
        self.read(process);
        self.known(process, address, at_ns)
    }

    fn known(&self, process: u32, address: u64, at_ns: u64) -> Option<Place> {
        let programs = &self.processes.get(&process)?.programs;
        let program = programs.iter().rev().find(|it| it.since_ns <= at_ns).or(programs.first())?;
        // What is mapped replaces what was mapped there before.
        let mut there =
            program.parts.iter().rev().filter(|it| (it.start..it.end).contains(&address));
        let part = there.clone().find(|it| it.since_ns <= at_ns).or(there.next_back())?;
        let offset = (address - part.start).saturating_add(part.offset);
        Some(Place { file: Arc::clone(&part.file), offset })
    }

    /// Reads what a process maps that was there before anything was recorded.
    fn read(&mut self, process: u32) {
        let text = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        text.lines().filter_map(mapped_by).for_each(|mapped| self.map(process, mapped, 0));
        self.processes.entry(process).or_default().whole = true;
    }

    /// Forgets the processes that ended before the last call: all their stacks have been read.
    pub(super) fn forget_ended(&mut self) {
        for process in std::mem::take(&mut self.ended) {
            // Its number may belong to another one by now.
            if self.processes.get(&process).is_some_and(|known| known.ended) {
                self.processes.remove(&process);
            }
        }
        let ended = self.processes.iter().filter(|(_, known)| known.ended);
        self.ended = ended.map(|(&process, _)| process).collect();
    }
}

/// Reads a line of `/proc/PID/maps`, if it is of code.
fn mapped_by(line: &str) -> Option<Mapped> {
    let mut words = line.splitn(6, ' ');
    let (range, access, offset) = (words.next()?, words.next()?, words.next()?);
    let (device, inode) = (words.next()?.split_once(':')?, words.next()?);
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = range.split_once('-')?;
    let (start, end) = (hex(start)?, hex(end)?);
    let file = words.next().unwrap_or_default().trim_start().to_owned();
    access.contains('x').then_some(())?;
    Some(Mapped {
        start,
        length: end.checked_sub(start)?,
        offset: hex(offset)?,
        inode: inode.parse().ok()?,
        generation: 0,
        device: (hex(device.0)? as u32, hex(device.1)? as u32),
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(start: u64, offset: u64, file: &str) -> ChangeKind {
        ChangeKind::Mapped(Mapped {
            start,
            length: 0x1000,
            offset,
            inode: 1,
            generation: 0,
            device: (1, 2),
            file: file.into(),
        })
    }

    #[test]
    fn the_program_that_was_executed_then_has_the_address() {
        let changes = [
            (10, 1, ChangeKind::Executed),
            (11, 1, mapped(0x4000, 0x100, "first")),
            (20, 2, ChangeKind::Forked(1)),
            (21, 1, mapped(0x8000, 0, "library")),
            (30, 2, ChangeKind::Executed),
            (31, 2, mapped(0x4000, 0x200, "second")),
            (32, 2, mapped(0x4800, 0, "over it")),
            (60, 2, mapped(0x4800, 0, "and later")),
        ];
        let mut maps = Maps::default();
        for (at_ns, process, kind) in changes {
            maps.note(Change { at_ns, process, kind });
        }
        let cases = [
            (1, 0x4010, 15, Some(("first", 0x110))),
            (1, 0x8000, 99, Some(("library", 0))),
            (2, 0x4010, 25, Some(("first", 0x110))),
            (2, 0x8000, 25, None),
            (2, 0x4010, 40, Some(("second", 0x210))),
            (2, 0x4810, 40, Some(("over it", 0x10))),
            (2, 0x4810, 60, Some(("and later", 0x10))),
            (2, 0x5800, 40, None),
            (1, 0x4010, 5, Some(("first", 0x110))),
        ];
        for (process, address, at_ns, expected) in cases {
            let place = maps.place(process, address, at_ns);
            let found = place.as_ref().map(|place| (&*place.file.path, place.offset));
            assert_eq!(found, expected, "{process} {address:#x} {at_ns}");
        }
        maps.note(Change { at_ns: 70, process: 2, kind: ChangeKind::Ended });
        maps.forget_ended();
        assert!(maps.place(2, 0x4010, 40).is_some(), "the rest of its stacks may come");
        maps.forget_ended();
        assert!(!maps.processes.contains_key(&2));
    }

    #[test]
    fn what_this_process_maps_is_read() {
        let mut maps = Maps::default();
        let here = what_this_process_maps_is_read as *const () as u64;
        let place = maps.place(std::process::id(), here, 0).expect("this code is mapped");
        let own = std::env::current_exe().expect("its path");
        assert_eq!(place.file.path, own.to_string_lossy());
        assert_eq!(maps.place(u32::MAX, here, 0), None);
    }

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = "7f0000001000-7f0000003000 r-xp 00002000 fe:00 77                         /a dir/lib.so (deleted)";
        let found = mapped_by(line).expect("it is code");
        assert_eq!((found.start, found.length, found.offset), (0x7f00_0000_1000, 0x2000, 0x2000));
        assert_eq!(
            (found.inode, found.device, &*found.file),
            (77, (0xfe, 0), "/a dir/lib.so (deleted)")
        );
        for wrong in ["", "1-0 r-xp 0 0:0 0", "0-1 rw-p 0 0:0 0 /a", "x-y r-xp 0 0:0 0"] {
            assert_eq!(mapped_by(wrong), None, "{wrong}");
        }
    }
}
