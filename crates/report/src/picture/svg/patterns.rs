//! Patterns of lines and shapes of points, by which the curves of a chart differ without colour.

use crate::palette::{self, SHAPES};
use crate::picture::axis::Axis;
use crate::picture::chart::{Chart, Curve, Draw};
use std::collections::BTreeSet;

/// Returns a pattern for each curve. Points, segments, spikes and bars have their shape. Lines without colour
/// must all differ, so patterns go by index; a curve that constantly goes up and down cannot be dashed, and comes first.
pub(super) fn patterns(chart: &Chart) -> Vec<usize> {
    let (_, y) = chart.axes();
    let curves = &chart.curves;
    let restless: Vec<bool> = curves.iter().map(|curve| climb(curve, &y) > 4.0).collect();
    let is_own = |curve: &Curve| !matches!(curve.draw, Draw::Line | Draw::Steps | Draw::Ribbon);
    let is_line = |at: &usize| !is_own(&curves[*at]);
    // The area distinguishes a curve that has one.
    let mut order: Vec<usize> =
        (0..curves.len()).filter(|at| is_line(at) && !curves[*at].area).collect();
    order.sort_by_key(|&at| !restless[at]);
    let shape = |curve: &Curve| if is_own(curve) { curve.shape } else { 0 };
    let mut patterns: Vec<usize> = curves.iter().map(shape).collect();
    let mut taken = BTreeSet::new();
    for (place, at) in order.into_iter().enumerate() {
        // Where there are more curves than patterns, those of one colour differ.
        let wanted = palette::pattern(place);
        let mut free = (0..SHAPES).map(|by| (wanted + by) % SHAPES);
        let free = free.find(|pattern| taken.insert((curves[at].color.name, *pattern)));
        patterns[at] = free.unwrap_or(wanted);
    }
    patterns
}

/// Returns how far a line goes up and down in all, in heights of the chart.
fn climb(curve: &Curve, y: &Axis) -> f64 {
    if curve.draw != Draw::Line {
        return 0.0;
    }
    let finite = curve.points().filter(|(x, y)| x.is_finite() && y.is_finite());
    let heights: Vec<f64> = finite.map(|(_, value)| y.place(value)).collect();
    heights.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::axis::Quantity;
    use crate::picture::svg::chart::draw;
    use crate::picture::svg::sheet::dashes;

    fn unit() -> Axis {
        Axis { range: Some((0.0, 1.0)), ..Axis::linear("", Quantity::Number) }
    }

    #[test]
    fn more_curves_than_patterns_differ() {
        let up_and_down: Vec<(f64, f64)> =
            (0..400).map(|at| (f64::from(at), f64::from(at % 2))).collect();
        for draw in [Draw::Line, Draw::Points] {
            for restless in 0..18 {
                let curve = |number: usize| {
                    let points = if number == restless { &up_and_down[..] } else { &[(0.0, 1.0)] };
                    Curve::numbered(number, "one".into(), draw, points)
                };
                let curves: Vec<Curve> = (0..18).map(curve).collect();
                let chart = Chart::new(unit(), unit(), curves);
                let looks = chart.curves.iter().map(|curve| curve.color.name).zip(patterns(&chart));
                assert_eq!(looks.collect::<BTreeSet<_>>().len(), 18, "restless: {restless}");
            }
        }
    }

    #[test]
    fn curves_differ_without_colour() {
        let up_and_down: Vec<(f64, f64)> =
            (0..400).map(|at| (f64::from(at), f64::from(at % 2))).collect();
        let flat = [(0.0, 1.0), (400.0, 1.0)];
        let curve = |points: &[(f64, f64)]| Curve::numbered(0, "one".into(), Draw::Line, points);
        let axis = || Axis::linear("", Quantity::Number);
        let curves = vec![curve(&flat), curve(&up_and_down), curve(&flat)];
        let file = draw(&Chart::new(axis(), axis(), curves)).file("");
        let mut dashed = file.match_indices("stroke-width=\"1\"").map(|(at, _)| {
            let end = file[at..].find('>').map_or(file.len(), |length| at + length);
            file[at..end].split_once("dasharray=").map_or("", |(_, dashes)| dashes)
        });
        let found: Vec<&str> = dashed.by_ref().take(3).collect();
        let expected = [format!("\"{}\"", dashes(1)), String::new(), format!("\"{}\"", dashes(2))];
        assert_eq!(found, expected);
    }
}
