//! Lists of names and values.

use maud::{Markup, html};

/// Returns pairs of a name and a value; names without a value are left out.
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
