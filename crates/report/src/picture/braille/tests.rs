//! What pictures look like in the terminal, and that no input breaks them.

use super::*;
use crate::picture::{Mark, ROWS};
use crate::style::{Style, View};
use proptest::prelude::*;

/// Places and values of a curve.
type Points = Vec<(f64, f64)>;

fn drawn(chart: &Chart, view: &View<'_>) -> String {
    let mut out = vec![];
    write(chart, view, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("text is UTF-8")
}

fn view(width: usize) -> View<'static> {
    View { width, ..View::default() }
}

/// Excess times of 1 ms of work under 250 ticks per second and one long detour: median, most.
fn excess() -> Curve {
    let median = |n: u32| (f64::from(n) * 1e8, 130.0 + f64::from(n % 5) * 20.0);
    let span = |n: u32| {
        let tick = 15_000.0 + f64::from((n * 7919) % 97) * 120.0;
        (40.0, if n == 63 { 8.1e6 } else { tick })
    };
    let points: Vec<(f64, f64)> = (0..100).map(median).collect();
    let curve = Curve::numbered(0, "median".into(), Draw::Ribbon, &points);
    curve.spanning((0..100).map(span).collect())
}

fn time() -> Axis {
    Axis::linear("", Quantity::Time)
}

fn series() -> Chart {
    let ribbon = excess();
    let y = Axis::log("", Quantity::Time).over(ribbon.spans.iter().flat_map(|(l, h)| [*l, *h]));
    let chart = Chart::new(time().over([0.0, 1e10]), y.rounded(6), vec![ribbon]);
    chart.titled("time over the shortest", ROWS)
}

fn histogram(log: bool) -> Chart {
    let bin = |n: u32| {
        let low = f64::from(n) * 250.0;
        let bell =
            |middle: f64, wide: f64, count: f64| count * (-((low - middle) / wide).powi(2)).exp();
        let count = bell(1_000.0, 400.0, 40_000.0) + bell(15_000.0, 1_500.0, 2_000.0);
        (low, (count as u64 + u64::from(n == 119)) as f64)
    };
    let bins: Vec<(f64, f64)> = (0..120).map(bin).collect();
    let x = time().over([0.0, 30_000.0]);
    let bars = Curve::numbered(0, "samples".into(), Draw::Bars, &bins)
        .spanning(bins.iter().map(|(low, _)| (*low, low + 250.0)).collect());
    let heights = held(&bars, &x, 66);
    let floor = if log { 0.5 } else { 0.0 };
    let y = Axis { log, ..Axis::linear("", Quantity::Count) };
    let y = y.over(heights.into_iter().chain([floor]));
    Chart::new(x, y, vec![bars]).titled("samples by time over the shortest", ROWS)
}

fn survival() -> Chart {
    let curve = |body: f64, tail: f64| -> Points {
        let points = (0..400).map(|n| 10f64.powf(1.0 + f64::from(n) / 70.0));
        points
            .map(|x| (x, (-(x / body)).exp() * 0.93 + 0.07 * (x / 10.0).powf(-tail)))
            .map(|(x, p)| (x, f64::min(p, 1.0)))
            .filter(|(_, p)| *p > 1e-5)
            .collect()
    };
    let curves = [curve(90.0, 0.6), curve(300.0, 0.7), curve(2_000.0, 0.9), curve(2_100.0, 0.62)];
    let all = || curves.iter().flatten();
    let x = Axis::log("", Quantity::Time).over(all().map(|(x, _)| *x));
    let y = Axis::log("", Quantity::Share).over(all().map(|(_, p)| *p)).rounded(6);
    let names = [("counter", 'a'), ("sum", 'b'), ("fibonacci", 'c'), ("call", 'd')];
    let named = |(number, (points, (name, letter))): (usize, (&Points, (&str, char)))| {
        Curve::numbered(number, name.into(), Draw::Steps, points).lettered(Some(letter))
    };
    let curves = curves.iter().zip(names).enumerate().map(named).collect();
    Chart::new(x, y, curves).titled("part of the samples that took longer", 12)
}

fn spectrum() -> Chart {
    let power = |f: f64| {
        let peak = |at: f64, height: f64| height / (1.0 + ((f - at) / 0.6).powi(2));
        let floor = 0.6 + 0.5 * ((f * 12.9898).sin() * 43_758.547).fract().abs();
        floor + peak(100.0, 40.0) + peak(250.0, 900.0) + peak(500.0, 200.0)
    };
    let points: Vec<(f64, f64)> =
        (1..2_000).map(|n| f64::from(n) * 0.25).map(|f| (f, power(f))).collect();
    let x = Axis::linear("", Quantity::Frequency).over([0.0, 500.0]);
    let y = Axis::log("", Quantity::Number).over(points.iter().map(|p| p.1)).rounded(6);
    let spikes = Curve::numbered(0, "power".into(), Draw::Spikes, &points);
    let mut chart = Chart::new(x, y, vec![spikes]).titled("power over the background", ROWS);
    let mark = |(x, label): (f64, &str)| Mark { x, y: 1.0, label: label.into() };
    let marks = [(250.0, "250 Hz"), (100.0, "100 Hz"), (101.0, "101 Hz"), (500.0, "500 Hz")];
    chart.marks = marks.map(mark).to_vec();
    chart
}

#[test]
fn pictures() {
    for width in [80, 100, 60] {
        let view = view(width);
        let pictures = [series(), histogram(false), histogram(true), survival(), spectrum()];
        let text = pictures.map(|chart| drawn(&chart, &view)).join("\n");
        insta::assert_snapshot!(format!("pictures_{width}"), text);
    }
}

