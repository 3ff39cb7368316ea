//! A shaded table as wide as both columns of a paper.

use super::sheet::{
    self, Anchor, COLUMN, Drawing, INK, PAGE, SMALL, TEXT, fitted, number, tint, width,
};
use crate::palette;
use crate::picture::heat::{Cell, Heat};
use maud::{Markup, html};

/// Height of a row with numbers, and largest height of all rows.
const ROW: f64 = 11.0;
const MOST_HEIGHT: f64 = 560.0;
/// Largest width of a column, and where the table needs both columns of the paper.
const WIDEST: f64 = 52.0;
const WIDER: f64 = 80.0;
/// Longest heading.
const HEAD: f64 = 130.0;
/// Angle of the headings, in degrees.
const SLANT: f64 = 35.0;
/// Share of the colour in the darkest cell, on which text is still readable.
const DARKEST: f64 = 0.85;

/// Sizes of a table, in points.
struct Grid {
    left: f64,
    top: f64,
    column: f64,
    row: f64,
    /// Horizontal extent of each slanted heading.
    slant: Vec<f64>,
    /// Whether numbers fit.
    written: bool,
}

/// Draws the table.
pub(super) fn draw(heat: &Heat) -> Drawing {
    let grid = Grid::new(heat);
    let bottom = grid.top + grid.row * heat.rows.len() as f64;
    let body = html! {
        (sheet::line((grid.left - 5.0, grid.top - 4.0), Anchor::End, TEXT, &fitted(&heat.corner, TEXT, grid.left - 7.0)))
        (heads(heat, &grid))
        @for (at, row) in heat.rows.iter().enumerate() {
            @let y = grid.top + grid.row * at as f64;
            @if grid.names(at) { (sheet::line((grid.left - 5.0, y + grid.row / 2.0 + TEXT * 0.35), Anchor::End, TEXT, &fitted(&row.label, TEXT, grid.left - 7.0))) }
            @for (column, cell) in row.cells.iter().enumerate() { (grid.cell(heat, cell, (grid.left + grid.column * column as f64, y))) }
        }
        (shades(heat, grid.left, bottom + 8.0))
    };
    // A small table needs one column of the paper only.
    let width = if grid.right(heat) <= COLUMN { COLUMN } else { PAGE };
    Drawing { width, height: bottom + 8.0 + TEXT * 2.0 + 6.0, body }
}

impl Grid {
    fn new(heat: &Heat) -> Self {
        let narrow = Self::up_to(heat, WIDEST);
        if narrow.right(heat) <= COLUMN { narrow } else { Self::up_to(heat, WIDER) }
    }

    /// Returns the sizes with columns up to this width.
    fn up_to(heat: &Heat, widest_column: f64) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = &str>, size: f64| {
            texts.map(|text| width(text, size)).fold(0.0, f64::max)
        };
        let names = &mut heat.rows.iter().map(|row| row.label.as_str());
        let (sin, cos) = SLANT.to_radians().sin_cos();
        let heads: Vec<f64> =
            heat.columns.iter().map(|column| width(&column.label, TEXT).min(HEAD)).collect();
        let head = heads.iter().copied().fold(0.0, f64::max);
        // The names take what the widest columns leave, at least a quarter.
        let reach = |(at, head): (usize, &f64)| WIDEST * (at as f64 + 0.5) + head * cos;
        let reach = heads.iter().enumerate().map(reach).fold(WIDEST * heads.len() as f64, f64::max);
        let left = widest(names, TEXT).max(width(&heat.corner, TEXT)) + 8.0;
        let left = left.min((PAGE - 5.0 - reach.max(scale(heat))).max(PAGE * 0.25));
        // Heads slant out to the right, the last ones beyond their columns.
        let room = PAGE - left - 5.0;
        let slanted = |(at, head): (usize, &f64)| (room - head * cos) / (at as f64 + 0.5);
        let column = heads.iter().enumerate().map(slanted).fold(widest_column, f64::min);
        let column = column.min(room / heads.len().max(1) as f64);
        let row = (MOST_HEIGHT / heat.rows.len().max(1) as f64).min(ROW);
        let cells = &mut heat.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.text.as_str());
        let written = widest(cells, SMALL) + 2.0 <= column && row >= SMALL + 1.0;
        Self {
            left,
            top: head * sin + TEXT + 5.0,
            column,
            row,
            slant: heads.iter().map(|head| head * cos).collect(),
            written,
        }
    }

    /// Returns the end of the table and of its shades.
    fn right(&self, heat: &Heat) -> f64 {
        let head = |(at, slant): (usize, &f64)| self.column * (at as f64 + 0.5) + slant;
        let heads = self.slant.iter().enumerate().map(head).fold(0.0, f64::max);
        self.left + heads.max(self.column * heat.columns.len() as f64).max(scale(heat)) + 2.0
    }

    /// Returns whether a row has space for its name.
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
                g fill=(ink) { (sheet::line((x + self.column - 3.0, y + self.row / 2.0 + SMALL * 0.33), Anchor::End, SMALL, &cell.text)) }
            }
        }
    }
}

/// Returns the colour of a shade.
fn color(shade: f64) -> String {
    tint(palette::HEAT.light, shade * DARKEST)
}

fn heads(heat: &Heat, grid: &Grid) -> Markup {
    // Of narrow columns not each has room for its head, which is as far from the next one as their slant leaves.
    let apart = grid.column * SLANT.to_radians().sin();
    let every = (TEXT / apart).ceil().max(1.0) as usize;
    html! { @for (at, column) in heat.columns.iter().enumerate().step_by(every) {
        @let x = grid.left + grid.column * (at as f64 + 0.5);
        (sheet::turned((x, grid.top - 4.0), SLANT, Anchor::Start, &fitted(&column.label, TEXT, HEAD)))
    } }
}

/// Draws the scale of the shades, one field for each factor of ten.
fn shades(heat: &Heat, left: f64, top: f64) -> Markup {
    let texts = fields(heat);
    let field = texts.iter().map(|(_, text)| field(text)).fold(0.0, f64::max);
    html! { @for (at, (value, text)) in texts.iter().enumerate() {
        @let x = left + field * at as f64;
        rect x=(number(x)) y=(number(top)) width=(number(field)) height="6" fill=(color(heat.shade(*value))) {}
        (sheet::line((x + field / 2.0, top + 6.0 + SMALL + 1.0), Anchor::Middle, SMALL, text))
    } }
}

/// Returns a value with its text for each labelled shade; none if nothing is shaded.
fn fields(heat: &Heat) -> Vec<(f64, String)> {
    let count = if heat.most > 0.0 { heat.decades.ceil() as i32 } else { 0 };
    let values = (0..count).rev().map(|decade| heat.most / 10f64.powi(decade));
    values.map(|value| (value, (heat.write)(value))).collect()
}

/// Returns the width of the scale of the shades.
fn scale(heat: &Heat) -> f64 {
    let fields = fields(heat);
    fields.iter().map(|(_, text)| field(text)).fold(0.0, f64::max) * fields.len() as f64
}

/// Returns the width of the field of a shade.
fn field(text: &str) -> f64 {
    width(text, SMALL).max(24.0) + 6.0
}
