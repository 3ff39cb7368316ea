//! The section on do-nothing loops: the spread that remains as the time of the kernel is subtracted step by step.

use super::{Part, Section};
use crate::html::page::Page;
use crate::measured::left::over_shortest;
use crate::measured::subtraction::{add_steps, subtracted, verdicts, widest};
use crate::screen::Screen;
use anechoic_analyze::Measured;
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
            @let (chart, caption) = over_shortest(named, subtraction, &measured.run);
            (chart.figure(&caption, page))
        }
    }
}
