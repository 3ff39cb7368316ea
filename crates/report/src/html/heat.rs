//! A table whose cells are shaded by their value, on a logarithmic scale.

use super::chart::swatch;
use super::page::Page;
use super::picture::Picture;
use crate::palette::Color;
use maud::{Markup, html};

/// A shaded table.
#[derive(Debug, Clone)]
pub(crate) struct Heat {
    /// What tells it from others of its section; empty where it is the only one.
    pub name: String,
    /// What the rows are.
    pub corner: String,
    /// What each column is.
    pub columns: Vec<Column>,
    /// Rows; each has a cell for each column.
    pub rows: Vec<Row>,
    /// The value of the darkest cell.
    pub most: f64,
    /// The darkest cell and one that is just seen lie so many factors of ten apart.
    pub decades: f64,
    /// How a value of its scale is written, with its unit.
    pub write: fn(f64) -> String,
}

/// The head of a column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// What it is.
    pub label: String,
    /// Colour and shape of what it is.
    pub look: Option<(Color, usize)>,
}

/// One row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// What it is.
    pub label: String,
    /// Its cells.
    pub cells: Vec<Cell>,
}

/// One cell.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Its number, or what stands for none.
    pub text: String,
    /// What is shaded; absent where there is nothing to shade.
    pub value: Option<f64>,
    /// What a pointer on it is told.
    pub hint: Option<String>,
}

/// From this shade on a cell is dark.
const STRONG: f64 = 0.6;
/// The shade of what is just seen.
const LEAST: f64 = 0.04;

impl Column {
    /// A column without colour.
    pub(crate) fn plain(label: String) -> Self {
        Self { label, look: None }
    }
}

impl Cell {
    /// A cell that is shaded by its value.
    pub(crate) fn value(value: f64, text: String) -> Self {
        Self { text, value: Some(value), hint: None }
    }

    /// A cell without shade.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), value: None, hint: None }
    }
}

/// A name that may go on in the next line after `_` and `/`, as after a space.
fn breaking(name: &str) -> Markup {
    html! { @for part in name.split_inclusive(['_', '/']) { (part) wbr; } }
}

impl Heat {
    /// How dark a value is, from just above 0 to 1.
    pub(crate) fn shade(&self, value: f64) -> f64 {
        if value <= 0.0 || self.most <= 0.0 {
            return LEAST;
        }
        (1.0 + (value / self.most).log10() / self.decades).clamp(LEAST, 1.0)
    }

    /// The figure with its caption.
    pub(crate) fn figure(&self, label: &str, caption: &str, page: &mut Page) -> Markup {
        let number = page.figure();
        page.keep(number, &self.name, caption, || Picture::Heat(self.clone()));
        html! {
            figure {
                div.wide tabindex="0" role="region" aria-label=(label) { table.heat {
                    thead { tr {
                        th scope="col" { (self.corner) }
                        @for column in &self.columns { th scope="col" {
                            @if let Some((color, shape)) = column.look { (swatch(color, shape)) }
                            span { (breaking(&column.label)) }
                        } }
                    } }
                    tbody { @for row in &self.rows { tr {
                        th scope="row" { (row.label) }
                        @for cell in &row.cells { (self.cell(cell)) }
                    } } }
                } }
                figcaption { b { "Figure " (number) ". " } (caption) }
            }
        }
    }

    fn cell(&self, cell: &Cell) -> Markup {
        let Some(value) = cell.value else {
            return html! { td.none title=[&cell.hint] { (cell.text) } };
        };
        let shade = self.shade(value);
        html! { td class=(if shade > STRONG { "strong" } else { "" }) style=(format!("--v:{shade:.2}")) title=[&cell.hint] { (cell.text) } }
    }
}
