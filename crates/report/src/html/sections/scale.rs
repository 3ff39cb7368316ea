//! What the noise costs a parallel job: slowdown against ranks, and whose it is.

use super::{Part, Section};
use crate::html::chart::{Axis, Chart, Curve, Draw, Quantity};
use crate::html::page::Page;
use crate::html::tables;
use crate::phases::{tables as text, words};
use crate::style::plain;
use crate::units::asked;
use anechoic_predict::phases::GrainModel;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "scale",
    title: "What it costs at scale",
    short: "At scale",
    has: |part| part.phases.as_ref().is_some_and(|model| !model.grains.is_empty()),
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(model) = &part.phases else { return html! {} };
    let points = |of: &GrainModel| -> Vec<(f64, f64)> {
        of.cells.iter().map(|cell| (cell.ranks as f64, cell.slowdown())).collect()
    };
    let curve = |(number, of): (usize, &GrainModel)| {
        let name = format!("grain {}", asked(of.grain_ns));
        Curve::numbered(number, name, Draw::Line, &points(of))
    };
    let chart = Chart::of(
        Axis::log("ranks", Quantity::Count),
        Axis::log("slowdown", Quantity::Number),
        model.grains.iter().enumerate().map(curve).collect(),
    );
    html! {
        p { "A bulk-synchronous job on many such CPUs waits in every phase for its slowest rank. The grain is the work between two synchronisations." }
        @for of in &model.grains { @if let Some(text) = words::grain(model, of) { p { (plain(&text)) } } }
        @for note in &model.notes { p.warning { (plain(note)) } }
        (chart.figure("Time of the job over its time without noise, against its ranks: predicted from this recording.", page))
        @if let Some(table) = text::culprit_table(model) {
            h3 { "Whose it is" }
            (tables::plain(&table, text::WHOSE))
            p.note { "Free start; figures are those of the most ranks in the row." }
        }
        details {
            summary { "The numbers, and how they were computed" }
            @for of in &model.grains {
                h3 { "Grain " (asked(of.grain_ns)) }
                (tables::plain(&text::cell_table(of), "Slowdown by number of ranks"))
                @for text in [words::support(of), words::tail(of), Some(words::closed_form(of))].into_iter().flatten() { p.note { (plain(&text)) } }
            }
            p.note { (plain(&words::how(model))) }
            @for gone in &model.not_available { p.note { "Not available: " (plain(&gone.what)) ": " (plain(&gone.why)) "; " (plain(&gone.remedy)) } }
        }
    }
}
