//! The matrix in few rows, beside what was published; and every pair, where all is wanted.

use super::words::{cost, place};
use crate::published::{
    CMT, CYCLES, OTHER_CORE, RADOJKOVIC, SAME_STRAND, SIBLING_STRAND, TICK_OVERHEAD, find,
};
use crate::screen::Screen;
use crate::table::Table;
use crate::units::{count, micros, micros_range, micros_up, rate};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{ClassCost, Cost, Pair, Place};

/// What the column of all interrupts is.
pub(super) const ALL: &str = "all: mean of the repetitions with an interrupt − mean of those without, with all that \
                              came at the same time by chance";

/// Adds the matrix in few rows, and how to read it.
pub(crate) fn add_classes(found: &Interference, screen: &mut Screen) {
    screen.note(&legend());
    screen.table(classes(found));
}

/// What the columns of the matrix in few rows are.
fn legend() -> String {
    format!(
        "µs of one interrupt alone: repetitions with one − the nearest without, nothing else seen in either; paper: {}, \
         Table 1, another machine",
        RADOJKOVIC.short
    )
}

fn classes(found: &Interference) -> Table {
    let rows = || found.classes.iter();
    let starts = |at: usize| at == 0 || found.classes[at - 1].place != found.classes[at].place;
    let mut columns = Table::default();
    let where_at = |(at, class): (usize, &ClassCost)| {
        if starts(at) { place(class.place).to_owned() } else { String::new() }
    };
    columns.left("kernel on", 0, rows().enumerate().map(where_at));
    columns.left("kernel", 0, rows().map(|class| class.kernel.clone()));
    columns.right("CPI", 2, rows().map(|class| cycles(found, &class.kernel)));
    columns.right("µs", 0, rows().map(mean));
    columns.right(
        "95 %",
        1,
        rows().map(|class| class.interval.map_or("–".into(), |i| micros_range(i.low, i.high))),
    );
    let felt = |class: &ClassCost| format!("{} of {}", count(class.felt), count(class.pairs));
    columns.right("felt by", 3, rows().map(felt));
    let spread = |class: &ClassCost| {
        if class.pairs > 1 { micros_range(class.lowest_ns, class.highest_ns) } else { "–".into() }
    };
    columns.right("least–most", 4, rows().map(spread));
    columns.right("paper", 0, rows().map(|class| published(class.place, &class.kernel)));
    columns.right("its CPI", 5, rows().map(|class| published_cycles(&class.kernel)));
    columns.captioned("Cost of one interrupt by distance")
}

/// The mean over the pairs, or what it is less than.
fn mean(class: &ClassCost) -> String {
    match class.interval {
        Some(interval) if !class.differs() => format!("<{}", micros_up(interval.high)),
        _ => micros(class.mean_ns),
    }
}

/// Cycles that an instruction of the kernel takes here.
fn cycles(found: &Interference, kernel: &str) -> String {
    let pace = found.kernels.iter().find(|pace| pace.kernel == kernel);
    let cycles = pace.and_then(|pace| pace.cycles_per_instruction);
    cycles.map_or("–".into(), |cycles| format!("{cycles:.2}"))
}

/// What the study has for such a pair.
fn published(place: Place, kernel: &str) -> String {
    let column = match place {
        Place::SameThread => SAME_STRAND,
        Place::SmtSibling => SIBLING_STRAND,
        Place::Unknown => return "–".into(),
        // It had one processor.
        Place::OtherSocket => return "–".into(),
        Place::SharedL2 | Place::SharedL3 | Place::SameSocket => OTHER_CORE,
    };
    find(&CMT, TICK_OVERHEAD, kernel, column).map_or("–".into(), |cell| cell.value.text())
}

fn published_cycles(kernel: &str) -> String {
    find(&CMT, CYCLES, kernel, "CPI").map_or("–".into(), |cell| cell.value.text())
}

/// A row a series.
pub(super) fn pairs(pairs: &[Pair]) -> Table {
    let rows = || pairs.iter();
    let text = |of: &Option<Cost>| of.as_ref().and_then(cost).unwrap_or("–".into());
    let interval = |of: &Option<Cost>| {
        of.as_ref().and_then(|of| of.interval).map_or("–".into(), |i| micros_range(i.low, i.high))
    };
    let mut columns = Table::default();
    columns.right("from", 0, rows().map(|pair| pair.source.to_string()));
    columns.right("on", 0, rows().map(|pair| pair.cpu.to_string()));
    columns.left("which is", 4, rows().map(|pair| place(pair.place).to_owned()));
    columns.left("kernel", 0, rows().map(|pair| pair.kernel.clone()));
    columns.right("Hz", 3, rows().map(|pair| rate(pair.delivered_hz)));
    columns.right("alone", 0, rows().map(|pair| text(&pair.alone)));
    columns.right("95 %", 1, rows().map(|pair| interval(&pair.alone)));
    let number = |pair: &Pair| pair.alone.map_or("–".into(), |cost| count(cost.interrupts));
    columns.right("of", 5, rows().map(number));
    columns.right("all", 2, rows().map(|pair| text(&pair.all)));
    columns.right("95 %", 6, rows().map(|pair| interval(&pair.all)));
    columns.captioned("Cost of one interrupt of each pair")
}
