//! The sections of a recording, or of all recordings together, one file and one row each.
//!
//! A section appears only if it has something to show.

mod bsp;
pub(super) mod cluster;
mod compare;
mod heat;
mod interference;
mod laws;
mod lengths;
mod limits;
mod machine;
mod memory;
mod overhead;
mod paging;
mod provenance;
mod rank;
mod samples;
mod scale;
mod sources;
mod spectrum;
mod subtraction;
mod sweep;
mod switch;
mod text;
mod ticks;
mod timeline;

use super::Part;
use super::page::Page;
use crate::results::{AnyRow, Found, Grouping, Methods};
use crate::style::View;
use maud::{Markup, html};
use std::collections::HashSet;

/// One section.
pub(super) struct Section {
    /// Its anchor.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Its heading in the navigation.
    pub short: &'static str,
    /// The results that it stands for. One that no section stands for gets a section with its screen.
    pub of: &'static [&'static dyn AnyRow],
    /// Returns whether it has something to show.
    pub has: fn(&Part) -> bool,
    /// Returns its content.
    pub render: fn(&Part, &mut Page) -> Markup,
}

/// All sections in order: those of the method's own result, those of detours, and those on the recording.
const SECTIONS: &[Section] = &[
    bsp::SECTION,
    cluster::SECTION,
    compare::SECTION,
    rank::SECTION,
    sweep::SECTION,
    samples::SECTION,
    overhead::SECTION,
    subtraction::SECTION,
    interference::SECTION,
    ticks::SECTION,
    laws::SECTION,
    memory::SECTION,
    paging::SECTION,
    switch::SECTION,
    timeline::SECTION,
    sources::SECTION,
    lengths::SECTION,
    spectrum::SECTION,
    heat::SECTION,
    scale::SECTION,
    machine::SECTION,
    provenance::SECTION,
    limits::SECTION,
    text::SECTION,
];

/// Returns the results that no section stands for, each of which gets a section with its screen. Repeated runs are
/// in the table of all recordings.
fn without_sections(part: &Part) -> impl Iterator<Item = &Found> {
    let shown: HashSet<&str> =
        SECTIONS.iter().flat_map(|section| section.of).map(|row| row.id()).collect();
    part.found.iter().filter(move |found| {
        let row = found.row();
        row.in_report() != Methods::None
            && row.grouping() != Grouping::Runs
            && !shown.contains(row.id())
    })
}

/// Returns the sections that have something to show.
pub(super) fn shown(part: &Part) -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().filter(move |section| (section.has)(part))
}

/// Renders the sections that have something to show; number 0 stands for all recordings together.
pub(super) fn render_all(part: &Part, number: usize, page: &mut Page) -> Vec<Markup> {
    let section = |section: &'static Section| {
        page.begin_section(section.id);
        html! {
            section id=(anchor(number, section.id)) {
                h2 { (section.title) }
                ((section.render)(part, page))
            }
        }
    };
    let mut sections: Vec<Markup> = shown(part).map(section).collect();
    let view = View { width: 120, all: true, ..View::default() };
    sections.extend(without_sections(part).map(|found| {
        html! {
            section id=(anchor(number, found.row().id())) {
                h2 { (found.row().title()) }
                (found.screen(&view))
            }
        }
    }));
    sections
}

/// Returns the anchor of a section; number 0 stands for all recordings together.
pub(super) fn anchor(part: usize, section: &str) -> String {
    match part {
        0 => format!("all-{section}"),
        part => format!("r{part}-{section}"),
    }
}
