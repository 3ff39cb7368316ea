//! Decodes payloads of the ring buffer to [`KernelEvent`]s, and the names in them.

use super::format::{Format, FormatField, Storage};
use super::marks::Marks;
use super::page::Record;
use super::passed::{MarkText, Passed};
use super::stacks::{RawStack, Stacks};
use crate::event::{EventKind, EventSpec, NameKind, Role};
use crate::rows::{KernelEvent, Mark, Name};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};

/// Converts a timestamp of the trace clock to ticks of the run's counter.
pub type ToTicks = Box<dyn Fn(u64) -> u64 + Send>;

/// An event that is recorded, with the kernel's own description.
#[derive(Debug, Clone)]
pub struct EnabledEvent {
    /// Its row of [`crate::EVENTS`].
    pub spec: &'static EventSpec,
    /// Its fields.
    pub format: Format,
}

/// A number in a payload. A signed number is extended to 64 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    offset: usize,
    size: usize,
    signed: bool,
}

impl Number {
    pub(crate) fn from_field(field: &FormatField) -> Option<Self> {
        let Storage::Number { signed } = field.storage else { return None };
        Some(Self { offset: field.offset, size: field.size, signed })
    }

    /// Reads the number; 0 if the payload is too short.
    #[inline]
    pub(crate) fn read(self, payload: &[u8]) -> u64 {
        let Some(rest) = payload.get(self.offset..) else { return 0 };
        macro_rules! number {
            ($unsigned:ty, $signed:ty) => {
                rest.first_chunk().map_or(0, |bytes| {
                    let value = <$unsigned>::from_le_bytes(*bytes);
                    if self.signed { value as $signed as i64 as u64 } else { u64::from(value) }
                })
            };
        }
        match self.size {
            1 => number!(u8, i8),
            2 => number!(u16, i16),
            4 => number!(u32, i32),
            _ => number!(u64, i64),
        }
    }
}

/// Bytes in a payload: a text or a CPU mask.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes {
    offset: usize,
    size: usize,
    storage: Storage,
}

impl Bytes {
    pub(crate) fn from_field(field: &FormatField) -> Option<Self> {
        let number = matches!(field.storage, Storage::Number { .. });
        (!number).then_some(Self { offset: field.offset, size: field.size, storage: field.storage })
    }

    /// Returns the bytes; empty if they lie outside the payload.
    fn read(self, payload: &[u8]) -> &[u8] {
        let base = match self.storage {
            Storage::Bytes => {
                return payload.get(self.offset..self.offset + self.size).unwrap_or_default();
            }
            Storage::LocatedFromHere => self.offset + self.size,
            _ => 0,
        };
        let place = Number { offset: self.offset, size: 4, signed: false }.read(payload) as usize;
        let (start, length) = (base + (place & 0xffff), place >> 16);
        payload.get(start..start + length).unwrap_or_default()
    }

