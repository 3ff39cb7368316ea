//! The section on the slowdown of a parallel job: slowdown against ranks, and by source.

use super::{Part, Section};
use crate::html::page::Page;
use crate::picture::{Axis, Chart, Quantity};
use crate::results::phases::{self, PHASES, figure, tables::culprit_table, words};
use crate::screen::Screen;
use crate::style::plain;
use crate::units::asked;
use anechoic_predict::phases::PhaseModel;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "scale",
    title: "What the noise costs at scale",
    short: "At scale",
    of: &[&PHASES],
    has: |part| part.get::<PhaseModel>().is_some_and(|model| !model.grains.is_empty()),
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(model) = part.get::<PhaseModel>() else { return html! {} };
    let chart = Chart::of(
        Axis::log("ranks", Quantity::Count),
        Axis::log("slowdown", Quantity::Number),
        figure::curves(&model.grains),
    );
    html! {
        p { "In every phase, a bulk-synchronous job on many such CPUs waits for its slowest rank. The grain is the work between two synchronisations." }
        @for of in &model.grains { @if let Some(text) = words::grain(model, of) { p { (plain(&text)) } } }
        @for note in &model.notes { p.warning { (plain(note)) } }
        (chart.figure("Predicted slowdown (time of the job relative to no noise) against the number of ranks, by grain. Points are underestimates, because the recording is too short for that number of ranks.", page))
        (numbers(model))
    }
}

/// Returns the costliest sources, and all numbers folded.
fn numbers(model: &PhaseModel) -> Screen {
    let mut numbers = Screen::default();
    for of in &model.grains {
        numbers.heading(&format!("Grain {}", asked(of.grain_ns)));
        phases::grain(of, &mut numbers);
    }
    numbers.note(&words::how(model));
    numbers.not_available(&model.not_available);
    let mut screen = Screen::default();
    if let Some(table) = culprit_table(model) {
        screen.heading("Costliest sources");
        screen.table(table);
        screen.note("Free start; slowdowns are those of the most ranks in the row.");
    }
    screen.details("All numbers and how they were computed", numbers);
    screen
}
