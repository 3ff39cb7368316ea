//! Figure: what was measured and predicted, each cell a line, between the laws of independent ranks.

use super::words;
use crate::figure::{Axis, Quantity, Scale};
use crate::style::{Tone, View, width};
use anechoic_predict::bsp::Cell;
use std::io::{self, Write};

/// Cells in the figure, at most.
const MOST: usize = 24;
/// Columns of the whole figure, at most.
const WIDEST: usize = 100;

/// Draws the figure, where something was lost and predicted.
pub(super) fn write(cells: &[Cell], view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let shown = |cell: &&Cell| cell.predicted.is_some() && cell.measured.value > 0.0;
    let shown: Vec<&Cell> = cells.iter().filter(shown).take(MOST).collect();
    if shown.is_empty() {
        return Ok(());
    }
    let axis = Axis::over(Quantity::Ratio, Scale::Log, shown.iter().flat_map(|cell| values(cell)));
    let axis = axis.rounded(6);
    let names: Vec<String> = shown.iter().map(|cell| words::name(cell)).collect();
    let gutter = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let columns = view.columns().min(WIDEST) - gutter - 3;
    let title = "lost, as a multiple of the undisturbed time";
    writeln!(out, "\n{}", view.style.paint(Tone::Heading, title))?;
    for (cell, name) in shown.iter().zip(&names) {
        let space = " ".repeat(gutter - width(name));
        let edge = view.style.paint(Tone::Quiet, &format!("{name}{space} │"));
        writeln!(out, "{edge}{}", line(cell, &axis, columns).trim_end())?;
    }
    let (rule, labels) = lower(&axis, gutter, columns);
    writeln!(out, "{}", view.style.paint(Tone::Quiet, &rule))?;
    writeln!(out, "{}", view.style.paint(Tone::Quiet, &labels))?;
    let key = "● measured   ○ recursion   ◉ both   ├──┤ independent ranks, free to wall start";
    let indent = if gutter + 2 + width(key) <= view.columns() { gutter + 2 } else { 0 };
    writeln!(out, "{}{}", " ".repeat(indent), view.style.paint(Tone::Quiet, key))
}

/// What the axis must hold of a cell.
fn values(cell: &Cell) -> Vec<f64> {
    let predicted = cell.predicted.map(|of| of.value);
    let laws = cell.brackets.map(|laws| [laws.free_start, laws.wall_start]);
    let mut values = vec![cell.measured.value];
    values.extend(predicted);
    values.extend(laws.into_iter().flatten());
    values.retain(|&value| value > 0.0);
    values
}

fn line(cell: &Cell, axis: &Axis, columns: usize) -> String {
    let column = |value: f64| (axis.place(value) * (columns - 1) as f64).round() as usize;
    let mut line = vec![' '; columns];
    if let Some(laws) = cell.brackets.filter(|laws| laws.free_start > 0.0) {
        let (from, to) = (column(laws.free_start), column(laws.wall_start));
        let (from, to) = (from.min(to), from.max(to));
        line[from..=to].fill('─');
        if from < to {
            (line[from], line[to]) = ('├', '┤');
        } else {
            line[from] = '┼';
        }
    }
    let measured = column(cell.measured.value);
    line[measured] = '●';
    if let Some(predicted) = cell.predicted.filter(|of| of.value > 0.0) {
        let place = column(predicted.value);
        line[place] = if place == measured { '◉' } else { '○' };
    }
    line.into_iter().collect()
}

/// The axis and its labels.
fn lower(axis: &Axis, gutter: usize, columns: usize) -> (String, String) {
    let column = |place: f64| (place * (columns - 1) as f64).round() as usize;
    let start = |place: f64, label: &str| {
        let wide = width(label);
        (gutter + 2 + column(place)).saturating_sub(wide / 2).min(gutter + 2 + columns - wide)
    };
    let ticks = axis.ticks(columns / 8, |ticks| {
        ticks.windows(2).all(|pair| {
            start(pair[0].place, &pair[0].label) + width(&pair[0].label) + 2
                <= start(pair[1].place, &pair[1].label)
        })
    });
    let (mut rule, mut labels) = (vec!['─'; columns], String::new());
    for tick in &ticks {
        rule[column(tick.place)] = '┬';
        labels += &" ".repeat(start(tick.place, &tick.label).saturating_sub(width(&labels)));
        labels += &tick.label;
    }
    (format!("{}└{}", " ".repeat(gutter + 1), rule.into_iter().collect::<String>()), labels)
}
