//! The table of CPUs with the noise of each.

use super::releases;
use crate::screen::Screen;
use crate::style::View;
use crate::table::Table;
use crate::units::{counted, cpu_list, length, noise, noise_bounds, rate, span, telling, time};
use anechoic_analyze::Summary;
use anechoic_analyze::lengths::Lengths;
use anechoic_analyze::noise::CpuNoise;
use anechoic_analyze::stats::Interval;

/// With more CPUs than this the table shows only the noisiest.
const MOST_ROWS: usize = 16;
/// Number of CPUs in a shortened table.
const WORST: usize = 8;
const HEADS: [&str; 10] =
    ["CPU", "noise", "95 %", "per s", "p50", "p99", "max", "p50", "p99", "shortest"];
/// The same for a program, whose parts are not alike, so that its share has no interval.
const HEADS_OF_PROGRAM: [&str; 9] =
    ["CPU", "lost", "per s", "p50", "p99", "max", "p50", "p99", "ran"];
/// Titles of groups of columns and the number of columns in each: quantiles by count, then by time.
const GROUPS: [(&str, usize); 4] = [("", 4), ("detour lengths", 3), ("by time", 2), ("gap", 1)];
/// The same for a program, of which no gaps are known.
const GROUPS_OF_PROGRAM: [(&str, usize); 3] = [("", 3), ("detour lengths", 3), ("by time", 2)];

/// Number of CPUs in a brief table.
const FEW: usize = 4;
/// The columns that a brief table leaves out: the quantiles by time, and the last one unless it is that of a program.
const LEFT_OUT: usize = 2;

/// Adds the table and its warnings.
pub(crate) fn all(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let folded = summary.cpus.len() > MOST_ROWS && !view.all;
    let (heads, groups): (&[&str], &[(&str, usize)]) = match is_of_program(summary) {
        true => (&HEADS_OF_PROGRAM, &GROUPS_OF_PROGRAM),
        false => (&HEADS, &GROUPS),
    };
    let mut table = Table::numeric(heads).grouped(groups).captioned(caption(summary));
    for cpu in if folded { worst(&summary.cpus) } else { summary.cpus.iter().collect() } {
        table.row(cpu_row(cpu, is_of_program(summary)));
    }
    if summary.cpus.len() > 1 {
        table.row(total_row(summary));
    }
    screen.table(table);
    if folded {
        screen.note(&spread(&summary.cpus, WORST));
    }
    screen.note(columns(summary));
    // A program has no interval for another reason, which the certainty of the run states.
    if !is_of_program(summary) {
        let all = summary.cpus.iter().map(|cpu| (cpu.noise, cpu.interval, cpu.at_least));
        let total = &summary.total;
        bounds_notes(all.chain([(total.noise, total.interval, total.at_least)]), screen);
    }
    warnings(summary).iter().for_each(|warning| screen.warning(warning));
}

/// Adds a table of a few CPUs, the noisiest first if there are more, and its warnings.
pub(crate) fn add_briefly(summary: &Summary, screen: &mut Screen) {
    let of_program = is_of_program(summary);
    let (heads, groups) = match of_program {
        true => (briefly(HEADS_OF_PROGRAM.to_vec(), true), &GROUPS_OF_PROGRAM[..2]),
        false => (briefly(HEADS.to_vec(), false), &GROUPS[..2]),
    };
    let mut table = Table::numeric(&heads).grouped(groups).captioned(caption(summary));
    // A screen with a table of releases has room for all CPUs together only.
    let few = if releases::shown(summary).is_empty() || summary.cpus.len() == 1 { FEW } else { 0 };
    let folded = summary.cpus.len() > FEW && few > 0;
    let shown = if folded { worst(&summary.cpus) } else { summary.cpus.iter().collect() };
    let rows = shown.into_iter().take(few).map(|cpu| cpu_row(cpu, of_program));
    let total = (summary.cpus.len() > 1).then(|| total_row(summary));
    rows.chain(total).for_each(|row| table.row(briefly(row, of_program)));
    screen.table(table);
    if folded {
        screen.note(&spread(&summary.cpus, FEW));
    }
    warnings(summary).iter().for_each(|warning| screen.warning(warning));
}

/// Leaves out of a row what a brief table has not.
fn briefly<T>(mut row: Vec<T>, is_program: bool) -> Vec<T> {
    let last = row.pop().filter(|_| is_program);
    row.truncate(row.len() - LEFT_OUT);
    row.extend(last);
    row
}

fn caption(summary: &Summary) -> &'static str {
    if is_of_program(summary) { "Lost time on each CPU" } else { "Noise of each CPU" }
}

/// Explains the columns whose heads do not.
fn columns(summary: &Summary) -> &'static str {
    match is_of_program(summary) {
        true => {
            "by time: half or 99 % of the lost time lies in detours up to this length. ran: time in which the program executed \
             there; shares refer to this and the lost time together, rates to the time from start to end."
        }
        false => {
            "by time: half or 99 % of the lost time lies in detours up to this length. shortest gap: between two readings of the \
             counter; subtracted from each detour."
        }
    }
}

