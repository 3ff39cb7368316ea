//! A table whose cells are shaded by their values, on a logarithmic scale.

use crate::palette::Color;

/// A shaded table.
#[derive(Debug, Clone)]
pub(crate) struct Heat {
    /// Name that distinguishes it from others of its section; empty if it is the only one.
    pub name: String,
    /// Title in the terminal.
    pub title: String,
    /// Heading of the rows.
    pub corner: String,
    /// Headings of the columns.
    pub columns: Vec<Column>,
    /// Rows with one cell for each column.
    pub rows: Vec<Row>,
    /// Value of the darkest cell.
    pub most: f64,
    /// Factors of ten between the darkest cell and the lightest one.
    pub decades: f64,
    /// Formats a value of the scale with its unit.
    pub write: fn(f64) -> String,
}

/// Heading of a column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Text of the heading.
    pub label: String,
    /// The same in the terminal.
    pub brief: String,
    /// Colour and shape of the source in the column.
    pub look: Option<(Color, usize)>,
}

/// A row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Heading of the row.
    pub label: String,
    /// The same in the terminal.
    pub brief: String,
    /// Its cells.
    pub cells: Vec<Cell>,
}

/// A cell.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Text of the cell.
    pub text: String,
    /// Value that decides its shade; absent if it has none.
    pub value: Option<f64>,
    /// Text that the page shows under the pointer.
    pub hint: Option<String>,
}

/// The lightest shade.
const LEAST: f64 = 0.04;

impl Column {
    /// Returns a column without colour.
    pub(crate) fn plain(label: String) -> Self {
        Self { brief: label.clone(), label, look: None }
    }

    /// Sets its heading in the terminal.
    pub(crate) fn briefly(self, brief: String) -> Self {
        Self { brief, ..self }
    }
}

impl Row {
    /// Returns a row with this heading.
    pub(crate) fn new(label: String, cells: Vec<Cell>) -> Self {
        Self { brief: label.clone(), label, cells }
    }

    /// Sets its heading in the terminal.
    pub(crate) fn briefly(self, brief: String) -> Self {
        Self { brief, ..self }
    }
}

impl Cell {
    /// Returns a cell shaded by its value.
    pub(crate) fn value(value: f64, text: String) -> Self {
        Self { text, value: Some(value), hint: None }
    }

    /// Returns a cell shaded by its value, which only its hint has.
    pub(crate) fn hinted(value: f64, hint: String) -> Self {
        Self { text: String::new(), value: Some(value), hint: Some(hint) }
    }

    /// Returns a cell without shade.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), value: None, hint: None }
    }
}

impl Heat {
    /// Returns whether its cells have no numbers: a page shows small fields, whose hints have them.
    pub(crate) fn is_dense(&self) -> bool {
        let mut shaded =
            self.rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.value.is_some());
        shaded.all(|cell| cell.text.is_empty())
    }

    /// Returns the shade of a value, from just above 0 to 1.
    pub(crate) fn shade(&self, value: f64) -> f64 {
        if value <= 0.0 || self.most <= 0.0 {
            return LEAST;
        }
        (1.0 + (value / self.most).log10() / self.decades).clamp(LEAST, 1.0)
    }
}
