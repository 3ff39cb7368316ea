//! A table whose cells are shaded by their values, on a logarithmic scale.

use crate::palette::Color;

/// A shaded table.
#[derive(Debug, Clone)]
pub(crate) struct Heat {
    /// What distinguishes it from others of its section; empty where it is the only one.
    pub name: String,
    /// What the rows are.
    pub corner: String,
    /// What each column is.
    pub columns: Vec<Column>,
    /// Rows; each has a cell for each column.
    pub rows: Vec<Row>,
    /// The value of the darkest cell.
    pub most: f64,
    /// How many factors of ten lie between the darkest cell and the faintest one.
    pub decades: f64,
    /// Writes a value of the scale with its unit.
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
    /// The value that decides its shade; absent where there is nothing to shade.
    pub value: Option<f64>,
    /// What the page shows when the pointer rests on it.
    pub hint: Option<String>,
}

/// The faintest shade.
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

impl Heat {
    /// How dark a value is, from just above 0 to 1.
    pub(crate) fn shade(&self, value: f64) -> f64 {
        if value <= 0.0 || self.most <= 0.0 {
            return LEAST;
        }
        (1.0 + (value / self.most).log10() / self.decades).clamp(LEAST, 1.0)
    }
}
