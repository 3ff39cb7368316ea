//! A shaded table in the terminal: a shade and a number for each cell, or only a shade where numbers do not fit.

use crate::picture::heat::{Cell, Heat};
use crate::style::{Tone, View, clip, pad, pad_left, plain, width};
use std::io::{self, Write};

/// Cells from the smallest value to the largest.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// Colours of these shades.
const TONES: [Tone; 4] = [Tone::Bar, Tone::Bar, Tone::Warning, Tone::Bad];
/// The part of the largest value from which each shade is used.
const FROM: [f64; 4] = [0.0, 0.01, 0.1, 0.5];
/// A cell without a value.
const NO_VALUE: &str = "·";
/// A cell whose value is unknown.
const UNKNOWN: &str = "?";
/// Number of rows and columns in one part of a table of shades.
pub(crate) const PART: usize = 64;
/// Fewest columns of text for a number.
const NUMBER: usize = 3;

impl Heat {
    /// Explains the shades in the terminal, with the unit once if it is that of all:
    /// `░ < 0.15  ▒ ≥ 0.15  ▓ ≥ 1.50  █ ≥ 7.50 µs`.
    pub(crate) fn shades(&self) -> String {
        let values = FROM[1..].iter().map(|part| (self.write)(part * self.most));
        let mut values: Vec<String> = values.collect();
        let unit = |value: &String| value.split_once(' ').map(|(_, unit)| format!(" {unit}"));
        let common =
            unit(&values[0]).filter(|common| values.iter().all(|text| text.ends_with(common)));
        let common = common.unwrap_or_default();
        for value in &mut values {
            value.truncate(value.len() - common.len());
        }
        let below = format!("{} < {}", SHADES[0], values[0]);
        let from = SHADES[1..].iter().zip(&values).map(|(shade, from)| format!("{shade} ≥ {from}"));
        [below].into_iter().chain(from).collect::<Vec<_>>().join("  ") + &common
    }

    /// Returns whether a terminal that does not show everything leaves rows or columns out.
    pub(crate) fn is_cut(&self) -> bool {
        self.rows.len().max(self.columns.len()) > PART
    }

    /// Returns the sign of a cell and its colour.
    fn sign(&self, cell: &Cell) -> (char, Tone) {
        match (cell.value, &*cell.text) {
            (Some(value), _) => {
                let shade = FROM.iter().rposition(|from| value >= from * self.most).unwrap_or(0);
                (SHADES[shade], TONES[shade])
            }
            (None, "") => (' ', Tone::Quiet),
            (None, UNKNOWN) => ('?', Tone::Quiet),
            _ => ('·', Tone::Quiet),
        }
    }

    /// Returns a row's heading in the terminal, as wide as the widest.
    fn row_heads(&self) -> Vec<String> {
        let briefs: Vec<String> = self.rows.iter().map(|row| plain(&row.brief)).collect();
        let widest = briefs.iter().map(|brief| width(brief)).max().unwrap_or(0);
        let is_number = |brief: &String| brief.bytes().all(|byte| byte.is_ascii_digit());
        let align = if briefs.iter().all(is_number) { pad_left } else { pad };
        briefs.iter().map(|brief| align(brief, widest)).collect()
    }
}

/// Writes the table.
pub(super) fn write(heat: &Heat, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    if !heat.title.is_empty() {
        let title = clip(&plain(&heat.title), view.columns());
        writeln!(out, "{}", view.style.paint(Tone::Heading, &title))?;
    }
    let rows = heat.row_heads();
    let cells = heat.rows.iter().flat_map(|row| &row.cells).map(|cell| width(number(cell)));
    let heads = heat.columns.iter().map(|column| width(&column.brief).saturating_sub(1));
    // Two spaces and a shade stand before each number.
    let cell = cells.chain(heads).max().unwrap_or(0).max(NUMBER) + 4;
    let label = rows.first().map_or(0, |head| width(head));
    if label + heat.columns.len() * cell <= view.columns() {
        return numbers(heat, &rows, cell, view, out);
    }
    let most = if view.all { usize::MAX } else { 1 };
    for columns in parts(heat.columns.len()).take(most) {
        for part in parts(heat.rows.len()).take(most) {
            shades(heat, &rows, [part, columns.clone()], view, out)?;
        }
    }
    Ok(())
}

