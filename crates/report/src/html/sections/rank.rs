//! The section on a ranking: how often each configuration is lowest, and the noise of each in every experiment.

use super::samples::pair;
use super::{Part, Section};
use crate::html::page::Page;
use crate::published;
use crate::rank::{
    beside_paper, curves, differences, experiments_table, figures, one_by_one, standings, times,
};
use crate::results::rank::RANK;
use crate::screen::Screen;
use crate::style::View;
use anechoic_analyze::rank::Ranking;
use anechoic_recording::methods;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "rank",
    title: "Whose noise is lowest",
    short: "Ranking",
    of: &[&RANK],
    has: |part| part.get::<Ranking>().is_some(),
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(found) = part.get::<Ranking>() else { return html! {} };
    let view = View { all: true, ..View::default() };
    html! {
        @for text in differences(found) { p.warning { (text) } }
        (figures::places(found).named("places").figure(PLACES, page))
        (Screen::of(|screen| screen.table(standings(found))))
        @if let Some(others) = beside_paper(found) { p.note { (others) } }
        @if found.method == methods::MEMORY { p.note { (published::ranking()) } }
        @if let Some(table) = times::table(found, &view) {
            @for (chart, caption) in figures::times_by_name(found) { (chart.figure(&caption, page)) }
            (Screen::of(|screen| screen.table(table)))
            @if found.first_is_bare { p.note { (times::PUBLISHED) } }
        }
        @for (chart, caption) in curves::for_page(found) { (chart.figure(&caption, page)) }
        @for (kernel, title) in one_by_one::kernels(found) {
            h3 { (title) }
            (pair(&title, &one_by_one::series(found, kernel), page))
        }
        @if let Some(table) = one_by_one::ranges(found) { (Screen::of(|screen| screen.table(table))) }
        @if !found.one_by_one.is_empty() { @for text in one_by_one::notes(found) { p.note { (text) } } }
        @for (chart, caption) in figures::noise_by_name(found) { (chart.figure(&caption, page)) }
        (Screen::of(|screen| screen.table(experiments_table(found, &view))))
    }
}

const PLACES: &str = "How often each configuration has the lowest, middle and highest noise, as a share of all experiments.";
