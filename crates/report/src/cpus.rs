//! The table of CPUs: how noisy each is.

use crate::style::{Tone, View, clip};
use crate::table::{Align, Table};
use crate::units::{count, cpu_list, length, noise, noise_interval, rate, time};
use anechoic_analyze::Summary;
use anechoic_analyze::bootstrap::Interval;
use anechoic_analyze::lengths::Lengths;
use anechoic_analyze::noise::CpuNoise;
use std::io::{self, Write};

/// More CPUs than this are folded to the worst of them.
const MOST_ROWS: usize = 16;
/// So many of the worst are shown then.
const WORST: usize = 8;
const HEADS: [(&str, Align); 10] = [
    ("CPU", Align::Right),
    ("noise", Align::Right),
    ("95 %", Align::Right),
    ("per s", Align::Right),
    ("p50", Align::Right),
    ("p99", Align::Right),
    ("max", Align::Right),
    ("p50", Align::Right),
    ("p99", Align::Right),
    ("min gap", Align::Right),
];
/// The columns of [`HEADS`] that quantiles by count and those by time begin with.
const BY_COUNT: usize = 4;
const BY_TIME: usize = 7;

/// What groups of columns show, and how many each has.
pub(crate) const GROUPS: [(&str, usize); 4] =
    [("", BY_COUNT), ("detour lengths", BY_TIME - BY_COUNT), ("by time", 2), ("", 1)];

/// Writes the table.
pub(crate) fn write(summary: &Summary, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let folded = summary.cpus.len() > MOST_ROWS && !view.all;
    let table = table(summary, folded).fit(view.columns());
    let (heading, rows) = table.lines();
    writeln!(out, "{}", view.style.paint(Tone::Quiet, &groups(&table)))?;
    writeln!(out, "{}", view.style.paint(Tone::Heading, heading.trim_end()))?;
    rows.iter().try_for_each(|row| writeln!(out, "{}", row.trim_end()))?;
    if folded {
        let line = spread(&summary.cpus);
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
    }
    warnings(summary, view, out)
}

/// A row a CPU, or of the worst, and one of all.
pub(crate) fn table(summary: &Summary, folded: bool) -> Table {
    let mut table = Table::new(&HEADS);
    for cpu in if folded { worst(&summary.cpus) } else { summary.cpus.iter().collect() } {
        table.row(cpu_row(cpu));
    }
    if summary.cpus.len() > 1 {
        table.row(total_row(summary));
    }
    table
}

/// The line over the heading that says what the quantiles are of.
fn groups(table: &Table) -> String {
    let widths = table.widths();
    let gap = table.gap();
    let end = |column: usize| widths[..column].iter().map(|w| w + gap).sum::<usize>();
    let mut line = " ".repeat(end(BY_COUNT));
    let rule = |label: &str, columns: usize| {
        let dashes = columns.saturating_sub(crate::style::width(label) + 2);
        format!("{} {label} {}", "─".repeat(dashes / 2), "─".repeat(dashes - dashes / 2))
    };
    line += &rule("detour lengths", end(BY_TIME) - end(BY_COUNT) - gap);
    line += &" ".repeat(gap);
    line += &rule("by time", end(BY_TIME + 2) - end(BY_TIME) - gap);
    line
}

fn worst(cpus: &[CpuNoise]) -> Vec<&CpuNoise> {
    let mut worst: Vec<&CpuNoise> = cpus.iter().collect();
    worst.sort_by(|a, b| b.noise.total_cmp(&a.noise).then(a.cpu.cmp(&b.cpu)));
    worst.truncate(WORST);
    worst
}

fn cpu_row(cpu: &CpuNoise) -> Vec<String> {
    let mut row = vec![cpu.cpu.to_string()];
    row.extend(noise_cells(cpu.noise, cpu.interval, cpu.lost_detours, cpu.rate_per_s));
    row.extend(length_cells(cpu.lengths.as_ref()));
    row.push(time(cpu.subtracted_ns));
    row
}

fn total_row(summary: &Summary) -> Vec<String> {
    let total = &summary.total;
    let shortest = summary.cpus.iter().map(|cpu| cpu.subtracted_ns).reduce(f64::min);
    let mut row = vec!["all".to_owned()];
    row.extend(noise_cells(total.noise, total.interval, total.lost_detours, total.rate_per_s));
    row.extend(length_cells(total.lengths.as_ref()));
    row.push(shortest.map_or("–".into(), time));
    row
}

fn noise_cells(share: f64, interval: Option<Interval>, lost: u64, per_s: f64) -> [String; 3] {
    let at_least = if lost > 0 { "≥" } else { "" };
    [
        format!("{at_least}{}", noise(share)),
        interval.map_or("–".into(), |i| noise_interval(share, i.low, i.high)),
        rate(per_s),
    ]
}

fn length_cells(lengths: Option<&Lengths>) -> [String; 5] {
    let Some(l) = lengths else { return std::array::from_fn(|_| "–".into()) };
    [l.p50_ns, l.p99_ns, l.max_ns, l.p50_by_time_ns, l.p99_by_time_ns].map(length)
}

/// How the noise of many CPUs is spread.
fn spread(cpus: &[CpuNoise]) -> String {
    let mut sorted: Vec<f64> = cpus.iter().map(|cpu| cpu.noise).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |quantile: f64| noise(sorted[((sorted.len() - 1) as f64 * quantile).round() as usize]);
    format!(
        "{WORST} worst of {}; noise of all CPUs: least {}, median {}, p90 {}",
        sorted.len(),
        at(0.0),
        at(0.5),
        at(0.9)
    )
}

/// What makes the table less than it seems.
fn warnings(summary: &Summary, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut warn = |text: String| writeln!(out, "{}", view.style.paint(Tone::Warning, &text));
    if summary.total.lost_detours > 0 {
        let lost = count(summary.total.lost_detours);
        warn(format!("! {lost} detours were lost: the noise is at least what is shown"))?;
    }
    if summary.total.page_faults > 0 {
        let faults = count(summary.total.page_faults);
        warn(format!("! {faults} page faults in the loops themselves: please report this"))?;
    }
    let moved: Vec<u32> = summary.cpus.iter().filter_map(|c| c.ended_on.map(|_| c.cpu)).collect();
    if !moved.is_empty() {
        let moved = cpu_list(&moved);
        warn(clip(
            &format!("! found on another CPU at the end: the loops of CPU {moved}"),
            view.columns(),
        ))?;
    }
    Ok(())
}
