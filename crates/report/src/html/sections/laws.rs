//! The section on the laws of noise of one delay.

use super::{Part, Section};
use crate::html::page::Page;
use crate::results::laws::{LAWS, add_delays, add_tables, charts};
use crate::screen::Screen;
use anechoic_predict::laws::Laws;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "laws",
    title: "Laws of noise of one delay",
    short: "Laws",
    of: &[&LAWS],
    has: |part| part.get::<Laws>().is_some(),
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(found) = part.get::<Laws>() else { return html! {} };
    html! {
        (Screen::of(|screen| add_delays(found, screen)))
        @for (chart, caption) in charts(found) { (chart.figure(&caption, page)) }
        (Screen::of(|screen| add_tables(found, screen)))
    }
}
