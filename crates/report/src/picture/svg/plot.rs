//! The area for data of a chart: its curves, the lines behind them, and the names beside them.

use super::frame::{Frame, Scale, Ticks};
use super::sheet::{Anchor, Path, SMALL, Sheet, dashes, fitted, width};
use crate::palette::SHAPES;
use crate::picture::axis::Axis;
use crate::picture::chart::{Chart, Curve, Draw, Mark};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Height of a row of named things, and least height of all rows.
const ROW: f64 = 17.0;
const ROWS_LEAST: f64 = 50.0;
/// Distance between the lines with error bars, so that bars at one value stand beside each other.
const ASIDE: f64 = 1.6;
/// Distance of a shape or an error bar from the frame.
const BESIDE: f64 = 3.5;
/// Data closer along the horizontal axis is drawn as its extremes, on paper.
const NEAR: f64 = 0.2;
/// The same on the page, and the distance of points of which one is drawn there: about a pixel, in points.
const PIXEL: f64 = 0.5;

/// The area for data.
pub(super) struct Plot {
    pub frame: Frame,
    pub x: Scale,
    pub y: Scale,
    x_ticks: Ticks,
    y_ticks: Ticks,
    /// The number of the line with error bars that stands at its values; others stand beside it.
    middle: f64,
}

impl Plot {
    pub(super) fn new(chart: &Chart, sheet: Sheet) -> Self {
        let (x, y) = chart.axes();
        let height = match chart.y.names.len() {
            0 => sheet.height,
            rows => (ROW * rows as f64).max(ROWS_LEAST),
        };
        let with_bars = || chart.curves.iter().filter(|curve| has_error_bars(curve));
        let points = || chart.curves.iter().filter(|curve| curve.draw == Draw::Points);
        let numbers = || with_bars().map(|curve| curve.shape as f64);
        let (first, last) =
            (numbers().fold(f64::INFINITY, f64::min), numbers().fold(0.0, f64::max));
        let reach = BESIDE.max((last - first) / 2.0 * ASIDE + 1.0);
        let across = room(&x, reach, points().chain(with_bars()).flat_map(|curve| &curve.x));
        let along = room(&y, BESIDE, points().flat_map(|curve| &curve.y));
        let y_ticks = Ticks::upright(&y, height, sheet.width);
        let left = y_ticks.beside(&y);
        let ends = (left + across.0, sheet.width - 7.0 - across.1);
        let (x_ticks, to) = Ticks::across(&x, ends, sheet.width);
        let frame = Frame { left, top: 5.0, right: to + across.1, bottom: 5.0 + height, sheet };
        let x = Scale { axis: x, from: ends.0, to };
        let y = Scale { axis: y, from: frame.bottom - along.0, to: frame.top + along.1 };
        Self { frame, x, y, x_ticks, y_ticks, middle: (first + last) / 2.0 }
    }

    /// Draws everything except the legend; elements of a curve carry its number.
    pub(super) fn body(&self, chart: &Chart, patterns: &[usize]) -> Markup {
        let frame = &self.frame;
        html! {
            @for (at, curve) in chart.curves.iter().enumerate() {
                @if curve.area || matches!(curve.draw, Draw::Ribbon | Draw::Bars) { (self.group(at, self.area(curve))) }
            }
            (frame.grid((&self.x_ticks, &self.x), (&self.y_ticks, &self.y)))
            (self.extras(chart))
            @for (at, (curve, pattern)) in chart.curves.iter().zip(patterns).enumerate() {
                (self.group(at, self.curve(curve, *pattern)))
            }
            (frame.outline())
            (frame.horizontal(&self.x_ticks, &self.x))
            (frame.vertical_ticks(&self.y_ticks, &self.y))
            (frame.vertical_name(&chart.y.label))
            (self.marks(&chart.marks, chart.has_spikes()))
        }
    }

    /// Marks the elements of a curve for the script of the page, which can hide them; files do not need that.
    fn group(&self, number: usize, markup: Markup) -> Markup {
        if self.frame.sheet.screen {
            html! { g data-curve=(number) { (markup) } }
        } else {
            markup
        }
    }

    /// Returns the positions of a curve's points; of adjacent ones the first, the extremes and the last, of points on one pixel
    /// of the page the first.
    fn places(&self, curve: &Curve) -> Vec<(f64, f64)> {
        let finite = curve.points().filter(|(x, y)| x.is_finite() && y.is_finite());
        let aside = self.aside(curve);
        let place = |(x, y): (f64, f64)| (self.x.at(x) + aside, self.y.at(y));
        let places: Vec<(f64, f64)> = finite.map(place).collect();
        let screen = self.frame.sheet.screen;
        match curve.draw {
            Draw::Points if screen => return on_pixels(places),
            Draw::Points | Draw::Segments => return places,
            _ => {}
        }
        let mut kept = vec![];
        let near = if screen { PIXEL } else { NEAR };
        for near in places.chunk_by(|a, b| (a.0 / near).floor() == (b.0 / near).floor()) {
            let order = |a: &usize, b: &usize| near[*a].1.total_cmp(&near[*b].1);
            let highest = (0..near.len()).min_by(order).unwrap_or(0);
            // The first of equal ones, of which max_by would return the last.
            let lowest = (0..near.len()).rev().max_by(order).unwrap_or(0);
            let mut which = vec![0, highest, lowest, near.len() - 1];
            which.sort_unstable();
            which.dedup();
            kept.extend(which.into_iter().map(|at| near[at]));
        }
        kept
    }

