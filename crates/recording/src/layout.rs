//! Each row type's table: which column holds which field.

use crate::EventKind;
use crate::decode::Decoder;
use crate::encode::Encoder;
use crate::event::EVENTS;
use crate::rows::{Counter, Detour, KernelEvent, Loss, Name, NameKind};
use crate::table::{Column, Kind, Table};
use parquet::errors::ParquetError;

/// A row type with its table. Sealed: the tables are those of FORMAT.md.
pub trait Row: Clone + sealed::Sealed + 'static {
    /// Its table.
    #[doc(hidden)]
    const TABLE: Table;
    /// Whether the rows of one CPU and strand follow each other in time without overlap.
    #[doc(hidden)]
    const ORDERED: bool = false;
    /// Its CPU, if its table has one.
    #[doc(hidden)]
    fn cpu(&self) -> Option<u32>;
    /// What tells rows of one CPU apart that may overlap; the same for all where none may.
    #[doc(hidden)]
    fn strand(&self) -> u32 {
        0
    }
    /// First and last tick that it stands for.
    #[doc(hidden)]
    fn span(&self) -> (u64, u64);
    /// Writes all columns of one row group.
    #[doc(hidden)]
    fn encode(rows: &[Self], out: &mut Encoder) -> Result<(), ParquetError>;
    /// Reads one row group.
    #[doc(hidden)]
    fn decode(input: &mut Decoder) -> Result<Vec<Self>, String>;
}

/// A row type whose table has a CPU.
pub trait CpuRow: Row {}

/// A row type whose table can be derived again from the measured ones.
pub trait DerivedRow: Row {}

impl CpuRow for Detour {}
impl CpuRow for KernelEvent {}
impl CpuRow for Loss {}
impl CpuRow for Counter {}

pub(crate) mod sealed {
    /// Keeps other crates from adding tables.
    pub trait Sealed {}
    impl Sealed for crate::Detour {}
    impl Sealed for crate::KernelEvent {}
    impl Sealed for crate::Loss {}
    impl Sealed for crate::Counter {}
    impl Sealed for crate::Name {}
    impl Sealed for crate::Sample {}
    impl Sealed for crate::Series {}
    impl Sealed for crate::Activity {}
}

pub(crate) const CPU: Column = Column::new("cpu", Kind::U32);
pub(crate) const START: Column = Column::new("start_ticks", Kind::Rising);
pub(crate) const END: Column = Column::new("end_ticks", Kind::Rising);
const TICKS: Column = Column::new("ticks", Kind::Rising);
pub(crate) const START_NS: Column = Column::new("start_ns", Kind::Rising);
pub(crate) const END_NS: Column = Column::new("end_ns", Kind::Rising);

impl Row for Detour {
    const TABLE: Table = Table { name: "detours", columns: &[CPU, START, END, START_NS, END_NS] };
    const ORDERED: bool = true;

    fn cpu(&self) -> Option<u32> {
        Some(self.cpu)
    }

    fn span(&self) -> (u64, u64) {
        (self.start_ticks, self.end_ticks)
    }

    fn encode(rows: &[Self], out: &mut Encoder) -> Result<(), ParquetError> {
        out.u32(rows.iter().map(|row| row.cpu))?;
        out.u64(rows.iter().map(|row| row.start_ticks))?;
        out.u64(rows.iter().map(|row| row.end_ticks))?;
        out.ns(rows.iter().map(|row| row.start_ticks))?;
        out.ns(rows.iter().map(|row| row.end_ticks))
    }

    fn decode(input: &mut Decoder) -> Result<Vec<Self>, String> {
        let rows = input.u32("cpu")?.zip(input.u64("start_ticks")?).zip(input.u64("end_ticks")?);
        let row = |((cpu, start_ticks), end_ticks)| Self { cpu, start_ticks, end_ticks };
        Ok(rows.map(row).collect())
    }
}

impl Row for KernelEvent {
    const TABLE: Table = Table {
        name: "events",
        columns: &[
            CPU,
            TICKS,
            Column::new("event", Kind::U16),
            Column::new("pid", Kind::I32),
            Column::new("arg0", Kind::U64),
            Column::new("arg1", Kind::U64),
            Column::new("arg2", Kind::U64),
        ],
    };
    const ORDERED: bool = true;

    fn cpu(&self) -> Option<u32> {
        Some(self.cpu)
    }

    fn span(&self) -> (u64, u64) {
        (self.ticks, self.ticks)
    }

    fn encode(rows: &[Self], out: &mut Encoder) -> Result<(), ParquetError> {
        out.u32(rows.iter().map(|row| row.cpu))?;
        out.u64(rows.iter().map(|row| row.ticks))?;
        out.u32(rows.iter().map(|row| u32::from(row.kind as u16)))?;
        out.i32(rows.iter().map(|row| row.pid))?;
        (0..3).try_for_each(|i| out.u64(rows.iter().map(|row| row.args[i])))
    }

    fn decode(input: &mut Decoder) -> Result<Vec<Self>, String> {
        let kinds = event_kinds();
        let (cpu, ticks, event) = (input.u32("cpu")?, input.u64("ticks")?, input.u32("event")?);
        let pid = input.i32("pid")?;
        let args = input.u64("arg0")?.zip(input.u64("arg1")?).zip(input.u64("arg2")?);
        let rows = cpu.zip(ticks).zip(event).zip(pid).zip(args);
        let row = |((((cpu, ticks), event), pid), ((arg0, arg1), arg2))| {
            let kind = kinds.get(event as usize).copied().flatten();
            let kind = kind.ok_or_else(|| format!("event number {event} does not exist"))?;
            Ok(Self { cpu, ticks, kind, pid, args: [arg0, arg1, arg2] })
        };
        rows.map(row).collect()
    }
}