/// Explains lower bounds and missing intervals in the column of intervals of these shares of noise.
pub(crate) fn bounds_notes(
    shares: impl Iterator<Item = (f64, Option<Interval>, Option<f64>)>,
    screen: &mut Screen,
) {
    let cells: Vec<_> =
        shares.map(|(share, interval, least)| telling(share, interval, least)).collect();
    if cells.iter().any(|cell| matches!(cell, (None, Some(_)))) {
        screen.note(
            "≥ under 95 %: lower bound (97.5 %), where few events decide or detours were lost",
        );
    }
    if cells.contains(&(None, None)) {
        screen.note(
            "– under 95 %: no interval, because of too few events, too short a run, or lost detours",
        );
    }
}

fn worst(cpus: &[CpuNoise]) -> Vec<&CpuNoise> {
    let mut worst: Vec<&CpuNoise> = cpus.iter().collect();
    worst.sort_by(|a, b| b.noise.total_cmp(&a.noise).then(a.cpu.cmp(&b.cpu)));
    worst.truncate(WORST);
    worst
}

fn is_of_program(summary: &Summary) -> bool {
    summary.run.program.is_some()
}

/// Returns for how long a program executed, of the time in which it executed or wanted to.
fn ran(noise: f64, wall_ns: u64) -> String {
    span(((1.0 - noise) * wall_ns as f64).round() as u64)
}

fn cpu_row(cpu: &CpuNoise, is_program: bool) -> Vec<String> {
    let mut row = vec![cpu.cpu.to_string()];
    row.extend(noise_cells(
        (cpu.noise, cpu.interval, cpu.at_least),
        cpu.lost_detours,
        cpu.rate_per_s,
        is_program,
    ));
    row.extend(length_cells(cpu.lengths.as_ref()));
    row.push(match is_program {
        true => ran(cpu.noise, cpu.wall_ns),
        false => time(cpu.subtracted_ns),
    });
    row
}

fn total_row(summary: &Summary) -> Vec<String> {
    let total = &summary.total;
    let shortest = summary.cpus.iter().map(|cpu| cpu.subtracted_ns).reduce(f64::min);
    let mut row = vec!["all".to_owned()];
    let noise = (total.noise, total.interval, total.at_least);
    let is_program = is_of_program(summary);
    row.extend(noise_cells(noise, total.lost_detours, total.rate_per_s, is_program));
    row.extend(length_cells(total.lengths.as_ref()));
    row.push(match is_program {
        true => ran(total.noise, total.wall_ns),
        false => shortest.map_or("–".into(), time),
    });
    row
}

fn noise_cells(
    (share, interval, least): (f64, Option<Interval>, Option<f64>),
    lost: u64,
    per_s: f64,
    is_program: bool,
) -> Vec<String> {
    let at_least = if lost > 0 { "≥" } else { "" };
    let mut cells = vec![format!("{at_least}{}", noise(share))];
    cells.extend((!is_program).then(|| noise_bounds(share, interval, least)));
    cells.push(rate(per_s));
    cells
}

fn length_cells(lengths: Option<&Lengths>) -> [String; 5] {
    let Some(l) = lengths else { return std::array::from_fn(|_| "–".into()) };
    [l.p50_ns, l.p99_ns, l.max_ns, l.p50_by_time_ns, l.p99_by_time_ns].map(length)
}

/// Describes the distribution of noise over many CPUs, of which the noisiest are shown.
fn spread(cpus: &[CpuNoise], shown: usize) -> String {
    let mut sorted: Vec<f64> = cpus.iter().map(|cpu| cpu.noise).collect();
    sorted.sort_by(f64::total_cmp);
    let [least, median, p90] = [0.0, 0.5, 0.9]
        .map(|quantile| noise(sorted[((sorted.len() - 1) as f64 * quantile).round() as usize]));
    let all = sorted.len();
    format!("{shown} noisiest of {all} CPUs; noise of all: min {least}, median {median}, p90 {p90}")
}

/// Returns what makes the numbers of the table less reliable than they look.
fn warnings(summary: &Summary) -> Vec<String> {
    let mut warnings = vec![];
    if summary.total.lost_detours > 0 {
        let lost = counted(summary.total.lost_detours, "detour was", "detours were");
        warnings.push(format!("{lost} lost: the noise is at least the value shown"));
    }
    if summary.total.page_faults > 0 {
        let faults = counted(summary.total.page_faults, "page fault", "page faults");
        warnings.push(format!(
            "{faults} occurred in the measuring loops, because the kernel moved or reclaimed their pages: the time counts as noise"
        ));
    }
    let moved: Vec<u32> = summary.cpus.iter().filter_map(|c| c.ended_on.map(|_| c.cpu)).collect();
    if !moved.is_empty() {
        let moved = cpu_list(&moved);
        warnings.push(format!("the loops of CPU {moved} ended on another CPU"));
    }
    warnings
}
