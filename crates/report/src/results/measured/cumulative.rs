//! Cumulative distributions: the share of samples, or of detours, that lost at most a given time (Tsafrir 2007, Figures
//! 10 and 11).

use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::results::measured::loss::Loss;
use anechoic_analyze::samples::figures::Point;
use anechoic_analyze::samples::{Fixed, SeriesResult};
use anechoic_analyze::timeline::Durations;

/// Ratio of the smallest positive value to the left edge of a logarithmic axis, which cannot show 0.
const BEFORE: f64 = 1.2;

/// Returns losses of a series in ns in rising order, each with the share of the samples that lost at most that much.
pub(crate) fn series_losses(series: &SeriesResult) -> Option<Vec<(f64, f64)>> {
    let loss = Loss::new(&series.facts, series.distribution.as_ref()?);
    let points = loss_points(&series.figures.cdf, &loss);
    (!points.is_empty()).then_some(points)
}

/// Turns the distribution of values into that of losses. In windows of fixed time little work is a large loss.
fn loss_points(cdf: &[Point], loss: &Loss) -> Vec<(f64, f64)> {
    if loss.fixed == Fixed::Work {
        return cdf.iter().map(|point| (loss.ns(point.value), point.share)).collect();
    }
    let less = std::iter::once(0.0).chain(cdf.iter().map(|point| point.share));
    let lost = |(point, less): (&Point, f64)| (loss.ns(point.value), 1.0 - less);
    let mut points: Vec<(f64, f64)> = cdf.iter().zip(less).map(lost).collect();
    points.reverse();
    points
}

/// Returns lengths of detours in rising order from this bin on, each with the share of the detours that took at most
/// that long; first the begin of the lowest bin, below which the others lie.
pub(crate) fn length_points(durations: &Durations, first: usize) -> Vec<(f64, f64)> {
    let below = |bin: usize| durations.counts.iter().take(bin).sum::<u64>();
    let share = |count: u64| count as f64 / durations.count.max(1) as f64;
    let filled = |&(bin, count): &(usize, &u64)| bin >= first && *count > 0;
    let begin = durations.counts.iter().enumerate().find(filled);
    let begin = begin.map(|(bin, _)| (Durations::from_ns(bin), share(below(bin))));
    let mut up_to = 0;
    let mut points: Vec<(f64, f64)> = begin.into_iter().collect();
    for (bin, &count) in durations.counts.iter().enumerate() {
        up_to += count;
        if bin >= first && count > 0 {
            let end = Durations::from_ns(bin + 1).min(durations.max_ns as f64);
            points.push((end, share(up_to)));
        }
    }
    points
}

/// Moves points at 0 to the left edge that all curves share.
pub(crate) fn from_edge(curves: Vec<Vec<(f64, f64)>>) -> Vec<Vec<(f64, f64)>> {
    let positive = curves.iter().flatten().map(|point| point.0).filter(|x| *x > 0.0);
    let edge = positive.fold(f64::INFINITY, f64::min) / BEFORE;
    curves.into_iter().map(|points| begun_at(edge, points)).collect()
}

/// Begins a curve at this edge, if it is finite, with the share of the points at 0, which it replaces.
fn begun_at(edge: f64, points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let none = points.iter().rfind(|point| point.0 <= 0.0).map_or(0.0, |point| point.1);
    let mut rest: Vec<(f64, f64)> = points.into_iter().filter(|point| point.0 > 0.0).collect();
    if edge.is_finite() {
        rest.insert(0, (edge, none));
    }
    // Of values that are equal as ticks of the axis, the last has the share of all of them.
    rest.reverse();
    rest.dedup_by(|before, after| before.0 >= after.0);
    rest.reverse();
    rest
}

/// Draws cumulative distributions of losses or lengths, of which each has a name.
pub(crate) fn chart(x: &str, y: &str, curves: Vec<(String, Vec<(f64, f64)>)>) -> Chart {
    let (names, points): (Vec<String>, Vec<_>) = curves.into_iter().unzip();
    let curves = names.into_iter().zip(from_edge(points)).enumerate();
    let curves =
        curves.map(|(number, (name, points))| Curve::numbered(number, name, Draw::Steps, &points));
    let y = Axis::linear(y, Quantity::Share).over([0.0, 1.0]);
    Chart::new(Axis::log(x, Quantity::Time), y, curves.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_with_little_work_are_the_large_losses() {
        let cdf = |values: &[(f64, f64)]| -> Vec<Point> {
            values.iter().map(|&(value, share)| Point { value, share }).collect()
        };
        // Of ten windows one holds 80 units, two hold 90 and seven hold 100; none can hold more.
        let points = cdf(&[(80.0, 0.1), (90.0, 0.3), (100.0, 1.0)]);
        let time = Loss::from_best(Fixed::Time, 100.0, 1.0);
        let shares = loss_points(&points, &time);
        let expected = [(0.0, 0.7), (10.0, 0.9), (20.0, 1.0)];
        for (found, expected) in shares.iter().zip(expected) {
            assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9);
        }
        let work = Loss::from_best(Fixed::Work, 80.0, 1.0);
        assert_eq!(loss_points(&points, &work), [(0.0, 0.1), (10.0, 0.3), (20.0, 1.0)]);
    }

    #[test]
    fn what_lost_nothing_is_at_the_left_edge_of_all_curves() {
        let some = vec![(0.0, 0.4), (0.0, 0.5), (12.0, 0.75), (12.0, 0.8), (24.0, 1.0)];
        let later = vec![(36.0, 1.0)];
        let expected =
            [vec![(10.0, 0.5), (12.0, 0.8), (24.0, 1.0)], vec![(10.0, 0.0), (36.0, 1.0)]];
        assert_eq!(from_edge(vec![some, later]), expected);
        assert_eq!(from_edge(vec![vec![(0.0, 1.0)], vec![]]), [vec![], vec![]]);
    }
}
