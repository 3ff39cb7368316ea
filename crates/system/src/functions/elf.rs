//! Reads the names and places of functions from an ELF file of 64 bits, whatever its headers claim, in bounded memory.

use super::names::Names;
use crate::little_endian::{half, long, word};
use anechoic_recording::{Problem, ProblemKind, in_words};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Types of sections with names, of all functions and of those that other files may use.
pub(super) const SYMBOLS: [u32; 2] = [2, 11];
/// Types of sections: the version of each of these names, and the names of the versions.
const VERSIONS: u32 = 0x6fff_ffff;
const VERSION_NAMES: u32 = 0x6fff_fffd;
/// The bit of a version that is not the one that new programs get, and the smallest number of one with a name.
const OLD_VERSION: u16 = 0x8000;
const FIRST_VERSION: u16 = 2;
/// Types of symbols.
const FUNCTION: u8 = 2;
const CHOSEN_AT_START: u8 = 10;
/// The type of a segment that is loaded, and the flag of one that is executed.
const LOADED: u32 = 1;
const EXECUTED: u32 = 1;
/// Types of ELF files.
const PROGRAMS: [u16; 2] = [2, 3];
/// Largest header, and largest table of the names of versions, in bytes.
const MOST_HEADER: u64 = 256;
const MOST_VERSION_NAMES: u64 = 1 << 20;
/// Number of bytes of a symbol, and of those that are read at once.
const SYMBOL: u64 = 24;
const CHUNK: u64 = SYMBOL << 12;
/// Largest table of symbols, in bytes.
const MOST_SYMBOLS: u64 = 1 << 30;
/// Texts are read as a whole up to this number of bytes, and otherwise in parts in which a name ends.
const WHOLE: u64 = 64 << 20;
const WINDOW: u64 = 64 << 10;
/// Most bytes of all names together: large programs have half of it.
const MOST_NAMES: usize = 256 << 20;

/// An ELF file of 64 bits.
pub(super) struct Elf<'a> {
    file: &'a File,
    head: [u8; 64],
}

/// Where a section lies in the file, of which type it is, and the number of the section that it refers to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    kind: u32,
    at: u64,
    length: u64,
    link: usize,
}

impl Section {
    fn new(header: &[u8]) -> Self {
        Self {
            kind: word(header, 4),
            at: long(header, 0x18),
            length: long(header, 0x20),
            link: word(header, 0x28) as usize,
        }
    }
}

/// A function in a table of symbols.
pub(super) struct Symbol<'a, 'f> {
    /// Its address in memory, and its size in bytes, 0 if that is not known.
    pub(super) at: u64,
    pub(super) size: u64,
    /// Whether the loader replaces it by one of several.
    pub(super) is_chosen: bool,
    /// Whether another file defines it.
    pub(super) is_elsewhere: bool,
    version: u16,
    text: u32,
    texts: &'a mut Texts<'f>,
}

impl Symbol<'_, '_> {
    /// Returns its name; `None` if that is no text.
    pub(super) fn name(&mut self) -> io::Result<Option<String>> {
        self.texts.get(self.text.into())
    }
}

impl<'a> Elf<'a> {
    pub(super) fn open(file: &'a File) -> Result<Self, Problem> {
        let wrong = |why: String, remedy: &str| Err(ProblemKind::Usage.problem(why, remedy));
        let mut head = [0; 64];
        let read = file.read_at(&mut head, 0).map_err(|error| {
            ProblemKind::NoInput.problem(in_words(&error), "name a program that may be read")
        })?;
        if let Some(interpreter) = interpreter(file) {
            let why = format!(
                "it is a script that {interpreter} executes, and has no functions of its own"
            );
            return wrong(why, "mark with --mark-fd: the script writes a line for each iteration");
        }
        if read < head.len() || !head.starts_with(b"\x7fELF") {
            return wrong(
                "it is no program (not an ELF file)".into(),
                "name the program: --mark FILE:FUNCTION",
            );
        }
        let kind = u16::from_le_bytes([head[16], head[17]]);
        if (head[4], head[5]) != (2, 1) || !PROGRAMS.contains(&kind) {
            let why = "it is no program of 64 bits for this machine".to_owned();
            return wrong(why, "mark with --mark-fd");
        }
        Ok(Self { file, head })
    }

