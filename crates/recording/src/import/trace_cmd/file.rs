//! The head of a `trace.dat` of version 6 or 7: formats of events, clock, CPUs and names.

use super::bytes::{Bytes, Codec, MOST_BYTES};
use crate::machine::MOST_CPUS;
use crate::problem::Problem;
use crate::trace::{Format, PageLayout, page_layout};
use std::fs::File;
use std::io::Read;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// Larger pages of a trace than any kernel has.
const MOST_PAGE: u32 = 4 << 20;

/// Options of the file that are read.
mod option {
    pub const DONE: u16 = 0;
    pub const BUFFER: u16 = 3;
    pub const CLOCK: u16 = 4;
    pub const UNAME: u16 = 5;
    pub const RATE: u16 = 14;
    pub const HEADER: u16 = 16;
    pub const EVENTS_OF_FTRACE: u16 = 17;
    pub const EVENTS: u16 = 18;
    pub const SYMBOLS: u16 = 19;
    pub const COMMANDS: u16 = 21;
}

/// The pages of a CPU in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuData {
    pub(super) cpu: u32,
    pub(super) at: u64,
    pub(super) size: u64,
    pub(super) compressed: bool,
}

/// The content of the file without its pages.
pub(super) struct TraceFile {
    pub(super) bytes: Bytes<File>,
    pub(super) codec: Codec,
    pub(super) layout: PageLayout,
    /// System, name and description of each event.
    pub(super) formats: Vec<(String, String, Format)>,
    /// Description of the event with which the osnoise tracer ends a window of its measurement.
    pub(super) windows: Option<Format>,
    pub(super) cpus: Vec<CpuData>,
    /// The trace clock.
    pub(super) clock: String,
    /// Multiplier and shift from the counter to ns.
    pub(super) rate: Option<(u32, u32)>,
    /// Host, and system with its release.
    pub(super) system: Option<String>,
    /// The text of /proc/kallsyms.
    pub(super) symbols: Vec<u8>,
    /// Thread and name, one a line.
    pub(super) commands: String,
}

impl TraceFile {
    pub(super) fn open(file: File) -> Result<Self, Problem> {
        let mut bytes = Bytes::new(file);
        if bytes.take(MAGIC.len() as u64).ok().as_deref() != Some(MAGIC) {
            return Err(bytes.wrong("it is no file of trace-cmd"));
        }
        let version = bytes.text()?;
        if bytes.u8()? != 0 {
            return Err(bytes.wrong("it is of a big-endian machine"));
        }
        bytes.u8()?; // the size of a long in user space
        let page = bytes.u32()?;
        let layout =
            PageLayout { commit_offset: 0, commit_size: 0, data_offset: 0, size: page as usize };
        let mut opened = Self {
            bytes,
            codec: Codec::None,
            layout,
            formats: vec![],
            windows: None,
            cpus: vec![],
            clock: "local".into(),
            rate: None,
            system: None,
            symbols: vec![],
            commands: String::new(),
        };
        opened.set_page(page)?;
        match &*version {
            "6" => opened.version_6()?,
            "7" => opened.version_7()?,
            other => return Err(opened.bytes.wrong(&format!("version {other:?} is not known"))),
        }
        match opened.layout.commit_size {
            0 => Err(opened.bytes.wrong("it does not describe its pages")),
            _ => Ok(opened),
        }
    }

    fn set_page(&mut self, size: u32) -> Result<(), Problem> {
        if !(64..=MOST_PAGE).contains(&size) {
            return Err(self.bytes.wrong(&format!("pages of {size} bytes")));
        }
        self.layout.size = size as usize;
        Ok(())
    }

    /// Reads what follows the first bytes in version 6: everything in a fixed order.
    fn version_6(&mut self) -> Result<(), Problem> {
        let size = self.layout.size;
        self.layout = header(&mut self.bytes, size)?;
        self.windows = windows(&mut self.bytes)?;
        self.formats = formats(&mut self.bytes)?;
        let symbols = self.bytes.u32()?;
        self.symbols = self.bytes.take(u64::from(symbols))?;
        let texts = self.bytes.u32()?;
        self.bytes.skip(u64::from(texts))?;
        self.commands = self.bytes.sized_text()?;
        let cpus = self.bytes.u32()?;
        if cpus > MOST_CPUS {
            return Err(self.bytes.wrong(&format!("{cpus} CPUs")));
        }
        let mut kind = self.bytes.take(10)?;
        if kind.starts_with(b"options") {
            loop {
                let id = self.bytes.u16()?;
                if id == option::DONE {
                    break;
                }
                let size = self.bytes.u32()?;
                let at = self.bytes.at();
                match id {
                    option::BUFFER => {} // of other instances
                    _ => self.option(id)?,
                }
                self.bytes.seek(at + u64::from(size))?;
            }
            kind = self.bytes.take(10)?;
        }
        if !kind.starts_with(b"flyrecord") {
            return Err(self.bytes.wrong("it has no records of events"));
        }
        for cpu in 0..cpus {
            let (at, size) = (self.bytes.u64()?, self.bytes.u64()?);
            self.cpus.push(CpuData { cpu, at, size, compressed: false });
        }
        Ok(())
    }

