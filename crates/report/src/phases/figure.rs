//! The figure of the slowdown against the number of ranks, with one curve for each grain.
//!
//! A curve ends where the recording no longer supports the number of ranks; what follows is drawn as points.

use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity, ROWS};
use crate::units::asked;
use anechoic_predict::phases::{GrainModel, PhaseModel};

/// Numbers of ranks with the slowdown at each.
type Points = Vec<(f64, f64)>;

/// Largest number of curves in one figure: more could not be distinguished.
const MOST: usize = 6;

/// Returns the figure, or nothing if there are not two numbers of ranks.
pub(super) fn figure(model: &PhaseModel) -> Option<Chart> {
    let grains = || model.grains.iter().take(MOST);
    let curves: Vec<Points> = grains().map(|grain| points_of(grain, true)).collect();
    let mut too_low: Points = grains().flat_map(|grain| points_of(grain, false)).collect();
    too_low.sort_by(|a, b| a.0.total_cmp(&b.0));
    let points = || curves.iter().flatten().chain(&too_low);
    if points().count() < 2 || points().all(|(_, slowdown)| *slowdown <= 1.0) {
        return None;
    }
    let x = Axis::log("ranks", Quantity::Count).over(points().map(|(ranks, _)| *ranks));
    let y = Axis::log("slowdown", Quantity::Number);
    let y = y.over(points().map(|(_, slowdown)| *slowdown)).rounded(ROWS / 2);
    let named = |(number, (grain, points)): (usize, (&GrainModel, &Points))| {
        let curve = Curve::numbered(number, asked(grain.grain_ns), Draw::Line, points);
        curve.lettered(Some(char::from(b'A' + number as u8)))
    };
    let mut curves: Vec<Curve> = model.grains.iter().zip(&curves).enumerate().map(named).collect();
    if !too_low.is_empty() {
        let (color, name) = (palette::of_source(""), "too low: not supported".to_owned());
        curves.push(Curve::colored(color, 0, name, Draw::Points, &too_low).lettered(Some('*')));
    }
    let mut chart =
        Chart::of(x, y, curves).titled("slowdown against the number of ranks", ROWS + 2);
    if model.grains.len() > MOST {
        chart.notes.push(format!("{} more grains not drawn", model.grains.len() - MOST));
    }
    Some(chart)
}

/// Returns the best estimate for each number of ranks that the recording supports, or does not.
fn points_of(grain: &GrainModel, supported: bool) -> Points {
    let cells = grain.cells.iter().filter(|cell| cell.supported == supported);
    let mut points: Points = cells.map(|cell| (cell.ranks as f64, cell.slowdown())).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by_key(|point| point.0);
    points
}
