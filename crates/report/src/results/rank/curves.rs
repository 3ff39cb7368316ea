//! The times of memory experiments over the size of the working set, all configurations in one picture.

use super::NAME;
use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Mark, Place, Quantity, ROWS};
use crate::results::memory::words::size;
use crate::style::{clip, plain};
use anechoic_analyze::rank::{CurvePoint, Ranking};

/// The experiments that are drawn, with their titles.
const DRAWN: [(&str, &str); 5] = [
    ("bandwidth-read-random-warm", "random reads"),
    ("bandwidth-read-sequential-warm", "sequential reads"),
    ("bandwidth-write-random-warm", "random writes"),
    ("preemption-read-random-write-long", "random reads after a preemption"),
    ("migration-read-random-l3", "random reads after a migration"),
];

/// What is drawn of a point, with the name of the axis.
type Value = fn(&CurvePoint) -> Option<f64>;
const VALUES: [(&str, Value); 2] = [
    ("ns per access", |point| Some(point.mean_ns)),
    ("variance / mean, ns", |point| point.ratio_ns),
];

/// Returns the pictures with captions.
pub(super) fn all(ranking: &Ranking) -> Vec<(Chart, String)> {
    let mut all = vec![];
    for (experiment, title) in DRAWN {
        for (at, (name, value)) in VALUES.iter().enumerate() {
            let range = at == 0;
            let Some(chart) = chart(ranking, experiment, (name, *value), range) else { continue };
            let what = if range { "Mean (line) and range (area) of the " } else { "" };
            let caption = format!(
                "{what}{name} by size of the working set: {title}. Vertical lines: sizes of the caches."
            );
            let heading = format!("{title}: {name} by size of the working set");
            all.push((chart.named(format!("{title} {name}")).titled(heading, ROWS + 2), caption));
        }
    }
    all
}

fn chart(
    ranking: &Ranking,
    experiment: &str,
    (name, value): (&str, Value),
    range: bool,
) -> Option<Chart> {
    let by_configuration = ranking.curves.points.get(experiment)?;
    let mut curves = vec![];
    for (&at, points) in by_configuration {
        let known = points
            .iter()
            .filter_map(|point| Some((point, value(point).filter(|value| *value > 0.0)?)));
        let (drawn, places): (Vec<&CurvePoint>, Vec<(f64, f64)>) =
            known.map(|(point, value)| (point, (log2(point.bytes), value))).unzip();
        let draw = if range { Draw::Ribbon } else { Draw::Line };
        let name = clip(&plain(&ranking.configurations[at].name), NAME);
        let curve = Curve::numbered(at, name, draw, &places).lettered(('a'..='z').nth(at));
        let spans =
            drawn.iter().map(|point| (point.least_ns.max(f64::MIN_POSITIVE), point.greatest_ns));
        curves.push(if range { curve.spanning(spans.collect()) } else { curve });
    }
    curves.retain(|curve| !curve.x.is_empty());
    let spans = curves.iter().flat_map(|curve| curve.spans.iter().flat_map(|&(a, b)| [a, b]));
    let drawn: Vec<f64> =
        curves.iter().flat_map(|curve| curve.y.iter().copied()).chain(spans).collect();
    let low = drawn.iter().copied().fold(f64::INFINITY, f64::min);
    let high = drawn.iter().copied().fold(0.0, f64::max);
    if curves.is_empty() {
        return None;
    }
    let caches = &ranking.curves.caches;
    let lines: Vec<(f64, f64)> =
        caches.iter().flat_map(|(_, bytes)| [(log2(*bytes), low), (log2(*bytes), high)]).collect();
    if !lines.is_empty() {
        curves.push(Curve::colored(palette::REST, 0, "cache".into(), Draw::Segments, &lines));
    }
    let marks =
        caches.iter().map(|(name, bytes)| Mark { x: log2(*bytes), y: high, label: name.clone() });
    let y = Axis::log(name, Quantity::Number);
    Some(Chart {
        marks: marks.collect(),
        ..Chart::new(axis(by_configuration.values().flatten()), y, curves)
    })
}

/// Returns the axis of sizes, by factors of 8.
fn axis<'a>(points: impl Iterator<Item = &'a CurvePoint>) -> Axis {
    let sizes: Vec<u64> = points.map(|point| point.bytes.max(1)).collect();
    let (least, most) = (sizes.iter().min().copied(), sizes.iter().max().copied());
    let places = (least.unwrap_or(1).ilog2()..=most.unwrap_or(1).ilog2()).step_by(3);
    let place = |log2: u32| Place { at: f64::from(log2), name: size(1 << log2) };
    Axis::named("working set", places.map(place).collect())
}

fn log2(bytes: u64) -> f64 {
    (bytes as f64).log2()
}
