//! The histogram of wake-up latencies, as cyclictest prints it.

use super::{Export, Format, Holds, Recorded};
use anechoic_recording::Problem;
use anechoic_recording::options::{OptionRow, Value};
use std::collections::BTreeMap;
use std::io::Write;

/// Number of the first overflows whose cycle is listed, as in cyclictest.
const LISTED: usize = 40;

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "cyclictest",
    title: "cyclictest's histogram of wake-up latencies (-h, --histfile)",
    details: "Scripts that draw the output of `cyclictest -h` read it, and `anechoic import cyclictest`. It has a column for each \
              CPU and a row for each microsecond; latencies are rounded down, as cyclictest does. Wake-ups of several \
              intervals, or with and without deep idle states, are files of their own.",
    extension: "hist",
    binary: false,
    holds: Holds::Wakeups,
    takes: &[Recorded::WakeUps],
    options: &[OptionRow::new(
        "histogram",
        Value::Count { least: 1, most: 10_000_000 },
        "US",
        "Number of rows, each of a microsecond; longer latencies are overflows",
    )
    .default("10000")],
    examples: "  anechoic export cyclictest wakeup -o wakeup.hist",
    write,
};

/// The latencies of a CPU in whole microseconds.
#[derive(Default)]
struct Column {
    cpu: u32,
    counts: BTreeMap<u64, u64>,
    cycles: u64,
    /// Number of wake-ups that were measured and not stored.
    lost: u64,
    sum_us: u64,
    least_us: u64,
    most_us: u64,
    last_us: u64,
    overflows: u64,
    /// The cycles of the first overflows.
    listed: Vec<u64>,
}

impl Column {
    fn add(&mut self, us: u64, rows: u64) {
        self.least_us = if self.cycles == 0 { us } else { self.least_us.min(us) };
        (self.most_us, self.last_us) = (self.most_us.max(us), us);
        if us < rows {
            *self.counts.entry(us).or_default() += 1;
        } else {
            self.overflows += 1;
            if self.listed.len() < LISTED {
                self.listed.push(self.cycles);
            }
        }
        self.sum_us = self.sum_us.saturating_add(us);
        self.cycles += 1;
    }

    fn average(&self) -> u64 {
        self.sum_us / self.cycles.max(1)
    }
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let rows = export.answers.one::<u64>("histogram")?;
    let mut columns: Vec<Column> = vec![];
    for cpu in export.cpus() {
        let lost = export.lost_wakeups(cpu.0.cpu);
        let mut column = Column { cpu: cpu.0.cpu, lost, ..Column::default() };
        export.lengths(cpu, |_, ticks| {
            column.add(export.run().clock.ns(ticks) / 1_000, rows);
            Ok(())
        })?;
        columns.push(column);
    }
    for line in export.comments() {
        writeln!(out, "# {line}")?;
    }
    let cpus: Vec<String> = columns.iter().map(|column| column.cpu.to_string()).collect();
    writeln!(out, "# CPUs {}", cpus.join(" "))?;
    for (number, column) in columns.iter().enumerate() {
        status(export, (number, column), out)?;
    }
    histogram(&columns, rows, out)?;
    footer(&columns, out)?;
    Ok(())
}

/// Writes the line that cyclictest shows of a thread.
fn status(
    export: &Export<'_>,
    (number, column): (usize, &Column),
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let series = export.series_of(column.cpu);
    let tid = series.map_or(0, |series| series.tid);
    let interval_us = export.kind().map_or(0, |kind| kind.interval_ns / 1_000);
    let policy = series.map(|series| series.policy.to_string()).unwrap_or_default();
    let priority: u32 = policy.rsplit(' ').next().and_then(|last| last.parse().ok()).unwrap_or(0);
    writeln!(
        out,
        "T:{number:2} ({tid:5}) P:{priority:2} I:{interval_us} C:{:7} Min:{:7} Act:{:5} Avg:{:5} Max:{:8}",
        column.cycles,
        column.least_us,
        column.last_us,
        column.average(),
        column.most_us
    )
}

/// Writes a row for each microsecond up to the longest latency.
fn histogram(columns: &[Column], rows: u64, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "# Histogram")?;
    let longest = columns.iter().map(|column| column.most_us.saturating_add(1)).max().unwrap_or(0);
    for us in 0..longest.min(rows) {
        let count = |column: &Column| column.counts.get(&us).copied().unwrap_or(0);
        let counts: Vec<String> =
            columns.iter().map(|column| format!("{:06}", count(column))).collect();
        writeln!(out, "{us:06} {}", counts.join("\t"))?;
    }
    Ok(())
}

fn footer(columns: &[Column], out: &mut dyn Write) -> std::io::Result<()> {
    let line = |width: usize, value: fn(&Column) -> u64| -> String {
        columns.iter().map(|column| format!(" {:0width$}", value(column))).collect()
    };
    writeln!(out, "# Total:{}", line(9, |column| column.cycles - column.overflows))?;
    writeln!(out, "# Min Latencies:{}", line(5, |column| column.least_us))?;
    writeln!(out, "# Avg Latencies:{}", line(5, Column::average))?;
    writeln!(out, "# Max Latencies:{}", line(5, |column| column.most_us))?;
    writeln!(out, "# Histogram Overflows:{}", line(5, |column| column.overflows))?;
    if columns.iter().any(|column| column.lost > 0) {
        // cyclictest has no such line, and its readers skip comments that they do not know.
        writeln!(out, "# Lost:{}", line(5, |column| column.lost))?;
    }
    writeln!(out, "# Histogram Overflow at cycle number:")?;
    for (number, column) in columns.iter().enumerate() {
        let listed: String = column.listed.iter().map(|cycle| format!(" {cycle:05}")).collect();
        let others = match column.overflows - column.listed.len() as u64 {
            0 => String::new(),
            others => format!(" # {others:05} others"),
        };
        writeln!(out, "# Thread {number}:{listed}{others}")?;
    }
    Ok(())
}
