//! The section on the serial tick model: observed against predicted cost of ticks.

use super::{Part, Section};
use crate::html::page::Page;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::results::ticks::figures::contributions;
use crate::results::ticks::tables::{add_direct, add_points};
use crate::results::ticks::{TICKS, anomalies, several, words};
use crate::screen::Screen;
use crate::style::plain;
use crate::units::counted;
use anechoic_predict::ticks::Model;
use anechoic_predict::ticks::ProcessorModel;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "model",
    title: "The serial tick model",
    short: "Tick model",
    of: &[&TICKS],
    has: |part| part.get::<Model>().is_some_and(|model| !model.processors.is_empty()),
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(model) = part.get::<Model>() else { return html! {} };
    let several = model.processors.len() > 1;
    html! {
        @for text in &model.left_out { p.warning { "Left out: " (plain(text)) } }
        @if several {
            (Screen::of(|screen| several::add_tables(model, screen)))
            @for (chart, caption) in several::charts(model) { (chart.figure(caption, page)) }
        }
        @for of in &model.processors {
            h3 { (plain(&of.name)) }
            @if let Some(text) = words::widest_pair(of) { p { (plain(&text)) } }
            (Screen::of(|screen| anomalies::add(of, true, screen)))
            (predicted(of, page))
            @for chart in contributions(of) {
                @let caption = format!("{}: {}, stacked: trap or gaps, handler, indirect cost.", plain(&of.name), chart.title);
                (chart.figure(&caption, page))
            }
            (Screen::of(|screen| add_direct(of, screen)))
            (Screen::of(|screen| add_points(of, true, screen)))
        }
        p.note { "Assumed: " (plain(&model.assumptions.join("; "))) }
    }
}

/// Returns observed against predicted slowdown, with one series for each number of copies.
fn predicted(of: &ProcessorModel, page: &mut Page) -> Markup {
    let mut copies: Vec<u32> = of.points.iter().map(|fitted| fitted.point.copies).collect();
    copies.sort_unstable();
    copies.dedup();
    let curve = |(number, &copies): (usize, &u32)| {
        let of_copies = of.points.iter().filter(|fitted| fitted.point.copies == copies);
        let mut points: Vec<(f64, f64)> =
            of_copies.filter_map(|fitted| Some((fitted.predicted?, fitted.observed?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let name = counted(u64::from(copies), "copy", "copies");
        Curve::numbered(number, name, Draw::Points, &points)
    };
    let mut chart = Chart::of(
        Axis::linear("predicted", Quantity::Share),
        Axis::linear("observed", Quantity::Share),
        copies.iter().enumerate().map(curve).collect(),
    )
    .named(&of.name);
    chart.diagonal = true;
    let caption = format!(
        "Slowdown relative to no interrupts, {}: observed against predicted. On the diagonal the model is exact.",
        plain(&of.name)
    );
    chart.figure(&caption, page)
}