    /// Returns the line through the points.
    fn path(&self, curve: &Curve, pattern: usize) -> Path {
        let mut path = Path::on(self.frame.sheet);
        let mut before: Option<(f64, f64)> = None;
        for (at, (x, y)) in self.places(curve).into_iter().enumerate() {
            match (curve.draw, before) {
                (Draw::Bars, _) => {}
                (Draw::Points, _) if self.dots(pattern) => drop(path.dot(x, y)),
                (Draw::Points, _) => {
                    path.shape(pattern, x, y, size(curve));
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
                (Draw::Line | Draw::Segments | Draw::Ribbon, Some(_)) => {
                    path.line(x, y);
                }
            }
            before = Some((x, y));
        }
        path
    }

    /// Returns filled areas: below a line, between the ends of a ribbon, and the bars of a histogram.
    fn area(&self, curve: &Curve) -> Markup {
        let mut path = Path::on(self.frame.sheet);
        let spans = || curve.x.iter().zip(&curve.y).zip(&curve.spans);
        match curve.draw {
            Draw::Bars => path = self.bars(curve),
            Draw::Ribbon => {
                let ends = spans().map(|((&at, _), &(low, high))| (at, low, high));
                let ends: Vec<(f64, f64, f64)> = ends.collect();
                let above = ends.iter().map(|&(at, _, high)| (at, high));
                let below = ends.iter().rev().map(|&(at, low, _)| (at, low));
                for (number, (x, y)) in above.chain(below).enumerate() {
                    let (x, y) = (self.x.at(x), self.y.at(y));
                    if number == 0 {
                        path.to(x, y)
                    } else {
                        path.line(x, y)
                    };
                }
                if !ends.is_empty() {
                    path.close();
                }
            }
            _ => {
                let places = self.places(curve);
                if let (Some(first), Some(last)) = (places.first(), places.last()) {
                    path = self.path(curve, 0);
                    path.line(last.0, self.frame.bottom).line(first.0, self.frame.bottom).close();
                }
            }
        }
        path.shaded(curve.color, self.frame.sheet)
    }

    /// Returns the outlines of the bars of a histogram.
    fn bars(&self, curve: &Curve) -> Path {
        let mut path = Path::on(self.frame.sheet);
        for (&count, &(low, high)) in curve.y.iter().zip(&curve.spans) {
            let (foot, head) = (self.frame.bottom, self.y.at(count));
            path.rectangle((self.x.at(low), foot), (self.x.at(high), head));
        }
        path
    }

    fn curve(&self, curve: &Curve, pattern: usize) -> Markup {
        let color = &self.frame.sheet.color(curve.color);
        let path = self.path(curve, pattern);
        match curve.draw {
            Draw::Points if self.dots(pattern) => {
                let square = pattern % SHAPES == 1;
                let wide = if square { 1.8 } else { 2.0 } * size(curve);
                html! { (self.error_bars(curve)) (path.dotted(color, wide, square)) }
            }
            Draw::Points => {
                html! { (self.error_bars(curve)) (path.shapes(pattern, color, size(curve) * 0.75)) }
            }
            Draw::Spikes => path.stroked(color, 0.7, ""),
            Draw::Segments | Draw::Ribbon => path.stroked(color, 1.0, dashes(pattern)),
            Draw::Bars => self.bars(curve).stroked(color, 0.8, dashes(pattern)),
            // Its area distinguishes it, too.
            _ if curve.area => path.stroked(color, 0.6, ""),
            Draw::Line | Draw::Steps => {
                html! { (self.error_bars(curve)) (path.stroked(color, 1.0, dashes(pattern))) }
            }
        }
    }

    /// Returns how far a curve stands beside its values: lines with error bars at one value stand beside each other.
    fn aside(&self, curve: &Curve) -> f64 {
        if has_error_bars(curve) { (curve.shape as f64 - self.middle) * ASIDE } else { 0.0 }
    }

    /// Returns whether points of this shape are drawn as dots, which are briefer: circles and squares of the page.
    fn dots(&self, pattern: usize) -> bool {
        self.frame.sheet.screen && pattern % SHAPES < 2
    }

    fn error_bars(&self, curve: &Curve) -> Markup {
        let mut path = Path::on(self.frame.sheet);
        for (&x, &(low, high)) in curve.x.iter().zip(&curve.spans) {
            let x = self.x.at(x) + self.aside(curve);
            path.to(x, self.y.at(low)).line(x, self.y.at(high));
        }
        path.stroked(&self.frame.sheet.color(curve.color), 0.8, "")
    }

    /// Draws a threshold, and the diagonal where both axes are equal.
    fn extras(&self, chart: &Chart) -> Markup {
        let (frame, x, y) = (&self.frame, &self.x, &self.y);
        let (low, high) =
            (x.axis.ends().0.max(y.axis.ends().0), x.axis.ends().1.min(y.axis.ends().1));
        html! {
            @if let Some(level) = chart.level {
                (frame.broken((frame.left, y.at(level)), (frame.right, y.at(level))))
            }
            @if chart.diagonal && low < high {
                (frame.broken((x.at(low), y.at(low)), (x.at(high), y.at(high))))
            }
        }
    }

    /// Draws texts beside positions, or `above` all of them with a line to each, the highest first; each moves down until it
    /// overlaps no other, and stays in the frame.
    fn marks(&self, marks: &[Mark], above: bool) -> Markup {
        let mut order: Vec<&Mark> = marks.iter().collect();
        order.sort_by(|a, b| b.y.total_cmp(&a.y));
        let step = SMALL * 1.15;
        let mut taken: Vec<(f64, f64, f64)> = vec![];
        let (mut texts, mut lines) = (vec![], Path::on(self.frame.sheet));
        for mark in order {
            let at = self.x.at(mark.x);
            let (before, after) = (at - 2.5 - self.frame.left, self.frame.right - at - 2.5);
            // It stands behind its place where it has room there, or more than before it.
            let turned = width(&mark.label, SMALL) > after && before > after;
            let label = fitted(&mark.label, SMALL, if turned { before } else { after });
            let wide = width(&label, SMALL);
            let left = if turned { at - 2.5 - wide } else { at + 2.5 };
            let (peak, top) = (self.y.at(mark.y), self.frame.top + SMALL + 1.5);
            let mut base = if above { top } else { (peak - 1.5).max(top) };
            // One step away is far enough, however that is rounded.
            while let Some(&(.., other)) = taken.iter().find(|&&(from, to, other)| {
                left < to && left + wide > from && (base - other).abs() < 0.999 * step
            }) {
                base = other + step;
            }
            if base > self.frame.bottom - 1.0 {
                continue;
            }
            taken.push((left, left + wide, base));
            if above && base < peak {
                lines.to(at, base - SMALL / 2.0).line(at, peak);
            }
            let anchor = if turned { Anchor::End } else { Anchor::Start };
            let x = if turned { at - 2.5 } else { at + 2.5 };
            texts.push(self.frame.sheet.on_top((x, base), anchor, &label));
        }
        html! { (lines.stroked(self.frame.sheet.faint(), 0.4, "")) @for text in &texts { (text) } }
    }
}

/// Returns whether a curve is a line with error bars.
fn has_error_bars(curve: &Curve) -> bool {
    curve.draw == Draw::Line && !curve.spans.is_empty()
}

/// Returns the room at the lower and at the upper end of an axis: `reach` where one of the values is at this end, or beyond.
fn room<'a>(axis: &Axis, reach: f64, values: impl Iterator<Item = &'a f64>) -> (f64, f64) {
    /// The part of the axis that counts as its end.
    const END: f64 = 0.02;
    let places = values.filter(|value| value.is_finite()).map(|value| axis.place(*value));
    places.fold((0.0, 0.0), |(low, high), place| {
        (if place < END { reach } else { low }, if place > 1.0 - END { reach } else { high })
    })
}