    /// Reads at most this number of bytes from here.
    fn read(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let whole = self.file.metadata()?.len();
        if at.checked_add(length).is_none_or(|end| end > whole) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    /// Reads a table of headers: of segments, or of sections.
    fn headers(&self, at: usize, size: usize, count: usize) -> io::Result<Vec<Vec<u8>>> {
        let size = u64::from(half(&self.head, size));
        if size > MOST_HEADER {
            return Err(io::Error::other(format!("it has headers of {size} bytes")));
        }
        let table = self.read(long(&self.head, at), size * u64::from(half(&self.head, count)))?;
        Ok(table.chunks_exact((size as usize).max(1)).map(<[u8]>::to_vec).collect())
    }

    /// Returns the segments of code: where each lies in the file and in memory, and its length.
    pub(super) fn code(&self) -> io::Result<Vec<[u64; 3]>> {
        let segments = self.headers(0x20, 0x36, 0x38)?;
        let code =
            segments.iter().filter(|it| word(it, 0) == LOADED && word(it, 4) & EXECUTED != 0);
        Ok(code.map(|it| [long(it, 8), long(it, 0x10), long(it, 0x20)]).collect())
    }

    /// Returns where code at this address in memory lies in the file.
    pub(super) fn offset(&self, address: u64) -> io::Result<Option<u64>> {
        let within = |&[_, memory, length]: &[u64; 3]| {
            address.checked_sub(memory).is_some_and(|by| by < length)
        };
        let segment = self.code()?.into_iter().find(within);
        Ok(segment.and_then(|[file, memory, _]| file.checked_add(address - memory)))
    }

    /// Returns the named functions of the file.
    pub(super) fn names(&self) -> io::Result<Names> {
        let sections = self.sections()?;
        let version_names = self.version_names(&sections)?;
        let mut names = Names::default();
        for kind in SYMBOLS {
            names.all |= kind == SYMBOLS[0] && sections.iter().any(|it| it.kind == kind);
            self.functions(&sections, kind, &mut |function| {
                let Some(name) = function.name()? else { return Ok(()) };
                let named = version_names.get(&(function.version & !OLD_VERSION));
                let name = match named.filter(|_| !name.contains('@')) {
                    Some(named) if function.version & OLD_VERSION != 0 => format!("{name}@{named}"),
                    Some(named) => format!("{name}@@{named}"),
                    None => name,
                };
                names.add(name, (function.is_chosen, function.is_elsewhere), function.at);
                match names.bytes > MOST_NAMES {
                    true => Err(io::Error::other("its names take more than 256 MiB")),
                    false => Ok(()),
                }
            })?;
        }
        Ok(names)
    }

    /// Returns the sections of the file.
    pub(super) fn sections(&self) -> io::Result<Vec<Section>> {
        Ok(self.headers(0x28, 0x3a, 0x3c)?.iter().map(|it| Section::new(it)).collect())
    }

    /// Passes on the functions of the first table of symbols of a type, in the order of the table.
    pub(super) fn functions(
        &self,
        sections: &[Section],
        kind: u32,
        each: &mut dyn FnMut(&mut Symbol<'_, '_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(number) = sections.iter().position(|it| it.kind == kind) else { return Ok(()) };
        let table = sections[number];
        let Some(texts) = sections.get(table.link) else { return Ok(()) };
        let mut texts = Texts { elf: self, section: *texts, from: 0, window: vec![] };
        let versions = sections.iter().find(|it| it.kind == VERSIONS && it.link == number);
        if table.length > MOST_SYMBOLS {
            return Err(io::Error::other("it has more than 1 GiB of symbols"));
        }
        let end = table.length / SYMBOL * SYMBOL;
        for at in (0..end).step_by(CHUNK as usize) {
            let length = CHUNK.min(end - at);
            let symbols = self.read(table.at.saturating_add(at), length)?;
            let of_chunk = versions
                .map(|it| self.read(it.at.saturating_add(at / SYMBOL * 2), length / SYMBOL * 2));
            let of_chunk = of_chunk.transpose()?.unwrap_or_default();
            for (number, symbol) in symbols.chunks_exact(SYMBOL as usize).enumerate() {
                let kind = symbol[4] & 0xf;
                if [FUNCTION, CHOSEN_AT_START].contains(&kind) {
                    each(&mut Symbol {
                        at: long(symbol, 8),
                        size: long(symbol, 16),
                        is_chosen: kind == CHOSEN_AT_START,
                        is_elsewhere: half(symbol, 6) == 0,
                        version: half(&of_chunk, number * 2),
                        text: word(symbol, 0),
                        texts: &mut texts,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Returns the names of the versions that functions of this file have, by number.
    fn version_names(&self, sections: &[Section]) -> io::Result<HashMap<u16, String>> {
        let mut names = HashMap::new();
        let Some(table) = sections.iter().find(|it| it.kind == VERSION_NAMES) else {
            return Ok(names);
        };
        let Some(texts) = sections.get(table.link) else { return Ok(names) };
        let mut texts = Texts { elf: self, section: *texts, from: 0, window: vec![] };
        let bytes = self.read(table.at, table.length.min(MOST_VERSION_NAMES))?;
        let mut at = 0;
        // Each entry has a number and refers to its name and to the next entry.
        while let Some(entry) = bytes.get(at..) {
            let number = half(entry, 4);
            let name = entry.get(word(entry, 12) as usize..).map(|name| word(name, 0));
            if number >= FIRST_VERSION
                && !names.contains_key(&number)
                && let Some(name) = name.map(|at| texts.get(at.into())).transpose()?.flatten()
            {
                names.insert(number, name);
            }
            match word(entry, 16) as usize {
                0 => break,
                next => at += next,
            }
        }
        Ok(names)
    }
}

/// The texts of a section, of which a part is in memory.
struct Texts<'a> {
    elf: &'a Elf<'a>,
    section: Section,
    from: u64,
    window: Vec<u8>,
}

impl Texts<'_> {
    /// Returns the text that begins here; `None` if it is no text, or a very long one.
    fn get(&mut self, at: u64) -> io::Result<Option<String>> {
        if let Some(text) = self.in_window(at) {
            return Ok(text);
        }
        let Section { at: start, length, .. } = self.section;
        let is_whole = length <= WHOLE;
        if at >= length || is_whole && !self.window.is_empty() {
            return Ok(None);
        }
        let (from, length) = if is_whole { (0, length) } else { (at, WINDOW.min(length - at)) };
        (self.from, self.window) = (from, self.elf.read(start.saturating_add(from), length)?);
        Ok(self.in_window(at).flatten())
    }

    /// The same, if the text lies in what is in memory.
    fn in_window(&self, at: u64) -> Option<Option<String>> {
        let rest = self.window.get(usize::try_from(at.checked_sub(self.from)?).ok()?..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        Some(std::str::from_utf8(&rest[..end]).ok().map(str::to_owned))
    }
}

/// Returns the interpreter with which a script is executed, if the file is a script that names one.
fn interpreter(file: &File) -> Option<String> {
    let mut line = [0; 256];
    let length = file.read_at(&mut line, 0).ok()?;
    let line = line[..length].strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
    let interpreter = words.next()?;
    let is_env = interpreter.ends_with("/env");
    let program = words.find(|word| is_env && !word.starts_with('-') && !word.contains('='));
    Some(program.unwrap_or(interpreter).to_owned())
}
