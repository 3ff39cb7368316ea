//! What one tick costs each kernel on each CPU.

use super::{Part, Section};
use crate::html::page::Page;
use crate::html::tables;
use crate::measured::ticks::{HOW, cells, parts};
use anechoic_analyze::samples::tick_overhead_table::Table1;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "tick",
    title: "What one tick costs",
    short: "A tick",
    has: |part| {
        let measured = part.measured.as_ref().filter(|measured| measured.method == "tick");
        measured.is_some_and(|measured| !cells(&Table1::of(measured)).is_empty())
    },
    render,
};

fn render(part: &Part, _: &mut Page) -> Markup {
    let Some(measured) = &part.measured else { return html! {} };
    let table = Table1::of(measured);
    html! {
        (tables::plain(&parts(&cells(&table)).table(), "Overhead of one tick"))
        p.note { "A tick: " (HOW) "." }
    }
}
