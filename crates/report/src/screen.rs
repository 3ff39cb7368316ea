//! What a result shows: headings, sentences, facts, tables and warnings, in order.
//!
//! A result builds its screen once: [`Screen::write`] prints it, and the page renders the same blocks.

pub(crate) mod html;
mod text;

use crate::picture::{Chart, Heat, Picture};
use crate::style::{Tone, View, plain, shown};
use crate::table::Table;
use crate::units::more;
use anechoic_recording::run::NotAvailable;
use std::io::{self, Write};

/// Everything that one result shows, in reading order.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    blocks: Vec<Block>,
}

/// One piece of a screen.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    Text(Text),
    Facts(Facts),
    Table(Table),
    /// A figure drawn for the terminal; the page has charts of its own.
    Figure(String),
    /// A chart, printed after an empty line; the page has charts of its own, with captions.
    Chart(Box<Chart>),
    /// A picture with its caption, which the page draws; the terminal prints it if it is a chart with a title.
    Picture(Box<Picture>, String),
    /// Blocks that the page folds under a summary and the terminal prints.
    Details(String, Screen),
    /// An empty line; the page has margins instead.
    Gap,
}

/// A heading, a sentence, a note or a warning.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    tone: Tone,
    /// Printed before the first line; the other lines are indented by its width.
    mark: &'static str,
    shape: Shape,
    text: String,
}

/// How a text is fitted to the width of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// It is wrapped.
    Wrapped,
    /// It is wrapped where one of its parts (`a · b · c`) ends.
    InParts,
    /// It is cut.
    Clipped,
    /// It is printed unchanged.
    Whole,
}

/// A list of facts.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// Width of the names.
    columns: usize,
    rows: Vec<Fact>,
}

/// A name and the text beside it.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    /// A sign before the name; if there is one, only the sign is coloured by the tone.
    pub mark: &'static str,
    pub name: String,
    pub tone: Tone,
    pub text: String,
    /// The remedy, printed below the text.
    pub remedy: Option<String>,
}

impl Fact {
    /// A fact without a sign and without a remedy.
    pub(crate) fn new(name: impl Into<String>, tone: Tone, text: impl Into<String>) -> Self {
        Self { mark: "", name: name.into(), tone, text: text.into(), remedy: None }
    }
}

/// Default width of the names of facts.
const NAME_COLUMNS: usize = 15;
/// Largest number of hosts, or kinds of machines, that are listed.
const CONTEXTS: usize = 4;

