//! What a result shows: headings, sentences, facts, tables and warnings, in order.
//!
//! A result builds its screen once. [`Screen::write`] prints it, and the page renders the same blocks.

pub(crate) mod html;
mod text;

use crate::picture::Chart;
use crate::style::{Tone, View, plain};
use crate::table::Table;
use std::io::{self, Write};

/// All that one result shows, in the order in which it is read.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    blocks: Vec<Block>,
}

/// One piece of a screen.
#[derive(Debug, Clone)]
enum Block {
    Text(Text),
    Facts(Facts),
    Table(Table),
    /// A figure drawn for the terminal, as it is printed. The page has charts of its own.
    Figure(String),
    /// A chart, which text prints with an empty line before it. The page has charts of its own, with captions.
    Chart(Box<Chart>),
    /// What the page folds under a summary, and text prints.
    Details(String, Screen),
    /// An empty line. The page has margins instead.
    Gap,
}

/// A heading, a sentence, a note or a warning.
#[derive(Debug, Clone)]
struct Text {
    tone: Tone,
    /// What stands before the first line; the others are indented by its width.
    mark: &'static str,
    shape: Shape,
    text: String,
}

/// How a text is made to fit the width of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// It goes on in the next line.
    Wrapped,
    /// It goes on in the next line, where one of its parts (`a · b · c`) ends.
    InParts,
    /// It is cut.
    Clipped,
    /// It is printed as it is.
    Whole,
}

/// Names, and what there is to know of each.
#[derive(Debug, Clone)]
struct Facts {
    /// Columns before the text.
    columns: usize,
    rows: Vec<Fact>,
}

/// A name, and what there is to know of it.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    /// A sign before the name, which then has the tone alone.
    pub mark: &'static str,
    pub name: String,
    pub tone: Tone,
    pub text: String,
    /// What would change it.
    pub remedy: Option<String>,
}

impl Fact {
    /// A fact without a sign and without a remedy.
    pub(crate) fn new(name: impl Into<String>, tone: Tone, text: impl Into<String>) -> Self {
        Self { mark: "", name: name.into(), tone, text: text.into(), remedy: None }
    }
}

/// Columns before the text of a fact, where nothing else is asked.
const NAME_COLUMNS: usize = 15;

impl Screen {
    /// Prints the screen.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        text::write(self, view, out)
    }

    /// The screen as text.
    #[must_use]
    pub fn to_text(&self, view: &View<'_>) -> String {
        text::to_text(self, view)
    }

    /// A screen that a function builds.
    pub(crate) fn of(build: impl FnOnce(&mut Screen)) -> Self {
        let mut screen = Self::default();
        build(&mut screen);
        screen
    }

    fn text(&mut self, tone: Tone, mark: &'static str, shape: Shape, text: &str) {
        self.blocks.push(Block::Text(Text { tone, mark, shape, text: plain(text) }));
    }

    /// Adds a title in one line.
    pub(crate) fn heading(&mut self, text: &str) {
        self.text(Tone::Heading, "", Shape::Clipped, text);
    }

    /// Adds a title in one line, an empty line before it.
    pub(crate) fn section(&mut self, text: &str) {
        self.gap();
        self.heading(text);
    }

    /// Adds what the result means, in a sentence or two.
    pub(crate) fn headline(&mut self, text: &str) {
        self.text(Tone::Heading, "", Shape::Wrapped, text);
    }

    /// Adds a sentence.
    pub(crate) fn sentence(&mut self, text: &str) {
        self.text(Tone::Plain, "", Shape::Wrapped, text);
    }

    /// Adds a line that is printed as it is, however long.
    pub(crate) fn line(&mut self, text: &str) {
        self.text(Tone::Plain, "", Shape::Whole, text);
    }

    /// Adds a sentence in a tone.
    pub(crate) fn toned(&mut self, tone: Tone, text: &str) {
        self.text(tone, "", Shape::Wrapped, text);
    }

    /// Adds how something is to be read, or where it comes from.
    pub(crate) fn note(&mut self, text: &str) {
        self.text(Tone::Quiet, "", Shape::Wrapped, text);
    }

    /// Adds what was measured where, in one line.
    pub(crate) fn context(&mut self, text: &str) {
        self.clipped(Tone::Quiet, text);
    }

    /// Adds what was measured where, in lines that end where one of its parts (`a · b · c`) does.
    pub(crate) fn in_parts(&mut self, text: &str) {
        self.text(Tone::Quiet, "", Shape::InParts, text);
    }

    /// Adds one line in a tone, which is cut where it is too long.
    pub(crate) fn clipped(&mut self, tone: Tone, text: &str) {
        self.text(tone, "", Shape::Clipped, text);
    }

    /// Adds what makes the result less than it seems.
    pub(crate) fn warning(&mut self, text: &str) {
        self.text(Tone::Warning, "! ", Shape::Wrapped, text);
    }

    /// Adds a point of a list.
    pub(crate) fn item(&mut self, tone: Tone, text: &str) {
        self.text(tone, "· ", Shape::Wrapped, text);
    }

    /// Adds a text that is indented as the points of a list are.
    pub(crate) fn indented(&mut self, text: &str) {
        self.text(Tone::Plain, "  ", Shape::Wrapped, text);
    }

    /// Adds names and what there is to know of each.
    pub(crate) fn facts(&mut self, rows: Vec<Fact>) {
        self.list(NAME_COLUMNS, rows);
    }

    /// Adds names and what there is to know of each, which begins so many columns to the right.
    pub(crate) fn list(&mut self, columns: usize, mut rows: Vec<Fact>) {
        match self.blocks.last_mut() {
            Some(Block::Facts(last)) if last.columns == columns => last.rows.append(&mut rows),
            _ if rows.is_empty() => {}
            _ => self.blocks.push(Block::Facts(Facts { columns, rows })),
        }
    }

    /// Adds what the page shows only when it is asked for, under a summary.
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

    /// Adds a figure that a function writes for the terminal.
    pub(crate) fn figure(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let mut drawn = Vec::new();
        // A vector takes all that is written.
        let _ = write(&mut drawn);
        self.blocks.push(Block::Figure(String::from_utf8_lossy(&drawn).into_owned()));
    }

    /// Adds all blocks of another screen.
    pub(crate) fn append(&mut self, mut other: Screen) {
        self.blocks.append(&mut other.blocks);
    }

    /// Adds an empty line.
    pub(crate) fn gap(&mut self) {
        self.blocks.push(Block::Gap);
    }

    /// Adds where the recording lies, where that is known; `what` it is called.
    pub(crate) fn path(&mut self, what: &str, view: &View<'_>) {
        let Some(path) = view.path else { return };
        self.gap();
        self.text(Tone::Quiet, "", Shape::Whole, &format!("{what}: {}", path.display()));
    }
}
