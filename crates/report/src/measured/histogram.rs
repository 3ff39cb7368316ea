//! The histogram of the main body of the samples of a series.

use crate::measured::loss::Loss;
use crate::measured::names::Named;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::units::count;

/// Draws the main body of the samples by the time that they lost. Returns the chart with its caption; nothing if there is
/// no histogram.
pub(crate) fn of_body(named: &Named<'_>) -> Option<(Chart, String)> {
    let of = named.result.distribution.as_ref()?;
    let histogram = named.result.figures.histogram.as_ref()?;
    let loss = Loss::of(&named.result.facts, of);
    let edge = |bin: usize| loss.ns(histogram.low + bin as f64 * histogram.width);
    let mut points: Vec<(f64, f64)> = histogram
        .counts
        .iter()
        .enumerate()
        .map(|(bin, &count)| (edge(bin), count as f64))
        .collect();
    points.push((edge(histogram.counts.len()), 0.0));
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let chart = Chart::of(
        Axis::linear("time lost", Quantity::Time),
        Axis::linear("samples", Quantity::Count),
        vec![Curve::numbered(0, "samples".into(), Draw::Steps, &points)],
    )
    .named(format!("{} histogram", named.title()));
    let outside = histogram.below.saturating_add(histogram.above);
    let caption = format!(
        "Histogram of the main body of the samples, {}; {} of {} lie outside.",
        named.title(),
        count(outside),
        count(of.samples)
    );
    Some((chart, caption))
}
