//! The figure of measured and predicted slowdown: three lines for each case.

use super::words;
use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Place, Quantity};
use anechoic_analyze::stats::Interval;
use anechoic_predict::bsp::{Cell, Estimate};

/// Largest number of cases in the figure.
const MOST: usize = 24;

/// Describes the figure.
pub(super) const CAPTION: &str = "Time lost in each case, measured and by the recursion, with 95 % intervals; below these the range for as many independent ranks, from free start to wall start.";

/// The cases of the figure.
struct Rows<'a> {
    /// The cases with their heights, the first on top.
    cells: Vec<(f64, &'a Cell)>,
    /// The lower end of the logarithmic axis: a third of the smallest value.
    floor: f64,
}

impl<'a> Rows<'a> {
    fn new(cells: &'a [Cell]) -> Self {
        let drawn = |cell: &&Cell| cell.predicted.is_some() && cell.measured.value > 0.0;
        let drawn: Vec<&Cell> = cells.iter().filter(drawn).take(MOST).collect();
        let values = drawn.iter().flat_map(|cell| [Some(cell.measured), cell.predicted]).flatten();
        let positive = values.map(|estimate| estimate.value).filter(|&value| value > 0.0);
        let floor = positive.fold(f64::INFINITY, f64::min) / 3.0;
        let heights = (1..=drawn.len()).rev().map(|height| height as f64);
        Self { cells: heights.zip(drawn).collect(), floor }
    }

    /// Returns an interval of each case, drawn this far above the middle of its row.
    fn bars(&self, above: f64, interval: fn(&Cell) -> Option<Interval>) -> Vec<(f64, f64)> {
        let found = self.cells.iter().filter_map(|(y, cell)| Some((y + above, interval(cell)?)));
        found
            .filter(|(_, ends)| ends.high > self.floor)
            .flat_map(|(y, ends)| [(ends.low.max(self.floor), y), (ends.high, y)])
            .collect()
    }

    /// Returns a value of each case, drawn this far above the middle of its row.
    fn points(&self, above: f64, estimate: fn(&Cell) -> Option<Estimate>) -> Vec<(f64, f64)> {
        let found =
            self.cells.iter().filter_map(|(y, cell)| Some((estimate(cell)?.value, y + above)));
        let mut points: Vec<_> = found.filter(|point| point.0 >= self.floor).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// Returns the names from the bottom up.
    fn names(&self) -> Vec<Place> {
        let rows = self.cells.iter().rev();
        rows.map(|(at, cell)| Place { at: *at, name: words::name(cell) }).collect()
    }
}

/// Returns the range for independent ranks.
fn independent(cell: &Cell) -> Option<Interval> {
    let brackets = cell.brackets?;
    Some(Interval { low: brackets.free_start, high: brackets.wall_start })
}

/// Returns the figure of lost time, one row for each case: measured and predicted with their intervals, and the range
/// for independent ranks.
pub(super) fn figure(cells: &[Cell]) -> Chart {
    /// Heights within a row.
    const MEASURED: f64 = 0.12;
    const PREDICTED: f64 = -0.1;
    const LAWS: f64 = -0.3;
    let rows = Rows::new(cells);

    let [first, second] = [0, 1].map(palette::curve_color);
    let points = |color, shape, name: &str, points: &[(f64, f64)]| {
        Curve::colored(color, shape, name.into(), Draw::Points, points)
    };
    let bars = |color, name: &str, ends: &[(f64, f64)]| {
        Curve::colored(color, 0, name.into(), Draw::Segments, ends)
    };
    let measured_bars = rows.bars(MEASURED, |cell| cell.measured.interval);
    let predicted_bars = rows.bars(PREDICTED, |cell| cell.predicted?.interval);
    let curves = vec![
        points(first, 0, "measured", &rows.points(MEASURED, |cell| Some(cell.measured))),
        bars(first, "measured, 95 %", &measured_bars),
        points(second, 3, "recursion", &rows.points(PREDICTED, |cell| cell.predicted)),
        bars(second, "recursion, 95 %", &predicted_bars),
        bars(palette::source_color(""), "independent ranks", &rows.bars(LAWS, independent)),
    ];
    let axis = Axis::log("time lost relative to the undisturbed time", Quantity::Share);
    let chart = Chart::new(axis, Axis::named("", rows.names()), curves);
    let title = "time lost relative to the undisturbed time";
    Chart { beside: true, ..chart.titled(title, rows.cells.len()) }
}