impl Screen {
    /// Prints the screen.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.to_text(view).as_bytes())
    }

    /// Returns the screen as text.
    #[must_use]
    pub fn to_text(&self, view: &View<'_>) -> String {
        text::to_text(self, view)
    }

    /// Returns its pieces.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the screen that a function builds.
    pub(crate) fn of(build: impl FnOnce(&mut Screen)) -> Self {
        let mut screen = Self::default();
        build(&mut screen);
        screen
    }

    fn text(&mut self, tone: Tone, mark: &'static str, shape: Shape, text: &str) {
        self.blocks.push(Block::Text(Text { tone, mark, shape, text: plain(text) }));
    }

    /// Adds a title of one line.
    pub(crate) fn heading(&mut self, text: &str) {
        self.text(Tone::Heading, "", Shape::Clipped, text);
    }

    /// Adds an empty line and a title of one line.
    pub(crate) fn section(&mut self, text: &str) {
        self.gap();
        self.heading(text);
    }

    /// Adds a sentence that states the result. A long screen repeats it at the end.
    pub(crate) fn headline(&mut self, text: &str) {
        self.text(Tone::Heading, "", Shape::Wrapped, text);
    }

    /// Puts a sentence before all others, below the lines on what was measured where.
    pub(crate) fn open_with(&mut self, text: &str) {
        let describes = |block: &Block| match block {
            Block::Text(text) => matches!(text.shape, Shape::Clipped | Shape::InParts),
            _ => false,
        };
        let at = self.blocks.iter().position(|block| !describes(block));
        let sentence = Self::of(|screen| {
            screen.gap();
            screen.headline(text);
        });
        let at = at.unwrap_or(self.blocks.len());
        self.blocks.splice(at..at, sentence.blocks);
    }

    /// Adds a sentence.
    pub(crate) fn sentence(&mut self, text: &str) {
        self.text(Tone::Plain, "", Shape::Wrapped, text);
    }

    /// Adds a line that is printed unchanged, however long.
    pub(crate) fn line(&mut self, text: &str) {
        self.text(Tone::Plain, "", Shape::Whole, text);
    }

    /// Adds a line in a tone that is printed unchanged, however long.
    pub(crate) fn toned_line(&mut self, tone: Tone, text: &str) {
        self.text(tone, "", Shape::Whole, text);
    }

    /// Adds a sentence in a tone.
    pub(crate) fn toned(&mut self, tone: Tone, text: &str) {
        self.text(tone, "", Shape::Wrapped, text);
    }

    /// Adds a note on how to read something, or where it comes from.
    pub(crate) fn note(&mut self, text: &str) {
        self.text(Tone::Quiet, "", Shape::Wrapped, text);
    }

    /// Adds what could not be computed, and why.
    pub(crate) fn not_available(&mut self, missing: &[NotAvailable]) {
        for NotAvailable { what, why, remedy } in missing {
            self.note(&format!("not available: {what}: {why}; {remedy}"));
        }
    }

    /// Adds a line on what was measured where.
    pub(crate) fn context(&mut self, text: &str) {
        self.clipped(Tone::Quiet, text);
    }

    /// Adds what was measured where for each of the first few, wrapped like [`Self::in_parts`], and how many are left out.
    pub(crate) fn contexts<T>(&mut self, of: &[T], line: fn(&T) -> String, [one, many]: [&str; 2]) {
        of.iter().take(CONTEXTS).for_each(|of| self.in_parts(&line(of)));
        if let Some(more) = more(of.len(), CONTEXTS, one, many) {
            self.context(&format!("and {more}"));
        }
    }

    /// Adds lines on what was measured where, wrapped where one of the parts (`a · b · c`) ends.
    pub(crate) fn in_parts(&mut self, text: &str) {
        self.text(Tone::Quiet, "", Shape::InParts, text);
    }

    /// Adds one line in a tone, cut to the width of the screen.
    pub(crate) fn clipped(&mut self, tone: Tone, text: &str) {
        self.text(tone, "", Shape::Clipped, text);
    }

    /// Adds a warning.
    pub(crate) fn warning(&mut self, text: &str) {
        self.text(Tone::Warning, "! ", Shape::Wrapped, text);
    }

    /// Adds an item of a list.
    pub(crate) fn item(&mut self, tone: Tone, text: &str) {
        self.text(tone, "· ", Shape::Wrapped, text);
    }

    /// Adds a text that is indented like the items of a list.
    pub(crate) fn indented(&mut self, text: &str) {
        self.text(Tone::Plain, "  ", Shape::Wrapped, text);
    }

    /// Adds facts with names of the default width.
    pub(crate) fn facts(&mut self, rows: Vec<Fact>) {
        self.list(NAME_COLUMNS, rows);
    }

    /// Adds facts with names of this width.
    pub(crate) fn list(&mut self, columns: usize, mut rows: Vec<Fact>) {
        match self.blocks.last_mut() {
            Some(Block::Facts(last)) if last.columns == columns => last.rows.append(&mut rows),
            _ if rows.is_empty() => {}
            _ => self.blocks.push(Block::Facts(Facts { columns, rows })),
        }
    }

    /// Adds a screen that the page folds under a summary.
    pub(crate) fn details(&mut self, summary: &str, screen: Screen) {
        if !screen.blocks.is_empty() {
            self.blocks.push(Block::Details(plain(summary), screen));
        }
    }

    /// Adds a table.
    pub(crate) fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds charts.
    pub(crate) fn charts(&mut self, charts: impl IntoIterator<Item = Chart>) {
        self.blocks.extend(charts.into_iter().map(|chart| Block::Chart(Box::new(chart))));
    }

    /// Adds a chart that has something to draw, with a caption. The terminal prints it if it has a title.
    pub(crate) fn pictured(&mut self, chart: Chart, caption: impl Into<String>) {
        if !chart.is_empty() {
            self.blocks.push(Block::Picture(Box::new(Picture::Chart(chart)), caption.into()));
        }
    }

    /// Adds a shaded table with a caption, which only the page shows.
    pub(crate) fn shaded(&mut self, heat: Heat, caption: impl Into<String>) {
        self.blocks.push(Block::Picture(Box::new(Picture::Heat(heat)), caption.into()));
    }

    /// Adds a figure that a function writes for the terminal.
    pub(crate) fn figure(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let mut drawn = Vec::new();
        // A vector takes all that is written.
        let _ = write(&mut drawn);
        self.blocks.push(Block::Figure(String::from_utf8_lossy(&drawn).into_owned()));
    }

    /// Appends all blocks of another screen.
    pub(crate) fn append(&mut self, mut other: Screen) {
        self.blocks.append(&mut other.blocks);
    }

    /// Adds an empty line.
    pub(crate) fn gap(&mut self) {
        self.blocks.push(Block::Gap);
    }

    /// Adds the path of the recording if it is known; `what` names it.
    pub(crate) fn path(&mut self, what: &str, view: &View<'_>) {
        let Some(path) = view.path else { return };
        self.gap();
        self.text(Tone::Quiet, "", Shape::Whole, &format!("{what}: {}", shown(path)));
    }
}
