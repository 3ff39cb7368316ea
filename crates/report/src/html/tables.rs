//! Names and what there is to know of each.

use maud::{Markup, html};

/// Pairs of a name and what there is to say of it; those without are left out.
pub(super) fn facts(rows: Vec<(&str, Option<String>)>) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in rows {
                @if let Some(value) = value.filter(|value| !value.is_empty()) {
                    div { dt { (name) } dd { (value) } }
                }
            }
        }
    }
}
