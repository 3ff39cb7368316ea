//! The percentiles of all durations, as HdrHistogram prints them.

use super::{Export, Format, Holds, Recorded};
use crate::style::plain;
use anechoic_analyze::waits::{released_names, releases_are_known};
use anechoic_recording::options::{OptionRow, Value};
use anechoic_recording::{Problem, ProblemKind, Release, Run};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
              wake-ups, in microseconds, of all exported CPUs together; with --releases the latencies of a program's thread that timers \
              released.",
    extension: "hgrm",
    binary: false,
    holds: Holds::Detours,
    takes: &[Recorded::Loops, Recorded::Program, Recorded::WakeUps],
    options: OPTIONS,
    examples: "  anechoic export hgrm before -o before.hgrm
  anechoic export hgrm --releases --thread control program -o control.hgrm",
    write,
};

static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "releases",
        Value::Flag,
        "",
        "Write how late timers released a program's thread, or a pool of them",
    ),
    OptionRow::new(
        "thread",
        Value::Path,
        "NAME",
        "Name of that thread or pool, as `anechoic summary` shows it, without its number and × N [default: the only one]",
    )
    .requires("releases"),
];

/// The event that shows for which time a timer is set.
const PROGRAMMED: &str = "timer:hrtimer_start";

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
        let (name, histogram) = releases(export)?;
        finish(export, &histogram, out)?;
        return Ok(writeln!(out, "# releases of {}", plain(&name))?);
    }
    for cpu in export.cpus() {
        export.lengths(cpu, |_, ticks| {
            record(&mut histogram, clock.ns(ticks));
            Ok(())
        })?;
    }
    finish(export, &histogram, out)
}

/// Returns the latencies of the releases of a program's threads of one name, and that name: the one that is asked for, or the only
/// one.
fn releases(export: &Export<'_>) -> Result<(Arc<str>, Histogram<u64>), Problem> {
    let recording = export.recording();
    let refused = |kind: ProblemKind, why: String, remedy: &str| {
        kind.problem(why, remedy).about(recording.dir().display())
    };
    if !releases_are_known(recording) {
        let why = "it has no releases of a program's threads".to_owned();
        return Err(refused(ProblemKind::Data, why, remedy(export.run())));
    }
    let names = released_names(recording)?;
    let mut by_name: BTreeMap<Arc<str>, Histogram<u64>> = BTreeMap::new();
    for release in recording.rows::<Release>().each() {
        let Release { cpu, thread, due_ticks, end_ticks, .. } = release?;
        if let Some(name) = names.get(&thread).filter(|_| export.has(cpu)) {
            let histogram = by_name.entry(Arc::clone(name)).or_insert_with(empty);
            record(histogram, export.run().clock.ns(end_ticks.saturating_sub(due_ticks)));
        }
    }
    let all = by_name.keys().map(|name| &**name).collect::<Vec<_>>().join(", ");
    let wanted = export.answers.given::<PathBuf>("thread");
    if by_name.is_empty() {
        let why = "no timer released a thread of the program on the exported CPUs".to_owned();
        return Err(refused(
            ProblemKind::Data,
            why,
            "`anechoic summary` shows what woke its threads",
        ));
    }
    match wanted.as_deref().and_then(Path::to_str) {
        Some(wanted) => by_name.remove_entry(wanted).ok_or_else(|| {
            let why = format!("no timer released a thread '{wanted}'");
            refused(ProblemKind::Usage, why, &format!("name one that is there: {all}"))
        }),
        None if by_name.len() > 1 => {
            let why = format!(
                "timers released threads of {} names, which is one file each",
                by_name.len()
            );
            Err(refused(ProblemKind::Usage, why, &format!("name one with --thread: {all}")))
        }
        None => Ok(by_name.pop_first().unwrap_or_else(|| ("".into(), empty()))),
    }
}

/// Returns how to get the releases that a recording has not.
fn remedy(run: &Run) -> &'static str {
    let mut events = run.trace.iter().flat_map(|trace| &trace.events);
    match (&run.program, events.any(|event| event.name == PROGRAMMED)) {
        (None, _) => "`anechoic record` finds those of a program",
        (Some(_), true) => "`anechoic attribute` derives them from its events",
        (Some(_), false) => "its events do not show when timers were set: record it again",
    }
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
