//! A table in the making: a row for each item, column by column.

use super::{Align, Column, Table};

/// Items, and the columns that they have so far.
pub(crate) struct Rows<'a, T> {
    items: &'a [T],
    table: Table,
}

impl Table {
    /// A table with a row for each item, and no columns yet.
    pub(crate) fn of_rows<T>(items: &[T]) -> Rows<'_, T> {
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

    /// Adds a column of names that some items have; without any it is left out. Of two columns the one whose `goes` is
    /// larger is left out first where not all fit; 0 stays.
    pub(crate) fn some_names(
        self,
        head: &str,
        goes: u8,
        cell: impl Fn(&T) -> Option<String>,
    ) -> Self {
        self.some(Column::new(head, Align::Left, goes), cell)
    }

    /// Adds a column of numbers in the same way.
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

    /// The table, with what it is for those who hear it.
    pub(crate) fn captioned(self, caption: &str) -> Table {
        self.table.captioned(caption)
    }
}
