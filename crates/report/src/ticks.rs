//! The screen of the serial tick model: the cost of one interrupt, the time that ticks take, and how well the model
//! fits.

pub(crate) mod anomalies;
mod figures;
mod scheduler;
pub(crate) mod tables;
pub(crate) mod words;

use crate::heading;
use crate::screen::Screen;
use crate::style::View;
use anechoic_predict::ticks::{Model, Origin, ProcessorModel};

/// Shows the model of every processor.
#[must_use]
pub fn ticks(model: &Model, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.heading("serial tick model (Tsafrir 2007)");
    match &model.origin {
        Origin::Files { times, costs } => {
            screen.context(&format!("times: {times} · costs: {costs}"));
        }
        Origin::Recording(facts) => {
            screen.heading(&heading::machine(facts));
            heading::ended(facts).iter().for_each(|ended| screen.warning(ended));
        }
    }
    model.processors.iter().for_each(|of| processor(of, view, &mut screen));
    screen.gap();
    screen.note(&format!("assumed: {}", model.assumptions.join("; ")));
    screen
}

fn processor(of: &ProcessorModel, view: &View<'_>, screen: &mut Screen) {
    screen.section(&of.name);
    screen.headline(&format!("{} {}", words::cost(of), words::verdict(of)));
    words::widest_pair(of).iter().for_each(|sentence| screen.sentence(sentence));
    anomalies::add(of, view.all, screen);
    screen.gap();
    tables::add_points(of, view.all, screen);
    screen.gap();
    if of.verdict.sample.resolves_cost() {
        // Nothing follows from a cost that does not differ from 0.
        tables::add_shares(of, view, screen);
    }
    tables::add_indirect_shares(of, screen);
    if of.verdict.sample.resolves_cost() {
        screen.charts(figures::figures(of));
    }
    scheduler::add(of, view, screen);
}
