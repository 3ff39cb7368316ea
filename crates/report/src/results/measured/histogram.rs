//! The histogram of the main body of the samples of a series.

use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::results::measured::loss::Loss;
use crate::results::measured::names::Named;
use crate::units::count;
use anechoic_analyze::samples::figures::Histogram;

/// The number of samples with a loss between two times, in ns.
pub(super) struct Bin {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) count: u64,
}

/// Returns the bins of a histogram as losses: for fixed time, where more work is a smaller loss, the last bin is the lowest.
pub(super) fn body(histogram: &Histogram, loss: &Loss) -> Vec<Bin> {
    let edge = |number: usize| loss.ns(histogram.low + number as f64 * histogram.width);
    let bins = histogram.counts.iter().enumerate().map(|(number, &count)| {
        let (one, other) = (edge(number), edge(number + 1));
        Bin { low: one.min(other), high: one.max(other), count }
    });
    bins.collect()
}

/// Returns the outline of bins: each count from the lower end of its bin on, and 0 from the end of the highest on.
fn steps(bins: &[Bin]) -> Vec<(f64, f64)> {
    let end = bins.iter().map(|bin| bin.high).fold(0.0, f64::max);
    let steps = bins.iter().map(|bin| (bin.low, bin.count as f64));
    let mut points: Vec<(f64, f64)> = steps.chain([(end, 0.0)]).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// Draws the main body of the samples of fixed work by the time that they took; nothing if there is no histogram.
pub(crate) fn by_time(named: &Named<'_>) -> Option<Chart> {
    let histogram = named.result.figures.histogram.as_ref()?;
    let edge = |bin: usize| histogram.low + bin as f64 * histogram.width;
    let bins = histogram.counts.iter().enumerate();
    let bins: Vec<Bin> =
        bins.map(|(bin, &count)| Bin { low: edge(bin), high: edge(bin + 1), count }).collect();
    let curve = Curve::numbered(0, "samples".into(), Draw::Steps, &steps(&bins));
    Some(Chart::new(
        Axis::linear("time of a sample", Quantity::Time),
        Axis::linear("samples", Quantity::Count),
        vec![curve],
    ))
}

/// Draws the main body of the samples by the time that they lost. Returns the chart with its caption; nothing if there is
/// no histogram.
pub(crate) fn body_chart(named: &Named<'_>) -> Option<(Chart, String)> {
    let distribution = named.result.distribution.as_ref()?;
    let histogram = named.result.figures.histogram.as_ref()?;
    let loss = Loss::new(&named.result.facts, distribution);
    let points = steps(&body(histogram, &loss));
    let chart = Chart::new(
        Axis::linear("time lost", Quantity::Time),
        Axis::linear("samples", Quantity::Count),
        vec![Curve::numbered(0, "samples".into(), Draw::Steps, &points)],
    )
    .named(format!("{} histogram", named.title()));
    let outside = histogram.below.saturating_add(histogram.above);
    let note = format!("{} of {} samples lie outside", count(outside), count(distribution.samples));
    let chart = Chart { notes: vec![note], ..chart };
    let caption = format!(
        "Histogram of the main body of the samples, {}; {} of {} lie outside.",
        named.title(),
        count(outside),
        count(distribution.samples)
    );
    Some((chart, caption))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_analyze::samples::Fixed;

    #[test]
    fn each_bin_lies_where_its_samples_lost_their_time() {
        let histogram =
            Histogram { low: 70.0, width: 10.0, counts: vec![1, 2, 3], below: 0, above: 0 };
        let points = |fixed, best| steps(&body(&histogram, &Loss::from_best(fixed, best, 1.0)));
        assert_eq!(points(Fixed::Work, 70.0), [(0.0, 1.0), (10.0, 2.0), (20.0, 3.0), (30.0, 0.0)]);
        // Windows with 90 to 100 units of work lost the least: 0 to 10.
        assert_eq!(points(Fixed::Time, 100.0), [(0.0, 3.0), (10.0, 2.0), (20.0, 1.0), (30.0, 0.0)]);
    }
}
