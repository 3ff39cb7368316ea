//! A chart of curves, for one column of a paper or for the page.

use super::frame::{BELOW, Frame, NAME, Scale, Ticks};
use super::legend::{Entry, legend};
use super::sheet::{
    Anchor, COLUMN, Drawing, PAGE, PAPER, Path, SCREENS, SMALL, Sheet, TEXT, dashes, fitted,
    number, width,
};
use crate::palette::{self, SHAPES};
use crate::picture::Place;
use crate::picture::axis::Axis;
use crate::picture::chart::{Chart, Curve, Draw, Mark};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Height of a row of named things, and margin.
const ROW: f64 = 17.0;
const ROWS_LEAST: f64 = 50.0;
/// Distance between the error bars of two lines at one place.
const ASIDE: f64 = 1.6;
/// Data closer along the horizontal axis is drawn as its extremes, on paper.
const NEAR: f64 = 0.2;
/// The same on the page, and the distance of points of which one is drawn there: about a pixel, in points.
const PIXEL: f64 = 0.5;

/// Draws the chart for paper, with its legend: as wide as a column, or as a page where a column would cut the names.
pub(super) fn draw(chart: &Chart) -> Drawing {
    let patterns = patterns(chart);
    let is_cut = |place: &Place| width(&place.name, TEXT) > COLUMN * NAME;
    let sheet = match chart.y.names.iter().any(is_cut) {
        true => Sheet { width: PAGE, ..PAPER },
        false => PAPER,
    };
    let plot = Plot::new(chart, sheet);
    let foot = plot.frame.bottom + BELOW;
    let entries = entries(&chart.curves, &patterns);
    let (keys, keys_height) = legend(&entries, 5.0, foot, sheet.width - 10.0);
    let body = html! { (plot.body(chart, &patterns)) (keys) };
    Drawing { width: sheet.width, height: foot + keys_height + 1.0, body }
}

/// Draws the chart for the page, once for each width that its place may have: half of the page is never as wide as the widest.
pub(super) fn on_screen(chart: &Chart, half: bool) -> Markup {
    let patterns = patterns(chart);
    let widths = if half { SCREENS.len() - 1 } else { SCREENS.len() };
    html! { @for (class, sheet) in SCREENS.into_iter().take(widths) { (inline(chart, &patterns, class, sheet)) } }
}

/// Draws the chart for one width of the page, with what a script needs to find the values under the pointer.
fn inline(chart: &Chart, patterns: &[usize], class: &str, sheet: Sheet) -> Markup {
    let plot = Plot::new(chart, sheet);
    let Frame { left, top, right, bottom, .. } = plot.frame;
    let ends = |scale: &Scale| format!("{} {}", scale.axis.ends().0, scale.axis.ends().1);
    let frame = [left, top, right, bottom].map(number).join(" ");
    let facts = [("frame", frame), ("across", ends(&plot.x)), ("along", ends(&plot.y))];
    let body = plot.body(chart, patterns);
    Drawing { width: sheet.width, height: bottom + BELOW + 1.0, body }.inline(class, &facts)
}

fn entries(curves: &[Curve], patterns: &[usize]) -> Vec<Entry> {
    if curves.len() < 2 {
        return vec![];
    }
    let entries = curves.iter().zip(patterns).map(|(curve, &pattern)| Entry {
        text: curve.name.clone(),
        color: curve.color,
        pattern,
        draw: curve.draw,
        area: curve.area,
    });
    entries.collect()
}

