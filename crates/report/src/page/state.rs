//! The state that sections share while the page is built: numbers of figures, identifiers, and kept figures.

use super::{FEW, Part, looks};
use crate::palette::Color;
use crate::picture::{Kept, Look, Picture};
use crate::style::plain;

/// The state of a page being built: numbers of figures and unique identifiers.
#[derive(Debug, Default)]
pub(crate) struct Page {
    part: usize,
    section: &'static str,
    ids: usize,
    figures: usize,
    /// Number of recordings on the page.
    recordings: usize,
    /// The looks of the sources of the recording.
    looks: Vec<Look>,
    /// The figures themselves, if they are wanted.
    kept: Option<Vec<Kept>>,
}

/// Largest number of series of a recording with figures of their own.
const MOST_SERIES: usize = 4;

/// The section of the figures of a paper.
pub(super) const PAPER: &str = "paper";

/// Returns a name for a file: lower-case letters and digits with dashes between words, short enough for any file
/// system.
fn file_name(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = words.map(str::to_lowercase).collect::<Vec<_>>().join("-");
    name.truncate(80);
    name
}

impl Page {
    /// Returns a unique identifier for an element.
    pub(super) fn id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}-{}", self.ids)
    }

    /// Begins a page on this number of recordings.
    pub(super) fn begin(&mut self, recordings: usize) {
        self.recordings = recordings;
    }

    /// Returns how many series of a recording have figures of their own, the noisiest first: fewer on a page of many
    /// recordings. Figures for files take no room of a page.
    pub(super) fn most_series(&self) -> usize {
        if self.recordings > FEW && self.kept.is_none() { 1 } else { MOST_SERIES }
    }

    /// States where more series are drawn; nothing where no more are.
    pub(super) fn more_alone(&self) -> String {
        if self.recordings <= FEW {
            return String::new();
        }
        format!(" The page of this recording alone draws up to {MOST_SERIES}.")
    }

    /// Returns the number of the next figure.
    pub(super) fn figure(&mut self) -> usize {
        self.figures += 1;
        self.figures
    }

    /// Returns a page that also keeps its figures.
    pub(super) fn keeping() -> Self {
        Self { kept: Some(vec![]), ..Self::default() }
    }

    /// Keeps a figure, if figures are wanted, under a file name made of its section and of `name`, which distinguishes
    /// it within the section.
    pub(super) fn keep(
        &mut self,
        number: usize,
        name: &str,
        caption: &str,
        picture: impl FnOnce() -> Picture,
    ) {
        let (part, section) = (self.part, self.section);
        if let Some(kept) = &mut self.kept {
            let name = file_name(&format!("{section} {name}"));
            let (of_paper, caption) = (section == PAPER, plain(caption));
            kept.push(Kept { number, part, of_paper, name, caption, picture: picture() });
        }
    }

    /// Returns the kept figures.
    pub(super) fn kept(self) -> Vec<Kept> {
        self.kept.unwrap_or_default()
    }

    /// Returns colour and shape of a source, as in the timeline.
    pub(super) fn look(&self, source: &str, name: &str) -> (Color, usize) {
        looks::find(&self.looks, source, name)
    }

    /// Begins the next recording.
    ///
    /// Returns its number, from 1.
    pub(super) fn begin_part(&mut self, part: &Part) -> usize {
        self.looks = looks::from_part(part);
        self.part += 1;
        self.part
    }

    /// Begins a section, whose name prefixes the names of its figures.
    pub(super) fn begin_section(&mut self, id: &'static str) {
        self.section = id;
    }
}
