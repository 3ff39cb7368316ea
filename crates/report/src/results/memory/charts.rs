//! Curves over the size of the working set: time per access, variance, and their ratio.

use super::words::{PREDICTION, size};
use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Mark, Place, Quantity, ROWS};
use anechoic_analyze::Memory;
use anechoic_analyze::memory::{Border, Experiment, Point};

/// The pair whose measured borders are those of sequential accesses.
const SEQUENTIAL: &str = "sequential";
/// Pairs of experiments that one figure compares: without and with what happens before each pass.
const PAIRS: [(&str, &[&str]); 6] = [
    (SEQUENTIAL, &["bandwidth-read-sequential-warm", "bandwidth-read-sequential-dirty"]),
    ("random", &["bandwidth-read-random-warm", "bandwidth-read-random-dirty"]),
    ("writes", &["bandwidth-write-random-warm", "bandwidth-write-random-dirty"]),
    ("TLB", &["bandwidth-read-random-warm", "bandwidth-read-random-local-warm"]),
    (
        "preemption",
        &[
            "preemption-read-random-sleep-long",
            "preemption-read-random-read-long",
            "preemption-read-random-write-long",
            "preemption-read-random-code-long",
        ],
    ),
    (
        "migration",
        &["migration-read-random-l2", "migration-read-random-l3", "migration-read-random-far"],
    ),
];

/// Preemptions whose measured and predicted times one figure compares.
const PREDICTED: [(&str, &[&str]); 2] = [
    (
        "random",
        &[
            "preemption-read-random-write-long",
            "preemption-read-random-read-long",
            "preemption-read-random-code-long",
        ],
    ),
    (
        "sequential",
        &[
            "preemption-read-sequential-write-long",
            "preemption-read-sequential-read-long",
            "preemption-read-sequential-code-long",
        ],
    ),
];

/// A quantity of a point.
type Value = fn(&Point) -> Option<f64>;

/// The quantities of the paper's figures, with their names and those of their axes.
const QUANTITIES: [(&str, &str, Value); 3] = [
    ("ticks per access", "ticks per access", |point| Some(point.mean)),
    ("variance", "variance, ticks²", |point| point.variance),
    ("variance / mean", "variance / mean, ticks", |point| point.ratio),
];

/// Returns the figures of measured and predicted times after preemptions, with their captions.
pub(super) fn predictions(found: &Memory) -> impl Iterator<Item = (Chart, String)> {
    PREDICTED.iter().filter_map(|(name, ids)| {
        let all: Vec<&Experiment> = ids.iter().filter_map(|id| predicted(found, id)).collect();
        if all.is_empty() {
            return None;
        }
        let chart = with_caches(found, measured_and_predicted(&all));
        let caption = format!(
            "Median ticks per access after a preemption by size of the working set: {}. {PREDICTION}",
            list(&chart)
        );
        let title = "median ticks per access after a preemption (line: measured; points: predicted)";
        Some((chart.named(format!("predicted {name}")).titled(title, ROWS), caption))
    })
}

/// Returns a measured experiment, if its times are predicted.
fn predicted<'a>(found: &'a Memory, id: &str) -> Option<&'a Experiment> {
    found.experiment(id).filter(|experiment| experiment.prediction.is_some())
}

/// Returns for each experiment the measured times as a line and the predicted ones as points.
fn measured_and_predicted(all: &[&Experiment]) -> Vec<Curve> {
    let curves = all.iter().enumerate().flat_map(|(number, experiment)| {
        let points = || experiment.points.iter().map(|point| (log2(point.bytes), point));
        let measured: Vec<(f64, f64)> = points().map(|(at, point)| (at, point.median)).collect();
        let predicted: Vec<(f64, f64)> =
            points().filter_map(|(at, point)| Some((at, point.predicted?))).collect();
        let name = format!("{} predicted", experiment.id);
        [
            Curve::numbered(number, experiment.id.clone(), Draw::Line, &measured),
            Curve::numbered(number, name, Draw::Points, &predicted),
        ]
    });
    curves.collect()
}

/// Returns a chart of times with lines at the sizes of the caches.
fn with_caches(found: &Memory, mut curves: Vec<Curve>) -> Chart {
    let times = || curves.iter().flat_map(|curve| curve.y.iter().copied());
    let ends = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let reported = |border: &Border| Some(border.reported_bytes);
    curves.extend(lines(found, REPORTED, reported, ends));
    let marks = names(found, ends.1);
    Chart { marks, ..Chart::new(axis(found), Axis::log(QUANTITIES[0].0, Quantity::Number), curves) }
}

fn list(chart: &Chart) -> String {
    let names = chart.curves.iter().filter(|curve| curve.draw != Draw::Segments);
    names.map(|curve| curve.name.clone()).collect::<Vec<_>>().join(", ")
}

/// Returns Figures 1 to 3 of the paper with captions: the time of accesses with warm and with dirty caches, and the other
/// quantities with dirty caches alone.
pub(crate) fn paper_figures(found: &Memory) -> Vec<(Chart, String)> {
    let mut figures = vec![];
    for (quantity, number) in (0..QUANTITIES.len()).zip(1..) {
        for &(pair, ids) in &PAIRS[..2] {
            // Figures 2 and 3 are of the experiment in Figure 1 b.
            let ids = if quantity == 0 { ids } else { &ids[1..] };
            let Some((chart, caption)) = with_caption(found, (pair, ids), quantity) else {
                continue;
            };
            let chart = chart.named(format!("figure {number} {pair}"));
            figures.push((chart, format!("As Figure {number} of the paper. {caption}")));
        }
    }
    figures
}

