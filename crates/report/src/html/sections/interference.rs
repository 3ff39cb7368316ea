//! The interference matrix: whose interrupts are felt where.

use super::{Part, Section};
use crate::html::page::Page;
use crate::html::tables;
use crate::interference::rows::classes;
use crate::interference::words::cost;
use crate::style::plain;
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
    let number = page.figure();
    let pair = |source: u32, cpu: u32| {
        let of = |pair: &&Pair| pair.kernel == kernel && pair.source == source && pair.cpu == cpu;
        // Of a pair that was measured twice the one with more interrupts is shown.
        found
            .pairs
            .iter()
            .filter(of)
            .max_by_key(|pair| pair.alone.map_or(0, |cost| cost.interrupts))
    };
    html! {
        figure {
            div.wide tabindex="0" role="region" aria-label=(format!("Interference with {}", plain(kernel))) { table.heat {
                thead { tr { th scope="col" { "from" } @for cpu in &found.cpus { th scope="col" { span { "on CPU " (cpu) } } } } }
                tbody { @for source in &found.sources { tr {
                    th scope="row" { "CPU " (source) }
                    @for cpu in &found.cpus { (cell(pair(*source, *cpu), most)) }
                } } }
            } }
            figcaption { b { "Figure " (number) ". " } "What one interrupt of a CPU (row) costs " i { (plain(kernel)) } " on a CPU (column), in µs; · is not felt." }
        }
    }
}

fn cell(pair: Option<&Pair>, most: f64) -> Markup {
    let Some(pair) = pair else { return html! { td.none {} } };
    let Some(alone) = pair.alone else { return html! { td.none { "?" } } };
    if !alone.is_felt() || most <= 0.0 {
        return html! { td.none title=[cost(&alone)] { "·" } };
    }
    let shade = (1.0 + (alone.per_interrupt_ns / most).log10() / DECADES).clamp(0.05, 1.0);
    let text = format!("{:.2}", alone.per_interrupt_ns / 1e3);
    html! { td class=(if shade > 0.6 { "strong" } else { "" }) style=(format!("--v:{shade:.2}")) title=[cost(&alone)] { (text) } }
}
