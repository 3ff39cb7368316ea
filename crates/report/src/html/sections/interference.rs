//! The section on the interference matrix: what interrupts on one CPU cost work on another.

use super::{Part, Section};
use crate::html::page::Page;
use crate::interference::over_time;
use crate::interference::rows::add_classes;
use crate::interference::words::cost;
use crate::picture::{Cell, Column, Heat, Row};
use crate::results::interference::INTERFERENCE;
use crate::screen::Screen;
use crate::style::plain;
use crate::units::{between, micros};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{Cost, Pair};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: anechoic_recording::methods::INTERFERENCE,
    title: "What interrupts cost on other CPUs",
    short: "Interference",
    of: &[&INTERFERENCE],
    has: |part| part.get::<Interference>().is_some_and(|found| !found.pairs.is_empty()),
    render,
};

/// Factors of ten between the darkest cell and the lightest visible one.
const DECADES: f64 = 2.5;

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(found) = part.get::<Interference>() else { return html! {} };
    let felt = found.pairs.iter().filter_map(|pair| pair.alone).filter(Cost::is_felt);
    let most = felt.map(|cost| cost.per_interrupt_ns).fold(0.0, f64::max);
    html! {
        @if !found.classes.is_empty() {
            (Screen::of(|screen| add_classes(found, screen)))
        }
        @for kernel in &found.kernels {
            @let name = plain(&kernel.kernel);
            h3 { (name) }
            (map(found, &kernel.kernel, most).figure(&format!("Interference with {name}"), &caption(&name), page))
        }
        @for chart in over_time::charts(found) { (chart.figure(over_time::CAPTION, page)) }
        p.note { "Intervals: " (plain(&found.interval)) "." }
    }
}

fn caption(kernel: &str) -> String {
    format!(
        "Cost in µs of one interrupt on a CPU (row) for {kernel} on a CPU (column). Cells without shade show no significant cost, with its upper limit; shades are the same in all figures of this section."
    )
}

fn map(found: &Interference, kernel: &str, most: f64) -> Heat {
    let pair = |source: u32, cpu: u32| {
        let of = |pair: &&Pair| pair.kernel == kernel && pair.source == source && pair.cpu == cpu;
        // Of a pair measured twice the map shows the series with more interrupts.
        let found = found.pairs.iter().filter(of);
        found.max_by_key(|pair| pair.alone.map_or(0, |cost| cost.interrupts))
    };
    let row = |&source: &u32| Row {
        label: format!("CPU {source}"),
        cells: found.cpus.iter().map(|&cpu| cell(pair(source, cpu))).collect(),
    };
    Heat {
        name: kernel.into(),
        corner: "interrupts of".into(),
        columns: found.cpus.iter().map(|cpu| Column::plain(format!("on CPU {cpu}"))).collect(),
        rows: found.sources.iter().map(row).collect(),
        most,
        decades: DECADES,
        write: |ns| format!("{} µs", micros(ns)),
    }
}

/// A pair that was not measured has no text; one without a result has a question mark.
fn cell(pair: Option<&Pair>) -> Cell {
    let Some(pair) = pair else { return Cell::text("") };
    let Some(alone) = pair.alone else { return Cell::text("?") };
    let at_most = cost(&alone);
    if !alone.is_felt() {
        return Cell::text(at_most.unwrap_or("·".into()));
    }
    let value = Cell::value(alone.per_interrupt_ns, micros(alone.per_interrupt_ns));
    let interval =
        alone.interval.map(|of| format!("95 %: {} µs", between(&micros(of.low), &micros(of.high))));
    Cell { hint: interval, ..value }
}
