//! The screen of one run.

pub(crate) mod cpus;
pub(crate) mod curve;
pub(crate) mod headline;
pub(crate) mod reference;
mod row;

pub(crate) use row::METHOD;
pub use row::SUMMARY;

use self::headline::sentences;
use crate::results::live::self_test;
use crate::results::longest;
use crate::results::longest::stopped;
use crate::results::sources;
use crate::screen::Screen;
use crate::style::View;
use crate::{advice, certainty, heading};
use anechoic_analyze::Summary;

/// Shows the noise of one run, its sources, how reliable the numbers are, and what would reduce the noise.
#[must_use]
pub fn summary(summary: &Summary, view: &View<'_>) -> Screen {
    let run = &summary.run;
    let mut screen = Screen::default();
    heading::all(run, view, &mut screen);
    screen.gap();
    screen.headline(&sentences(summary).join(" "));
    reference::line(summary).iter().for_each(|line| screen.note(line));
    stopped::add(summary.stopped.as_ref(), &summary.run, &mut screen);
    screen.gap();
    cpus::all(summary, view, &mut screen);
    screen.gap();
    sources::part(summary, view, &mut screen);
    if !summary.curve.is_empty() {
        curve::add(summary, view, &mut screen);
        screen.gap();
    }
    if !summary.longest.is_empty() && summary.sources.is_some() {
        screen.table(longest::table(&summary.longest, run, view.all));
        screen.gap();
    }
    screen.facts(certainty::facts(summary));
    screen.facts(self_test::last(run).into_iter().collect());
    if let Some(found) = &summary.sources {
        advice::add(found, run, &mut screen);
    }
    screen.path("recording", view);
    screen
}
