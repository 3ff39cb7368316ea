//! The screen of one recording of a method: headline, series, figures, and how reliable they are.

pub(crate) mod counted;
pub(crate) mod cumulative;
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
mod row;
pub(crate) mod scatter;
pub(crate) mod series;
pub(crate) mod subtraction;
pub(crate) mod survival;
pub(crate) mod tail;
pub(crate) mod ticks;

pub use row::MEASURED;

pub use periods::spectrum;

use crate::results::sources;
use crate::screen::{Fact, Screen, Section};
use crate::style::View;
use crate::{advice, certainty, heading};
use anechoic_analyze::samples::Measured;
use anechoic_recording::methods;

/// Shows one recording of a method.
#[must_use]
pub fn measured(measured: &Measured, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    // A page begins with these.
    screen.in_terminal(|terminal| {
        terminal.heading(&heading::machine(&measured.run));
        terminal.in_parts(&intro::parts(measured));
        heading::ended(&measured.run).iter().for_each(|ended| terminal.warning(ended));
        terminal.gap();
        terminal.headline(&headline::sentences(measured).join(" "));
        terminal.gap();
    });
    series::add(measured, view.all, &mut screen);
    doubts::add(measured, &mut screen);
    pictures::add(measured, view, &mut screen);
    fine::add(measured, view, &mut screen);
    // On a page only the methods that are about these have them; the text has those of all.
    match measured.method.as_str() {
        methods::TICK => screen.part(TICK, |part| ticks::add(measured, view, part)),
        _ => screen.in_terminal(|terminal| ticks::add(measured, view, terminal)),
    }
    match measured.method.as_str() {
        methods::LOOPS => screen.part(LEFT, |part| subtraction::add(measured, view, part)),
        _ => screen.in_terminal(|terminal| subtraction::add(measured, view, terminal)),
    }
    screen.part(PERIODS, |part| periods::add(measured, view, part));
    counted::add(measured, view.all, &mut screen);
    if let Some(found) = &measured.sources {
        // A page has a section of its own for these.
        screen.in_terminal(|terminal| {
            terminal.gap();
            sources::add(found, &measured.run, view, terminal);
            advice::add(found, &measured.run, terminal);
        });
    }
    screen.gap();
    screen.facts(certainty(measured));
    screen.path("recording", view);
    screen
}

/// The parts that a page shows as sections of their own.
const PERIODS: Section = Section { anchor: "periods", title: "What is periodic", short: "Periods" };
const TICK: Section = Section { anchor: "tick", title: "What one tick costs", short: "Tick cost" };
const LEFT: Section = Section {
    anchor: "left",
    title: "The spread after subtracting the kernel's time",
    short: "Subtraction",
};

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
