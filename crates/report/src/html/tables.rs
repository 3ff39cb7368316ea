//! Tables of the text screens as tables of the page.

use crate::table::{Align, Table};
use maud::{Markup, html};

/// A table with a caption for those who hear it.
pub(super) fn plain(table: &Table, caption: &str) -> Markup {
    grouped(table, caption, &[])
}

/// The same with a line over the heads that says what groups of columns show.
pub(super) fn grouped(table: &Table, caption: &str, groups: &[(&str, usize)]) -> Markup {
    let heads: Vec<(&str, Align)> = table.heads().collect();
    let class = |align: Align| if align == Align::Right { "n" } else { "" };
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table {
                caption.unseen { (caption) }
                thead {
                    @if !groups.is_empty() { tr.groups { @for (group, columns) in groups {
                        @if group.is_empty() { td colspan=(columns) {} }
                        @else { th colspan=(columns) scope="colgroup" { span { (group) } } }
                    } } }
                    tr {
                    @for (head, align) in &heads { th scope="col" class=(class(*align)) { (head) } }
                    }
                }
                tbody {
                    @for row in table.rows() {
                        tr {
                            @for (cell, (_, align)) in row.iter().zip(&heads) {
                                td class=(class(*align)) { (cell.trim()) }
                            }
                        }
                    }
                }
            }
        }
    }
}

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
