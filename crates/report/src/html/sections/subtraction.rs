//! The section on do-nothing loops: the spread that remains as the time of the kernel is subtracted step by step.

use super::{Part, Section};
use crate::html::page::Page;
use crate::html::survival;
use crate::measured::subtraction::{add_steps, subtracted, taken, verdicts, widest};
use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::screen::Screen;
use anechoic_analyze::Measured;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::samples::subtraction::{Left, Subtraction};
use anechoic_recording::methods;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "left",
    title: "The spread after subtracting the kernel's time",
    short: "Subtraction",
    of: &[],
    has: |part| {
        let measured = part.get::<Measured>().filter(|measured| measured.method == methods::LOOPS);
        measured.is_some_and(|measured| !subtracted(measured, true).is_empty())
    },
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(measured) = part.get::<Measured>() else { return html! {} };
    let all = subtracted(measured, true);
    html! {
        (Screen::of(|screen| screen.table(verdicts(&all))))
        @if let Some((named, subtraction)) = widest(&all) {
            h3 { (named.title()) }
            (Screen::of(|screen| add_steps(subtraction, &measured.run, screen)))
            (over_shortest(subtraction, &named.title(), &measured.run, page))
        }
    }
}

/// Returns the share of the samples that take longer, after each step; times are relative to the shortest raw sample.
fn over_shortest(subtraction: &Subtraction, title: &str, run: &Facts, page: &mut Page) -> Markup {
    let all = || subtraction.steps.iter().filter_map(|step| Some((step, step.judged.as_ref()?)));
    let shortest = all().map(|(_, left)| left.min_ns).fold(f64::INFINITY, f64::min);
    let points = |left: &Left| {
        let mut above = 1.0;
        let mut points = vec![];
        for point in &left.curve {
            points.push((point.value - shortest, above));
            above = 1.0 - point.share;
        }
        points
    };
    let curves = survival::from_all(all().map(|(_, left)| points(left)).collect());
    let curves = all().zip(curves).enumerate().map(|(number, ((step, _), points))| {
        Curve::numbered(number, taken(step.taken, run), Draw::Steps, &points)
    });
    let chart = Chart::of(
        Axis::log("over the shortest", Quantity::Time),
        Axis::log("share of the samples", Quantity::Share),
        curves.collect(),
    )
    .named(title);
    let caption = format!(
        "Share of the samples that take at least this much longer, {title}: raw and after each step of the subtraction. Without spread the curve is a vertical line."
    );
    chart.figure(&caption, page)
}
