//! The table of what one tick costs each kernel on each CPU.

use super::{cell, identity, table};
use crate::results::measured::series::moved;
use crate::results::measured::ticks::speeds;
use crate::screen::Screen;
use crate::table::Table;
use crate::units::{count, counted, micros_exact, noise, share};
use anechoic_analyze::samples::tick_overhead::Overhead;
use anechoic_analyze::samples::{Measured, SeriesResult};
use anechoic_analyze::stats::Interval;

/// A column that only one of the suites has: its heading, and a cell for each series.
pub(super) struct Extra<'a> {
    pub(super) head: &'static str,
    pub(super) cell: &'a dyn Fn(&SeriesResult) -> String,
}

/// Returns whether any series of the set has an overhead.
pub(super) fn has_overhead(set: &Measured) -> bool {
    set.series.iter().any(|series| series.ticks.as_ref().is_some_and(|t| t.overhead.is_some()))
}

/// Returns the cost of a tick that comes alone.
pub(super) fn alone(series: &SeriesResult) -> Option<&Overhead> {
    series.ticks.as_ref()?.clean.as_ref()
}

/// Adds the number of ticks, the overhead of one and its parts, between the columns `first` and `last`. If the table is
/// too wide, the interval and then the number of ticks are left out. Unpinned series have no row.
pub(super) fn add(set: &Measured, first: &[Extra<'_>], last: &[Extra<'_>], screen: &mut Screen) {
    const OWN: [&str; 8] = ["ticks", "overhead", "alone", "±", "handler", "gaps", "indirect", "± "];
    let heads: Vec<&str> = heads(first).chain(OWN).chain(heads(last)).collect();
    let mut rows = table(set, &heads).leaving_out(&["± ", "±", "ticks"]);
    for series in set.series.iter().filter(|series| series.facts.cpu.is_some()) {
        let mut cells = identity(set, &series.facts);
        cells.extend(first.iter().map(|column| (column.cell)(series)));
        cells.extend(OWN.map(|head| part(series, head)));
        cells.extend(last.iter().map(|column| (column.cell)(series)));
        rows.row(cells);
    }
    screen.note(
        "average overhead of one tick in µs; overhead: samples with any ticks; alone: samples with one tick and nothing \
         else over their undisturbed neighbours, and the parts of that; ±: half of the 95 % interval of what stands before",
    );
    screen.table(rows.captioned("Overhead of one tick"));
    speeds(set).iter().for_each(|text| screen.sentence(text));
}

fn heads(columns: &[Extra<'_>]) -> impl Iterator<Item = &'static str> {
    columns.iter().map(|column| column.head)
}

fn half(interval: Interval) -> f64 {
    (interval.high - interval.low) / 2.0
}

/// Returns the cell of a series under one of the headings.
fn part(series: &SeriesResult, head: &str) -> String {
    let Some(ticks) = series.ticks.as_ref() else { return "–".into() };
    if head == "ticks" {
        return count(ticks.ticks);
    }
    let overhead = if head == "overhead" { ticks.overhead.as_ref() } else { alone(series) };
    cell(overhead.and_then(|overhead| part_ns(overhead, head)), micros_exact)
}

/// Returns the part of the cost of a tick that stands under one of the headings.
fn part_ns(overhead: &Overhead, head: &str) -> Option<f64> {
    match head {
        "overhead" | "alone" => Some(overhead.per_tick_ns),
        "±" => overhead.interval.map(half),
        "± " => overhead.indirect_interval.map(half),
        "handler" => Some(overhead.direct_ns),
        "gaps" => overhead.gap_ns,
        _ => Some(overhead.indirect_ns),
    }
}

/// Returns the table for repetitions that all contain ticks: their mean, the share of ticks, and whether the mean was
/// steady. If the table is too wide, the number is left out.
pub(super) fn sums(set: &Measured, first: &[Extra<'_>]) -> Table {
    let own = ["number", "mean, µs", "noise", "ticks took", "mean moved"];
    let heads: Vec<&str> = heads(first).chain(own).collect();
    let mut rows =
        table(set, &heads).captioned("Repetitions of each series").leaving_out(&["number"]);
    for series in set.series.iter().filter(|series| series.facts.cpu.is_some()) {
        let mut cells = identity(set, &series.facts);
        cells.extend(first.iter().map(|column| (column.cell)(series)));
        let distribution = series.distribution.as_ref();
        // Where the events of no repetition are all known, nothing is known of their ticks.
        let ticks = series.ticks.as_ref().filter(|ticks| ticks.known_ns > 0.0);
        cells.extend([
            count(series.facts.samples),
            cell(distribution.map(|distribution| distribution.mean), micros_exact),
            cell(distribution.and_then(|distribution| distribution.noise), noise),
            cell(ticks.map(|ticks| ticks.share), noise),
            moved(series),
        ]);
        rows.row(cells);
    }
    rows
}

/// Adds where the scheduler placed unpinned series.
pub(super) fn add_unpinned(set: &Measured, screen: &mut Screen) {
    for series in set.series.iter().filter(|series| series.facts.cpu.is_none()) {
        let facts = &series.facts;
        let mean =
            cell(series.distribution.as_ref().map(|distribution| distribution.mean), micros_exact);
        let seen = facts.cpus_seen.iter().map(|seen| {
            let part = seen.samples as f64 / facts.samples.max(1) as f64;
            format!("{} of the samples on CPU {}", share(part), seen.cpu)
        });
        let seen: Vec<String> = seen.collect();
        let moved = counted(facts.migrations, "move", "moves");
        let (kernel, seen) = (&facts.variant, seen.join(", "));
        screen.note(&format!("unpinned: {kernel}, mean {mean} µs, {moved}; {seen}"));
    }
}
