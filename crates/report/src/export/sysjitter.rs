//! The table that sysjitter prints: a column for each CPU.

use super::hgrm::{empty, record};
use super::{Export, Format, Holds, Recorded};
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Clock, Problem, Stint};
use hdrhistogram::Histogram;
use std::io::{self, Write};

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "sysjitter",
    title: "sysjitter's table: percentiles of each CPU",
    details: "Scripts that plot the output of sysjitter read it, and so does `column -t`. As in sysjitter, an interruption is the \
              whole time between two readings of the counter, the loop's own iteration included, and cpu_mhz is the rate \
              of the counter. Percentiles carry three digits; minimum, mean, maximum and total are exact.",
    extension: "txt",
    binary: false,
    holds: Holds::Detours,
    takes: &[Recorded::Loops],
    options: &[],
    examples: "  anechoic export sysjitter before | column -t",
    write,
};

/// Percentiles in the order of the table, each with the share of interruptions that are shorter.
const PERCENTILES: [(&str, f64); 5] = [
    ("int_90", 0.9),
    ("int_99", 0.99),
    ("int_999", 0.999),
    ("int_9999", 0.9999),
    ("int_99999", 0.99999),
];

/// Interruptions of one CPU, in ticks.
struct Column {
    cpu: u32,
    runtime: u64,
    threshold: u64,
    lengths: Histogram<u64>,
    min: u64,
    max: u64,
    total: u64,
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let columns: Result<Vec<Column>, Problem> =
        export.cpus().map(|cpu| Column::read(export, cpu)).collect();
    Ok(table(&columns?, &export.run().clock, out)?)
}

impl Column {
    fn read(export: &Export<'_>, cpu: (&CpuRun, &[Stint])) -> Result<Self, Problem> {
        let lengths = |stint: &Stint| stint.last_ticks.saturating_sub(stint.first_ticks);
        let mut column = Self {
            cpu: cpu.0.cpu,
            runtime: cpu.1.iter().map(lengths).fold(0, u64::saturating_add),
            threshold: cpu.1.iter().map(|stint| stint.threshold_ticks).max().unwrap_or(0),
            lengths: empty(),
            min: u64::MAX,
            max: 0,
            total: 0,
        };
        export.bare_detours(cpu, |detour| {
            let ticks = detour.gap_ticks();
            record(&mut column.lengths, ticks);
            (column.min, column.max) = (column.min.min(ticks), column.max.max(ticks));
            column.total = column.total.saturating_add(ticks);
            Ok(())
        })?;
        Ok(column)
    }

    /// Returns the interruption before which this share of all lies when they are sorted, and 0 if there is none.
    fn after(&self, share: f64) -> u64 {
        let index = (self.lengths.len() as f64 * share) as u64;
        let mut passed = 0;
        let mut cells = self.lengths.iter_recorded();
        let cell = cells.find(|cell| {
            passed += cell.count_at_value();
            passed > index
        });
        cell.map_or(0, |cell| {
            self.lengths.median_equivalent(cell.value_iterated_to()).clamp(self.min, self.max)
        })
    }

    fn number(&self) -> u64 {
        self.lengths.len()
    }
}

/// Writes the rows of sysjitter 1.4 in its order and notation.
fn table(columns: &[Column], clock: &Clock, out: &mut dyn Write) -> io::Result<()> {
    let mut row = |label: &str, value: &dyn Fn(&Column) -> String| {
        let values: Vec<String> =
            columns.iter().map(|column| format!(" {}", value(column))).collect();
        writeln!(out, "{label}:{}", values.concat())
    };
    let per = |part: u64, whole: f64| if whole > 0.0 { part as f64 / whole } else { 0.0 };
    let mean = |column: &Column| column.total.checked_div(column.number()).unwrap_or(0);
    let megahertz = (clock.frequency_millihertz + 500_000_000) / 1_000_000_000;
    row("core_i", &|column| column.cpu.to_string())?;
    row("threshold(ns)", &|column| clock.ns(column.threshold).to_string())?;
    row("cpu_mhz", &|_| megahertz.to_string())?;
    row("runtime(ns)", &|column| clock.ns(column.runtime).to_string())?;
    row("runtime(s)", &|column| format!("{:.3}", clock.seconds(column.runtime)))?;
    row("int_n", &|column| column.number().to_string())?;
    row("int_n_per_sec", &|column| {
        format!("{:.3}", per(column.number(), clock.seconds(column.runtime)))
    })?;
    row("int_min(ns)", &|column| {
        clock.ns(if column.number() == 0 { 0 } else { column.min }).to_string()
    })?;
    row("int_median(ns)", &|column| clock.ns(column.after(0.5)).to_string())?;
    row("int_mean(ns)", &|column| clock.ns(mean(column)).to_string())?;
    for (label, share) in PERCENTILES {
        row(&format!("{label}(ns)"), &|column| clock.ns(column.after(share)).to_string())?;
    }
    row("int_max(ns)", &|column| clock.ns(column.max).to_string())?;
    row("int_total(ns)", &|column| clock.ns(column.total).to_string())?;
    row("int_total(%)", &|column| {
        format!("{:.3}", 100.0 * per(column.total, column.runtime as f64))
    })
}
