//! A chart of curves on its sheet, for one column of a paper or for the page: the plot with its axes, and the legend.

use super::frame::{BELOW, Frame, NAME, Scale};
use super::legend::{Entry, legend};
use super::patterns::patterns;
use super::plot::Plot;
use super::sheet::{COLUMN, Drawing, PAGE, PAPER, SCREENS, Sheet, TEXT, number, width};
use crate::picture::Place;
use crate::picture::chart::Chart;
use maud::{Markup, html};

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
    let entries = entries(chart, &patterns);
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
    let Frame { bottom, .. } = plot.frame;
    let ends = |scale: &Scale| format!("{} {}", scale.axis.ends().0, scale.axis.ends().1);
    let frame = [plot.x.from, plot.y.to, plot.x.to, plot.y.from].map(number).join(" ");
    let facts = [("frame", frame), ("across", ends(&plot.x)), ("along", ends(&plot.y))];
    let body = plot.body(chart, patterns);
    Drawing { width: sheet.width, height: bottom + BELOW + 1.0, body }.inline(class, &facts)
}

/// Returns what the legend explains; nothing where that is one thing.
fn entries(chart: &Chart, patterns: &[usize]) -> Vec<Entry> {
    if chart.explained() < 2 {
        return vec![];
    }
    let curves = chart.curves.iter().zip(patterns).filter(|(curve, _)| !curve.x.is_empty());
    let curves = curves.map(|(curve, &pattern)| Entry::from_curve(curve, pattern));
    curves.chain(chart.level_name().map(Entry::from_level)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette;
    use crate::picture::axis::{Axis, Quantity};
    use crate::picture::chart::{Curve, Draw, Mark};
    use crate::picture::svg::sheet;
    use std::collections::BTreeSet;

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

    #[test]
    fn the_legend_explains_what_is_drawn() {
        let axis = || Axis::linear("", Quantity::Number);
        let curve = |number: usize, draw, points: &[(f64, f64)]| {
            Curve::colored(palette::REST, number, format!("curve {number}"), draw, points)
        };
        let line = [(0.0, 0.0), (1.0, 1.0)];
        let levels = (1..4).map(|number| curve(number, Draw::Segments, &line));
        let curves = levels.chain([curve(0, Draw::Points, &[])]).collect();
        let chart =
            Chart { level: Some(0.5), level_name: "median", ..Chart::new(axis(), axis(), curves) };
        let found = entries(&chart, &patterns(&chart));
        let names: Vec<&str> = found.iter().map(|entry| &*entry.text).collect();
        assert_eq!(names, ["curve 1", "curve 2", "curve 3", "median"], "none without data");
        let looks: BTreeSet<&str> = found.iter().map(|entry| entry.dashes).collect();
        assert_eq!(looks.len(), 4, "lines of one colour differ: {looks:?}");
        let drawn = draw(&chart).file("");
        for dashes in looks {
            assert!(drawn.matches(&format!("dasharray=\"{dashes}\"")).count() > 1, "{dashes}");
        }
        let alone = Chart::new(axis(), axis(), vec![curve(0, Draw::Line, &line)]);
        assert!(entries(&alone, &patterns(&alone)).is_empty());
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
}
