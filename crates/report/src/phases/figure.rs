//! The figure of the slowdown against the number of ranks, with one curve for each grain.

use crate::picture::{Axis, Chart, Curve, Draw, Quantity, ROWS};
use crate::units::asked;
use anechoic_predict::phases::{GrainModel, PhaseModel};

/// Numbers of ranks with the slowdown at each.
type Points = Vec<(f64, f64)>;

/// Largest number of curves in one figure: more could not be distinguished.
const MOST: usize = 6;

/// Returns the figure, or nothing if there are not two numbers of ranks.
pub(super) fn figure(model: &PhaseModel) -> Option<Chart> {
    let curves: Vec<Points> = model.grains.iter().take(MOST).map(curve).collect();
    let points = || curves.iter().flatten();
    if curves.iter().all(|curve| curve.len() < 2) || points().all(|(_, slowdown)| *slowdown <= 1.0)
    {
        return None;
    }
    let x = Axis::log("ranks", Quantity::Count).over(points().map(|(ranks, _)| *ranks));
    let y = Axis::log("slowdown", Quantity::Number);
    let y = y.over(points().map(|(_, slowdown)| *slowdown)).rounded(ROWS / 2);
    let named = |(number, (grain, points)): (usize, (&GrainModel, &Points))| {
        let curve = Curve::numbered(number, asked(grain.grain_ns), Draw::Line, points);
        curve.lettered(Some(char::from(b'A' + number as u8)))
    };
    let curves = model.grains.iter().zip(&curves).enumerate().map(named).collect();
    let mut chart =
        Chart::of(x, y, curves).titled("slowdown against the number of ranks", ROWS + 2);
    if model.grains.len() > MOST {
        chart.notes.push(format!("{} more grains not drawn", model.grains.len() - MOST));
    }
    Some(chart)
}

/// Returns the best estimate for each number of ranks.
fn curve(grain: &GrainModel) -> Points {
    let mut points: Points =
        grain.cells.iter().map(|cell| (cell.ranks as f64, cell.slowdown())).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by_key(|point| point.0);
    points
}