#[test]
fn little_to_show() {
    let view = view(60);
    let cases: [(&str, Vec<(f64, f64)>); 4] = [
        ("nothing", vec![]),
        ("one value", vec![(5e9, 1_000_000.0)]),
        ("all equal", (0..30).map(|n| (f64::from(n), 4_000.0)).collect()),
        ("a huge range", vec![(0.0, 0.1), (1.0, 1e18)]),
    ];
    let mut text = String::new();
    for (name, points) in cases {
        for (log, scale) in [(false, "Linear"), (true, "Log")] {
            let x = time().over(points.iter().map(|p| p.0));
            let y = Axis { log, ..time() }.over(points.iter().map(|p| p.1)).rounded(4);
            let ribbon = Curve::numbered(0, "median".into(), Draw::Ribbon, &points)
                .spanning(points.iter().map(|p| (p.1, p.1)).collect());
            let chart = Chart::new(x, y, vec![ribbon]).titled(format!("{name}, {scale}"), 6);
            text += &drawn(&chart, &view);
        }
    }
    insta::assert_snapshot!("little", text);
}

#[test]
fn points_stand_beside_each_other_with_their_error_bars() {
    let points = |number, name: &str, letter, at: &[(f64, f64)]| {
        let curve = Curve::numbered(number, name.into(), Draw::Points, at).lettered(letter);
        curve.spanning(at.iter().map(|(_, y)| (y * 0.6, y * 1.4)).collect())
    };
    let curves = vec![
        points(0, "tick", Some('t'), &[(1.0, 1_000.0), (8.0, 2_500.0), (64.0, 9_000.0)]),
        points(1, "its function", None, &[(1.0, 500.0), (8.0, 1_500.0), (64.0, 7_000.0)]),
        Curve::numbered(2, "line".into(), Draw::Line, &[(1.0, 0.0), (64.0, 12_000.0)]),
    ];
    let chart = Chart::new(Axis::log("", Quantity::Count), time(), curves).titled("times", 8);
    let chart = Chart { beside: true, level: Some(6_000.0), ..chart };
    insta::assert_snapshot!("points", drawn(&chart, &view(60)));
}

#[test]
fn colour_is_the_same_picture() {
    let coloured = View { style: Style { color: true }, ..View::default() };
    for chart in [series(), survival()] {
        let text = drawn(&chart, &coloured);
        let parts: Vec<&str> = text.split("\x1b[").collect();
        assert!(parts.len() > 10, "{text}");
        let stripped: String =
            parts[1..].iter().map(|part| part.split_once('m').expect("a code ends").1).collect();
        assert_eq!(parts[0].to_owned() + &stripped, drawn(&chart, &View::default()));
    }
}

/// Any number, with the hostile ones more often than chance has them.
fn number() -> impl Strategy<Value = f64> {
    let odd = [
        0.0,
        -0.0,
        1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
        1e18,
        5e-324,
    ];
    prop_oneof![any::<f64>(), 0.0..1e10, Just(1_000_000.0), proptest::sample::select(odd.to_vec())]
}

const DRAWS: [Draw; 6] =
    [Draw::Line, Draw::Steps, Draw::Points, Draw::Spikes, Draw::Segments, Draw::Bars];

proptest! {
    #[test]
    fn anything_can_be_drawn(
        values in proptest::collection::vec((number(), number(), number()), 0..40),
        scales in (any::<bool>(), any::<bool>()),
        ranged in any::<bool>(),
        rounded in any::<bool>(),
        quantity in 0usize..5,
        rows in 0usize..16,
        wide in 0usize..200,
        beside in any::<bool>(),
    ) {
        let view = view(wide);
        let quantities = [Quantity::Time, Quantity::Count, Quantity::Share, Quantity::Frequency, Quantity::Number];
        let axis = |log, coordinate: fn(&(f64, f64, f64)) -> f64| {
            let axis = Axis { log, ..Axis::linear("", quantities[quantity]) };
            let axis = if ranged { axis.over(values.iter().map(coordinate)) } else { axis };
            if rounded && ranged { axis.rounded(5) } else { axis }
        };
        let points: Vec<(f64, f64)> = values.iter().map(|v| (v.0, v.1)).collect();
        let spans: Vec<(f64, f64)> = values.iter().map(|v| (v.1, v.2)).collect();
        let curve = |(number, draw): (usize, Draw)| {
            let letter = (number % 2 == 0).then_some('a');
            Curve::numbered(number, "a name".into(), draw, &points).lettered(letter).spanning(spans.clone())
        };
        let draws = DRAWS.into_iter().chain([Draw::Ribbon]);
        let curves = draws.enumerate().map(curve).collect();
        let mut chart = Chart::new(axis(scales.0, |v| v.0), axis(scales.1, |v| v.1), curves)
            .titled("any\x1b[2J title that goes on and on", rows);
        (chart.beside, chart.level) = (beside, values.first().map(|v| v.1));
        chart.marks = points.iter().map(|&(x, y)| Mark { x, y, label: "a name".into() }).collect();
        chart.notes = vec!["word ".repeat(wide), "b".into()];
        let mut texts = vec![drawn(&chart, &view)];
        let place = |at: usize| crate::picture::Place { at: at as f64, name: "name\x1b ".repeat(wide) };
        chart.y = Axis::named("", (0..rows).map(place).collect());
        texts.push(drawn(&chart, &view));
        for text in texts {
            prop_assert!(!text.contains('\x1b'));
            let (key, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.contains("├──┤ "));
            let widest = lines.into_iter().map(crate::style::width).max().unwrap_or(0);
            prop_assert!(key.len() <= 1 && widest <= wide.clamp(60, 100), "{widest} columns\n{text}");
        }
    }
}
