//! A table that gives up its least important columns where it does not fit.

use crate::style::{View, width};
use crate::table::{Align, Table};
use std::io::{self, Write};

/// A column: its head, and a cell for each row.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    head: String,
    align: Align,
    cells: Vec<String>,
    /// Of two columns the one with the larger number goes first; 0 stays.
    goes: u8,
}

/// Columns in the making.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns(Vec<Column>);

impl Columns {
    /// Adds a column of text.
    pub(crate) fn left(&mut self, head: &str, goes: u8, cells: impl Iterator<Item = String>) {
        self.add(head, Align::Left, goes, cells);
    }

    /// Adds a column of numbers.
    pub(crate) fn right(&mut self, head: &str, goes: u8, cells: impl Iterator<Item = String>) {
        self.add(head, Align::Right, goes, cells);
    }

    /// Adds a column, if it has anything to say: an empty one or one of dashes is left out.
    fn add(&mut self, head: &str, align: Align, goes: u8, cells: impl Iterator<Item = String>) {
        let cells: Vec<String> = cells.collect();
        if cells.iter().any(|cell| !cell.is_empty() && cell != "–") {
            self.0.push(Column { head: head.into(), align, cells, goes });
        }
    }

    /// Writes what fits.
    pub(crate) fn write(mut self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        while self.narrowest() > view.columns() {
            let last = self.0.iter().enumerate().max_by_key(|(_, column)| column.goes);
            match last {
                Some((at, column)) if column.goes > 0 => drop(self.0.remove(at)),
                _ => break,
            }
        }
        self.table().fit(view.columns()).write(view.style, out)
    }

    /// All of them.
    pub(crate) fn table(&self) -> Table {
        let heads: Vec<(&str, Align)> = self.0.iter().map(|c| (c.head.as_str(), c.align)).collect();
        let mut table = Table::new(&heads);
        for row in 0..self.0.first().map_or(0, |column| column.cells.len()) {
            table.row(self.0.iter().map(|column| column.cells[row].clone()).collect());
        }
        table
    }

    /// Width with the columns next to each other.
    fn narrowest(&self) -> usize {
        let widest = |column: &Column| {
            column
                .cells
                .iter()
                .map(|cell| width(cell))
                .chain([width(&column.head)])
                .max()
                .unwrap_or(0)
        };
        self.0.iter().map(widest).sum::<usize>() + self.0.len().saturating_sub(1)
    }
}
