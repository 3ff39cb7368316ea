//! The section on a comparison: whether the noise changed, and where.

use super::{Part, Section};
use crate::compare::{body, chart, of_runs};
use crate::html::page::Page;
use crate::results::compare::COMPARE;
use crate::style::View;
use anechoic_analyze::compare::Comparison;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "compare",
    title: "Did the noise change?",
    short: "Comparison",
    of: &[&COMPARE],
    has: |part| part.get::<Comparison>().is_some(),
    render,
};

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(found) = part.get::<Comparison>() else { return html! {} };
    html! {
        @if let Some(chart) = of_runs(found) { (chart.named("runs").figure(RUNS, page)) }
        @if found.lengths.len() > 1 { (chart(found).named("lengths").figure(LENGTHS, page)) }
        (body(found, &View { all: true, ..View::default() }))
    }
}

const RUNS: &str =
    "The noise of each run on both sides, in order of time. The verdict is about these values.";
const LENGTHS: &str = "Detours that are longer than a threshold, per second and CPU, on both sides: means over the runs.";
