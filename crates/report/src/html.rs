//! The report as one file of HTML that opens from disk: text, tables, and data that its own script draws.
//!
//! Nothing in the file asks the network for anything, and a policy in its head forbids it to. Every text is escaped:
//! markup by `maud`, data by [`data`].

mod data;
mod document;
mod figure;
mod head;
mod looks;
mod page;
mod sections;
mod survival;
mod tables;
mod whole;

use crate::picture::Kept;
use crate::results::{Findings, Found, Row};
use crate::style::View;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::timeline::Budget;
use anechoic_recording::Run;
use anechoic_recording::run::NotAvailable;
use document::document;
use page::Page;
use std::any::Any;
use std::fmt::Debug;
use std::io::{self, Write};

/// All that one file shows.
#[derive(Debug, Clone, Default)]
pub struct HtmlReport {
    /// What the recordings come to together; it has no run.
    pub together: Part,
    /// The recordings, in the order in which they are shown.
    pub recordings: Vec<Part>,
    /// Why none of the recordings is shown by itself, where they are too many.
    pub not_shown: Option<NotShown>,
}

/// Recordings that are not shown one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotShown {
    /// How many there are.
    pub recordings: u64,
    /// So many have room in a file.
    pub most: u64,
    /// The command that shows one of them.
    pub example: String,
}

/// What there is to show of one recording, or of all of them together.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// What the recording is called: its directory.
    pub name: String,
    /// What ran where; absent of recordings together.
    pub run: Option<Run>,
    /// The results.
    pub found: Findings,
    /// What could not be computed, and why.
    pub not_available: Vec<NotAvailable>,
}

/// Cells and stories of a file, all recordings together: with them it stays below 5 MB.
const CELLS: usize = 90_000;
const STORIES: usize = 2_400;

/// How much the timeline of each of so many recordings may hold, so that the file stays below 5 MB.
#[must_use]
pub fn budget(recordings: usize) -> Budget {
    let share = recordings.max(1);
    Budget { cells: CELLS / share, stories: STORIES / share }
}

impl Part {
    /// A recording of which only this is known.
    #[must_use]
    pub fn of(name: String, run: Run) -> Self {
        Part { name, run: Some(run), ..Self::default() }
    }

    /// The same with a result more.
    #[must_use]
    pub fn with<T: Debug + Any + Send + Sync>(mut self, row: &'static Row<T>, value: T) -> Self {
        self.found.add(Found::of(row, value, &[]));
        self
    }

    /// The result of this type, if there is one.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        self.found.get()
    }

    /// What was measured; nothing of recordings together.
    pub(crate) fn method(&self) -> &str {
        self.run.as_ref().map_or("", |run| &run.method)
    }

    /// What ran where, as the results have it, that of lost time first; of a recording that gave none, as it was
    /// planned.
    pub(crate) fn facts(&self) -> Option<Facts> {
        let planned = |run: &Run| Facts::of(run, run.end_ticks.saturating_sub(run.start_ticks));
        let found = self.found.iter().rev().find_map(Found::facts).cloned();
        found.or_else(|| self.run.as_ref().map(planned))
    }

    /// The screens of this recording, with every row, as text.
    fn text(&self) -> String {
        let view = View { width: 120, all: true, ..View::default() };
        let texts = self.found.iter().map(|found| found.screen(&view).to_text(&view));
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn html(report: &HtmlReport, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::default();
    let markup = document(report, &mut page);
    out.write_all(markup.into_string().as_bytes())
}

/// What the figures of the report show, with the numbers and captions that they have there.
pub(crate) fn pictures(report: &HtmlReport) -> Vec<Kept> {
    let mut page = Page::keeping();
    let _ = document(report, &mut page);
    page.kept()
}
