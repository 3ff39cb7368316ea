//! The section on measurements of different sizes or tick rates: the quantity by the number, and the distributions.

use super::Section;
use crate::html::page::Page;
use crate::results::sweep::SWEEP;
use crate::screen::Screen;
use crate::style::View;
use crate::sweep::add;
use anechoic_analyze::sweep::Sweep;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "sweep",
    title: "Several sizes or rates",
    short: "Sizes",
    stands_for: &[&SWEEP],
    has: |part| part.get::<Sweep>().is_some(),
    render: |part, page| part.get::<Sweep>().map_or(html! {}, |found| joined(found, page)),
};

/// Returns what the terminal shows of it, with its figures.
fn joined(found: &Sweep, page: &mut Page) -> Markup {
    let view = View { all: true, ..View::default() };
    Screen::from_fn(|screen| add(found, &view, screen)).with_figures(page)
}
