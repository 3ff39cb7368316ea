//! Cells of a figure, each with two by four dots or one character.

use crate::style::{Style, Tone};

/// Number of dots in a cell, across and down.
pub(super) const ACROSS: usize = 2;
pub(super) const DOWN: usize = 4;
/// The bit of each dot of a braille character (U+2800 and up), by column and row.
const DOTS: [[u8; DOWN]; ACROSS] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    dots: u8,
    glyph: Option<char>,
    tone: Option<Tone>,
}

/// A drawing without its axes, clipped to its size.
#[derive(Debug, Clone)]
pub(super) struct Canvas {
    pub columns: usize,
    pub rows: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, cells: vec![Cell::default(); columns * rows] }
    }

    fn cell(&mut self, column: usize, row: usize) -> Option<&mut Cell> {
        let inside = column < self.columns && row < self.rows;
        if inside { self.cells.get_mut(row * self.columns + column) } else { None }
    }

    /// Draws one dot, counted from the left and from the top.
    pub(super) fn dot(&mut self, x: usize, y: usize, tone: Tone) {
        if let Some(cell) = self.cell(x / ACROSS, y / DOWN) {
            cell.dots |= DOTS[x % ACROSS][y % DOWN];
            cell.tone = Some(tone);
        }
    }

    /// Draws the dots of one column between two rows of dots, inclusive.
    pub(super) fn line(&mut self, x: usize, from: usize, to: usize, tone: Tone) {
        (from.min(to)..=from.max(to)).for_each(|y| self.dot(x, y, tone));
    }

    /// Puts a character over the content of a cell.
    pub(super) fn put(&mut self, column: usize, row: usize, glyph: char, tone: Tone) {
        if let Some(cell) = self.cell(column, row) {
            (cell.glyph, cell.tone) = (Some(glyph), Some(tone));
        }
    }

    /// Returns whether a cell has a character.
    pub(super) fn taken(&self, column: usize, row: usize) -> bool {
        let cell = self.cells.get(row * self.columns + column);
        cell.is_some_and(|cell| cell.glyph.is_some())
    }

    /// Returns one row of cells as text without trailing space.
    pub(super) fn row(&self, row: usize, style: Style) -> String {
        let cells = &self.cells[row * self.columns..(row + 1) * self.columns];
        let drawn = |cell: &Cell| cell.dots != 0 || cell.glyph.is_some();
        let end = cells.iter().rposition(drawn).map_or(0, |last| last + 1);
        let runs = cells[..end].chunk_by(|a, b| a.tone == b.tone);
        let painted = runs.map(|run| {
            let text: String = run.iter().map(Cell::text).collect();
            run[0].tone.map_or(text.clone(), |tone| style.paint(tone, &text))
        });
        painted.collect()
    }
}

impl Cell {
    fn text(&self) -> char {
        match (self.glyph, self.dots) {
            (Some(glyph), _) => glyph,
            (None, 0) => ' ',
            (None, dots) => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '),
        }
    }
}
