//! A chart of curves in one column.

use super::axis::{self, Frame, Scale, Ticks};
use super::legend::{Entry, legend};
use super::paper::{self, Anchor, COLUMN, Drawing, Path, SMALL, dashes, tint, width};
use crate::html::chart::{Chart, Curve, Draw, Mark};
use crate::palette::{self, SHAPES};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Room for data: about this high, without axes and legend.
const HEIGHT: f64 = 135.0;
/// A row of things with names, and room beside them.
const ROW: f64 = 17.0;
const ROWS_LEAST: f64 = 50.0;
/// Data that lies nearer than this along the horizontal axis is drawn as its extremes.
const NEAR: f64 = 0.2;

/// The chart.
pub(super) fn draw(chart: &Chart) -> Drawing {
    let of = |values: fn(&Curve) -> &Vec<f64>| {
        chart.curves.iter().flat_map(move |curve| values(curve).iter().copied())
    };
    let mut x_ends = axis::ends(&chart.x, of(|curve| &curve.x));
    if !chart.x.log && chart.curves.iter().any(|curve| curve.draw == Draw::Points) {
        // Shapes stand beside the frame, not on it.
        x_ends.0 -= (x_ends.1 - x_ends.0) * 0.02;
    }
    let mut y_ends = axis::ends(&chart.y, of(|curve| &curve.y).chain(chart.level));
    if chart.y.log && !chart.marks.is_empty() {
        // Room for the texts above the highest.
        y_ends.1 *= (y_ends.1 / y_ends.0).powf(0.08);
    }
    let height = match chart.y.names.len() {
        0 => HEIGHT,
        rows => (ROW * rows as f64).max(ROWS_LEAST),
    };
    let y_ticks = Ticks::new(&chart.y, y_ends, height, false);
    let left = axis::beside(&y_ticks, &chart.y);
    let (x_ticks, right) = Ticks::across(&chart.x, x_ends, (left, COLUMN - 7.0), COLUMN);
    let frame = Frame { left, top: 5.0, right, bottom: 5.0 + height };
    let x = Scale {
        low: x_ends.0,
        high: x_ends.1,
        log: chart.x.log,
        from: frame.left,
        to: frame.right,
    };
    let y = Scale {
        low: y_ends.0,
        high: y_ends.1,
        log: chart.y.log,
        from: frame.bottom,
        to: frame.top,
    };
    let plot = Plot { frame, x, y };
    let patterns = plot.patterns(&chart.curves);
    let foot = frame.bottom + axis::BELOW;
    let (keys, keys_height) = legend(&entries(&chart.curves, &patterns), 5.0, foot, COLUMN - 10.0);
    let body = html! {
        @for curve in chart.curves.iter().filter(|curve| curve.area) { (plot.area(curve)) }
        (frame.grid(&x_ticks, &y_ticks, (&x, &y)))
        (plot.extras(chart))
        @for (curve, pattern) in chart.curves.iter().zip(&patterns) { (plot.curve(curve, *pattern)) }
        (frame.outline())
        (frame.horizontal(&chart.x, &x_ticks, &x, COLUMN))
        (frame.vertical_ticks(&y_ticks, &y))
        (frame.vertical_name(&chart.y.label))
        (plot.marks(&chart.marks))
        (keys)
    };
    Drawing { width: COLUMN, height: foot + keys_height + 1.0, body }
}

fn entries(curves: &[Curve], patterns: &[usize]) -> Vec<Entry> {
    if curves.len() < 2 {
        return vec![];
    }
    let entry = |(curve, &pattern): (&Curve, &usize)| Entry {
        text: curve.name.clone(),
        color: palette::named(curve.color).light.to_owned(),
        pattern,
        draw: curve.draw,
        area: curve.area,
    };
    curves.iter().zip(patterns).map(entry).collect()
}

/// Where data goes.
struct Plot {
    frame: Frame,
    x: Scale,
    y: Scale,
}

