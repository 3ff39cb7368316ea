//! The tables `samples` and `series`.

use crate::decode::Decoder;
use crate::encode::Encoder;
use crate::layout::{CPU, CpuRow, END, END_NS, Row, START, START_NS, kind_of, text_of};
use crate::parallel::Meeting;
use crate::rows::{Fixed, Sample, Series};
use crate::table::{Column, Kind, Table};
use parquet::errors::ParquetError;

const MEETINGS: [(Meeting, &str); 3] = [
    (Meeting::Barrier, Meeting::Barrier.name()),
    (Meeting::Allreduce, Meeting::Allreduce.name()),
    (Meeting::Nothing, Meeting::Nothing.name()),
];
const FIXED: [(Fixed, &str); 2] = [(Fixed::Work, "work"), (Fixed::Time, "time")];

impl CpuRow for Sample {}

impl Row for Sample {
    const TABLE: Table = Table {
        name: "samples",
        columns: &[
            Column::new("series", Kind::U32),
            Column::new("index", Kind::Rising),
            CPU,
            START,
            END,
            START_NS,
            END_NS,
            Column::new("count", Kind::U64),
        ],
    };
    const ORDERED: bool = true;

    fn cpu(&self) -> Option<u32> {
        Some(self.cpu)
    }

    /// The series: copies of the work ran on their CPU at the same time.
    fn strand(&self) -> u32 {
        self.series
    }

    fn span(&self) -> (u64, u64) {
        (self.start_ticks, self.end_ticks)
    }

    fn encode(rows: &[Self], out: &mut Encoder) -> Result<(), ParquetError> {
        out.u32(rows.iter().map(|row| row.series))?;
        out.u64(rows.iter().map(|row| row.index))?;
        out.u32(rows.iter().map(|row| row.cpu))?;
        out.u64(rows.iter().map(|row| row.start_ticks))?;
        out.u64(rows.iter().map(|row| row.end_ticks))?;
        out.ns(rows.iter().map(|row| row.start_ticks))?;
        out.ns(rows.iter().map(|row| row.end_ticks))?;
        out.u64(rows.iter().map(|row| row.count))
    }

    fn decode(input: &mut Decoder) -> Result<Vec<Self>, String> {
        let rows = input.u32("series")?.zip(input.u64("index")?).zip(input.u32("cpu")?);
        let rows = rows.zip(input.u64("start_ticks")?).zip(input.u64("end_ticks")?);
        let row = |(((((series, index), cpu), start_ticks), end_ticks), count)| Self {
            series,
            index,
            cpu,
            start_ticks,
            end_ticks,
            count,
        };
        Ok(rows.zip(input.u64("count")?).map(row).collect())
    }
}

impl Row for Series {
    const TABLE: Table = Table {
        name: "series",
        columns: &[
            Column::new("series", Kind::U32),
            Column::new("method", Kind::Text),
            Column::new("variant", Kind::Text),
            Column::optional("cpu", Kind::U32),
            Column::new("tid", Kind::I32),
            Column::new("policy", Kind::Text),
            Column::new("grain_ticks", Kind::U64),
            Column::new("fixed", Kind::Text),
            Column::new("iterations", Kind::U64),
            Column::new("calibrated_ticks", Kind::U64),
            Column::new("instructions", Kind::U32),
            Column::new("megaiteration_ticks", Kind::U64),
            Column::new("megacycle_ticks", Kind::U64),
            Column::optional("step_iterations", Kind::U64),
            Column::optional("step_ticks", Kind::U64),
            Column::optional("threshold_ticks", Kind::U64),
            Column::new("asked", Kind::U64),
            Column::optional("maiv_ppm", Kind::U32),
            Column::new("round", Kind::U32),
            Column::new("copies", Kind::U32),
            Column::optional("injection", Kind::U32),
            Column::optional("rank", Kind::U32),
            Column::optional("meeting", Kind::Text),
        ],
    };

    /// The table is small: it is not split by CPU.
    fn cpu(&self) -> Option<u32> {
        None
    }

    fn span(&self) -> (u64, u64) {
        (0, 0)
    }

