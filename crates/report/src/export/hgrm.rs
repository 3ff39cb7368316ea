//! The percentiles of all durations, as HdrHistogram prints them.

use super::{Export, Format, Holds};
use anechoic_analyze::waits::releases_are_known;
use anechoic_recording::options::{OptionRow, Value};
use anechoic_recording::{Problem, ProblemKind, Release};
use hdrhistogram::Histogram;
use std::io::Write;

/// Significant digits, as HdrHistogram's own tools use them, and the number of sub-buckets that follows.
const DIGITS: u8 = 3;
const SUB_BUCKETS: u32 = 2048;
/// Steps between two halvings of the distance to 100 %, as in HdrHistogram's own tools.
const STEPS_PER_HALF: u32 = 5;

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "hgrm",
    title: "HdrHistogram's percentile distribution (.hgrm)",
    details: "HdrHistogram's plotter (plotFiles.html) and the tools of wrk2 draw it. Values are the durations of detours, or of \
              wake-ups, in microseconds, of all exported CPUs together; with --releases the latencies of a program's threads that timers \
              released.",
    extension: "hgrm",
    binary: false,
    holds: Holds::Detours,
    loops_only: false,
    wakeups: true,
    options: OPTIONS,
    examples: "  anechoic export hgrm before -o before.hgrm
  anechoic export hgrm --releases program -o releases.hgrm",
    write,
};

static OPTIONS: &[OptionRow] = &[OptionRow::new(
    "releases",
    Value::Flag,
    "",
    "Write how late timers released a program's threads",
)];

/// Returns an empty histogram, which takes any value.
pub(super) fn empty() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("three digits are within 0..=5")
}

/// Adds one value.
pub(super) fn record(histogram: &mut Histogram<u64>, value: u64) {
    histogram.record(value).expect("a histogram that resizes itself takes any value");
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let (clock, mut histogram) = (&export.run().clock, empty());
    if export.answers.flag("releases") {
        add_releases(export, &mut histogram)?;
        return finish(export, &histogram, out);
    }
    for cpu in export.cpus() {
        export.lengths(cpu, |_, ticks| {
            record(&mut histogram, clock.ns(ticks));
            Ok(())
        })?;
    }
    finish(export, &histogram, out)
}

/// Adds the latencies of the releases of a program's threads.
fn add_releases(export: &Export<'_>, histogram: &mut Histogram<u64>) -> Result<(), Problem> {
    let recording = export.recording();
    if !releases_are_known(recording) {
        let why = "it has no releases of a program's threads";
        let remedy = "`anechoic record` finds them; `anechoic attribute` derives them for an older recording of a program";
        return Err(ProblemKind::Data.problem(why, remedy).about(recording.dir().display()));
    }
    for release in recording.rows::<Release>().each() {
        let Release { cpu, due_ticks, end_ticks, .. } = release?;
        if export.has(cpu) {
            record(histogram, export.run().clock.ns(end_ticks.saturating_sub(due_ticks)));
        }
    }
    Ok(())
}

fn finish(
    export: &Export<'_>,
    histogram: &Histogram<u64>,
    out: &mut dyn Write,
) -> Result<(), Problem> {
    distribution(histogram, out)?;
    for line in export.comments() {
        writeln!(out, "# {line}")?;
    }
    Ok(())
}

/// Writes what `outputPercentileDistribution` of HdrHistogram's Java library does.
fn distribution(histogram: &Histogram<u64>, out: &mut dyn Write) -> std::io::Result<()> {
    let micros = |ns: u64| ns as f64 / 1e3;
    let head = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", head[0], head[1], head[2], head[3])?;
    let mut count = 0;
    for step in histogram.iter_quantiles(STEPS_PER_HALF) {
        count += step.count_since_last_iteration();
        let (value, share) = (micros(step.value_iterated_to()), step.quantile_iterated_to());
        write!(out, "{value:12.3} {share:.12} {count:10}")?;
        match share < 1.0 {
            true => writeln!(out, " {:14.2}", 1.0 / (1.0 - share))?,
            false => writeln!(out)?,
        }
    }
    let (mean, deviation) = (histogram.mean() / 1e3, histogram.stdev() / 1e3);
    writeln!(out, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]")?;
    let (max, count) = (micros(histogram.max()), histogram.len());
    writeln!(out, "#[Max     = {max:12.3}, Total count    = {count:12}]")?;
    writeln!(out, "#[Buckets = {:12}, SubBuckets     = {SUB_BUCKETS:12}]", histogram.buckets())
}
