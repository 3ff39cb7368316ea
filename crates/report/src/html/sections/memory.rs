//! The section on the memory experiments: where the caches end, time per access, and noise.

use super::{Part, Section};
use crate::html::page::Page;
use crate::memory::{charts, facts, tables, words};
use crate::results::memory::MEMORY;
use crate::screen::Screen;
use anechoic_analyze::Memory;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: anechoic_recording::methods::MEMORY,
    title: "Memory: time per access and its noise",
    short: "Memory",
    of: &[&MEMORY],
    has: |part| part.get::<Memory>().is_some_and(|found| found.measured().next().is_some()),
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(found) = part.get::<Memory>() else { return html! {} };
    html! {
        @if found.borders.is_empty() { p { (words::NO_CACHES) } } @else {
            (Screen::of(|screen| screen.table(tables::borders(found))))
            p.note { (words::borders(found)) }
        }
        @for (chart, caption) in charts::for_page(found) {
            (chart.figure(&caption, page))
        }
        h3 { "Time per access, ns" }
        (Screen::of(|screen| screen.table(tables::times(found, true))))
        p.note { (words::times(found)) }
        h3 { "Noise" }
        (tables::heat(found).figure("Noise of all experiments", HEAT, page))
        p.note { (words::NOISE) " " (words::published()) }
        (Screen::of(|screen| screen.table(tables::os_share(found))))
        p.note { (words::OS_SHARE) }
        (Screen::of(|screen| screen.facts(facts(found))))
    }
}

const HEAT: &str = "Variance of the ticks per access divided by their mean, median over the working sets of each region, of all experiments.";