    /// Reads what follows the first bytes in version 7: sections, which options name.
    fn version_7(&mut self) -> Result<(), Problem> {
        let codec = self.bytes.text()?;
        let known = Codec::named(&codec);
        self.codec = known
            .ok_or_else(|| self.bytes.wrong(&format!("the compression {codec:?} is not known")))?;
        self.bytes.text()?; // its version
        let mut next = self.bytes.u64()?;
        let mut before = 0;
        while next != 0 {
            // Sections follow each other, so that a circle would be endless.
            if next <= before {
                return Err(self.bytes.wrong("a section of options refers back"));
            }
            before = next;
            let mut options = self.bytes.section(next, self.codec)?;
            loop {
                let (id, size) = (options.u16()?, options.u32()?);
                if id == option::DONE {
                    next = options.u64()?;
                    break;
                }
                let content = options.take(u64::from(size))?;
                self.option_7(id, &content)?;
            }
        }
        Ok(())
    }

    /// Reads an option that both versions have, at the present place of the file.
    fn option(&mut self, id: u16) -> Result<(), Problem> {
        match id {
            option::CLOCK => self.clock = chosen(&self.bytes.text()?),
            option::UNAME => self.system = Some(self.bytes.text()?),
            option::RATE => self.rate = Some((self.bytes.u32()?, self.bytes.u32()?)),
            _ => {}
        }
        Ok(())
    }

