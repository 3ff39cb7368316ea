//! The matrix by distance, beside published values, and the table of every pair.

use super::words::{cost, place};
use crate::published::{
    CMT, CYCLES, OTHER_CORE, RADOJKOVIC, SAME_STRAND, SIBLING_STRAND, TICK_OVERHEAD, find,
};
use crate::screen::Screen;
use crate::table::Table;
use crate::units::{count, micros, micros_range, micros_up, rate};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{ClassCost, Cost, Pair, Proximity};

/// Explains the column of all interrupts.
pub(super) const ALL: &str = "all: mean of the repetitions with an interrupt minus mean of those without, including \
                              anything else that happened at the same time";

/// Adds the matrix by distance, and how to read it.
pub(crate) fn add_classes(found: &Interference, screen: &mut Screen) {
    screen.note(&legend());
    screen.table(classes(found));
}

/// Explains the columns of the matrix by distance.
fn legend() -> String {
    format!(
        "µs per interrupt: repetitions with exactly one interrupt minus their nearest undisturbed neighbours; paper: {}, \
         Table 1, on another machine",
        RADOJKOVIC.short
    )
}

fn classes(found: &Interference) -> Table {
    let mut before = None;
    let starts: Vec<(bool, &ClassCost)> = found
        .classes
        .iter()
        .map(|class| (before.replace(class.place) != Some(class.place), class))
        .collect();
    Table::with_rows(&starts)
        .name(
            "kernel on",
            |(starts, class)| {
                if *starts { place(class.place).to_owned() } else { String::new() }
            },
        )
        .name("kernel", |(_, class)| class.kernel.clone())
        .some_numbers("CPI", 2, |(_, class)| cycles(found, &class.kernel))
        .number("µs", |(_, class)| mean(class))
        .some_numbers("95 %", 1, |(_, class)| class.interval.map(|i| micros_range(i.low, i.high)))
        .some_numbers("slowed", 3, |(_, class)| {
            Some(format!("{} of {}", count(class.felt), count(class.pairs)))
        })
        .some_numbers("min–max", 4, |(_, class)| {
            (class.pairs > 1).then(|| micros_range(class.lowest_ns, class.highest_ns))
        })
        .some_numbers("paper", 0, |(_, class)| published(class.place, &class.kernel))
        .some_numbers("paper CPI", 5, |(_, class)| {
            find(&CMT, CYCLES, &class.kernel, "CPI").map(|cell| cell.value.text())
        })
        .captioned("Cost of one interrupt by distance")
}

/// Returns the mean over the pairs, or its upper limit.
fn mean(class: &ClassCost) -> String {
    match class.interval {
        Some(interval) if !class.differs() => format!("<{}", micros_up(interval.high)),
        _ => micros(class.mean_ns),
    }
}

/// Returns the measured cycles per instruction of a kernel.
fn cycles(found: &Interference, kernel: &str) -> Option<String> {
    let pace = found.kernels.iter().find(|pace| pace.kernel == kernel)?;
    pace.cycles_per_instruction.map(|cycles| format!("{cycles:.2}"))
}

/// Returns the published value for such a pair.
fn published(place: Proximity, kernel: &str) -> Option<String> {
    let column = match place {
        Proximity::SameThread => SAME_STRAND,
        Proximity::SmtSibling => SIBLING_STRAND,
        // The study had one processor.
        Proximity::Unknown | Proximity::OtherSocket => return None,
        Proximity::SharedL2 | Proximity::SharedL3 | Proximity::SameSocket => OTHER_CORE,
    };
    find(&CMT, TICK_OVERHEAD, kernel, column).map(|cell| cell.value.text())
}

/// Returns one row for each series.
pub(super) fn pairs(pairs: &[Pair]) -> Table {
    Table::with_rows(pairs)
        .number("interrupts on", |pair| pair.source.to_string())
        .number("kernel on", |pair| pair.cpu.to_string())
        .some_names("distance", 4, |pair| Some(place(pair.place).to_owned()))
        .name("kernel", |pair| pair.kernel.clone())
        .some_numbers("Hz", 3, |pair| Some(rate(pair.delivered_hz)))
        .some_numbers("alone", 0, |pair| cost(pair.alone.as_ref()?))
        .some_numbers("95 %", 1, |pair| interval(pair.alone.as_ref()?))
        .some_numbers("of", 5, |pair| Some(count(pair.alone?.interrupts)))
        .some_numbers("all", 2, |pair| cost(pair.all.as_ref()?))
        .some_numbers("95 %", 6, |pair| interval(pair.all.as_ref()?))
        .captioned("Cost of one interrupt of each pair")
}

fn interval(cost: &Cost) -> Option<String> {
    cost.interval.map(|interval| micros_range(interval.low, interval.high))
}
