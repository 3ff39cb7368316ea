//! Columns that line up.

use crate::style::{Style, Tone, width};
use std::io::{self, Write};

/// Where a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Space between two columns, where there is room.
pub(crate) const GAP: usize = 2;

/// Rows of text under a heading.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    heads: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    gap: usize,
}

impl Table {
    pub(crate) fn new(heads: &[(&str, Align)]) -> Self {
        let heads = heads.iter().map(|(head, align)| ((*head).to_owned(), *align)).collect();
        Self { heads, rows: vec![], gap: GAP }
    }

    /// Adds a row; it has a cell for every column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The heads and how their columns stand.
    pub(crate) fn heads(&self) -> &[(String, Align)] {
        &self.heads
    }

    /// The rows, a cell for each column.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Width of each column.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let rows = || self.rows.iter();
        (0..self.heads.len())
            .map(|column| {
                let cells = rows().filter_map(|row| row.get(column)).map(|cell| width(cell));
                cells.chain([width(&self.heads[column].0)]).max().unwrap_or(0)
            })
            .collect()
    }

    /// Draws the columns nearer to each other where that makes all fit.
    pub(crate) fn fit(mut self, columns: usize) -> Self {
        if self.width() > columns {
            self.gap = 1;
        }
        self
    }

    /// Space between two columns.
    pub(crate) fn gap(&self) -> usize {
        self.gap
    }

    /// Width of the whole.
    pub(crate) fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + self.gap * widths.len().saturating_sub(1)
    }

    /// The heading and then each row, not coloured.
    pub(crate) fn lines(&self) -> (String, Vec<String>) {
        let widths = self.widths();
        let heads: Vec<String> = self.heads.iter().map(|(head, _)| head.clone()).collect();
        (self.line(&heads, &widths), self.rows.iter().map(|row| self.line(row, &widths)).collect())
    }

    /// Writes all.
    pub(crate) fn write(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let (heading, rows) = self.lines();
        writeln!(out, "{}", style.paint(Tone::Heading, heading.trim_end()))?;
        rows.iter().try_for_each(|row| writeln!(out, "{}", row.trim_end()))
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let padded: Vec<String> = cells
            .iter()
            .zip(widths)
            .zip(&self.heads)
            .map(|((cell, &columns), (_, align))| {
                let space = " ".repeat(columns.saturating_sub(width(cell)));
                match align {
                    Align::Left => format!("{cell}{space}"),
                    Align::Right => format!("{space}{cell}"),
                }
            })
            .collect();
        padded.join(&" ".repeat(self.gap))
    }
}
