//! Lists of names and values, and tables that the reader sorts.

use super::looks::swatch;
use super::state::Page;
use crate::screen::html::{MOST_ROWS, class, total};
use crate::table::{Column, Form, Table};
use crate::units::count;
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

/// Returns a table that sorts by the heading that is pressed; `sorted` is the column by which it is sorted at first. A
/// script folds the rows that a shortened table does not show, and computes running totals again.
pub(super) fn sortable(table: &Table, sorted: usize, page: &Page) -> Markup {
    let (columns, all) = (table.columns(), table.rows().len());
    let most = all.min(MOST_ROWS.max(table.unfolded()));
    let running = columns.iter().position(|column| column.form == Form::RunningTotal);
    html! {
        p.note { "Click a heading to sort." }
        div.wide tabindex="0" role="region" aria-label=(table.caption()) {
            table.sortable data-total=[running] data-rows=(table.unfolded()) {
                caption.unseen { (table.caption()) }
                thead { tr { @for (at, column) in columns.iter().enumerate() {
                    th scope="col" class=(class(column)) title=[column.what]
                        aria-sort=[(at == sorted).then_some("descending")] {
                        @if column.form == Form::RunningTotal { (column.heading()) }
                        @else { button type="button" { (column.heading()) } }
                    }
                } } }
                tbody { @for row in 0..most { tr {
                    @for (at, cell) in table.rows()[row].iter().enumerate() {
                        @if at == 0 { (name(table, row, cell, page)) } @else { (number(&columns[at], row, cell)) }
                    }
                } } }
                @if !table.totals().is_empty() { tfoot { @for row in table.totals() { (total(row, columns)) } } }
            }
        }
        @if most > table.unfolded() { p { button.more type="button" data-more { "Show all " (count(most as u64)) } } }
        @if all > most { p.note { "and " (count((all - most) as u64)) " more" } }
    }
}

/// Returns the first cell of a row: its symbol, its name and the note beside it.
fn name(table: &Table, row: usize, cell: &str, page: &Page) -> Markup {
    html! {
        th scope="row" data-v=(cell) {
            @if let Some((source, name)) = table.symbol(row) {
                @let (color, shape) = page.look(source, name);
                (swatch(color, shape))
            }
            (cell)
            @if let Some(note) = table.note(row) { small { (note) } }
        }
    }
}

fn number(column: &Column, row: usize, cell: &str) -> Markup {
    let value = column.values.get(row);
    match (column.form, value) {
        (Form::RunningTotal, _) => html! { td.n.total { (cell) } },
        (Form::Shares, Some(share)) => {
            html! { td.n.bar data-v=(share) style=(format!("--v:{share:.4}")) { (cell) } }
        }
        _ => html! { td class=(class(column)) data-v=[value] { (cell) } },
    }
}
