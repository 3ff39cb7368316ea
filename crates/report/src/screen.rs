//! What a result shows: headings, sentences, facts, tables, pictures and warnings, in order.
//!
//! A result builds its screen once: [`Screen::write`] prints it, and the page renders the same blocks. A block that
//! only one of the two shows states that.

mod brief;
pub(crate) mod document;
pub(crate) mod html;
mod room;
mod text;

pub(crate) use brief::{Fact, InBrief};

use crate::picture::{Chart, Heat, Picture};
use crate::style::{Tone, View, plain, shown as shown_path};
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
pub(crate) struct Block {
    /// Where it is shown.
    pub shown: Shown,
    pub content: Content,
}

impl Block {
    /// Returns whether it is a line on what was measured where, or the title above these.
    fn is_context(&self) -> bool {
        let Content::Text(text) = &self.content else { return false };
        matches!(text.shape, Shape::Clipped | Shape::InParts)
    }

    /// Returns whether it is a note.
    fn is_note(&self) -> bool {
        let Content::Text(text) = &self.content else { return false };
        text.tone == Tone::Quiet && text.shape == Shape::Wrapped
    }

    /// Returns the part of a page that it is, if it is one.
    fn into_part(self) -> Option<(Section, Screen)> {
        match self.content {
            Content::Part(section, screen) if self.shown != Shown::InTerminal => {
                Some((section, screen))
            }
            _ => None,
        }
    }
}

/// Where a block is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Everywhere,
    OnPage,
    InTerminal,
}

/// What one piece of a screen is.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Text(Text),
    Facts(Facts),
    Table(Table),
    /// A picture with its caption. The terminal shows its title instead of the caption.
    Picture(Box<Picture>, String),
    /// Pictures that a wide page shows beside each other.
    Pair(Screen),
    /// A part that a page shows as a section of its own.
    Part(Section, Screen),
    /// A screen for each series, the noisiest first; a page of many recordings shows the first ones.
    Noisiest(Vec<Screen>),
    /// Blocks that the page folds under a summary and the terminal prints.
    Details(Details),
    /// An empty line; the page has margins instead.
    Gap,
}

/// A section of a page that shows the screen of a result, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// The anchor of the section; the files of its figures begin with it.
    pub anchor: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Its heading in the navigation.
    pub short: &'static str,
}

/// Blocks under a summary.
#[derive(Debug, Clone)]
pub(crate) struct Details {
    pub summary: String,
    pub screen: Screen,
    /// Whether they are unfolded at first.
    pub open: bool,
    /// Whether they are unfolded on paper.
    pub on_paper: bool,
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
    /// It is cut; on a page it begins with a capital.
    Section,
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

    /// Returns the screen that a function builds.
    pub(crate) fn from_fn(build: impl FnOnce(&mut Screen)) -> Self {
        let mut screen = Self::default();
        build(&mut screen);
        screen
    }

    fn push(&mut self, content: Content) {
        self.blocks.push(Block { shown: Shown::Everywhere, content });
    }

    /// Adds what a function adds, and shows it there only.
    fn add_only(&mut self, shown: Shown, build: impl FnOnce(&mut Screen)) {
        let added = Self::from_fn(build).blocks.into_iter();
        self.blocks.extend(added.map(|block| Block { shown, ..block }));
    }

    /// Adds what a function adds, and shows it on the page only.
    pub(crate) fn on_page(&mut self, build: impl FnOnce(&mut Screen)) {
        self.add_only(Shown::OnPage, build);
    }

    /// Adds what a function adds, and shows it in the terminal only.
    pub(crate) fn in_terminal(&mut self, build: impl FnOnce(&mut Screen)) {
        self.add_only(Shown::InTerminal, build);
    }

    fn text(&mut self, tone: Tone, mark: &'static str, shape: Shape, text: &str) {
        self.push(Content::Text(Text { tone, mark, shape, text: plain(text) }));
    }

    /// Adds a title of one line.
    pub(crate) fn heading(&mut self, text: &str) {
        self.text(Tone::Heading, "", Shape::Clipped, text);
    }

    /// Adds an empty line and a title of one line.
    pub(crate) fn section(&mut self, text: &str) {
        self.gap();
        self.text(Tone::Heading, "", Shape::Section, text);
    }

    /// Adds a sentence that states the result. A long screen with all rows repeats it at the end.
    pub(crate) fn headline(&mut self, text: &str) {
        self.text(Tone::Heading, "", Shape::Wrapped, text);
    }

