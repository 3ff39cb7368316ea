//! The serial tick model: what ticks should cost, against what they did.

use super::{Part, Section};
use crate::html::chart::{Axis, Chart, Curve, Draw, Quantity};
use crate::html::page::Page;
use crate::html::tables;
use crate::style::{View, plain};
use crate::table::{Align, Table};
use crate::ticks::words;
use crate::units::{counted, share};
use anechoic_predict::ticks::{Fitted, Model, ProcessorModel};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "model",
    title: "The serial tick model",
    short: "Tick model",
    has: |part| part.ticks.as_ref().is_some_and(|model| !model.processors.is_empty()),
    render,
};

/// Columns of the text from which warnings are taken.
const WIDE: usize = 200;

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(model) = &part.ticks else { return html! {} };
    html! {
        @for of in &model.processors {
            h3 { (plain(&of.name)) }
            @if let Some(text) = words::widest_pair(of) { p { (plain(&text)) } }
            @for warning in warnings(model, of) { p.warning { (warning) } }
            (predicted(of, page))
            (tables::plain(&points(of), "Measured times, and what the model says of them"))
        }
        p.note { "Assumed: " (plain(&model.assumptions.join("; "))) }
    }
}

/// Observed against predicted slowdown, a series for each number of copies.
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
        "How much longer the work takes than without interrupts, {}: observed against predicted. On the line the model holds.",
        plain(&of.name)
    );
    chart.figure(&caption, page)
}

/// What the text marks: what is odd about the times, and notes.
fn warnings(model: &Model, of: &ProcessorModel) -> Vec<String> {
    let one = Model { processors: vec![of.clone()], ..model.clone() };
    let view = View { width: WIDE, ..View::default() };
    let text = crate::ticks::ticks(&one, &view).to_text(&view);
    let mut warnings: Vec<String> = vec![];
    let mut goes_on = false;
    for line in text.lines() {
        if let Some(warning) = line.strip_prefix("! ") {
            warnings.push(warning.to_owned());
            goes_on = true;
        } else if let (true, Some(rest), Some(last)) =
            (goes_on, line.strip_prefix("  "), warnings.last_mut())
        {
            *last += &format!(" {rest}");
        } else {
            goes_on = false;
        }
    }
    warnings
}

/// A column of points: its head, and the cell of a point; absent where there is nothing to say.
type Column = (&'static str, fn(&Fitted) -> Option<String>);

const COLUMNS: [Column; 7] = [
    ("copies", |of| Some(of.point.copies.to_string())),
    ("interrupts a second", |of| Some(words::hertz(of.point.rate_hz))),
    ("time, ms", |of| Some(words::number(of.point.ms))),
    ("std. error", |of| of.standard_error.map(|error| words::change(error).replace('+', ""))),
    ("observed", |of| of.observed.map(share)),
    ("predicted", |of| of.predicted.map(share)),
    ("miss", |of| {
        let mark = if of.off { " off" } else { "" };
        of.miss.map(|miss| words::change(miss) + mark)
    }),
];

/// The points, in the columns of which any point has something to say.
fn points(of: &ProcessorModel) -> Table {
    let said = |(_, cell): &&Column| of.points.iter().any(|point| cell(point).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(said).collect();
    let heads: Vec<(&str, Align)> = columns.iter().map(|(head, _)| (*head, Align::Right)).collect();
    let mut table = Table::new(&heads);
    for point in &of.points {
        table.row(columns.iter().map(|(_, cell)| cell(point).unwrap_or("–".into())).collect());
    }
    table
}