/// Returns the figures of each pair in each quantity, with their captions.
pub(super) fn measured(found: &Memory) -> Vec<(Chart, String)> {
    let mut figures = vec![];
    for pair in PAIRS {
        for (quantity, (name, ..)) in QUANTITIES.iter().enumerate() {
            let Some((chart, caption)) = with_caption(found, pair, quantity) else { continue };
            let title = format!("{name} by size of the working set");
            let chart = chart.named(figure_name(pair.0, quantity));
            figures.push((chart.titled(title, ROWS + 2), caption));
        }
    }
    figures
}

/// Returns which of these figures a terminal shows: the time per access of random or sequential reads.
pub(super) fn briefly(measured: &[(Chart, String)]) -> Option<usize> {
    let mut names =
        [PAIRS[1], PAIRS[0], PAIRS[4]].into_iter().map(|(pair, _)| figure_name(pair, 0));
    names.find_map(|name| measured.iter().position(|(chart, _)| chart.name == name))
}

fn figure_name(pair: &str, quantity: usize) -> String {
    format!("{pair} {}", QUANTITIES[quantity].0)
}

/// Returns the figure of a pair in one quantity with its caption.
fn with_caption(found: &Memory, pair: (&str, &[&str]), quantity: usize) -> Option<(Chart, String)> {
    let chart = pair_chart(found, pair, quantity)?;
    let what = if quantity == 0 { "Mean (line) and range (area) of the" } else { "The" };
    let caption = format!(
        "{what} {} by size of the working set: {}. Vertical lines: sizes of the caches as reported and as measured.",
        QUANTITIES[quantity].0,
        list(&chart)
    );
    Some((chart, caption))
}

/// Returns the figure of a pair in one quantity; nothing if none of it was measured.
fn pair_chart(found: &Memory, (pair, ids): (&str, &[&str]), quantity: usize) -> Option<Chart> {
    let measured: Vec<&Experiment> = ids.iter().filter_map(|id| found.experiment(id)).collect();
    let (_, name, value) = QUANTITIES[quantity];
    let mut curves = Vec::new();
    for (number, experiment) in measured.iter().enumerate() {
        let known = experiment.points.iter().filter_map(|point| Some((point, value(point)?)));
        let known = known.filter(|(_, value)| *value > 0.0);
        let (points, places): (Vec<&Point>, Vec<(f64, f64)>) =
            known.map(|(point, value)| (point, (log2(point.bytes), value))).unzip();
        let draw = if quantity == 0 { Draw::Ribbon } else { Draw::Line };
        let curve = Curve::numbered(number, experiment.id.clone(), draw, &places);
        let spans =
            points.iter().map(|point| (point.min.max(f64::MIN_POSITIVE), point.max)).collect();
        curves.push(if quantity == 0 { curve.spanning(spans) } else { curve });
    }
    curves.retain(|curve| !curve.x.is_empty());
    let drawn = curves.iter().flat_map(|curve| curve.y.iter().copied());
    let spans = curves.iter().flat_map(|curve| curve.spans.iter().flat_map(|&(a, b)| [a, b]));
    let values: Vec<f64> = drawn.chain(spans).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    if curves.is_empty() {
        return None;
    }
    let reported = |border: &Border| Some(border.reported_bytes);
    curves.extend(lines(found, REPORTED, reported, (low, high)));
    let knee: fn(&Border) -> Option<u64> = match pair {
        SEQUENTIAL => |border| border.sequential_knee_bytes,
        _ => |border| border.knee_bytes,
    };
    curves.extend(lines(found, KNEE, knee, (low, high)));
    let marks = names(found, high);
    Some(Chart { marks, ..Chart::new(axis(found), Axis::log(name, Quantity::Number), curves) })
}

/// Returns the name of each cache at its reported size and this height.
fn names(found: &Memory, y: f64) -> Vec<Mark> {
    let mark =
        |border: &Border| Mark { x: log2(border.reported_bytes), y, label: border.name.clone() };
    found.borders.iter().map(mark).collect()
}

fn log2(bytes: u64) -> f64 {
    (bytes as f64).log2()
}

/// Vertical lines of each figure: their name and their pattern. They have the same look in every figure.
type Lines = (&'static str, usize);
const REPORTED: Lines = ("reported cache", 0);
const KNEE: Lines = ("measured knee", 1);

/// Returns a vertical line at each border.
fn lines(
    found: &Memory,
    (name, pattern): Lines,
    at: impl Fn(&Border) -> Option<u64>,
    (low, high): (f64, f64),
) -> Option<Curve> {
    let bytes: Vec<u64> = found.borders.iter().filter_map(at).collect();
    let line = |&bytes: &u64| [(log2(bytes), low), (log2(bytes), high)];
    let points: Vec<(f64, f64)> = bytes.iter().flat_map(line).collect();
    (!points.is_empty())
        .then(|| Curve::colored(palette::REST, pattern, name.into(), Draw::Segments, &points))
}

/// Returns the axis of sizes, by factors of 8.
fn axis(found: &Memory) -> Axis {
    let sizes =
        || found.measured().flat_map(|experiment| &experiment.points).map(|point| point.bytes);
    let (least, most) = (sizes().min().unwrap_or(1), sizes().max().unwrap_or(1));
    let from = least.max(1).ilog2();
    let places = (from..=most.max(1).ilog2()).step_by(3);
    let place = |log2: u32| Place { at: f64::from(log2), name: size(1 << log2) };
    Axis::named("working set", places.map(place).collect())
}
