//! What sections share while the page is made: numbers of figures, identifiers, and the figures that are kept.

use crate::picture::{Kept, Picture};
use crate::style::plain;

/// The page in the making: numbers of figures, identifiers that are not used twice.
#[derive(Debug, Default)]
pub(crate) struct Page {
    part: usize,
    section: &'static str,
    ids: usize,
    figures: usize,
    /// The figures themselves, where they are wanted.
    kept: Option<Vec<Kept>>,
}

/// Letters and digits in lower case with dashes between them, as many as any file system takes.
fn file_name(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = words.map(str::to_lowercase).collect::<Vec<_>>().join("-");
    name.truncate(80);
    name
}

impl Page {
    /// An identifier that no other element has.
    pub(super) fn id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}-{}", self.ids)
    }

    /// The number of the next figure.
    pub(super) fn figure(&mut self) -> usize {
        self.figures += 1;
        self.figures
    }

    /// A page that also keeps what its figures show.
    pub(super) fn keeping() -> Self {
        Self { kept: Some(vec![]), ..Self::default() }
    }

    /// Keeps what the figure of this number shows, where that is wanted, under a name fit for a file: its section, and
    /// what tells it from others of that section.
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
            kept.push(Kept { number, part, name, caption: plain(caption), picture: picture() });
        }
    }

    /// What was kept.
    pub(super) fn kept(self) -> Vec<Kept> {
        self.kept.unwrap_or_default()
    }

    /// Begins the next recording.
    ///
    /// Returns its number, from 1.
    pub(super) fn begin_part(&mut self) -> usize {
        self.part += 1;
        self.part
    }

    /// Begins a section, which the names of the figures in it begin with.
    pub(super) fn begin_section(&mut self, id: &'static str) {
        self.section = id;
    }
}
