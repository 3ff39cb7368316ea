//! Samples one by one over time, and their distributions, of several series on one axis of absolute values.

use crate::measured::names::Named;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::units::count;
use anechoic_analyze::samples::Fixed;

/// Largest number of series in a chart.
pub(crate) const CURVES: usize = 6;
/// The axis of values is logarithmic if the greatest exceeds the least by this factor.
const FAR: f64 = 10.0;

/// Returns the series of one kernel and one requested duration together, in the order of the recording; single ones too.
/// Charts draw the first [`CURVES`] of a group.
pub(crate) fn alike<'a>(series: &[Named<'a>]) -> Vec<Vec<Named<'a>>> {
    let mut groups: Vec<Vec<Named<'a>>> = vec![];
    for &named in series.iter().filter(|named| !named.result.figures.drawn.points.is_empty()) {
        let facts = &named.result.facts;
        let same = |group: &&mut Vec<Named<'_>>| {
            let first = &group[0].result.facts;
            first.variant == facts.variant && first.grain_ns == facts.grain_ns
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(named),
            None => groups.push(vec![named]),
        }
    }
    groups
}

/// Draws each sample by its start, relative to the first of its series, and its value.
pub(crate) fn over_time(series: &[Named<'_>]) -> Chart {
    let curve = |(number, named): (usize, &Named<'_>)| {
        let start = named.result.facts.start_ns;
        let drawn = named.result.figures.drawn.points.iter();
        let points: Vec<(f64, f64)> =
            drawn.map(|(at, value)| (at.saturating_sub(start) as f64, *value)).collect();
        Curve::numbered(number, named.title(), Draw::Points, &points)
    };
    let curves = series.iter().take(CURVES).enumerate().map(curve).collect();
    Chart::of(Axis::linear("since the start of the series", Quantity::Time), values(series), curves)
}

/// Draws the share of the samples that is at most a value.
pub(crate) fn distributions(series: &[Named<'_>]) -> Chart {
    let curve = |(number, named): (usize, &Named<'_>)| {
        let cdf = named.result.figures.cdf.iter();
        let points: Vec<(f64, f64)> = cdf.map(|point| (point.value, point.share)).collect();
        Curve::numbered(number, named.title(), Draw::Steps, &points)
    };
    let curves = series.iter().take(CURVES).enumerate().map(curve).collect();
    Chart::of(values(series), Axis::linear("share of the samples", Quantity::Share), curves)
}

/// Describes the chart over time: which samples are drawn.
pub(crate) fn caption(series: &[Named<'_>]) -> String {
    let what = match fixed(series) {
        Fixed::Work => "The time of each sample by its start",
        Fixed::Time => "The work of each window by its start",
    };
    let drawn = series.iter().take(CURVES);
    let samples = drawn.map(|named| named.result.facts.samples).sum::<u64>();
    match series.iter().all(|named| named.result.figures.drawn.all) {
        true => format!("{what}: all {} samples.", count(samples)),
        false => format!(
            "{what}: of {} samples the least and the greatest in each of 500 equal stretches of time of a series.",
            count(samples)
        ),
    }
}

/// Describes the chart of distributions.
pub(crate) fn caption_of_distributions(series: &[Named<'_>]) -> &'static str {
    match fixed(series) {
        Fixed::Work => "Share of the samples that took at most this long.",
        Fixed::Time => "Share of the windows that held at most this much work.",
    }
}

/// Returns the axis of the values of series.
fn values(series: &[Named<'_>]) -> Axis {
    let axis = match fixed(series) {
        Fixed::Work => Axis::linear("time of a sample", Quantity::Time),
        Fixed::Time => Axis::linear("work in a window", Quantity::Number),
    };
    let drawn = series.iter().flat_map(|named| &named.result.figures.drawn.points);
    axis_for(axis, drawn.map(|point| point.1))
}

/// Makes the axis of these values logarithmic if they are far apart.
pub(crate) fn axis_for(axis: Axis, values: impl Iterator<Item = f64>) -> Axis {
    let both = |(least, greatest): (f64, f64), value: f64| (least.min(value), greatest.max(value));
    let (least, greatest) = values.fold((f64::INFINITY, 0.0), both);
    Axis { log: least > 0.0 && greatest > FAR * least, ..axis }
}

fn fixed(series: &[Named<'_>]) -> Fixed {
    series.first().map_or(Fixed::Work, |named| named.result.facts.fixed)
}
