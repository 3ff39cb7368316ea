//! The section on context switches: the curves, and the screen of the result.

use super::{Part, Section};
use crate::html::page::Page;
use crate::results::switch::SWITCH;
use crate::screen::Screen;
use crate::switch::{charts, facts, tables, words};
use anechoic_analyze::Switch;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: anechoic_recording::methods::SWITCH,
    title: "What context switches cost",
    short: "Switches",
    of: &[&SWITCH],
    has: |part| part.get::<Switch>().is_some_and(|found| !found.points.is_empty()),
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(found) = part.get::<Switch>() else { return html! {} };
    html! {
        @for sentence in words::sentences(found) { p { (sentence) } }
        @if let Some((chart, caption)) = charts::for_page(found) { (chart.figure(&caption, page)) }
        @for (title, table) in tables::all(found) {
            h3 { (title) }
            (Screen::of(|screen| screen.table(table)))
        }
        p.note { (words::columns(found)) }
        (Screen::of(|screen| screen.facts(facts(found))))
    }
}
