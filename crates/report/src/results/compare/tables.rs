//! The tables of a comparison: both sides, the settings that differ, and the changes of sources, CPUs and lengths.

use super::{name, source_name};
use crate::style::{View, plain};
use crate::table::Table;
use crate::units::{asked, between, count, noise, number, rate, span};
use anechoic_analyze::compare::{
    Comparison, CpuChange, Difference, LengthChange, Side, SourceChange,
};
use anechoic_analyze::stats::Interval;

/// Number of rows in a shortened table.
const SHOWN: usize = 10;

pub(super) fn sides(found: &Comparison) -> Table {
    let relative = |deviation: f64| format!("± {:.1} %", deviation * 100.0);
    Table::with_rows(&[found.before.clone(), found.after.clone()])
        .name("side", name)
        .number("runs", |side| count(side.runs))
        .number("length", |side| span(side.wall_ns))
        .number("noise", |side| noise(side.noise))
        .some_numbers("between runs", 0, |side| side.between_runs.map(relative))
        .some_numbers("within a run", 1, |side| side.within_runs.map(relative))
        .number("detours/s", |side| rate(side.rate_per_s))
        .number("threshold", thresholds)
        .captioned(
            "Noise of both sides: geometric mean over runs, standard deviations relative to it",
        )
}

/// Returns the threshold of a side's runs, or the lowest and the highest.
fn thresholds(side: &Side) -> String {
    let (low, high) = side.threshold_ns;
    if low == high { asked(low) } else { between(&asked(low), &asked(high)) }
}

fn folded<T>(items: &[T], view: &View<'_>, table: Table) -> Table {
    match items.len().checked_sub(SHOWN) {
        Some(more @ 1..) if !view.all => {
            table.folded(SHOWN, format!("and {} more (--all)", count(more as u64)))
        }
        _ => table,
    }
}

pub(super) fn settings(found: &Comparison, view: &View<'_>) -> Table {
    let (changed, [side, other]) = (&found.changed, side_heads(found));
    let known = |value: &Option<String>| value.as_deref().map_or("unknown".into(), plain);
    let table = Table::with_rows(changed)
        .name("setting", |setting| plain(&setting.name))
        .name(side, |setting| known(&setting.before))
        .name(other, |setting| known(&setting.after))
        .captioned("Settings of the machine and of the runs that differ");
    folded(changed, view, table)
}

/// Writes a difference of noise in percentage points: `-0.98`, `0.003`.
pub(super) fn points(difference: f64) -> String {
    let size = noise(difference.abs());
    let size = size.trim_end_matches(" %").trim_start_matches('<');
    if difference < 0.0 { format!("-{size}") } else { size.to_owned() }
}

/// Returns the noise before and after, the difference with its interval, and whether it is clear.
pub(in crate::results) fn differences<'a, T>(
    items: &'a [T],
    head: &str,
    name: impl Fn(&T) -> String,
    change: impl Fn(&T) -> Difference,
    [before, after]: [&'static str; 2],
    [write, without_unit]: [fn(f64) -> String; 2],
) -> crate::table::Rows<'a, T> {
    let signed =
        |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, without_unit(value));
    let range = |ends: Interval| between(&without_unit(ends.low), &without_unit(ends.high));
    Table::with_rows(items)
        .name(head, name)
        .number(before, |row| write(change(row).before))
        .number(after, |row| write(change(row).after))
        .number("difference", |row| signed(change(row).after - change(row).before))
        .some_numbers("95 %", 2, |row| change(row).interval.map(range))
        .some_names("", 0, |row| Some(if change(row).clear { "clear" } else { "" }.to_owned()))
}

/// Returns what the columns of both sides are called.
pub(super) fn side_heads(found: &Comparison) -> [&'static str; 2] {
    if found.trials.is_some() { ["A", "B"] } else { ["before", "after"] }
}

/// Returns a difference of shares of the time, without an interval that is as wide as from nothing less to all more.
pub(super) fn share_difference(difference: Difference) -> Difference {
    let interval = difference.interval.filter(|ends| ends.high - ends.low < 2.0);
    Difference { interval, ..difference }
}

pub(super) fn sources(found: &Comparison, view: &View<'_>) -> Table {
    let control = |source: &SourceChange| if source.control { " (control)" } else { "" };
    let name = |source: &SourceChange| source_name(source) + control(source);
    let share = |source: &SourceChange| share_difference(source.difference);
    let heads = side_heads(found);
    let table = differences(&found.sources, "source", name, share, heads, [noise, points])
        .captioned("Noise of each source; differences in percentage points");
    folded(&found.sources, view, table)
}

pub(super) fn cpus(found: &Comparison, view: &View<'_>) -> Table {
    let name = |change: &CpuChange| change.cpu.to_string();
    let share = |change: &CpuChange| share_difference(change.difference);
    let table = differences(&found.cpus, "CPU", name, share, side_heads(found), [noise, points])
        .captioned("Noise of each CPU; differences in percentage points");
    folded(&found.cpus, view, table)
}

pub(super) fn lengths(found: &Comparison, view: &View<'_>) -> Table {
    let name = |change: &LengthChange| asked(change.threshold_ns);
    let rates = |change: &LengthChange| change.difference;
    let table = differences(&found.lengths, "over", name, rates, side_heads(found), [rate, number])
        .captioned("Detours longer than each threshold, per second and CPU");
    folded(&found.lengths, view, table)
}
