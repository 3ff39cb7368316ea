//! The section on measurements of different sizes or tick rates: the quantity by the number, and the distributions.

use super::Section;
use crate::html::page::Page;
use crate::results::sweep::SWEEP;
use crate::screen::Screen;
use crate::sweep::{caption, caption_of_distributions, chart, distributions, note, table};
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
    html! {
        @if let Some(chart) = chart(found) { (chart.figure(&caption(found), page)) }
        (Screen::of(|screen| { screen.table(table(found)); screen.note(note(found)); }))
        @for (name, chart) in distributions(found) {
            (chart.figure(&caption_of_distributions(found, &name), page))
        }
    }
}
