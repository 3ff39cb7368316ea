//! The sections of a recording, in order: a file and a row each. A section appears only where it has something to show.

pub(super) mod bsp;
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

use super::page::Page;
use super::{HtmlReport, Part};
use maud::Markup;

/// One section.
pub(super) struct Section {
    /// Its anchor.
    pub id: &'static str,
    /// Its heading,
    pub title: &'static str,
    /// and that in the navigation.
    pub short: &'static str,
    /// Whether a recording has anything for it.
    pub has: fn(&Part) -> bool,
    /// Its content.
    pub render: fn(&Part, &mut Page) -> Markup,
}

/// One section of all recordings together.
pub(super) struct Whole {
    /// Its anchor.
    pub id: &'static str,
    /// Its heading,
    pub title: &'static str,
    /// and that in the navigation.
    pub short: &'static str,
    /// Whether the recordings together have anything for it.
    pub has: fn(&HtmlReport) -> bool,
    /// Its content.
    pub render: fn(&HtmlReport, &mut Page) -> Markup,
}

/// Those of all recordings together.
pub(super) const WHOLE: &[Whole] = &[bsp::WHOLE, cluster::WHOLE];

/// All of them.
pub(super) const SECTIONS: &[Section] = &[
    bsp::SECTION,
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
