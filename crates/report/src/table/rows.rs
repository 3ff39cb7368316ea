//! Builds a table with one row for each item, column by column.

use super::{Align, Column, Table};

/// Items with the columns added so far.
pub(crate) struct Rows<'a, T> {
    items: &'a [T],
    table: Table,
}

impl Table {
    /// Returns a table with one row for each item and no columns.
    pub(crate) fn with_rows<T>(items: &[T]) -> Rows<'_, T> {
        let rows = vec![vec![]; items.len()];
        Rows { items, table: Self { rows, ..Self::default() } }
    }
}

impl<T> Rows<'_, T> {
    /// Adds a column of names.
    pub(crate) fn name(self, head: &str, cell: impl Fn(&T) -> String) -> Self {
        self.column(Column::new(head, Align::Left, 0), cell)
    }

    /// Adds a column of numbers.
    pub(crate) fn number(self, head: &str, cell: impl Fn(&T) -> String) -> Self {
        self.column(Column::new(head, Align::Right, 0), cell)
    }

    /// Adds a column of names that some items have; it is left out if none has. If the table is too wide, columns with
    /// larger `goes` are dropped first; 0 stays.
    pub(crate) fn some_names(
        self,
        head: &str,
        goes: u8,
        cell: impl Fn(&T) -> Option<String>,
    ) -> Self {
        self.some(Column::new(head, Align::Left, goes), cell)
    }

    /// Adds a column of numbers that some items have, likewise.
    pub(crate) fn some_numbers(
        self,
        head: &str,
        goes: u8,
        cell: impl Fn(&T) -> Option<String>,
    ) -> Self {
        self.some(Column::new(head, Align::Right, goes), cell)
    }

    fn some(mut self, column: Column, cell: impl Fn(&T) -> Option<String>) -> Self {
        let cells = self.items.iter().map(|item| cell(item).unwrap_or("–".into()));
        self.table.add(column, cells);
        self
    }

    fn column(mut self, column: Column, cell: impl Fn(&T) -> String) -> Self {
        self.table.push(column, self.items.iter().map(cell));
        self
    }

    /// Returns the table with a caption for screen readers.
    pub(crate) fn captioned(self, caption: &str) -> Table {
        self.table.captioned(caption)
    }
}