    fn encode(rows: &[Self], out: &mut Encoder) -> Result<(), ParquetError> {
        out.u32(rows.iter().map(|row| row.series))?;
        out.text(rows.iter().map(|row| row.method.as_str()))?;
        out.text(rows.iter().map(|row| row.variant.as_str()))?;
        out.optional_u32(rows.iter().map(|row| row.cpu))?;
        out.i32(rows.iter().map(|row| row.tid))?;
        out.text(rows.iter().map(|row| row.policy.as_str()))?;
        out.u64(rows.iter().map(|row| row.grain_ticks))?;
        out.text(rows.iter().map(|row| text_of(&FIXED, row.fixed)))?;
        out.u64(rows.iter().map(|row| row.iterations))?;
        out.u64(rows.iter().map(|row| row.calibrated_ticks))?;
        out.u32(rows.iter().map(|row| row.instructions))?;
        out.u64(rows.iter().map(|row| row.megaiteration_ticks))?;
        out.u64(rows.iter().map(|row| row.megacycle_ticks))?;
        out.optional_u64(rows.iter().map(|row| row.step_iterations))?;
        out.optional_u64(rows.iter().map(|row| row.step_ticks))?;
        out.optional_u64(rows.iter().map(|row| row.threshold_ticks))?;
        out.u64(rows.iter().map(|row| row.asked))?;
        out.optional_u32(rows.iter().map(|row| row.maiv_ppm))?;
        out.u32(rows.iter().map(|row| row.round))?;
        out.u32(rows.iter().map(|row| row.copies))?;
        out.optional_u32(rows.iter().map(|row| row.injection))?;
        out.optional_u32(rows.iter().map(|row| row.rank))?;
        out.optional_text(rows.iter().map(|row| row.meeting.map(Meeting::name)))
    }

    fn decode(input: &mut Decoder) -> Result<Vec<Self>, String> {
        let mut method = input.string("method")?;
        let mut variant = input.string("variant")?;
        let mut cpu = input.optional_u32("cpu")?;
        let mut tid = input.i32("tid")?;
        let mut policy = input.string("policy")?;
        let mut grain = input.u64("grain_ticks")?;
        let mut fixed = input.text("fixed")?;
        let mut iterations = input.u64("iterations")?;
        let mut calibrated = input.u64("calibrated_ticks")?;
        let mut instructions = input.u32("instructions")?;
        let mut megaiteration = input.u64("megaiteration_ticks")?;
        let mut megacycle = input.u64("megacycle_ticks")?;
        let mut step_iterations = input.optional_u64("step_iterations")?;
        let mut step = input.optional_u64("step_ticks")?;
        let mut threshold = input.optional_u64("threshold_ticks")?;
        let mut asked = input.u64("asked")?;
        let mut maiv = input.optional_u32("maiv_ppm")?;
        let mut round = input.u32("round")?;
        let mut copies = input.u32("copies")?;
        let mut injection = input.optional_u32("injection")?;
        let mut rank = input.optional_u32("rank")?;
        let mut meeting = input.optional_text("meeting")?;
        // The decoder has checked that all columns are equally long.
        let next = |series| {
            let fixed = match kind_of(&FIXED, &fixed.next()?) {
                Ok(fixed) => fixed,
                Err(why) => return Some(Err(why)),
            };
            let meeting = match meeting.next()?.map(|name| kind_of(&MEETINGS, &name)).transpose() {
                Ok(meeting) => meeting,
                Err(why) => return Some(Err(why)),
            };
            Some(Ok(Self {
                series,
                method: method.next()?,
                variant: variant.next()?,
                cpu: cpu.next()?,
                tid: tid.next()?,
                policy: policy.next()?,
                grain_ticks: grain.next()?,
                fixed,
                iterations: iterations.next()?,
                calibrated_ticks: calibrated.next()?,
                instructions: instructions.next()?,
                megaiteration_ticks: megaiteration.next()?,
                megacycle_ticks: megacycle.next()?,
                step_iterations: step_iterations.next()?,
                step_ticks: step.next()?,
                threshold_ticks: threshold.next()?,
                asked: asked.next()?,
                maiv_ppm: maiv.next()?,
                round: round.next()?,
                copies: copies.next()?,
                injection: injection.next()?,
                rank: rank.next()?,
                meeting,
            }))
        };
        input.u32("series")?.map_while(next).collect()
    }
}
