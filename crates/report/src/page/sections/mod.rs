//! The sections of a recording, or of all recordings together.
//!
//! First come the screens of the results whose rows name a section, and the parts of screens. What only a page has is a
//! section with a file of its own, which appears only if it has something to show.

mod heat;
mod lengths;
mod limits;
mod machine;
mod provenance;
mod spectrum;
mod text;
mod timeline;

use super::Part;
use super::state::Page;
use crate::results::phases::PHASES;
use crate::results::summary::SUMMARY;
use crate::results::sweep::SWEEP;
use crate::results::{AnyRow, Found, Grouping, Methods};
use crate::screen::Screen;
use crate::style::{Style, View};
use maud::{Markup, html};

/// A section that only a page has.
pub(super) struct Section {
    /// Its anchor.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Its heading in the navigation.
    pub short: &'static str,
    /// Returns whether it has something to show.
    pub has: fn(&Part) -> bool,
    /// Returns its content.
    pub render: fn(&Part, &mut Page) -> Markup,
}

/// An entry of the list of sections.
enum Entry {
    Own(Section),
    /// The screen of a result that has its place among these sections.
    Screen(&'static dyn AnyRow),
    /// The part with this anchor of the screen of a result. The page shows the rest of that screen in its head.
    Part(&'static dyn AnyRow, &'static str),
}

/// The sections behind the method's own results, in order: those of detours, and those on the recording.
const SECTIONS: &[Entry] = &[
    Entry::Part(&SWEEP, "sweep"),
    Entry::Own(timeline::SECTION),
    Entry::Part(&SUMMARY, "sources"),
    Entry::Part(&SUMMARY, "threads"),
    Entry::Own(lengths::SECTION),
    Entry::Own(spectrum::SECTION),
    Entry::Own(heat::SECTION),
    Entry::Screen(&PHASES),
    Entry::Own(machine::SECTION),
    Entry::Own(provenance::SECTION),
    Entry::Own(limits::SECTION),
    Entry::Own(text::SECTION),
];

/// A section with something to show.
pub(super) struct Shown {
    /// Its anchor.
    pub id: &'static str,
    /// Its heading in the navigation; absent if the navigation leaves it out.
    pub short: Option<&'static str>,
    title: &'static str,
    content: Content,
}

enum Content {
    Own(fn(&Part, &mut Page) -> Markup),
    Screen(Screen),
}

impl Shown {
    fn own(section: &'static Section) -> Self {
        let content = Content::Own(section.render);
        Self { id: section.id, short: Some(section.short), title: section.title, content }
    }

    /// Returns the section that the row of a result names, if it names one, and those of the parts of its screen.
    fn named(found: &Found) -> Vec<Self> {
        let mut screen = found.screen(&VIEW);
        let parts = screen.take_parts();
        let whole = found.row().section().map(|section| (section, screen));
        let all = whole.into_iter().chain(parts);
        let all = all.filter(|(_, screen)| screen.is_on_page());
        let shown = all.map(|(section, screen)| Self {
            id: section.anchor,
            short: Some(section.short),
            title: section.title,
            content: Content::Screen(screen),
        });
        shown.collect()
    }

    fn unnamed(found: &Found) -> Self {
        let (row, content) = (found.row(), Content::Screen(found.screen(&VIEW)));
        Self { id: row.id(), short: None, title: row.title(), content }
    }

    fn render(&self, part: &Part, page: &mut Page) -> Markup {
        match &self.content {
            Content::Own(render) => render(part, page),
            Content::Screen(screen) => screen.with_figures(page),
        }
    }
}

/// How much of a screen a page shows.
const VIEW: View<'_> = View { style: Style { color: false }, width: 200, all: true, path: None };

/// Returns the results without a section, each of which gets one with its screen. Repeated runs are in the table of all
/// recordings.
fn without_sections(part: &Part) -> impl Iterator<Item = &Found> {
    let has_parts = |id: &str| {
        SECTIONS.iter().any(|entry| matches!(entry, Entry::Part(row, _) if row.id() == id))
    };
    part.found.iter().filter(move |found| {
        let row = found.row();
        row.in_report() != Methods::None
            && row.grouping() != Grouping::Runs
            && row.section().is_none()
            && !has_parts(row.id())
    })
}

/// Returns the sections that have something to show.
pub(super) fn shown(part: &Part) -> Vec<Shown> {
    let found = part.found.iter().filter(|found| !is_listed(found.row().id()));
    let mut first: Vec<Shown> = found.flat_map(Shown::named).collect();
    let mut take = |anchor: &str| {
        let place = first.iter().position(|section| section.id == anchor);
        place.map(|place| first.remove(place))
    };
    let mut behind = vec![];
    for entry in SECTIONS {
        match entry {
            // The part of a result with the same anchor takes its place.
            Entry::Own(own) => {
                behind.extend(take(own.id).or_else(|| (own.has)(part).then(|| Shown::own(own))));
            }
            Entry::Part(_, anchor) => behind.extend(take(anchor)),
            Entry::Screen(row) => {
                let found = part.found.iter().find(|found| found.row().id() == row.id());
                behind.extend(found.map_or(vec![], Shown::named));
            }
        }
    }
    first.extend(behind);
    first.extend(without_sections(part).map(Shown::unnamed));
    first
}

/// Returns whether the screen of this result has its place among the sections.
fn is_listed(id: &str) -> bool {
    SECTIONS.iter().any(|entry| matches!(entry, Entry::Screen(row) if row.id() == id))
}

/// Renders the sections that have something to show; number 0 stands for all recordings together.
pub(super) fn render_all(
    sections: &[Shown],
    part: &Part,
    number: usize,
    page: &mut Page,
) -> Vec<Markup> {
    let mut rendered = vec![];
    for section in sections {
        page.begin_section(section.id);
        rendered.push(html! {
            section id=(anchor(number, section.id)) {
                h2 { (section.title) }
                (section.render(part, page))
            }
        });
    }
    rendered
}

/// Returns the anchor of a section; number 0 stands for all recordings together.
pub(super) fn anchor(part: usize, section: &str) -> String {
    match part {
        0 => format!("all-{section}"),
        part => format!("r{part}-{section}"),
    }
}
