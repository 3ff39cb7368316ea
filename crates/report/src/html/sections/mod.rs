//! The sections of a recording, or of all together, in order: a file and a row each. A section appears only where it
//! has something to show.

mod bsp;
pub(super) mod cluster;
mod heat;
mod interference;
mod lengths;
mod limits;
mod machine;
mod overhead;
mod provenance;
mod samples;
mod scale;
mod sources;
mod spectrum;
mod subtraction;
mod text;
mod ticks;
mod timeline;

use super::Part;
use super::page::Page;
use crate::results::{Found, Methods};
use crate::style::View;
use maud::{Markup, html};

/// One section.
pub(super) struct Section {
    /// Its anchor.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Its heading in the navigation.
    pub short: &'static str,
    /// Whether there is anything for it.
    pub has: fn(&Part) -> bool,
    /// Its content.
    pub render: fn(&Part, &mut Page) -> Markup,
}

/// All of them.
const SECTIONS: &[Section] = &[
    bsp::SECTION,
    cluster::SECTION,
    timeline::SECTION,
    sources::SECTION,
    lengths::SECTION,
    spectrum::SECTION,
    heat::SECTION,
    scale::SECTION,
    samples::SECTION,
    overhead::SECTION,
    subtraction::SECTION,
    interference::SECTION,
    ticks::SECTION,
    machine::SECTION,
    provenance::SECTION,
    limits::SECTION,
    text::SECTION,
];

/// The results that have no section of their own: one with its screen stands for each.
fn without_sections(part: &Part) -> impl Iterator<Item = &Found> {
    let in_report = |found: &&Found| found.row().in_report() != Methods::None;
    part.found.iter().filter(in_report).filter(|found| !found.row().has_sections())
}

/// Those that have anything to show of a recording, or of all together.
pub(super) fn shown(part: &Part) -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().filter(move |section| (section.has)(part))
}

/// The sections of a recording that have anything to show; of number 0, those of all recordings together.
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

/// Where a section of a recording is; of number 0, where that of all recordings together is.
pub(super) fn anchor(part: usize, section: &str) -> String {
    match part {
        0 => format!("all-{section}"),
        part => format!("r{part}-{section}"),
    }
}