/// Returns the number of a cell; nothing if its sign states all.
fn number(cell: &Cell) -> &str {
    if [NO_VALUE, UNKNOWN].contains(&&*cell.text) { "" } else { &cell.text }
}

/// Writes a shade and a number for each cell.
fn numbers(
    heat: &Heat,
    rows: &[String],
    cell: usize,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let heads: String =
        heat.columns.iter().map(|column| pad_left(&plain(&column.brief), cell)).collect();
    let label = rows.first().map_or(0, |head| width(head));
    writeln!(out, "{}{}", " ".repeat(label), view.style.paint(Tone::Heading, &heads))?;
    for (row, head) in heat.rows.iter().zip(rows) {
        let mut line = head.clone();
        for shaded in &row.cells {
            let (shade, tone) = heat.sign(shaded);
            let text = format!("{shade}{}", pad_left(&plain(number(shaded)), cell - 3));
            line += &format!("  {}", view.style.paint(tone, &text));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Writes a shade for each cell of these rows and columns.
fn shades(
    heat: &Heat,
    heads: &[String],
    [rows, columns]: [std::ops::Range<usize>; 2],
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let label = heads.first().map_or(0, |head| width(head));
    let briefs: Vec<String> =
        heat.columns[columns.clone()].iter().map(|column| plain(&column.brief)).collect();
    for line in upright(&briefs) {
        let line = format!("{} {line}", " ".repeat(label));
        writeln!(out, "{}", view.style.paint(Tone::Heading, line.trim_end()))?;
    }
    for (row, head) in heat.rows.iter().zip(heads).take(rows.end).skip(rows.start) {
        let cells: Vec<(char, Tone)> =
            row.cells[columns.clone()].iter().map(|cell| heat.sign(cell)).collect();
        let runs = cells.chunk_by(|a, b| a.1 == b.1).map(|run| {
            let text: String = run.iter().map(|(shade, _)| shade).collect();
            view.style.paint(run[0].1, &text)
        });
        let line = format!("{head} {}", runs.collect::<String>());
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Splits this many rows or columns into parts.
fn parts(all: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..all).step_by(PART).map(move |from| from..(from + PART).min(all))
}

/// Returns headings from top to bottom, one line for each character; those before the last appear only where they
/// change.
fn upright(heads: &[String]) -> Vec<String> {
    let most = heads.iter().map(|head| width(head)).max().unwrap_or(0);
    let padded: Vec<Vec<char>> =
        heads.iter().map(|head| pad_left(head, most).chars().collect()).collect();
    let mut lines = vec![];
    for place in 0..most {
        let until = |at: usize| padded[at].get(..=place);
        let shown = |at: usize| place + 1 == most || at == 0 || until(at) != until(at - 1);
        let sign = |at: usize| padded[at].get(place).copied().filter(|_| shown(at));
        lines.push((0..padded.len()).map(|at| sign(at).unwrap_or(' ')).collect());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::micros;

    #[test]
    fn headings_from_top_to_bottom() {
        let heads = |cpus: &[u32]| cpus.iter().map(u32::to_string).collect::<Vec<String>>();
        assert_eq!(upright(&heads(&[8, 9, 10, 11, 12])), ["  1  ", "89012"]);
        assert_eq!(upright(&heads(&[0, 1])), ["01"]);
        assert_eq!(upright(&heads(&[99, 100, 4_294_967_295])).len(), 10);
        assert!(upright(&[]).is_empty());
    }

    #[test]
    fn shades_are_parts_of_the_largest() {
        let heat = Heat {
            name: String::new(),
            title: String::new(),
            corner: String::new(),
            columns: vec![],
            rows: vec![],
            most: 15_000.0,
            decades: 2.5,
            write: |ns| format!("{} µs", micros(ns)),
        };
        let values = [-1.0, 10.0, 150.0, 1_400.0, 1_500.0, 7_500.0, 15_000.0, f64::NAN];
        let signs = values.map(|ns| heat.sign(&Cell::value(ns, String::new())).0);
        assert_eq!(signs, ['░', '░', '▒', '▒', '▓', '█', '█', '░']);
        assert_eq!(heat.shades(), "░ < 0.15  ▒ ≥ 0.15  ▓ ≥ 1.50  █ ≥ 7.50 µs");
    }
}