    /// Puts a sentence before all others, below the lines on what was measured where.
    pub(crate) fn open_with(&mut self, text: &str) {
        let place = self.blocks.iter().position(|block| !block.is_context());
        let place = place.unwrap_or(self.blocks.len());
        let sentence = Self::from_fn(|screen| {
            screen.gap();
            screen.headline(text);
        });
        self.blocks.splice(place..place, sentence.blocks);
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
    pub(crate) fn contexts<T>(
        &mut self,
        all: &[T],
        line: fn(&T) -> String,
        [one, many]: [&str; 2],
    ) {
        all.iter().take(CONTEXTS).for_each(|context| self.in_parts(&line(context)));
        if let Some(more) = more(all.len(), CONTEXTS, one, many) {
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
        match self.blocks.last_mut().map(|last| &mut last.content) {
            Some(Content::Facts(last)) if last.columns == columns => last.rows.append(&mut rows),
            _ if rows.is_empty() => {}
            _ => self.push(Content::Facts(Facts { columns, rows })),
        }
    }

    /// Adds pictures that a wide page shows beside each other.
    pub(crate) fn pair(&mut self, build: impl FnOnce(&mut Screen)) {
        let pictures = Self::from_fn(build);
        if !pictures.blocks.is_empty() {
            self.push(Content::Pair(pictures));
        }
    }

    /// Adds a part that a page shows as a section of its own, if it shows anything.
    pub(crate) fn part(&mut self, section: Section, build: impl FnOnce(&mut Screen)) {
        let part = Self::from_fn(build);
        if !part.blocks.is_empty() {
            self.push(Content::Part(section, part));
        }
    }

    /// Takes out the parts that a page shows as sections of their own.
    pub(crate) fn take_parts(&mut self) -> Vec<(Section, Screen)> {
        let is_part = |block: &mut Block| matches!(block.content, Content::Part(..));
        self.blocks.extract_if(.., is_part).filter_map(Block::into_part).collect()
    }

    /// Adds a screen for each series, the noisiest first.
    pub(crate) fn noisiest(&mut self, series: Vec<Screen>) {
        if series.iter().any(|screen| !screen.blocks.is_empty()) {
            self.push(Content::Noisiest(series));
        }
    }

    /// Adds a screen that the page folds under a summary.
    pub(crate) fn details(&mut self, summary: &str, screen: Screen) {
        let summary = plain(summary);
        self.fold(Details { summary, screen, open: false, on_paper: false });
    }

    /// Adds a screen that the page folds under a summary unless it is open, and which paper shows.
    pub(crate) fn details_on_paper(&mut self, summary: &str, open: bool, screen: Screen) {
        self.fold(Details { summary: plain(summary), screen, open, on_paper: true });
    }

    fn fold(&mut self, details: Details) {
        if !details.screen.blocks.is_empty() {
            self.push(Content::Details(details));
        }
    }

    /// Adds a table.
    pub(crate) fn table(&mut self, table: Table) {
        self.push(Content::Table(table));
    }

    /// Adds a picture that has something to draw, with its caption.
    pub(crate) fn picture(&mut self, picture: impl Into<Picture>, caption: impl Into<String>) {
        let picture = picture.into();
        if !picture.is_empty() {
            self.push(Content::Picture(Box::new(picture), caption.into()));
        }
    }

    /// Adds a chart with its caption; the terminal shows it only if it has a title there.
    pub(crate) fn pictured(&mut self, chart: Chart, caption: impl Into<String>) {
        match chart.title.is_empty() {
            true => self.on_page(|page| page.picture(chart, caption)),
            false => self.picture(chart, caption),
        }
    }

    /// Adds charts that only the terminal shows.
    pub(crate) fn charts(&mut self, charts: impl IntoIterator<Item = Chart>) {
        self.in_terminal(|terminal| {
            charts.into_iter().for_each(|chart| {
                terminal.push(Content::Picture(Box::new(chart.into()), String::new()))
            });
        });
    }

    /// Adds a shaded table with a caption, which only the page shows.
    pub(crate) fn shaded(&mut self, heat: Heat, caption: impl Into<String>) {
        self.on_page(|page| page.picture(heat, caption));
    }

    /// Returns the screen for a place among others that has pictures of its own: all that the terminal shows, and
    /// pictures there only.
    pub(crate) fn quoted(mut self) -> Self {
        self.blocks.retain(|block| block.shown != Shown::OnPage);
        for block in &mut self.blocks {
            let is_picture = matches!(block.content, Content::Picture(..));
            block.shown = if is_picture { Shown::InTerminal } else { Shown::Everywhere };
        }
        self
    }

    /// Returns whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Appends all blocks of another screen.
    pub(crate) fn append(&mut self, mut other: Screen) {
        self.blocks.append(&mut other.blocks);
    }

    /// Adds an empty line.
    pub(crate) fn gap(&mut self) {
        self.push(Content::Gap);
    }

    /// Adds the path of the recording if it is known; `what` names it.
    pub(crate) fn path(&mut self, what: &str, view: &View<'_>) {
        let Some(path) = view.path else { return };
        self.gap();
        self.text(Tone::Quiet, "", Shape::Whole, &format!("{what}: {}", shown_path(path)));
    }

    /// Adds the path of the recording if it is known, and how to see what a brief screen leaves out.
    pub(crate) fn path_and_more(&mut self, view: &View<'_>) {
        self.path("recording", view);
        if !view.all && view.path.is_some() {
            let path = view.path.map(shown_path).unwrap_or_default();
            self.note(&format!("`anechoic summary --all {path}` shows more"));
        }
    }
}