    pub(crate) fn text(self, payload: &[u8]) -> &[u8] {
        let bytes = self.read(payload);
        bytes.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

/// Where the name of a number lies.
#[derive(Debug)]
struct NamePlace {
    kind: NameKind,
    key: Number,
    prefix: Option<Number>,
    text: Bytes,
}

/// Which data of an event is kept, and where it lies.
#[derive(Debug)]
struct Decoder {
    kind: EventKind,
    /// Whether the event also matters on unmeasured CPUs, because it causes something elsewhere.
    is_cause: bool,
    pid: Number,
    args: [Option<Number>; 3],
    symbols: [bool; 3],
    addresses: [bool; 3],
    names: Vec<NamePlace>,
    /// A CPU mask that is expanded to one event per CPU, with the CPU as the first argument.
    cpus: Option<Bytes>,
    /// When a timer was asked to expire, which becomes an event of its own if it may be later.
    soft: Option<Number>,
}

impl Decoder {
    /// Fails if the format lacks what every event has. Other missing fields are added to `absent`.
    fn new(spec: &EventSpec, format: &Format, absent: &mut Vec<String>) -> Option<Self> {
        let mut lack = |name: &str| absent.push(format!("{}:{} {name}", spec.system, spec.name));
        let (mut args, mut cpus) = ([None; 3], None);
        let (mut symbols, mut addresses) = ([false; 3], [false; 3]);
        for (i, name) in spec.args.iter().take(3).enumerate() {
            symbols[i] = spec.symbols.contains(name);
            addresses[i] = spec.is_address(name);
            let field = format.field(name);
            args[i] = field.and_then(Number::from_field);
            if i == 0 && spec.kind == EventKind::IpiSendMask {
                cpus = field.and_then(Bytes::from_field);
            }
            if args[i].is_none() && (i > 0 || cpus.is_none()) {
                lack(name);
            }
        }
        let mut names = Vec::new();
        for name in spec.names {
            let number = |field: &str| format.field(field).and_then(Number::from_field);
            let text = format.field(name.text).and_then(Bytes::from_field);
            let prefix = name.prefix.and_then(number);
            match (number(name.key), text) {
                (Some(key), Some(text)) => {
                    names.push(NamePlace { kind: name.kind, key, prefix, text });
                }
                _ => lack(name.text),
            }
        }
        let pid = format.field("common_pid").and_then(Number::from_field)?;
        let soft = format.field("softexpires").and_then(Number::from_field);
        Some(Self {
            soft: soft.filter(|_| spec.kind == EventKind::HrtimerStart),
            kind: spec.kind,
            is_cause: spec.role == Role::Cause,
            pid,
            args,
            symbols,
            addresses,
            names,
            cpus,
        })
    }
}

/// Decodes events and collects the names in them.
pub struct EventDecoder {
    /// The decoders, by the kernel's event number.
    by_id: Vec<Option<Decoder>>,
    absent: Vec<String>,
    to_ticks: Option<ToTicks>,
    known: HashMap<(NameKind, u64), Box<[u8]>>,
    new_names: Vec<Name>,
    addresses: RecentNumbers,
    /// Turns addresses into numbers that do not show them. Its keys are random and never leave this process.
    hidden: RandomState,
    tasks: RecentNumbers,
    marks: Option<Marks>,
    /// Reads the marks of a recorded program.
    passed: Option<Passed>,
    /// Reads the call stacks that follow each event.
    stacks: Option<Stacks>,
}

impl EventDecoder {
    /// Creates the decoders of `events`. Times are converted by `to_ticks`, or are ticks already.
    ///
    /// # Errors
    /// Returns the event whose format lacks `common_pid`, as `system:name`.
    pub fn new(events: &[EnabledEvent], to_ticks: Option<ToTicks>) -> Result<Self, String> {
        let (mut by_id, mut absent) = (Vec::new(), Vec::new());
        // The second event of a timer is decoded with the first.
        let own = events.iter().filter(|event| event.spec.kind != EventKind::HrtimerSoft);
        for EnabledEvent { spec, format } in own {
            let id = usize::from(format.id);
            if by_id.len() <= id {
                by_id.resize_with(id + 1, || None);
            }
            let decoder = Decoder::new(spec, format, &mut absent);
            by_id[id] = Some(decoder.ok_or_else(|| format!("{}:{}", spec.system, spec.name))?);
        }
        Ok(Self {
            by_id,
            absent,
            to_ticks,
            known: HashMap::new(),
            new_names: Vec::new(),
            addresses: RecentNumbers::default(),
            hidden: RandomState::new(),
            tasks: RecentNumbers::default(),
            marks: None,
            passed: None,
            stacks: None,
        })
    }

    /// Also reads the marks of threads, whose event has this format.
    pub fn read_marks(&mut self, format: &Format) {
        self.marks = Marks::new(format);
    }

    /// Also reads the marks of a recorded program, whose event has this format. Returns whether it has all fields.
    pub fn read_program_marks(&mut self, format: &Format, text: &MarkText) -> bool {
        self.passed = Passed::new(format, text);
        self.passed.is_some()
    }

    /// Also reads the call stacks that follow each event, which have these formats. Returns whether they have all fields.
    pub fn read_stacks(&mut self, kernel: &Format, user: &Format) -> bool {
        self.stacks = Stacks::new(kernel, user);
        self.stacks.is_some()
    }

    /// Takes the stacks that were read since the last call and are whole; `all` of them at the end.
    pub fn take_stacks(&mut self, all: bool) -> Vec<RawStack> {
        self.stacks.as_mut().map(|stacks| stacks.take(all)).unwrap_or_default()
    }

    /// Takes the marks of the program that were read since the last call.
    pub fn take_program_marks(&mut self) -> Vec<Mark> {
        self.passed.as_mut().map(Passed::take).unwrap_or_default()
    }

    /// Returns the number of lines so far that came in one write with an earlier line, and are no marks.
    #[must_use]
    pub fn joined_lines(&self) -> u64 {
        self.passed.as_ref().map_or(0, Passed::joined_lines)
    }

    /// Returns the number in events of the thread that knows itself as `own`, if its mark was read.
    #[must_use]
    pub fn thread(&self, own: i32) -> Option<i32> {
        self.marks.as_ref()?.thread(own)
    }

    /// Returns the fields of the table that this kernel's formats lack, as `system:name field`; they read as
    /// 0.
    #[must_use]
    pub fn absent(&self) -> &[String] {
        &self.absent
    }

    /// Converts a timestamp to ticks.
    #[inline]
    #[must_use]
    pub fn ticks(&self, time: u64) -> u64 {
        self.to_ticks.as_ref().map_or(time, |convert| convert(time))
    }

    /// Decodes one record into `out`.
    ///
    /// On an unmeasured CPU, only events that cause something elsewhere are kept; names are collected from
    /// the others too. Events with unknown numbers are skipped.
    #[inline]
    pub fn decode(
        &mut self,
        cpu: u32,
        measured: bool,
        record: &Record<'_>,
        out: &mut Vec<KernelEvent>,
    ) {
        let payload = record.payload;
        let Some(id) = payload.first_chunk().map(|id| u16::from_le_bytes(*id)) else { return };
        let Some(Some(decoder)) = self.by_id.get(usize::from(id)) else {
            if let Some(marks) = &mut self.marks {
                marks.read(id, payload);
            }
            let ticks = self.ticks(record.time);
            if let Some(passed) = &mut self.passed {
                passed.read(cpu, ticks, id, payload);
            }
            if let Some(stacks) = &mut self.stacks {
                stacks.read(cpu, id, payload);
            }
            return;
        };
        let ticks = self.to_ticks.as_ref().map_or(record.time, |convert| convert(record.time));
        for place in &decoder.names {
            let (key, text) = (place.key.read(payload), place.text.text(payload));
            let prefix = place.prefix.map(|number| format!("{}:", number.read(payload)));
            let whole = prefix.map(|prefix| [prefix.as_bytes(), text].concat());
            let text = whole.as_deref().unwrap_or(text);
            learn(&mut self.known, &mut self.new_names, place.kind, key, ticks, text);
        }
        if !measured && !decoder.is_cause {
            return;
        }
        let pid = decoder.pid.read(payload);
        self.tasks.insert(pid);
        if let Some(stacks) = &mut self.stacks {
            stacks.begin(cpu, ticks, pid as i32);
        }
        let mut args = [0; 3];
        for (i, arg) in decoder.args.iter().enumerate() {
            let Some(number) = arg else { continue };
            args[i] = number.read(payload);
            if decoder.symbols[i] {
                self.addresses.insert(args[i]);
            }
            if decoder.addresses[i] {
                args[i] = self.hide(args[i]);
            }
        }
        let event = KernelEvent { cpu, ticks, kind: decoder.kind, pid: pid as i32, args };
        match decoder.cpus {
            None => {
                out.push(event);
                let soft = decoder.soft.map(|soft| soft.read(payload));
                if let Some(soft) = soft.filter(|soft| *soft != args[2]) {
                    let args = [args[0], soft, 0];
                    out.push(KernelEvent { kind: EventKind::HrtimerSoft, args, ..event });
                }
            }
            Some(mask) => out.extend(
                set_bits(mask.read(payload))
                    .map(|target| KernelEvent { args: [target, args[1], args[2]], ..event }),
            ),
        }
    }

    /// Takes the names that were collected since the last call.
    pub fn take_names(&mut self) -> Vec<Name> {
        std::mem::take(&mut self.new_names)
    }

    /// Forgets the names and the tasks so far: the events that follow name theirs again.
    pub fn forget(&mut self) {
        self.known.clear();
        self.tasks = RecentNumbers::default();
    }

    /// Returns the number that stands for an address: the same one for this address each time, and 0 for 0. Nobody can
    /// compute the address, from which one could learn where the kernel lies in memory.
    #[inline]
    #[must_use]
    pub fn hide(&self, address: u64) -> u64 {
        if address == 0 { 0 } else { self.hidden.hash_one(address).max(1) }
    }

    /// Returns the kernel code addresses seen so far.
    #[must_use]
    pub fn addresses(&self) -> &BTreeSet<u64> {
        &self.addresses.all
    }

    /// Returns the tasks that have events on measured CPUs, or caused something there.
    pub fn tasks(&self) -> impl Iterator<Item = u64> {
        self.tasks.all.iter().copied()
    }

    /// Returns the tasks that have events but whose name no event contained.
    pub fn unnamed_tasks(&self) -> impl Iterator<Item = u64> {
        let unnamed = |&pid: &u64| !self.known.contains_key(&(NameKind::Task, pid));
        self.tasks.all.iter().copied().filter(unnamed)
    }
}

/// Records a name that is new or has changed.
fn learn(
    known: &mut HashMap<(NameKind, u64), Box<[u8]>>,
    new: &mut Vec<Name>,
    kind: NameKind,
    key: u64,
    ticks: u64,
    mut text: &[u8],
) {
    if kind == NameKind::Task && key == 0 {
        // Every CPU has an idle task with this number: swapper/0, swapper/1, ...
        text = text.split(|&byte| byte == b'/').next().unwrap_or_default();
    }
    if text.is_empty() || known.get(&(kind, key)).is_some_and(|old| **old == *text) {
        return;
    }
    known.insert((kind, key), text.into());
    let ticks = if kind == NameKind::Task { ticks } else { 0 };
    new.push(Name { kind, key, ticks, name: String::from_utf8_lossy(text).into_owned() });
}

/// Returns the indices of the set bits, from the lowest.
fn set_bits(mask: &[u8]) -> impl Iterator<Item = u64> {
    let bits =
        |(byte, i): (u8, u64)| (0..8).filter(move |b| byte >> b & 1 == 1).map(move |b| 8 * i + b);
    mask.iter().copied().zip(0..).flat_map(bits)
}

/// A set of numbers that are mostly repetitions of a few: a recent number is not searched for again.
#[derive(Default)]
struct RecentNumbers {
    all: BTreeSet<u64>,
    recent: Vec<u64>,
}

impl RecentNumbers {
    const SLOTS: usize = 256;

    #[inline]
    fn insert(&mut self, number: u64) {
        if self.recent.is_empty() {
            self.recent = vec![u64::MAX; Self::SLOTS];
        }
        // Functions begin at multiples of 16, so the low bits alone would use one slot in 16.
        let slot = (number ^ number >> 4 ^ number >> 12) as usize % Self::SLOTS;
        if self.recent[slot] != number {
            self.recent[slot] = number;
            self.all.insert(number);
        }
    }
}
