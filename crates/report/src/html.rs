//! The report as one file of HTML that opens from disk: text, tables, and data that its own script draws.
//!
//! Nothing in the file asks the network for anything, and a policy in its head forbids it to. Every text is escaped:
//! markup by `maud`, data by [`data`].

pub(crate) mod chart;
mod data;
mod head;
pub(crate) mod heat;
pub(crate) mod looks;
mod page;
pub(crate) mod picture;
mod sections;
mod survival;
mod tables;
mod whole;

use crate::style::View;
use crate::{bsp, interference, measured, phases, repeat, summary, ticks};
use anechoic_analyze::cluster::Cluster;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::spectrum::CpuPeriods;
use anechoic_analyze::timeline::Budget;
use anechoic_analyze::{Interference, Measured, Repeat, Summary, Timeline};
use anechoic_predict::bsp::Bsp;
use anechoic_predict::phases::PhaseModel;
use anechoic_predict::ticks::Model;
use anechoic_recording::Run;
use anechoic_recording::run::NotAvailable;
use page::Page;
use picture::Kept;
use std::io::{self, Write};

/// All that one file shows.
#[derive(Debug, Clone, Default)]
pub struct HtmlReport {
    /// The recordings, in the order in which they are shown.
    pub recordings: Vec<Part>,
    /// Mean and spread over runs that were repeated.
    pub repeat: Option<Repeat>,
    /// The hosts together, where there are several.
    pub cluster: Option<Cluster>,
    /// The bulk-synchronous job that ran on several hosts.
    pub job: Option<Bsp>,
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

/// What there is to say of one recording; what could not be had is absent.
#[derive(Debug, Clone)]
pub struct Part {
    /// What the recording is called: its directory.
    pub name: String,
    /// What ran where.
    pub run: Run,
    /// Noise, sources, losses; absent where gaps inside samples were not watched.
    pub summary: Option<Summary>,
    /// All detours as a picture.
    pub timeline: Option<Timeline>,
    /// What is periodic in the detours, the noisiest CPUs; empty of other methods.
    pub periods: Vec<CpuPeriods>,
    /// What the noise costs a parallel job.
    pub phases: Option<PhaseModel>,
    /// Of a method: its series.
    pub measured: Option<Measured>,
    /// Of a bulk-synchronous job on one host.
    pub bsp: Option<Bsp>,
    /// Of the interference matrix.
    pub interference: Option<Interference>,
    /// Of the serial tick model.
    pub ticks: Option<Model>,
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
        Part {
            name,
            run,
            summary: None,
            timeline: None,
            periods: vec![],
            phases: None,
            measured: None,
            bsp: None,
            interference: None,
            ticks: None,
            not_available: vec![],
        }
    }

    /// What ran where, as the results have it; of a recording that gave none, as it was planned.
    pub(crate) fn facts(&self) -> Facts {
        let found = [
            self.summary.as_ref().map(|summary| &summary.run),
            self.measured.as_ref().map(|measured| &measured.run),
            self.interference.as_ref().map(|found| &found.run),
        ];
        let span = self.run.end_ticks.saturating_sub(self.run.start_ticks);
        found.into_iter().flatten().next().cloned().unwrap_or_else(|| Facts::of(&self.run, span))
    }

    /// The screens of this recording, with every row, as text.
    fn text(&self) -> String {
        let view = View { width: 120, all: true, ..View::default() };
        let screens = [
            self.measured.as_ref().map(|found| measured(found, &view)),
            self.bsp.as_ref().map(|found| bsp(found, &view)),
            self.interference.as_ref().map(|found| interference(found, &view)),
            self.ticks.as_ref().map(|found| ticks(found, &view)),
            self.summary.as_ref().map(|found| summary(found, &view)),
            self.phases.as_ref().map(|found| phases(found, &view)),
        ];
        let texts = screens.iter().flatten().map(|screen| screen.to_text(&view));
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn html(report: &HtmlReport, out: &mut dyn Write) -> io::Result<()> {
    let view = View { all: true, ..View::default() };
    let repeated = report.repeat.as_ref().map(|found| repeat(found, &view).to_text(&view));
    let mut page = Page::default();
    let markup = page.document(report, repeated.as_deref());
    out.write_all(markup.into_string().as_bytes())
}

/// What the figures of the report show, with the numbers and captions that they have there.
pub(crate) fn pictures(report: &HtmlReport) -> Vec<Kept> {
    let mut page = Page::keeping();
    let _ = page.document(report, None);
    page.kept()
}
