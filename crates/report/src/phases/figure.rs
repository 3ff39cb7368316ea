//! Figure: the slowdown against the number of ranks, a curve a grain.

use crate::figure::{Axis, Plot, Quantity, ROWS, Scale, Steps};
use crate::style::{Tone, View};
use crate::units::asked;
use anechoic_predict::phases::{GrainModel, PhaseModel};
use std::io::{self, Write};

/// Curves in one figure, at most: more cannot be told apart.
const MOST: usize = 6;
/// Points between two numbers of ranks.
const BETWEEN: u32 = 40;

/// Draws the figure, where there are two numbers of ranks.
pub(super) fn write(model: &PhaseModel, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let curves: Vec<Vec<(f64, f64)>> = model.grains.iter().take(MOST).map(curve).collect();
    let points = || curves.iter().flatten();
    if curves.iter().all(|curve| curve.len() < 2) || points().all(|(_, slowdown)| *slowdown <= 1.0)
    {
        return Ok(());
    }
    let x = Axis::over(Quantity::Count, Scale::Log, points().map(|(ranks, _)| *ranks));
    let y = Axis::over(Quantity::Ratio, Scale::Log, points().map(|(_, slowdown)| *slowdown));
    let title = "slowdown against the number of ranks";
    let mut plot = Plot::new(title, x, y.rounded(ROWS / 2), ROWS + 2, view);
    let letter = |number: usize| char::from(b'A' + number as u8);
    let steps: Vec<Steps<'_>> = curves
        .iter()
        .enumerate()
        .map(|(number, points)| Steps { letter: Some(letter(number)), points })
        .collect();
    plot.steps(&steps);
    let key = |(number, grain): (usize, &GrainModel)| {
        (format!("{} {}", letter(number), asked(grain.grain_ns)), Tone::Series(number as u8))
    };
    plot.key = model.grains.iter().take(MOST).enumerate().map(key).collect();
    if model.grains.len() > MOST {
        let more = format!("{} more grains not drawn", model.grains.len() - MOST);
        plot.key.push((more, Tone::Quiet));
    }
    writeln!(out)?;
    plot.write(view, out)
}

/// The best answer for each number of ranks, with straight lines between them.
fn curve(grain: &GrainModel) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        grain.cells.iter().map(|cell| (cell.ranks as f64, cell.slowdown())).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by_key(|point| point.0);
    let between = |pair: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let ((ranks, from), (last, to)) = (pair[0], pair[1]);
        let part = |step: u32| f64::from(step) / f64::from(BETWEEN);
        let point =
            |step| (ranks * (last / ranks).powf(part(step)), from * (to / from).powf(part(step)));
        (0..BETWEEN).map(point).collect()
    };
    let mut curve: Vec<(f64, f64)> = points.windows(2).flat_map(between).collect();
    curve.extend(points.last());
    curve
}