impl Plot {
    /// A pattern for each curve. On paper without colour they must all differ, so they go by place; only one that goes
    /// up and down all the time has no dashes to spare, and comes first.
    fn patterns(&self, curves: &[Curve]) -> Vec<usize> {
        let far = |curve: &Curve| {
            let places = if curve.draw == Draw::Line { self.places(curve) } else { vec![] };
            let rise = |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1).abs();
            places.windows(2).map(rise).sum::<f64>()
        };
        let restless = |at: &usize| far(&curves[*at]) > 4.0 * (self.frame.bottom - self.frame.top);
        // That with an area is told by the area.
        let mut order: Vec<usize> = (0..curves.len()).filter(|&at| !curves[at].area).collect();
        order.sort_by_key(|at| !restless(at));
        let mut patterns = vec![0; curves.len()];
        let mut taken = BTreeSet::new();
        for (place, at) in order.into_iter().enumerate() {
            // Where there are more curves than patterns, those of one colour differ.
            let wanted = palette::pattern(place);
            let mut free = (0..SHAPES).map(|by| (wanted + by) % SHAPES);
            let free = free.find(|pattern| taken.insert((curves[at].color, *pattern)));
            patterns[at] = free.unwrap_or(wanted);
        }
        patterns
    }

    /// The places of a curve's points: of those that lie near each other the first, the extremes and the last.
    fn places(&self, curve: &Curve) -> Vec<(f64, f64)> {
        let finite = curve.x.iter().zip(&curve.y).filter(|(x, y)| x.is_finite() && y.is_finite());
        let places: Vec<(f64, f64)> = finite.map(|(x, y)| (self.x.at(*x), self.y.at(*y))).collect();
        if matches!(curve.draw, Draw::Points | Draw::Segments) {
            return places;
        }
        let mut kept = vec![];
        for near in places.chunk_by(|a, b| (a.0 / NEAR).floor() == (b.0 / NEAR).floor()) {
            let extreme = |sign: f64| {
                let order =
                    |a: &usize, b: &usize| (near[*a].1 * sign).total_cmp(&(near[*b].1 * sign));
                (0..near.len()).min_by(order).unwrap_or(0)
            };
            let mut which = vec![0, extreme(1.0), extreme(-1.0), near.len() - 1];
            which.sort_unstable();
            which.dedup();
            kept.extend(which.into_iter().map(|at| near[at]));
        }
        kept
    }

    /// The line through the points.
    fn path(&self, curve: &Curve, pattern: usize) -> Path {
        let mut path = Path::default();
        let mut before: Option<(f64, f64)> = None;
        for (at, (x, y)) in self.places(curve).into_iter().enumerate() {
            match (curve.draw, before) {
                (Draw::Points, _) => {
                    path.shape(pattern, x, y, 2.1);
                }
                (Draw::Spikes, _) => {
                    path.to(x, self.frame.bottom).line(x, y);
                }
                (Draw::Segments, _) if at % 2 == 0 => {
                    path.to(x, y);
                }
                (_, None) => {
                    path.to(x, y);
                }
                (Draw::Steps, Some(last)) => {
                    path.line(x, last.1);
                    if last.1 != y {
                        path.line(x, y);
                    }
                }
                (Draw::Line | Draw::Segments, Some(_)) => {
                    path.line(x, y);
                }
            }
            before = Some((x, y));
        }
        path
    }

    fn area(&self, curve: &Curve) -> Markup {
        let places = self.places(curve);
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return html! {} };
        let mut path = self.path(curve, 0);
        path.line(last.0, self.frame.bottom).line(first.0, self.frame.bottom).close();
        path.filled(&tint(palette::named(curve.color).light, 0.15))
    }

    fn curve(&self, curve: &Curve, pattern: usize) -> Markup {
        let color = palette::named(curve.color).light;
        let path = self.path(curve, pattern);
        match curve.draw {
            Draw::Points => path.shapes(pattern, color, 1.6),
            Draw::Spikes => path.stroked(color, 0.7, ""),
            Draw::Segments => path.stroked(color, 1.0, ""),
            // Its area tells of it too.
            _ if curve.area => path.stroked(color, 0.6, ""),
            Draw::Line | Draw::Steps => path.stroked(color, 1.0, dashes(pattern)),
        }
    }

    /// A threshold, and where both axes are equal.
    fn extras(&self, chart: &Chart) -> Markup {
        let (frame, x, y) = (&self.frame, &self.x, &self.y);
        html! {
            @if let Some(level) = chart.level {
                (frame.broken((frame.left, y.at(level)), (frame.right, y.at(level))))
            }
            @if chart.diagonal && x.low.max(y.low) < x.high.min(y.high) {
                @let (low, high) = (x.low.max(y.low), x.high.min(y.high));
                (frame.broken((x.at(low), y.at(low)), (x.at(high), y.at(high))))
            }
        }
    }

    /// Texts beside places, the highest first; each moves down until it meets no other, and stays in the frame.
    fn marks(&self, marks: &[Mark]) -> Markup {
        let mut order: Vec<&Mark> = marks.iter().collect();
        order.sort_by(|a, b| b.y.total_cmp(&a.y));
        let step = SMALL * 1.15;
        let mut taken: Vec<(f64, f64, f64)> = vec![];
        let mut texts = vec![];
        for mark in order {
            let (at, wide) = (self.x.at(mark.x), width(&mark.label, SMALL));
            let turned = at + 2.5 + wide > self.frame.right;
            let left = if turned { at - 2.5 - wide } else { at + 2.5 };
            let mut base = (self.y.at(mark.y) - 1.5).max(self.frame.top + SMALL + 1.5);
            let meets = |base: f64| {
                let overlaps = |of: &&(f64, f64, f64)| {
                    // One step away is far enough, however that is rounded.
                    left < of.1 && left + wide > of.0 && (base - of.2).abs() < 0.999 * step
                };
                taken.iter().find(overlaps).map(|of| of.2)
            };
            while let Some(other) = meets(base) {
                base = other + step;
            }
            if base > self.frame.bottom - 1.0 {
                continue;
            }
            taken.push((left, left + wide, base));
            let anchor = if turned { Anchor::End } else { Anchor::Start };
            let x = if turned { at - 2.5 } else { at + 2.5 };
            texts.push(paper::on_top((x, base), anchor, SMALL, &mark.label));
        }
        html! { @for text in &texts { (text) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::chart::{Axis, Place, Quantity};

    const DRAWS: [Draw; 5] = [Draw::Line, Draw::Steps, Draw::Points, Draw::Spikes, Draw::Segments];

    fn chart(log: bool, values: &[f64]) -> Chart {
        let points: Vec<(f64, f64)> =
            values.iter().flat_map(|x| values.iter().map(|y| (*x, *y))).collect();
        let curve = |(number, draw): (usize, &Draw)| {
            let curve = Curve::numbered(number, "<curve>\u{7}".into(), *draw, &points);
            Curve { area: number == 1, ..curve }
        };
        let axis = |label| Axis { log, ..Axis::linear(label, Quantity::Time) };
        let curves = DRAWS.iter().enumerate().map(curve).collect();
        let mark = Mark { x: 1.0, y: f64::NAN, label: "]]>".into() };
        let level = Some(f64::INFINITY);
        Chart {
            marks: vec![mark],
            level,
            diagonal: true,
            ..Chart::of(axis("x"), axis("y"), curves)
        }
    }

    #[test]
    fn odd_values_have_places_all_the_same() {
        let cases: [&[f64]; 6] = [
            &[],
            &[0.0],
            &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY],
            &[-1.0, 0.0, f64::MIN_POSITIVE, f64::MAX],
            &[5.0],
            &[1e-300, 1e300],
        ];
        for values in cases {
            for log in [false, true] {
                let file = draw(&chart(log, values)).file("");
                for bad in ["NaN", "inf", "000000", "<curve>", "\u{7}"] {
                    assert!(!file.contains(bad), "{bad} in {values:?}, log {log}: {file}");
                }
            }
        }
    }

    #[test]
    fn many_points_stay_small_and_keep_their_extremes() {
        let points: Vec<(f64, f64)> =
            (0..200_000).map(|at| (f64::from(at), if at == 77_777 { 9.0 } else { 1.0 })).collect();
        let curve = Curve::numbered(0, "one".into(), Draw::Line, &points);
        let axis = || Axis::linear("", Quantity::Number);
        let chart = Chart::of(axis(), axis(), vec![curve]);
        let small = draw(&chart).file("");
        assert!(small.len() < 100_000, "{} bytes", small.len());
        // The frame begins at 5 points, and above the highest are four hundredths of the data.
        let height = format!(" {}", paper::number(5.0 + HEIGHT * (0.32 / 9.32)));
        assert!(small.contains(&height), "{height}");
    }

    #[test]
    fn names_beside_the_axis_are_cut() {
        let names = ["a", "a name that goes on and on and has no room at all"];
        let places =
            (1..).zip(names).map(|(at, name)| Place { at: f64::from(at), name: name.into() });
        let curve = Curve::numbered(0, "one".into(), Draw::Points, &[(1.0, 1.0), (2.0, 2.0)]);
        let x = Axis::linear("", Quantity::Number);
        let chart = Chart::of(x, Axis::named("", places.collect()), vec![curve]);
        let file = draw(&chart).file("");
        assert!(file.contains("a name that goes") && file.contains('…'), "{file}");
    }

    /// Each text finds its place, whatever a step below another is rounded to.
    #[test]
    fn many_marks_at_one_place_find_room_or_are_left_out() {
        for height in 1..2_000 {
            let to = f64::from(height) * 0.1;
            let scale = Scale { low: 0.0, high: 1.0, log: false, from: 0.0, to };
            let frame = Frame { left: 0.0, top: 0.0, right: 100.0, bottom: 300.0 };
            let mark = |y: f64| Mark { x: 0.5, y, label: "250 Hz".into() };
            let marks: Vec<Mark> = (0..20).map(|at| mark(1.0 / f64::from(at + 1))).collect();
            let text = Plot { frame, x: scale, y: scale }.marks(&marks).into_string();
            assert!(text.contains("250 Hz"), "{height}");
        }
    }

    #[test]
    fn more_curves_than_patterns_differ() {
        let up_and_down: Vec<(f64, f64)> =
            (0..400).map(|at| (f64::from(at), f64::from(at % 2))).collect();
        for restless in 0..18 {
            let curve = |number: usize| {
                let points = if number == restless { &up_and_down[..] } else { &[(0.0, 1.0)] };
                Curve::numbered(number, "one".into(), Draw::Line, points)
            };
            let curves: Vec<Curve> = (0..18).map(curve).collect();
            let on_screen: BTreeSet<_> =
                curves.iter().map(|curve| (curve.color, curve.shape)).collect();
            assert_eq!(on_screen.len(), curves.len());
            let scale = Scale { low: 0.0, high: 1.0, log: false, from: 0.0, to: 100.0 };
            let frame = Frame { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };
            let patterns = Plot { frame, x: scale, y: scale }.patterns(&curves);
            let on_paper: BTreeSet<_> = curves
                .iter()
                .zip(patterns)
                .map(|(curve, pattern)| (curve.color, pattern))
                .collect();
            assert_eq!(on_paper.len(), curves.len(), "restless: {restless}");
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
        let file = draw(&Chart::of(axis(), axis(), curves)).file("");
        let mut dashed = file.match_indices("stroke-width=\"1\"").map(|(at, _)| {
            let end = file[at..].find('>').map_or(file.len(), |length| at + length);
            file[at..end].split_once("dasharray=").map_or("", |(_, dashes)| dashes)
        });
        let found: Vec<&str> = dashed.by_ref().take(3).collect();
        let expected = [format!("\"{}\"", dashes(1)), String::new(), format!("\"{}\"", dashes(2))];
        assert_eq!(found, expected);
    }
}
