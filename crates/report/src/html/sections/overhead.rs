//! The section on what one tick costs each kernel on each CPU.

use super::{Part, Section};
use crate::html::page::Page;
use crate::measured::ticks::costs;
use anechoic_analyze::Measured;
use anechoic_recording::methods;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "tick",
    title: "What one tick costs",
    short: "Tick cost",
    of: &[],
    has: |part| of(part).and_then(costs).is_some(),
    render,
};

fn of(part: &Part) -> Option<&Measured> {
    part.get::<Measured>().filter(|measured| measured.method == methods::TICK)
}

fn render(part: &Part, _: &mut Page) -> Markup {
    html! { @if let Some(costs) = of(part).and_then(costs) { (costs) } }
}
