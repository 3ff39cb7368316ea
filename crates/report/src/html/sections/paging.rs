//! The section on page sizes: time per access on each, and what was published.

use super::{Part, Section};
use crate::html::page::Page;
use crate::paging::{charts, facts, tables, words};
use crate::results::paging::PAGING;
use crate::screen::Screen;
use anechoic_analyze::Paging;
use anechoic_recording::paging::BUILDS;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: anechoic_recording::methods::PAGING,
    title: "Page sizes and the TLB",
    short: "Page sizes",
    of: &[&PAGING],
    has: |part| part.get::<Paging>().is_some_and(|found| !found.points.is_empty()),
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(found) = part.get::<Paging>() else { return html! {} };
    let largest = found.sizes().last().copied().unwrap_or(0);
    html! {
        @for sentence in words::sentences(found) { p { (sentence) } }
        @for (chart, caption) in charts::for_page(found) {
            (chart.figure(&caption, page))
        }
        @for build in BUILDS {
            h3 { (words::build(build)) }
            (Screen::of(|screen| screen.table(tables::at(found, build, largest))))
            p { "ns per access by size of the matrix in MiB" }
            (Screen::of(|screen| screen.table(tables::by_size(found, build, true))))
        }
        p.note { (words::columns(found)) }
        h3 { "Published" }
        (Screen::of(|screen| screen.table(tables::published(found))))
        p.note { (words::PUBLISHED) }
        (Screen::of(|screen| screen.facts(facts(found))))
    }
}