/// Returns a pattern for each curve. Points have shapes. Lines without colour must all differ, so patterns go by index;
/// a curve that constantly goes up and down cannot be dashed, and comes first.
pub(super) fn patterns(chart: &Chart) -> Vec<usize> {
    let (_, y) = chart.axes();
    let curves = &chart.curves;
    let restless: Vec<bool> = curves.iter().map(|curve| climb(curve, &y) > 4.0).collect();
    let is_line = |at: &usize| curves[*at].draw != Draw::Points;
    // The area distinguishes a curve that has one.
    let mut order: Vec<usize> =
        (0..curves.len()).filter(|at| is_line(at) && !curves[*at].area).collect();
    order.sort_by_key(|&at| !restless[at]);
    let shape = |curve: &Curve| if curve.draw == Draw::Points { curve.shape } else { 0 };
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

/// The area for data.
struct Plot {
    frame: Frame,
    x: Scale,
    y: Scale,
    x_ticks: Ticks,
    y_ticks: Ticks,
}

impl Plot {
    fn new(chart: &Chart, sheet: Sheet) -> Self {
        let (x, y) = chart.axes();
        let height = match chart.y.names.len() {
            0 => sheet.height,
            rows => (ROW * rows as f64).max(ROWS_LEAST),
        };
        let y_ticks = Ticks::upright(&y, height, sheet.width);
        let left = y_ticks.beside(&y);
        let (x_ticks, right) = Ticks::across(&x, (left, sheet.width - 7.0), sheet.width);
        let frame = Frame { left, top: 5.0, right, bottom: 5.0 + height, sheet };
        let x = Scale { axis: x, from: frame.left, to: frame.right };
        let y = Scale { axis: y, from: frame.bottom, to: frame.top };
        Self { frame, x, y, x_ticks, y_ticks }
    }

    /// Draws everything except the legend; elements of a curve carry its number.
    fn body(&self, chart: &Chart, patterns: &[usize]) -> Markup {
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
            (self.marks(&chart.marks))
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
        let places: Vec<(f64, f64)> = finite.map(|(x, y)| (self.x.at(x), self.y.at(y))).collect();
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
            Draw::Bars => {
                for ((_, &count), &(low, high)) in spans() {
                    path.rectangle(
                        (self.x.at(low), self.frame.bottom),
                        (self.x.at(high), self.y.at(count)),
                    );
                }
            }
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
            Draw::Segments | Draw::Ribbon => path.stroked(color, 1.0, ""),
            Draw::Bars => html! {},
            // Its area distinguishes it, too.
            _ if curve.area => path.stroked(color, 0.6, ""),
            Draw::Line | Draw::Steps => {
                html! { (self.error_bars(curve)) (path.stroked(color, 1.0, dashes(pattern))) }
            }
        }
    }

    /// Returns whether points of this shape are drawn as dots, which are briefer: circles and squares of the page.
    fn dots(&self, pattern: usize) -> bool {
        self.frame.sheet.screen && pattern % SHAPES < 2
    }

    fn error_bars(&self, curve: &Curve) -> Markup {
        let mut path = Path::on(self.frame.sheet);
        // Those of several lines at one place stand beside each other.
        let aside = if curve.draw == Draw::Line { curve.shape as f64 * ASIDE } else { 0.0 };
        for (&x, &(low, high)) in curve.x.iter().zip(&curve.spans) {
            let x = self.x.at(x) + aside;
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

    /// Draws texts beside positions, the highest first; each moves down until it overlaps no other, and stays in the
    /// frame.
    fn marks(&self, marks: &[Mark]) -> Markup {
        let mut order: Vec<&Mark> = marks.iter().collect();
        order.sort_by(|a, b| b.y.total_cmp(&a.y));
        let step = SMALL * 1.15;
        let mut taken: Vec<(f64, f64, f64)> = vec![];
        let mut texts = vec![];
        for mark in order {
            let at = self.x.at(mark.x);
            let (before, after) = (at - 2.5 - self.frame.left, self.frame.right - at - 2.5);
            // It stands behind its place where it has room there, or more than before it.
            let turned = width(&mark.label, SMALL) > after && before > after;
            let label = fitted(&mark.label, SMALL, if turned { before } else { after });
            let wide = width(&label, SMALL);
            let left = if turned { at - 2.5 - wide } else { at + 2.5 };
            let mut base = (self.y.at(mark.y) - 1.5).max(self.frame.top + SMALL + 1.5);
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
            let anchor = if turned { Anchor::End } else { Anchor::Start };
            let x = if turned { at - 2.5 } else { at + 2.5 };
            texts.push(self.frame.sheet.on_top((x, base), anchor, &label));
        }
        html! { @for text in &texts { (text) } }
    }
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
    use crate::picture::svg::sheet;

    const DRAWS: [Draw; 6] =
        [Draw::Line, Draw::Steps, Draw::Points, Draw::Spikes, Draw::Segments, Draw::Ribbon];

    fn chart(log: bool, values: &[f64]) -> Chart {
        let points: Vec<(f64, f64)> =
            values.iter().flat_map(|x| values.iter().map(|y| (*x, *y))).collect();
        let curve = |(number, draw): (usize, &Draw)| {
            let curve = Curve::numbered(number, "<curve>\u{7}".into(), *draw, &points);
            let spans = points.iter().map(|(x, y)| (x.min(*y), x.max(*y))).collect();
            Curve { area: number == 1, ..curve }.spanning(spans)
        };
        let axis = |label| Axis { log, ..Axis::linear(label, Quantity::Time) };
        let curves = DRAWS.iter().enumerate().map(curve).collect();
        let mark = Mark { x: 1.0, y: f64::NAN, label: "]]>".into() };
        let level = Some(f64::INFINITY);
        Chart {
            marks: vec![mark],
            level,
            diagonal: true,
            ..Chart::new(axis("x"), axis("y"), curves)
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

    #[test]
    fn many_points_stay_small_and_keep_their_extremes() {
        let points: Vec<(f64, f64)> =
            (0..200_000).map(|at| (f64::from(at), if at == 77_777 { 9.0 } else { 1.0 })).collect();
        let curve = Curve::numbered(0, "one".into(), Draw::Line, &points);
        let axis = || Axis::linear("", Quantity::Number);
        let chart = Chart::new(axis(), axis(), vec![curve]);
        let small = draw(&chart).file("");
        assert!(small.len() < 100_000, "{} bytes", small.len());
        // The frame begins at 5 points, and above the highest are four hundredths of the data.
        let height = format!(" {}", sheet::number(5.0 + PAPER.height * (0.32 / 9.32)));
        assert!(small.contains(&height), "{height}");
    }

    /// Of points on one pixel of the page one is drawn; the highest is among those that are.
    #[test]
    fn points_on_one_pixel_are_drawn_once() {
        let points: Vec<(f64, f64)> =
            (0..100_000).map(|at| (f64::from(at), if at == 77_777 { 9.0 } else { 1.0 })).collect();
        for shape in 0..SHAPES {
            let curve = Curve::numbered(shape, "one".into(), Draw::Points, &points);
            let axis = || Axis::linear("", Quantity::Number);
            let plot = Plot::new(&Chart::new(axis(), axis(), vec![curve.clone()]), SCREENS[3].1);
            let places = plot.places(&curve);
            let wide = plot.frame.right - plot.frame.left;
            assert!(places.len() as f64 <= wide / PIXEL + 2.0, "{} places", places.len());
            assert!(places.contains(&(plot.x.at(77_777.0), plot.y.at(9.0))), "the highest");
            let drawn = plot.curve(&curve, shape).into_string();
            assert!(drawn.len() < 40 * places.len(), "{shape}: {} bytes", drawn.len());
        }
    }

    #[test]
    fn long_names_beside_the_axis_take_a_page_and_longer_ones_are_cut() {
        let drawn = |name: &str| {
            let places = [(1.0, "a"), (2.0, name)];
            let places = places.map(|(at, name)| Place { at, name: name.into() });
            let curve = Curve::numbered(0, "one".into(), Draw::Points, &[(1.0, 1.0), (2.0, 2.0)]);
            let x = Axis::linear("", Quantity::Number);
            draw(&Chart::new(x, Axis::named("", places.into()), vec![curve]))
        };
        let cases = [
            ("a short name", COLUMN, false),
            ("preemption-read-sequential-sleep-short", PAGE, false),
            (&*"a name that goes on and on and on ".repeat(9), PAGE, true),
        ];
        for (name, wide, cut) in cases {
            let drawing = drawn(name);
            assert_eq!(drawing.width, wide, "case: {name}");
            assert_eq!(drawing.file("").contains('…'), cut, "case: {name}");
        }
    }

    fn unit() -> Axis {
        Axis { range: Some((0.0, 1.0)), ..Axis::linear("", Quantity::Number) }
    }

    /// Each text finds its place, whatever a step below another is rounded to.
    #[test]
    fn many_marks_at_one_place_find_room_or_are_left_out() {
        for height in 1..2_000 {
            let scale = || Scale { axis: unit(), from: 0.0, to: f64::from(height) * 0.1 };
            let frame = Frame { left: 0.0, top: 0.0, right: 100.0, bottom: 300.0, sheet: PAPER };
            let none = || Ticks { major: vec![], minor: vec![] };
            let plot = Plot { frame, x: scale(), y: scale(), x_ticks: none(), y_ticks: none() };
            let mark = |y: f64| Mark { x: 0.5, y, label: "250 Hz".into() };
            let marks: Vec<Mark> = (0..20).map(|at| mark(1.0 / f64::from(at + 1))).collect();
            assert!(plot.marks(&marks).into_string().contains("250 Hz"), "{height}");
        }
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
