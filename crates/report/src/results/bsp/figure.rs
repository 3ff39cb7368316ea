//! The figure of measured and predicted slowdown, one line for each cell, with the range for independent ranks.

use super::words;
use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Place, Quantity};
use anechoic_predict::bsp::Cell;

/// Largest number of cells in the figure.
const MOST: usize = 24;

/// Returns the figure with the first cell on top, or nothing if nothing was lost or predicted.
pub(super) fn figure(cells: &[Cell]) -> Option<Chart> {
    let shown = |cell: &&Cell| cell.predicted.is_some() && cell.measured.value > 0.0;
    let cells: Vec<&Cell> = cells.iter().filter(shown).take(MOST).collect();
    if cells.is_empty() {
        return None;
    }
    let placed = || (1..=cells.len()).rev().map(|at| at as f64).zip(cells.iter().copied());
    let points = |value: fn(&Cell) -> Option<f64>| -> Vec<(f64, f64)> {
        let found = placed().filter_map(|(at, cell)| Some((value(cell)?, at)));
        found.filter(|(value, _)| *value > 0.0).collect()
    };
    let laws = |(at, cell): (f64, &Cell)| {
        let laws = cell.brackets.filter(|laws| laws.free_start > 0.0)?;
        Some([(laws.free_start, at), (laws.wall_start, at)])
    };
    let laws: Vec<(f64, f64)> = placed().filter_map(laws).flatten().collect();
    let signed = |number, name: &str, sign, points: &[(f64, f64)]| {
        Curve::numbered(number, name.into(), Draw::Points, points).lettered(Some(sign))
    };
    let name = "independent ranks, free to wall start".to_owned();
    let curves = vec![
        Curve::colored(palette::of_source(""), 0, name, Draw::Segments, &laws),
        signed(0, "measured", '●', &points(|cell| Some(cell.measured.value))),
        signed(1, "recursion", '○', &points(|cell| cell.predicted.map(|of| of.value))),
    ];
    let x = Axis::log("time lost as a multiple of the undisturbed time", Quantity::Number);
    let x = x.over(curves.iter().flat_map(|curve| curve.x.clone())).rounded(6);
    let mut names: Vec<Place> =
        placed().map(|(at, cell)| Place { at, name: words::name(cell) }).collect();
    names.reverse();
    let title = "time lost as a multiple of the undisturbed time";
    Some(Chart::of(x, Axis::named("", names), curves).titled(title, cells.len()))
}
