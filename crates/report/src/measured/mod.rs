//! The screen of one recording of a method: headline, series, figures, and how reliable they are.

pub(crate) mod counted;
pub(crate) mod doubts;
mod fine;
pub(crate) mod headline;
pub(crate) mod histogram;
pub(crate) mod intro;
pub(crate) mod left;
pub(crate) mod loss;
pub(crate) mod names;
pub(crate) mod periods;
mod pictures;
pub(crate) mod scatter;
pub(crate) mod series;
pub(crate) mod subtraction;
pub(crate) mod tail;
pub(crate) mod ticks;

pub use periods::spectrum;

use crate::screen::{Fact, Screen};
use crate::style::View;
use crate::{advice, certainty, heading, sources};
use anechoic_analyze::samples::Measured;

/// Shows one recording of a method.
#[must_use]
pub fn measured(measured: &Measured, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.heading(&heading::machine(&measured.run));
    screen.in_parts(&intro::parts(measured));
    heading::ended(&measured.run).iter().for_each(|ended| screen.warning(ended));
    screen.gap();
    screen.headline(&headline::sentences(measured).join(" "));
    screen.gap();
    series::add(measured, view.all, &mut screen);
    doubts::add(measured, &mut screen);
    screen.charts(pictures::figures(measured, view));
    screen.charts(tail::figure(measured, view));
    fine::add(measured, view, &mut screen);
    periods::add(measured, view, &mut screen);
    ticks::add(measured, view, &mut screen);
    subtraction::add(measured, view, &mut screen);
    counted::add(measured, view.all, &mut screen);
    if let Some(found) = &measured.sources {
        screen.gap();
        sources::add(found, &measured.run, view, &mut screen);
        advice::add(found, &measured.run, &mut screen);
    }
    screen.gap();
    screen.facts(certainty(measured));
    screen.path("recording", view);
    screen
}

/// Returns whether the work was correct, what was lost, and what was not available.
fn certainty(measured: &Measured) -> Vec<Fact> {
    let mut facts = vec![doubts::work(measured)];
    facts.extend(certainty::losses(&measured.losses));
    facts.extend(certainty::not_available(&measured.run.not_available));
    facts.extend(certainty::not_available(&measured.not_available));
    facts.extend(certainty::not_available(&doubts::not_said(measured)));
    facts.extend(certainty::notes(&measured.run));
    facts
}
