//! The average overhead of one tick by kernel and CPU (Table 1 of Radojković 2008), and its parts.

use crate::screen::Screen;
use crate::style::{View, listed, plain};
use crate::table::Table;
use crate::units::{asked, count, counted, exact, fine, fine_range, share};
use anechoic_analyze::samples::modes::Modes;
use anechoic_analyze::samples::tick_overhead::Overhead;
use anechoic_analyze::samples::tick_overhead_table::{Cell, Table1};
use anechoic_analyze::samples::{Measured, SeriesResult};
use anechoic_recording::methods;

/// A sentence needs at least this many repetitions with a tick.
const FEWEST_REPETITIONS: u64 = 20;
/// With more cells than this each is a number instead of a row.
const MOST_ROWS: usize = 12;
/// Number of CPUs in a shortened table.
const MOST_CPUS: usize = 24;
const WHAT: &str = "cost of one tick";
const HOW: &str = "one tick: mean of the repetitions with ticks minus median of those without, per tick (Radojković 2008, Table 1); \
                   alone: only repetitions with one tick and nothing else, their mean excess over undisturbed neighbours, and the parts \
                   of that";

/// Adds the table for tick kernels, or on a full screen for any method.
pub(super) fn add(measured: &Measured, view: &View<'_>, screen: &mut Screen) {
    if measured.method != methods::TICK && !view.all {
        return;
    }
    if let Some(costs) = costs(measured, view.all) {
        screen.in_terminal(|terminal| terminal.section(WHAT));
        screen.append(costs);
    }
}

/// Returns what one tick costs each kernel on each CPU; absent if no tick was recorded.
fn costs(measured: &Measured, all: bool) -> Option<Screen> {
    let table = Table1::from_measured(measured);
    let cells = cells(&table);
    let mut screen = Screen::default();
    screen.note(HOW);
    if cells.len() > MOST_ROWS {
        screen.table(by_cpu(&table, all));
    }
    if cells.len() <= MOST_ROWS || all {
        screen.table(parts(&cells));
    }
    (!cells.is_empty()).then_some(screen)
}

/// Returns kernel, CPU and cost of all cells.
fn cells(table: &Table1) -> Vec<(&str, u32, Cell)> {
    let mut cells = vec![];
    for (kernel, row) in table.kernels.iter().zip(&table.cells) {
        let known = table.cpus.iter().zip(row).filter_map(|(cpu, cell)| Some((*cpu, (*cell)?)));
        cells.extend(known.map(|(cpu, cell)| (kernel.as_str(), cpu, cell)));
    }
    cells
}

/// Returns one row for each kernel on a CPU: what a tick costs, and the parts of that.
fn parts(cells: &[(&str, u32, Cell)]) -> Table {
    Table::with_rows(cells)
        .name("kernel", |(kernel, ..)| (*kernel).to_owned())
        .number("CPU", |(_, cpu, _)| cpu.to_string())
        .number("one tick", |(.., cell)| fine(cell.overhead.per_tick_ns))
        .some_numbers("95 %", 4, |(.., cell)| interval(&cell.overhead))
        .some_numbers("alone", 0, |(.., cell)| Some(fine(cell.clean?.per_tick_ns)))
        .some_numbers("95 %", 3, |(.., cell)| interval(&cell.clean?))
        .some_numbers("= direct", 0, |(.., cell)| Some(fine(cell.clean?.direct_ns)))
        .some_numbers("+ gaps", 0, |(.., cell)| cell.clean?.gap_ns.map(fine))
        .some_numbers("+ indirect", 0, |(.., cell)| Some(fine(cell.clean?.indirect_ns)))
        .some_numbers("95 %", 2, |(.., cell)| indirect_interval(&cell.clean?))
        .some_numbers("ticks", 5, |(.., cell)| {
            let ticks = cell.overhead.ticks_per_repetition * cell.overhead.repetitions as f64;
            Some(count(ticks.round() as u64))
        })
        .captioned("Overhead of one tick")
}

fn interval(overhead: &Overhead) -> Option<String> {
    overhead.interval.map(|interval| fine_range(interval.low, interval.high))
}

fn indirect_interval(overhead: &Overhead) -> Option<String> {
    overhead.indirect_interval.map(|interval| fine_range(interval.low, interval.high))
}

