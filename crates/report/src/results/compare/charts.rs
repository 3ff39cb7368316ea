//! The figures of a comparison: the noise of each run, and the rate of detours by length.

use super::name;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use anechoic_analyze::compare::{Comparison, Difference, LengthChange, Order, Side};

/// Describes the figure of the runs.
pub(super) const RUNS: &str =
    "The noise of each run on both sides, in order of time. The verdict is about these values.";
/// Describes the figure of the lengths.
pub(super) const LENGTHS: &str = "Detours that are longer than a threshold, per second and CPU, on both sides: means over the runs.";

/// Draws the noise of each run, those of a pair one above the other; absent unless a side has several.
pub(super) fn runs(found: &Comparison) -> Option<Chart> {
    let pairs = matches!(found.order, Order::Paired | Order::Duet);
    let what = if pairs { "pair" } else { "run of its side" };
    let curves = [&found.before, &found.after].into_iter().enumerate().map(|(number, side)| {
        let noises = side.noise_of_runs.iter().copied();
        let points: Vec<(f64, f64)> = (1_u32..).map(f64::from).zip(noises).collect();
        curve(number, side, Draw::Points, &points)
    });
    let chart = Chart::new(
        Axis::linear(what, Quantity::Count),
        Axis::linear("noise", Quantity::Share),
        curves.collect(),
    );
    (found.before.runs.max(found.after.runs) > 1).then(|| chart.named("runs"))
}

/// Draws the rate of detours over each threshold on both sides.
pub(super) fn lengths(found: &Comparison) -> Chart {
    let before = rates(&found.lengths, |difference| difference.before);
    let after = rates(&found.lengths, |difference| difference.after);
    let curves = vec![
        curve(0, &found.before, Draw::Line, &before),
        curve(1, &found.after, Draw::Line, &after),
    ];
    let x = Axis::log("detours longer than", Quantity::Time);
    let y = Axis::log("per second and CPU", Quantity::Number);
    Chart::new(x, y, curves)
        .titled("detours per second and CPU that are longer than a threshold", 10)
        .named("lengths")
}

/// Returns the rate over each threshold on one side, without rates of 0, which a logarithmic axis cannot show.
fn rates(lengths: &[LengthChange], rate: fn(&Difference) -> f64) -> Vec<(f64, f64)> {
    let rates = lengths.iter().map(|length| (length.threshold_ns as f64, rate(&length.difference)));
    rates.filter(|(_, rate)| *rate > 0.0).collect()
}

/// Draws one side: 0 is before the change, 1 after it.
fn curve(number: usize, side: &Side, draw: Draw, points: &[(f64, f64)]) -> Curve {
    Curve::numbered(number, name(side), draw, points).lettered(('a'..='b').nth(number))
}
