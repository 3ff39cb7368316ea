//! The report as one HTML file that opens from disk: text, tables, and data that its own scripts draw.
//!
//! The file makes no network requests, and a policy in its head forbids them. All text is escaped: markup by `maud`,
//! data by [`data`].

mod data;
mod document;
mod figure;
mod head;
mod looks;
mod same_cpu;
mod sections;
mod state;
mod study;
mod tables;
mod whole;

use crate::picture::Kept;
use crate::results::suite::Study;
use crate::results::{Findings, Found, Row};
use crate::style::View;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::timeline::Budget;
use anechoic_recording::Run;
use anechoic_recording::run::NotAvailable;
use document::document;
use state::Page;
use std::any::Any;
use std::fmt::Debug;
use std::io::{self, Write};

/// The content of one file.
#[derive(Debug, Clone, Default)]
pub struct HtmlReport {
    /// The experiments of a paper, if the recordings are the sets of a suite.
    pub study: Option<Study>,
    /// What the reader must know about the recordings first, in whole sentences.
    pub notes: Vec<String>,
    /// The results for all recordings together; it has no run.
    pub together: Part,
    /// The recordings in the order in which they are shown.
    pub recordings: Vec<Part>,
    /// Present if there are too many recordings to show each of them.
    pub not_shown: Option<NotShown>,
}

/// Recordings that are not shown individually.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotShown {
    /// How many there are.
    pub recordings: u64,
    /// The largest number of recordings in a file.
    pub most: u64,
    /// A command that shows one of them.
    pub example: String,
}

/// The results for one recording, or for all recordings together.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// The name of the recording: its directory.
    pub name: String,
    /// The description of the run; absent for all recordings together.
    pub run: Option<Run>,
    /// The results.
    pub found: Findings,
    /// The results that could not be computed, and why.
    pub not_available: Vec<NotAvailable>,
}

/// Largest numbers of cells and stories in a file, which keep that of a few recordings below 5 MB.
const CELLS: usize = 90_000;
const STORIES: usize = 2_400;
/// The same number of cells where there are many recordings, each of which has figures, too.
const CELLS_OF_MANY: usize = 60_000;
/// Up to this number of recordings in a file are few.
const FEW: usize = 3;

/// Returns the size limit of each recording's timeline in a file of this many recordings.
#[must_use]
pub fn budget(recordings: usize) -> Budget {
    let share = recordings.max(1);
    let cells = if recordings > FEW { CELLS_OF_MANY } else { CELLS };
    Budget { cells: cells / share, stories: STORIES / share }
}

impl Part {
    /// Returns a recording without results.
    #[must_use]
    pub fn new(name: String, run: Run) -> Self {
        Part { name, run: Some(run), ..Self::default() }
    }

    /// Adds a result.
    #[must_use]
    pub fn with<T: Debug + Any + Send + Sync>(mut self, row: &'static Row<T>, value: T) -> Self {
        self.found.add(Found::from_value(row, value, &[]));
        self
    }

    /// Returns the result of this type, if there is one.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        self.found.get()
    }

    /// Returns the method; empty for all recordings together.
    pub(crate) fn method(&self) -> &str {
        self.run.as_ref().map_or("", |run| &run.method)
    }

    /// Returns the facts of the run from the results, preferably from the summary; without results those of the plan.
    pub(crate) fn facts(&self) -> Option<Facts> {
        let planned = |run: &Run| Facts::new(run, run.end_ticks.saturating_sub(run.start_ticks));
        let found = self.found.iter().rev().find_map(Found::facts).cloned();
        found.or_else(|| self.run.as_ref().map(planned))
    }

    /// Returns the full screens of this recording as text.
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

/// Returns the figures of the report with their numbers and captions.
pub(crate) fn pictures(report: &HtmlReport) -> Vec<Kept> {
    let mut page = Page::keeping();
    let _ = document(report, &mut page);
    page.kept()
}
