//! A chart of named things: one row for each, with the values of several series along the horizontal axis.

use super::axis::{Axis, Place, Quantity};
use super::chart::{Chart, Curve, Draw};
use crate::palette;

/// Distance of the first and of the last series from the middle of a row in which several have a value.
const ASIDE: f64 = 0.15;

/// A value with the ends of its interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimated {
    pub value: f64,
    pub ends: Option<(f64, f64)>,
}

/// A series with a value for each name, where it has one.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub name: String,
    pub letter: Option<char>,
    pub values: Vec<Option<Estimated>>,
}

impl Chart {
    /// Returns a chart with a row for each name, the first at the top, and a linear axis from 0; `interval` names the
    /// intervals. Long names have their place there, but not below a horizontal axis.
    pub(crate) fn by_name(
        names: Vec<String>,
        series: &[Series],
        (label, quantity): (&str, Quantity),
        interval: &str,
    ) -> Self {
        let mut chart = Self::by_name_on(Axis::linear(label, quantity), names, series, interval);
        let values = chart.curves.iter().flat_map(|curve| curve.x.iter().copied()).chain([0.0]);
        chart.x = chart.x.clone().over(values).rounded(5);
        chart
    }

    /// Returns a chart with a row for each name, likewise, on this horizontal axis.
    pub(crate) fn by_name_on(
        x: Axis,
        names: Vec<String>,
        series: &[Series],
        interval: &str,
    ) -> Self {
        let last = names.len().saturating_sub(1);
        let place = |(at, name): (usize, String)| Place { at: (last - at) as f64, name };
        let mut places: Vec<Place> = names.into_iter().enumerate().map(place).collect();
        places.reverse();
        let several = |at: usize| {
            series.iter().filter_map(|one_series| one_series.values.get(at)?.as_ref()).count() > 1
        };
        let (mut segments, mut curves) = (vec![], vec![]);
        for (number, one_series) in series.iter().enumerate() {
            let across = 1.0 - 2.0 * number as f64 / (series.len() - 1).max(1) as f64;
            let mut points = vec![];
            for (at, estimated) in one_series.values.iter().enumerate() {
                let Some(estimated) = estimated else { continue };
                let height = (last - at) as f64 + if several(at) { ASIDE * across } else { 0.0 };
                points.push((estimated.value, height));
                if let Some((low, high)) = estimated.ends {
                    segments.extend([(low, height), (high, height)]);
                }
            }
            let curve = Curve::numbered(number, one_series.name.clone(), Draw::Points, &points);
            curves.push(curve.lettered(one_series.letter));
        }
        // Intervals lie below the points.
        let segments = Curve::numbered(0, interval.to_owned(), Draw::Segments, &segments);
        curves.insert(0, segments.recolored(palette::REST));
        curves.retain(|curve| !curve.x.is_empty());
        Self::new(x, Axis::named("", places), curves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_row() {
        let at = |value, ends| Some(Estimated { value, ends });
        let one = Series {
            name: "published".into(),
            letter: Some('p'),
            values: vec![at(3.0, Some((2.0, 4.0))), at(1.0, None), None],
        };
        let other = Series {
            name: "here".into(),
            letter: Some('h'),
            values: vec![None, at(2.0, None), at(5.0, None)],
        };
        let names = ["a long name of a machine", "b", "here"].map(str::to_owned).to_vec();
        let chart = Chart::by_name(names.clone(), &[one, other], ("noise", Quantity::Number), "sd");
        let rows: Vec<String> =
            chart.y.names.iter().rev().map(|place| place.name.clone()).collect();
        assert_eq!(rows, names);
        let places = |at: usize| chart.curves[at].points().collect::<Vec<_>>();
        assert_eq!(places(0), [(2.0, 2.0), (4.0, 2.0)]);
        assert_eq!(places(1), [(3.0, 2.0), (1.0, 1.15)]);
        assert_eq!(places(2), [(2.0, 0.85), (5.0, 0.0)]);
    }
}
