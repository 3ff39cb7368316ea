//! A shaded table in both columns.

use super::paper::{self, Anchor, Drawing, INK, PAGE, SMALL, TEXT, fitted, number, tint, width};
use crate::html::heat::{Cell, Heat};
use crate::palette;
use maud::{Markup, html};

/// A row with numbers is so high; and all rows together at most.
const ROW: f64 = 11.0;
const MOST_HEIGHT: f64 = 560.0;
/// Columns are at most so wide.
const WIDEST: f64 = 52.0;
/// Heads slant by so many degrees.
const SLANT: f64 = 35.0;
/// What of the colour the darkest cell has: letters on it can be read.
const DARKEST: f64 = 0.85;

/// Sizes of a table, in points.
struct Grid {
    left: f64,
    top: f64,
    column: f64,
    row: f64,
    /// How far the widest head slants to the right.
    slanted: f64,
    /// Whether there is room for the numbers.
    written: bool,
}

/// The table.
pub(super) fn draw(heat: &Heat) -> Drawing {
    let grid = Grid::of(heat);
    let bottom = grid.top + grid.row * heat.rows.len() as f64;
    let body = html! {
        (paper::line((grid.left - 5.0, grid.top - 4.0), Anchor::End, TEXT, &heat.corner))
        (heads(heat, &grid))
        @for (at, row) in heat.rows.iter().enumerate() {
            @let y = grid.top + grid.row * at as f64;
            @if grid.names(at) { (paper::line((grid.left - 5.0, y + grid.row / 2.0 + TEXT * 0.35), Anchor::End, TEXT, &row.label)) }
            @for (column, cell) in row.cells.iter().enumerate() { (grid.cell(heat, cell, (grid.left + grid.column * column as f64, y))) }
        }
        (shades(heat, grid.left, bottom + 8.0))
    };
    // A small table needs one column of the paper only.
    let width = if grid.right(heat) <= paper::COLUMN { paper::COLUMN } else { PAGE };
    Drawing { width, height: bottom + 8.0 + TEXT * 2.0 + 6.0, body }
}

impl Grid {
    fn of(heat: &Heat) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = &str>, size: f64| {
            texts.map(|text| width(text, size)).fold(0.0, f64::max)
        };
        let names = &mut heat.rows.iter().map(|row| row.label.as_str());
        let left = (widest(names, TEXT).max(width(&heat.corner, TEXT)) + 8.0).min(PAGE * 0.25);
        let heads = &mut heat.columns.iter().map(|column| column.label.as_str());
        let (sin, cos) = SLANT.to_radians().sin_cos();
        let head = widest(heads, TEXT).min(130.0);
        let columns = heat.columns.len().max(1) as f64;
        // The last head slants out to the right.
        let column = ((PAGE - left - 5.0 - head * cos * 0.8) / columns).min(WIDEST);
        let row = (MOST_HEIGHT / heat.rows.len().max(1) as f64).min(ROW);
        let cells = &mut heat.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.text.as_str());
        let written = widest(cells, SMALL) + 2.0 <= column && row >= SMALL + 1.0;
        Self { left, top: head * sin + TEXT + 5.0, column, row, slanted: head * cos, written }
    }

    /// Where the table ends.
    fn right(&self, heat: &Heat) -> f64 {
        let heads = self.left + self.column * (heat.columns.len() as f64 - 0.5) + self.slanted;
        heads.max(self.left + self.column * heat.columns.len() as f64) + 2.0
    }

    /// Whether a row has room for its name.
    fn names(&self, at: usize) -> bool {
        let every = (TEXT / self.row).ceil().max(1.0) as usize;
        at.is_multiple_of(every)
    }

    fn cell(&self, heat: &Heat, cell: &Cell, (x, y): (f64, f64)) -> Markup {
        let shade = cell.value.map(|value| heat.shade(value));
        let ink = if shade > Some(0.75) { "#000000" } else { INK };
        html! {
            @if let Some(shade) = shade {
                rect x=(number(x)) y=(number(y)) width=(number(self.column - 0.8)) height=(number(self.row - 0.8)) fill=(color(shade)) {}
            }
            @if self.written {
                g fill=(ink) { (paper::line((x + self.column - 3.0, y + self.row / 2.0 + SMALL * 0.33), Anchor::End, SMALL, &cell.text)) }
            }
        }
    }
}

/// The colour of a shade.
fn color(shade: f64) -> String {
    tint(palette::HEAT.light, shade * DARKEST)
}

fn heads(heat: &Heat, grid: &Grid) -> Markup {
    // Of narrow columns not each has room for its head.
    let every = ((TEXT + 2.0) / grid.column).ceil().max(1.0) as usize;
    html! { @for (at, column) in heat.columns.iter().enumerate().step_by(every) {
        @let x = grid.left + grid.column * (at as f64 + 0.5);
        (paper::turned((x, grid.top - 4.0), SLANT, Anchor::Start, &fitted(&column.label, TEXT, 130.0)))
    } }
}

/// What the shades mean: a field for each factor of ten.
fn shades(heat: &Heat, left: f64, top: f64) -> Markup {
    if heat.most <= 0.0 {
        return html! {};
    }
    let count = heat.decades.ceil() as i32;
    let values = (0..count).rev().map(|decade| heat.most / 10f64.powi(decade));
    let texts: Vec<(f64, String)> = values.map(|value| (value, (heat.write)(value))).collect();
    let field = texts.iter().map(|(_, text)| width(text, SMALL)).fold(24.0, f64::max) + 6.0;
    html! { @for (at, (value, text)) in texts.iter().enumerate() {
        @let x = left + field * at as f64;
        rect x=(number(x)) y=(number(top)) width=(number(field)) height="6" fill=(color(heat.shade(*value))) {}
        (paper::line((x + field / 2.0, top + 6.0 + SMALL + 1.0), Anchor::Middle, SMALL, text))
    } }
}
