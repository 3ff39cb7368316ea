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
            series.iter().filter(|of| matches!(of.values.get(at), Some(Some(_)))).count() > 1
        };
        let points = |number: usize, of: &Series| -> Vec<(f64, Estimated)> {
            let across = 1.0 - 2.0 * number as f64 / (series.len() - 1).max(1) as f64;
            let height =
                |at: usize| (last - at) as f64 + if several(at) { ASIDE * across } else { 0.0 };
            let value = |(at, value): (usize, &Option<Estimated>)| Some((height(at), (*value)?));
            of.values.iter().enumerate().filter_map(value).collect()
        };
        let all = || series.iter().enumerate().flat_map(|(number, of)| points(number, of));
        let segment = |(at, of): (f64, Estimated)| {
            of.ends.map_or(vec![], |(low, high)| vec![(low, at), (high, at)])
        };
        let segments: Vec<(f64, f64)> = all().flat_map(segment).collect();
        let segments = Curve::numbered(0, interval.to_owned(), Draw::Segments, &segments);
        let curve = |(number, of): (usize, &Series)| {
            let places: Vec<(f64, f64)> =
                points(number, of).into_iter().map(|(at, of)| (of.value, at)).collect();
            Curve::numbered(number, of.name.clone(), Draw::Points, &places).lettered(of.letter)
        };
        let mut curves = vec![segments.recolored(palette::REST)];
        curves.extend(series.iter().enumerate().map(curve));
        curves.retain(|curve| !curve.x.is_empty());
        Self::of(x, Axis::named("", places), curves)
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
        let rows: Vec<String> = chart.y.names.iter().rev().map(|of| of.name.clone()).collect();
        assert_eq!(rows, names);
        let places = |at: usize| chart.curves[at].points().collect::<Vec<_>>();
        assert_eq!(places(0), [(2.0, 2.0), (4.0, 2.0)]);
        assert_eq!(places(1), [(3.0, 2.0), (1.0, 1.15)]);
        assert_eq!(places(2), [(2.0, 0.85), (5.0, 0.0)]);
    }
}
