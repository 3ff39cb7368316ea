//! The section with all numbers as terminal text, to copy.

use super::{Part, Section};
use crate::page::state::Page;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "text",
    title: "The same as text",
    short: "Text",
    has: |part| part.run.is_some() && !part.text().is_empty(),
    render,
};

fn render(part: &Part, _: &mut Page) -> Markup {
    html! { details { summary { "Every row and every series" } pre.text tabindex="0" { (part.text()) } } }
}
