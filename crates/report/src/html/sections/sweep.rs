//! The section on measurements of different sizes or tick rates: the quantity by the number, and the distributions.

use super::Section;
use crate::html::page::Page;
use crate::results::sweep::SWEEP;
use crate::screen::Screen;
use crate::style::capital;
use crate::sweep::{chart, distributions, note, number, table, what};
use anechoic_analyze::sweep::Sweep;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "sweep",
    title: "Several sizes or rates",
    short: "Sizes",
    of: &[&SWEEP],
    has: |part| part.get::<Sweep>().is_some(),
    render: |part, page| part.get::<Sweep>().map_or(html! {}, |found| joined(found, page)),
};

fn joined(found: &Sweep, page: &mut Page) -> Markup {
    let caption = format!(
        "{} by {}: mean over repeated measurements, with the standard deviation.",
        capital(what(found)),
        number(found.by)
    );
    html! {
        @if let Some(chart) = chart(found) { (chart.figure(&caption, page)) }
        (Screen::of(|screen| { screen.table(table(found)); screen.note(note(found)); }))
        @for (name, chart) in distributions(found) {
            (chart.figure(&format!("Share of the samples that lost at most this much, by {}: {name}.", number(found.by)), page))
        }
    }
}
