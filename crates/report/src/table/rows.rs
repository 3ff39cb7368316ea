//! Builds a table with one row for each item, column by column.

use super::{Align, Column, Form, Table};

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

    /// Gives the last column another heading on a page, and explains it there.
    pub(crate) fn explained(self, long: &'static str, what: &'static str) -> Self {
        self.last(|column| (column.long, column.what) = (Some(long), Some(what)))
    }

    /// Lets a page sort by these values of the last column.
    pub(crate) fn sorting(self, value: impl Fn(&T) -> f64) -> Self {
        let values = self.items.iter().map(value).collect();
        self.last(|column| column.values = values)
    }

    /// States what the numbers of the last column are.
    pub(crate) fn form(self, form: Form) -> Self {
        self.last(|column| column.form = form)
    }

    /// Leaves the last column out in the terminal.
    pub(crate) fn only_on_page(self) -> Self {
        self.last(|column| column.only_page = true)
    }

    /// Cuts the cells of the last column at this width in the terminal.
    pub(crate) fn cut_at(self, most: usize) -> Self {
        self.last(|column| column.most = Some(most))
    }

    fn last(mut self, change: impl FnOnce(&mut Column)) -> Self {
        if let Some(last) = self.table.columns.last_mut() {
            change(last);
        }
        self
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