/// Event kinds by number: looking each up in [`EVENTS`] would dominate the reading.
fn event_kinds() -> Vec<Option<EventKind>> {
    let mut kinds = Vec::new();
    for spec in EVENTS {
        let number = spec.kind as usize;
        kinds.resize(kinds.len().max(number + 1), None);
        kinds[number] = Some(spec.kind);
    }
    kinds
}

impl Row for Loss {
    const TABLE: Table = Table {
        name: "losses",
        columns: &[
            Column::new("what", Kind::Text),
            CPU,
            START,
            END,
            Column::new("count", Kind::U64),
        ],
    };

    fn cpu(&self) -> Option<u32> {
        Some(self.cpu)
    }

    fn span(&self) -> (u64, u64) {
        (self.start_ticks, self.end_ticks)
    }

    fn encode(rows: &[Self], out: &mut Encoder) -> Result<(), ParquetError> {
        out.text(rows.iter().map(|row| row.what.as_str()))?;
        out.u32(rows.iter().map(|row| row.cpu))?;
        out.u64(rows.iter().map(|row| row.start_ticks))?;
        out.u64(rows.iter().map(|row| row.end_ticks))?;
        out.u64(rows.iter().map(|row| row.count))
    }

    fn decode(input: &mut Decoder) -> Result<Vec<Self>, String> {
        let rows = input.string("what")?.zip(input.u32("cpu")?);
        let rows = rows.zip(input.u64("start_ticks")?).zip(input.u64("end_ticks")?);
        let row = |((((what, cpu), start_ticks), end_ticks), count)| Self {
            what,
            cpu,
            start_ticks,
            end_ticks,
            count,
        };
        Ok(rows.zip(input.u64("count")?).map(row).collect())
    }
}

impl Row for Counter {
    const TABLE: Table = Table {
        name: "counters",
        columns: &[Column::new("name", Kind::Text), CPU, TICKS, Column::new("value", Kind::U64)],
    };

    fn cpu(&self) -> Option<u32> {
        Some(self.cpu)
    }

    fn span(&self) -> (u64, u64) {
        (self.ticks, self.ticks)
    }

    fn encode(rows: &[Self], out: &mut Encoder) -> Result<(), ParquetError> {
        out.text(rows.iter().map(|row| row.name.as_str()))?;
        out.u32(rows.iter().map(|row| row.cpu))?;
        out.u64(rows.iter().map(|row| row.ticks))?;
        out.u64(rows.iter().map(|row| row.value))
    }

    fn decode(input: &mut Decoder) -> Result<Vec<Self>, String> {
        let rows = input.string("name")?.zip(input.u32("cpu")?);
        let rows = rows.zip(input.u64("ticks")?).zip(input.u64("value")?);
        let row = |(((name, cpu), ticks), value)| Self { name, cpu, ticks, value };
        Ok(rows.map(row).collect())
    }
}

const NAME_KINDS: [(NameKind, &str); 3] =
    [(NameKind::Task, "task"), (NameKind::Symbol, "symbol"), (NameKind::Irq, "irq")];

impl Row for Name {
    const TABLE: Table = Table {
        name: "names",
        columns: &[
            Column::new("kind", Kind::Text),
            Column::new("key", Kind::U64),
            TICKS,
            Column::new("name", Kind::Text),
        ],
    };

    fn cpu(&self) -> Option<u32> {
        None
    }

    fn span(&self) -> (u64, u64) {
        (self.ticks, self.ticks)
    }

    fn encode(rows: &[Self], out: &mut Encoder) -> Result<(), ParquetError> {
        out.text(rows.iter().map(|row| text_of(&NAME_KINDS, row.kind)))?;
        out.u64(rows.iter().map(|row| row.key))?;
        out.u64(rows.iter().map(|row| row.ticks))?;
        out.text(rows.iter().map(|row| row.name.as_str()))
    }

    fn decode(input: &mut Decoder) -> Result<Vec<Self>, String> {
        let rows = input.string("kind")?.zip(input.u64("key")?);
        let rows = rows.zip(input.u64("ticks")?).zip(input.string("name")?);
        let row = |(((kind, key), ticks), name): (((String, _), _), _)| {
            Ok(Self { kind: kind_of(&NAME_KINDS, &kind)?, key, ticks, name })
        };
        rows.map(row).collect()
    }
}

/// The text that stands for a kind in its column.
pub(crate) fn text_of<K: PartialEq>(kinds: &[(K, &'static str)], kind: K) -> &'static str {
    let found = kinds.iter().find(|(known, _)| *known == kind);
    found.map(|&(_, text)| text).expect("every kind has its text")
}

/// The kind that a text stands for.
pub(crate) fn kind_of<K: Copy>(kinds: &[(K, &'static str)], text: &str) -> Result<K, String> {
    let found = kinds.iter().find(|(_, known)| *known == text);
    found.map(|&(kind, _)| kind).ok_or_else(|| format!("kind '{text}' does not exist"))
}
