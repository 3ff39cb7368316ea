//! The figure of the slow tails of all series, on logarithmic axes.

use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::results::measured::loss::Loss;
use crate::results::measured::names::Named;
use crate::results::measured::survival;

/// The curve of one series.
pub(crate) struct Tail<'a> {
    pub named: Named<'a>,
    pub points: Vec<(f64, f64)>,
}

/// Describes [`survival`].
pub(crate) const SURVIVAL: &str = "Share of the samples that lost at least this much.";

/// Draws the tails of these series from the left edge of the axis, where all samples are.
pub(crate) fn survival(series: &[Named<'_>]) -> Chart {
    let tails = series.iter().filter_map(|&named| tail(named));
    let (names, points): (Vec<(String, Option<char>)>, Vec<_>) =
        tails.map(|tail| ((tail.named.title(), tail.named.letter), tail.points)).unzip();
    let curves = names.into_iter().zip(survival::from_all(points)).zip('a'..='z').enumerate();
    Chart::new(
        Axis::log("time lost", Quantity::Time),
        Axis::log("share of the samples", Quantity::Share),
        curves
            .map(|(number, (((name, letter), points), other))| {
                let letter = letter.or(Some(other));
                Curve::numbered(number, name, Draw::Steps, &points).lettered(letter)
            })
            .collect(),
    )
}

/// Returns the curve as a share of samples from one loss up to the next.
pub(crate) fn tail(named: Named<'_>) -> Option<Tail<'_>> {
    let distribution = named.result.distribution.as_ref()?;
    let loss = Loss::new(&named.result.facts, distribution);
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
