//! The figure of the slow tails of all series, on logarithmic axes.

use crate::measured::loss::Loss;
use crate::measured::names::{Named, shown};
use crate::picture::{Axis, Chart, Curve, Draw, Quantity, ROWS};
use crate::style::View;
use crate::survival;
use anechoic_analyze::samples::Measured;
use anechoic_recording::methods;

/// Largest number of curves in one figure: more could not be distinguished.
const MOST: usize = 8;
/// Largest ratio of the ends of the axis.
const DEEPEST: f64 = 1e7;

/// The curve of one series.
pub(crate) struct Tail<'a> {
    pub named: Named<'a>,
    pub points: Vec<(f64, f64)>,
}

/// Returns the tails of do-nothing loops, or on a full screen those of any method.
pub(super) fn figure(measured: &Measured, view: &View<'_>) -> Option<Chart> {
    if measured.method != methods::LOOPS && !view.all {
        return None;
    }
    let mut tails: Vec<Tail<'_>> = shown(measured, view.all).into_iter().filter_map(tail).collect();
    let left_out = tails.len().saturating_sub(MOST);
    tails.truncate(MOST);
    let points = || tails.iter().flat_map(|tail| &tail.points);
    let longest = points().map(|(ns, _)| *ns).fold(0.0, f64::max);
    if longest == 0.0 {
        return None;
    }
    let lengths = points().map(|(ns, _)| *ns).filter(|ns| *ns > longest / DEEPEST);
    let x = Axis::log("time lost", Quantity::Time).over(lengths);
    let y = Axis::log("share of the samples", Quantity::Share);
    let y = y.over(points().map(|(_, share)| *share).chain([1.0]));
    let curve = |(number, tail): (usize, &Tail<'_>)| {
        let curve = Curve::numbered(number, tail.named.brief(), Draw::Steps, &tail.points);
        curve.lettered(tail.named.letter)
    };
    let title = "share of the samples that lost at least this much";
    let mut chart =
        Chart::of(x, y, tails.iter().enumerate().map(curve).collect()).titled(title, ROWS + 2);
    if left_out > 0 {
        chart.notes.push(format!("{left_out} more not drawn"));
    }
    Some(chart)
}

/// Describes [`survival`].
pub(crate) const SURVIVAL: &str = "Share of the samples that lost at least this much.";

/// Draws the tails of these series from the left edge of the axis, where all samples are.
pub(crate) fn survival(series: &[Named<'_>]) -> Chart {
    let tails = series.iter().filter_map(|&named| tail(named));
    let (names, points): (Vec<String>, Vec<_>) =
        tails.map(|tail| (tail.named.title(), tail.points)).unzip();
    let curves = names.into_iter().zip(survival::from_all(points)).zip('a'..='z').enumerate();
    Chart::of(
        Axis::log("time lost", Quantity::Time),
        Axis::log("share of the samples", Quantity::Share),
        curves
            .map(|(number, ((name, points), letter))| {
                Curve::numbered(number, name, Draw::Steps, &points).lettered(Some(letter))
            })
            .collect(),
    )
}

/// Returns the curve as a share of samples from one loss up to the next.
pub(crate) fn tail(named: Named<'_>) -> Option<Tail<'_>> {
    let distribution = named.result.distribution.as_ref()?;
    let loss = Loss::of(&named.result.facts, distribution);
    let survival = &named.result.figures.survival;
    let mut from = survival.first().map(|point| loss.ns(point.value))?;
    let mut points = vec![(0.0, 1.0)];
    for point in survival {
        // `share` of the samples reach this point, so the curve has this height from the previous point up to here.
        points.push((from, point.share));
        from = loss.ns(point.value).max(from);
    }
    points.push((from, survival.last()?.share));
    Some(Tail { named, points })
}
