//! Durations by CPU and time, as a log of HdrHistogram's intervals.

use super::hgrm::{empty, record};
use super::{Export, Format, Holds, Recorded};
use anechoic_recording::Problem;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// Number of lines that are kept until they are sorted by time; longer runs have longer intervals.
const MOST_LINES: u64 = 20_000;
/// Intervals in seconds: the shortest of them that suffices is used.
const INTERVALS_S: &[u64] = &[1, 2, 5, 10, 30, 60, 300, 600, 3_600, 21_600, 86_400];
/// The readers' own unit of `Interval_Max`: values are nanoseconds, the maximum is shown in milliseconds.
const MAX_UNIT: f64 = 1e6;

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "hdr-log",
    title: "HdrHistogram's interval log (V2, deflated)",
    details: "HistogramLogProcessor, HistogramLogAnalyzer and the libraries of HdrHistogram in Java, Python and Rust read it. \
              Values are the durations of detours, or of wake-ups, in nanoseconds. Each CPU is a tag (cpu0); its lines are intervals of one \
              second, or longer where more than 20,000 would be needed. An interval without detours has no line.",
    extension: "hlog",
    binary: false,
    holds: Holds::Detours,
    takes: &[Recorded::Loops, Recorded::Program, Recorded::WakeUps],
    options: &[],
    examples: "  anechoic export hdr-log before -o before.hlog",
    write,
};

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let interval = interval(export);
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let clock = &export.run().clock;
    let mut lines: Vec<(u64, Vec<u8>)> = vec![];
    for (cpu, stints) in export.cpus() {
        let tag = format!("cpu{}", cpu.cpu);
        let (mut histogram, mut current) = (empty(), 0);
        export.lengths((cpu, stints), |start_ticks, ticks| {
            let number = (export.since_start_ns(start_ticks) / interval_ns).min(MOST_LINES);
            if number != current {
                lines.extend(line(&mut histogram, &tag, current, interval)?);
                current = number;
            }
            record(&mut histogram, clock.ns(ticks));
            Ok(())
        })?;
        lines.extend(line(&mut histogram, &tag, current, interval)?);
    }
    lines.sort_by_key(|(number, _)| *number);
    header(export, out)?;
    Ok(lines.iter().try_for_each(|(_, line)| out.write_all(line))?)
}

/// Returns the length of the intervals.
fn interval(export: &Export<'_>) -> Duration {
    let length = |cpu: &anechoic_recording::run::CpuRun| {
        export.run().clock.seconds(cpu.last_ticks.saturating_sub(cpu.first_ticks))
    };
    let all: f64 = export.cpus().map(|(cpu, _)| length(cpu)).sum();
    let enough = |seconds: &&u64| **seconds as f64 * MOST_LINES as f64 >= all;
    let longest = INTERVALS_S.last().expect("the table is not empty");
    Duration::from_secs(*INTERVALS_S.iter().find(enough).unwrap_or(longest))
}

/// Writes the log's version, what it is of, and when it began, to which the times of its lines refer.
fn header(export: &Export<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("[Histogram log format version 1.3]");
    for line in export.comments() {
        builder.add_comment(&line);
    }
    if let Ok(start) = export.run().start_utc.parse::<jiff::Timestamp>() {
        builder.with_start_time(SystemTime::from(start)).with_base_time(SystemTime::from(start));
    }
    builder.begin_log_with(&mut &mut *out, &mut V2DeflateSerializer::new())?;
    let columns =
        ["StartTimestamp", "Interval_Length", "Interval_Max", "Interval_Compressed_Histogram"];
    writeln!(out, "{}", columns.map(|column| format!("\"{column}\"")).join(","))
}

/// Returns the line of an interval by its number, and empties the histogram. Without detours there is none.
fn line(
    histogram: &mut Histogram<u64>,
    tag: &str,
    number: u64,
    interval: Duration,
) -> Result<Option<(u64, Vec<u8>)>, Problem> {
    if histogram.is_empty() {
        return Ok(None);
    }
    let (mut line, mut serializer) = (vec![], V2DeflateSerializer::new());
    let start = interval.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX));
    let mut builder = IntervalLogWriterBuilder::new();
    builder.with_max_value_divisor(MAX_UNIT);
    let mut writer = builder.begin_log_with(&mut line, &mut serializer)?;
    let written = writer.write_histogram(histogram, start, interval, Tag::new(tag));
    written.map_err(io::Error::other)?;
    histogram.reset();
    let divisor = line.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    Ok(Some((number, line.split_off(divisor))))
}
