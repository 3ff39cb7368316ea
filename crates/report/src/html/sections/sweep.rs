//! The section on measurements of different sizes or tick rates: the quantity by the number, and the distributions.

use super::Section;
use crate::html::page::Page;
use crate::measured::counted::HOW;
use crate::results::sweep::SWEEP;
use crate::screen::Screen;
use crate::sweep::{
    caption, caption_of_distributions, caption_of_events, chart, distributions, event_charts,
    events_table, note, table,
};
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
        @if let Some(table) = events_table(found) {
            (Screen::of(|screen| { screen.table(table); screen.note(HOW); }))
            @for (name, chart) in event_charts(found) {
                (chart.figure(&caption_of_events(found, &name), page))
            }
        }
        @for (name, chart) in distributions(found) {
            (chart.figure(&caption_of_distributions(found, &name), page))
        }
    }
}