    fn option_7(&mut self, id: u16, content: &[u8]) -> Result<(), Problem> {
        let text = || {
            let text = content.split(|&byte| byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        let number = |at: usize| {
            let bytes = content.get(at..).and_then(|rest| rest.first_chunk::<4>());
            bytes.map(|bytes| u32::from_le_bytes(*bytes))
        };
        let place = content.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
        match (id, place) {
            (option::CLOCK, _) => self.clock = chosen(&text()),
            (option::UNAME, _) => self.system = Some(text()),
            (option::RATE, _) => self.rate = number(0).zip(number(4)),
            (option::HEADER, Some(at)) => {
                let size = self.layout.size;
                self.layout = header(&mut self.bytes.section(at, self.codec)?, size)?;
            }
            (option::EVENTS_OF_FTRACE, Some(at)) => {
                self.windows = windows(&mut self.bytes.section(at, self.codec)?)?;
            }
            (option::EVENTS, Some(at)) => {
                self.formats = formats(&mut self.bytes.section(at, self.codec)?)?;
            }
            (option::SYMBOLS, Some(at)) => {
                let mut section = self.bytes.section(at, self.codec)?;
                let size = section.u32()?;
                self.symbols = section.take(u64::from(size))?;
            }
            (option::COMMANDS, Some(at)) => {
                self.commands = self.bytes.section(at, self.codec)?.sized_text()?;
            }
            (option::BUFFER, Some(at)) => self.buffer(at, &content[8..])?,
            _ => {}
        }
        Ok(())
    }

    /// Reads where the pages of an instance lie; those of the first instance that has any are imported.
    fn buffer(&mut self, at: u64, rest: &[u8]) -> Result<(), Problem> {
        let mut parts = rest.splitn(3, |&byte| byte == 0);
        let (Some(_), Some(clock), Some(numbers)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(self.bytes.wrong("a buffer without a clock"));
        };
        if self.cpus.iter().any(|cpu| cpu.size > 0) {
            return Ok(());
        }
        let clock = String::from_utf8_lossy(clock).into_owned();
        let word = |at: usize| numbers.get(at..).and_then(|rest| rest.first_chunk::<4>());
        let word = |at: usize| word(at).map(|bytes| u32::from_le_bytes(*bytes));
        let long = |at: usize| Some(u64::from(word(at)?) | u64::from(word(at + 4)?) << 32);
        let (Some(page), Some(cpus)) = (word(0), word(4)) else {
            return Err(self.bytes.wrong("a buffer without CPUs"));
        };
        self.set_page(page)?;
        self.bytes.seek(at)?;
        let compressed = self.bytes.section_header()?.1;
        self.clock = clock;
        self.cpus.clear();
        if cpus > MOST_CPUS {
            return Err(self.bytes.wrong(&format!("it has {cpus} CPUs, more than {MOST_CPUS}")));
        }
        for index in 0..cpus as usize {
            let at = 8 + 20 * index;
            let (Some(cpu), Some(place), Some(size)) = (word(at), long(at + 4), long(at + 12))
            else {
                return Err(self.bytes.wrong("a buffer with fewer CPUs than it states"));
            };
            if cpu >= MOST_CPUS || self.cpus.iter().any(|known| known.cpu == cpu) {
                return Err(self
                    .bytes
                    .wrong(&format!("CPU {cpu} does not exist, or stands there twice")));
            }
            self.cpus.push(CpuData { cpu, at: place, size, compressed });
        }
        Ok(())
    }

    /// Passes each page of a CPU to `take`, one chunk of pages in memory at a time.
    pub(super) fn pages(
        &mut self,
        cpu: CpuData,
        take: &mut dyn FnMut(&[u8]) -> Result<bool, Problem>,
    ) -> Result<(), Problem> {
        if cpu.size == 0 {
            return Ok(());
        }
        let Some(end) = cpu.at.checked_add(cpu.size) else {
            return Err(self
                .bytes
                .wrong(&format!("there is no place for the pages of CPU {}", cpu.cpu)));
        };
        self.bytes.seek(cpu.at)?;
        let size = self.layout.size;
        let chunks = match cpu.compressed {
            true => u64::from(self.bytes.u32()?),
            false => cpu.size.div_ceil(size as u64),
        };
        for _ in 0..chunks {
            let chunk = match cpu.compressed {
                true => self.bytes.block(self.codec)?,
                false => self.bytes.take(end.saturating_sub(self.bytes.at()).min(size as u64))?,
            };
            for page in chunk.chunks(size) {
                if !take(page).map_err(|problem| self.bytes.wrong(&problem.why))? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Reads the description of pages.
fn header<R: Read>(bytes: &mut Bytes<R>, page: usize) -> Result<PageLayout, Problem> {
    let text = described(bytes, "header_page")?;
    described(bytes, "header_event")?;
    page_layout(&text, page).map_err(|why| bytes.wrong(&why))
}

/// Reads the description that must have this name.
fn described<R: Read>(bytes: &mut Bytes<R>, expected: &str) -> Result<String, Problem> {
    let name = bytes.text()?;
    match name == expected {
        true => bytes.sized_text(),
        false => Err(bytes.wrong(&format!("{name:?} is not {expected}"))),
    }
}

/// Reads the descriptions of the events of ftrace itself, and returns that of the windows of osnoise.
fn windows<R: Read>(bytes: &mut Bytes<R>) -> Result<Option<Format>, Problem> {
    let mut windows = None;
    for _ in 0..bytes.u32()? {
        let text = bytes.sized_text()?;
        if text.lines().any(|line| line.trim_end() == "name: osnoise") {
            windows = Format::parse(&text).ok();
        }
    }
    Ok(windows)
}

/// Reads the descriptions of events. One that cannot be understood has no events.
fn formats<R: Read>(bytes: &mut Bytes<R>) -> Result<Vec<(String, String, Format)>, Problem> {
    let (mut formats, mut size) = (vec![], 0);
    for _ in 0..bytes.u32()? {
        let system = bytes.text()?;
        for _ in 0..bytes.u32()? {
            let text = bytes.sized_text()?;
            size += text.len() as u64;
            if size > MOST_BYTES {
                return Err(bytes.wrong("its events have too long descriptions"));
            }
            let name = text.lines().find_map(|line| line.strip_prefix("name: "));
            if let (Some(name), Ok(format)) = (name, Format::parse(&text)) {
                formats.push((system.clone(), name.trim().to_owned(), format));
            }
        }
    }
    Ok(formats)
}

/// Returns the clock in brackets: `local [mono] boot`.
fn chosen(text: &str) -> String {
    let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(text.trim(), |(clock, _)| clock).to_owned()
}
