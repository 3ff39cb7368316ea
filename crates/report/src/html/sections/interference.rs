//! The interference matrix: whose interrupts are felt where.

use super::{Part, Section};
use crate::html::heat::{Cell, Column, Heat, Row};
use crate::html::page::Page;
use crate::html::tables;
use crate::interference::rows::classes;
use crate::interference::words::cost;
use crate::style::plain;
use crate::units::time;
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{Cost, Pair};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "interference",
    title: "Whose interrupts are felt where",
    short: "Interference",
    has: |part| part.interference.as_ref().is_some_and(|found| !found.pairs.is_empty()),
    render,
};

/// The darkest cell and one that is just seen lie so many factors of ten apart.
const DECADES: f64 = 2.5;

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(found) = &part.interference else { return html! {} };
    let felt = found.pairs.iter().filter_map(|pair| pair.alone).filter(Cost::is_felt);
    let most = felt.map(|cost| cost.per_interrupt_ns).fold(0.0, f64::max);
    html! {
        @if !found.classes.is_empty() { (tables::plain(&classes(found).table(), "Cost of one interrupt by distance")) }
        p.note { (plain(&found.interval)) }
        @for kernel in &found.kernels { (map(found, &kernel.kernel, most, page)) }
    }
}

fn map(found: &Interference, kernel: &str, most: f64, page: &mut Page) -> Markup {
    let pair = |source: u32, cpu: u32| {
        let of = |pair: &&Pair| pair.kernel == kernel && pair.source == source && pair.cpu == cpu;
        // Of a pair that was measured twice the one with more interrupts is shown.
        found
            .pairs
            .iter()
            .filter(of)
            .max_by_key(|pair| pair.alone.map_or(0, |cost| cost.interrupts))
    };
    let row = |source: &u32| Row {
        label: format!("CPU {source}"),
        cells: found.cpus.iter().map(|cpu| cell(pair(*source, *cpu))).collect(),
    };
    let heat = Heat {
        name: "",
        corner: "from".into(),
        columns: found.cpus.iter().map(|cpu| Column::plain(format!("on CPU {cpu}"))).collect(),
        rows: found.sources.iter().map(row).collect(),
        most,
        decades: DECADES,
        write: time,
    };
    let kernel = plain(kernel);
    let caption = format!(
        "What one interrupt of a CPU (row) costs {kernel} on a CPU (column), in µs; · is not felt, ? not known."
    );
    heat.figure(&format!("Interference with {kernel}"), &caption, page)
}

fn cell(pair: Option<&Pair>) -> Cell {
    let Some(pair) = pair else { return Cell::text("") };
    let Some(alone) = pair.alone else { return Cell::text("?") };
    let hint = cost(&alone);
    if !alone.is_felt() {
        return Cell { hint, ..Cell::text("·") };
    }
    let text = format!("{:.2}", alone.per_interrupt_ns / 1e3);
    Cell { hint, ..Cell::value(alone.per_interrupt_ns, text) }
}