/// States for which bodies a tick changes how often they run at the slower of two speeds; absent if for none.
pub(crate) fn speeds(measured: &Measured) -> Option<String> {
    let all = || measured.series.iter().filter_map(|series| Some((series, modes(series)?)));
    let differing = || all().filter(|(_, modes)| modes.differs);
    let apart = |modes: &Modes| (modes.with_tick_slow - modes.undisturbed_slow).abs();
    let (most, modes) = differing().max_by(|a, b| apart(&a.1).total_cmp(&apart(&b.1)))?;
    let body = speeds_of_body(most, modes);
    Some(match all().count() {
        1 => format!("A tick changes the speed of the body itself: {body}."),
        tested => format!(
            "A tick changes the speed of {} of {tested} bodies that have two: most of all {body}.",
            differing().count()
        ),
    })
}

fn modes(series: &SeriesResult) -> Option<Modes> {
    series.ticks.as_ref()?.modes
}

/// States how often a body runs at the slower of its two speeds, with a tick and without.
fn speeds_of_body(series: &SeriesResult, modes: Modes) -> String {
    let facts = &series.facts;
    let cpu = facts.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    format!(
        "{}{cpu} ({}, {}) takes {} instead of {} in {} of the samples with one tick, its own time taken off, but in {} of \
         their undisturbed neighbours",
        plain(&facts.variant),
        facts.policy,
        asked(facts.grain_ns),
        exact(modes.slow_ns),
        exact(modes.fast_ns),
        share(modes.with_tick_slow),
        share(modes.undisturbed_slow)
    )
}

/// Returns one row for each CPU and one column for each kernel.
fn by_cpu(table: &Table1, all: bool) -> Table {
    let rows: Vec<usize> = (0..table.cpus.len()).collect();
    let mut columns = Table::with_rows(&rows).number("CPU", |&at| table.cpus[at].to_string());
    for (number, (kernel, cells)) in table.kernels.iter().zip(&table.cells).enumerate() {
        let goes = u8::try_from(number).unwrap_or(u8::MAX);
        columns = columns.some_numbers(kernel, goes, |&at| {
            cells[at].map(|cell| fine(cell.overhead.per_tick_ns))
        });
    }
    columns
        .captioned("Overhead of one tick by CPU")
        .first(MOST_CPUS, all, |left| counted(left as u64, "more CPU", "more CPUs"))
}

/// States what a tick costs each kernel, on the CPU with the most repetitions with ticks.
pub(super) fn sentence(measured: &Measured) -> Option<String> {
    let table = Table1::from_measured(measured);
    let cells = cells(&table);
    let (_, cpu, _) = cells.iter().rev().max_by_key(|(.., cell)| cell.overhead.repetitions)?;
    let here: Vec<(&str, Cell)> = cells
        .iter()
        .filter(|(_, other, _)| other == cpu)
        .map(|&(kernel, _, cell)| (kernel, cell))
        .collect();
    let costs = |pick: fn(&Cell) -> Option<Overhead>| -> Vec<String> {
        here.iter().filter_map(|(kernel, cell)| cost(kernel, &pick(cell)?)).collect()
    };
    // What coincided with ticks by chance is not part of their cost.
    let alone = costs(|cell| cell.clean);
    let all = costs(|cell| Some(cell.overhead));
    let (what, costs) = match (alone.len(), all.len()) {
        (_, 0) => return None,
        (alone_count, all_count) if alone_count == all_count => ("One tick alone costs", alone),
        _ => ("One tick, with whatever coincides with it, costs", all),
    };
    Some(format!("{what} {} on CPU {cpu}.", listed(&costs)))
}

/// Writes a cost: `intadd 17.3 µs (16.9–17.8)`; nothing for too few repetitions.
fn cost(kernel: &str, overhead: &Overhead) -> Option<String> {
    let interval = overhead.interval.filter(|_| overhead.repetitions >= FEWEST_REPETITIONS)?;
    let range = fine_range(interval.low, interval.high);
    let (figure, unit) = (fine(overhead.per_tick_ns), |text: &str| {
        text.rsplit_once(' ').map_or(String::new(), |(_, unit)| unit.to_owned())
    });
    // The unit is written once if both have the same.
    let within = range.strip_suffix(&format!(" {}", unit(&figure))).unwrap_or(&range);
    Some(format!("{} {figure} ({within})", plain(kernel)))
}