/// Returns the places of which no two are on one pixel.
fn on_pixels(mut places: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut taken = BTreeSet::new();
    let pixel = |at: f64| (at / PIXEL).round() as i64;
    places.retain(|&(x, y)| taken.insert((pixel(x), pixel(y))));
    places
}

/// Returns the size of the shapes of a curve's points: smaller where many would hide each other.
fn size(curve: &Curve) -> f64 {
    const CROWDED: usize = 200;
    if curve.x.len() > CROWDED { 1.1 } else { 2.1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::axis::Quantity;
    use crate::picture::svg::sheet::{self, PAPER, SCREENS};

    fn unit() -> Axis {
        Axis { range: Some((0.0, 1.0)), ..Axis::linear("", Quantity::Number) }
    }

    #[test]
    fn a_ribbon_has_its_ends_at_its_points() {
        let points = [(0.0, 2.0), (1.0, 4.0), (4.0, 3.0)];
        let curve = Curve::numbered(0, "one".into(), Draw::Ribbon, &points);
        let curve = curve.spanning(vec![(1.0, 3.0), (2.0, 8.0), (3.0, 3.5)]);
        let axis = |ends: [f64; 2]| Axis::linear("", Quantity::Number).over(ends);
        let plot = Plot::new(&Chart::new(axis([0.0, 4.0]), axis([0.0, 8.0]), vec![]), PAPER);
        let place = |x: f64, y: f64| {
            format!("{} {}", sheet::number(plot.x.at(x)), sheet::number(plot.y.at(y)))
        };
        // Along the upper ends, and back along the lower ones.
        let around = [(0.0, 3.0), (1.0, 8.0), (4.0, 3.5), (4.0, 3.0), (1.0, 2.0), (0.0, 1.0)];
        let expected = around.map(|(x, y)| place(x, y)).join("L");
        let area = plot.area(&curve).into_string();
        assert!(area.contains(&format!("\"M{expected}Z\"")), "M{expected}Z in {area}");
        let empty = Curve::numbered(0, "none".into(), Draw::Ribbon, &[]);
        assert!(!plot.area(&empty).into_string().contains('Z'));
    }

    /// Of points on one pixel of the page one is drawn; the highest is among those that are.
    #[test]
    fn points_on_one_pixel_are_drawn_once() {
        let points: Vec<(f64, f64)> =
            (0..100_000).map(|at| (f64::from(at), if at == 77_777 { 9.0 } else { 1.0 })).collect();
        for shape in 0..SHAPES {
            let curve = Curve::numbered(shape, "one".into(), Draw::Points, &points);
            let axis = || Axis::linear("", Quantity::Number);
            let plot = Plot::new(&Chart::new(axis(), axis(), vec![curve.clone()]), SCREENS[2].1);
            let places = plot.places(&curve);
            let wide = plot.frame.right - plot.frame.left;
            assert!(places.len() as f64 <= wide / PIXEL + 2.0, "{} places", places.len());
            assert!(places.contains(&(plot.x.at(77_777.0), plot.y.at(9.0))), "the highest");
            let drawn = plot.curve(&curve, shape).into_string();
            assert!(drawn.len() < 40 * places.len(), "{shape}: {} bytes", drawn.len());
        }
    }

    /// Shapes and error bars at the ends of an axis, and beyond, stand beside the frame; bars of several lines do not meet.
    #[test]
    fn nothing_lies_on_the_frame() {
        let points = [(-9.0, 0.5), (0.0, 0.0), (1.0, 1.0)];
        let numbered = |number, draw| Curve::numbered(number, "one".into(), draw, &points);
        let lines =
            || (0..6).map(|number| numbered(number, Draw::Line).spanning(vec![(0.2, 0.8); 3]));
        for sheet in [PAPER, SCREENS[0].1] {
            let plot =
                Plot::new(&Chart::new(unit(), unit(), vec![numbered(0, Draw::Points)]), sheet);
            let Frame { left, top, right, bottom, .. } = plot.frame;
            for (x, y) in plot.places(&numbered(0, Draw::Points)) {
                assert!(left + 3.0 < x && x < right - 3.0, "{x} in {left} to {right}");
                assert!(top + 3.0 < y && y < bottom - 3.0, "{y} in {top} to {bottom}");
            }
            let plot = Plot::new(&Chart::new(unit(), unit(), lines().collect()), sheet);
            let mut ends: Vec<f64> = lines().map(|line| plot.places(&line)[2].0).collect();
            assert!(ends.iter().all(|&x| left < x && x < right), "{ends:?}");
            ends.dedup_by(|a, b| (*a - *b).abs() < 1.0);
            assert_eq!(ends.len(), 6, "{ends:?}");
            let middle = (ends[0] + ends[5]) / 2.0;
            assert!((middle - plot.x.at(1.0)).abs() < 1e-9, "{middle} is the value");
        }
    }

    /// Each text finds its place, whatever a step below another is rounded to.
    #[test]
    fn many_marks_at_one_place_find_room_or_are_left_out() {
        for height in 1..2_000 {
            let scale = || Scale { axis: unit(), from: 0.0, to: f64::from(height) * 0.1 };
            let frame = Frame { left: 0.0, top: 0.0, right: 100.0, bottom: 300.0, sheet: PAPER };
            let none = || Ticks { major: vec![], minor: vec![] };
            let plot = Plot {
                frame,
                x: scale(),
                y: scale(),
                x_ticks: none(),
                y_ticks: none(),
                middle: 0.0,
            };
            let mark = |y: f64| Mark { x: 0.5, y, label: "250 Hz".into() };
            let marks: Vec<Mark> = (0..20).map(|at| mark(1.0 / f64::from(at + 1))).collect();
            assert!(plot.marks(&marks, false).into_string().contains("250 Hz"), "{height}");
        }
    }
}
