//! The table `activities`.

use crate::decode::Decoder;
use crate::encode::Encoder;
use crate::layout::{CPU, CpuRow, DerivedRow, END, END_NS, Row, START, START_NS, kind_of, text_of};
use crate::rows::{Activity, ActivityKind};
use crate::table::{Column, Kind, Table};
use parquet::errors::ParquetError;

const KINDS: [(ActivityKind, &str); 7] = [
    (ActivityKind::EntryGap, "entry_gap"),
    (ActivityKind::InnerGap, "inner_gap"),
    (ActivityKind::ExitGap, "exit_gap"),
    (ActivityKind::Activity, "activity"),
    (ActivityKind::OffCpu, "off_cpu"),
    (ActivityKind::Unexplained, "unexplained"),
    (ActivityKind::NotAttributable, "not_attributable"),
];

impl CpuRow for Activity {}
impl DerivedRow for Activity {}

impl Row for Activity {
    const TABLE: Table = Table {
        name: "activities",
        columns: &[
            CPU,
            START,
            END,
            START_NS,
            END_NS,
            Column::new("self_ticks", Kind::U64),
            Column::new("detour", Kind::Rising),
            Column::optional("parent", Kind::U32),
            Column::new("kind", Kind::Text),
            Column::new("source", Kind::Text),
            Column::new("name", Kind::Text),
            Column::optional("function", Kind::Text),
            Column::new("victim_state", Kind::Text),
            Column::optional("sent_by_cpu", Kind::U32),
            Column::optional("sent_by_task", Kind::Text),
            Column::optional("steal_ns", Kind::U64),
        ],
    };

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
        out.ns(rows.iter().map(|row| row.end_ticks))?;
        out.u64(rows.iter().map(|row| row.self_ticks))?;
        out.u64(rows.iter().map(|row| row.detour))?;
        out.optional_u32(rows.iter().map(|row| row.parent))?;
        out.text(rows.iter().map(|row| text_of(&KINDS, row.kind)))?;
        out.text(rows.iter().map(|row| &*row.source))?;
        out.text(rows.iter().map(|row| &*row.name))?;
        out.optional_text(rows.iter().map(|row| row.function.as_deref()))?;
        out.text(rows.iter().map(|row| &*row.victim_state))?;
        out.optional_u32(rows.iter().map(|row| row.sent_by_cpu))?;
        out.optional_text(rows.iter().map(|row| row.sent_by_task.as_deref()))?;
        out.optional_u64(rows.iter().map(|row| row.steal_ns))
    }

    fn decode(input: &mut Decoder) -> Result<Vec<Self>, String> {
        let mut start = input.u64("start_ticks")?;
        let mut end = input.u64("end_ticks")?;
        let mut own = input.u64("self_ticks")?;
        let mut detour = input.u64("detour")?;
        let mut parent = input.optional_u32("parent")?;
        let mut kind = input.text("kind")?;
        let mut source = input.text("source")?;
        let mut name = input.text("name")?;
        let mut function = input.optional_text("function")?;
        let mut state = input.text("victim_state")?;
        let mut by_cpu = input.optional_u32("sent_by_cpu")?;
        let mut by_task = input.optional_text("sent_by_task")?;
        let mut steal = input.optional_u64("steal_ns")?;
        // The decoder has checked that all columns are equally long.
        let mut next = |cpu| -> Option<Result<Self, String>> {
            let kind = match kind_of(&KINDS, &kind.next()?) {
                Ok(kind) => kind,
                Err(why) => return Some(Err(why)),
            };
            Some(Ok(Self {
                cpu,
                start_ticks: start.next()?,
                end_ticks: end.next()?,
                self_ticks: own.next()?,
                detour: detour.next()?,
                parent: parent.next()?,
                kind,
                source: source.next()?,
                name: name.next()?,
                function: function.next()?,
                victim_state: state.next()?,
                sent_by_cpu: by_cpu.next()?,
                sent_by_task: by_task.next()?,
                steal_ns: steal.next()?,
            }))
        };
        input.u32("cpu")?.map_while(&mut next).collect()
    }
}
