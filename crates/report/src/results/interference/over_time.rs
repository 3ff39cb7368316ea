//! The repetitions of kernels over time, by where the interrupts are (Radojković 2008, Figures 5 and 6).

use super::words::place;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::results::measured::scatter::axis_for;
use crate::style::plain;
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{Pair, Proximity};

/// Describes all of these charts.
pub(crate) const CAPTION: &str = "The time of each repetition by its start, on one scale: of up to 1,000 all, of more the shortest and the longest in each of 500 equal stretches of time. One pair of CPUs stands for each distance.";

/// Draws the repetitions of each kernel by the distance of the interrupted CPU, and those of all kernels at the nearest
/// distance that is not the CPU itself.
pub(crate) fn charts(found: &Interference) -> Vec<Chart> {
    let kernels = found.kernels.iter().map(|pace| &*pace.kernel);
    let mut charts: Vec<Chart> = kernels.filter_map(|kernel| by_distance(found, kernel)).collect();
    charts.extend(nearest(found).map(|(_, chart)| chart));
    charts
}

/// Draws the repetitions of a kernel by the distance of the interrupted CPU.
pub(crate) fn by_distance(found: &Interference, kernel: &str) -> Option<Chart> {
    let mut pairs: Vec<&Pair> = drawn(found).filter(|pair| pair.kernel == kernel).collect();
    pairs.sort_by_key(|pair| pair.place);
    chart(&pairs, &format!("{kernel} by distance"))
}

/// Draws the repetitions of all kernels at the nearest distance that is not the CPU itself, and names it.
pub(crate) fn nearest(found: &Interference) -> Option<(&'static str, Chart)> {
    let others = drawn(found).map(|pair| pair.place);
    let nearest = others.filter(|place| *place != Proximity::SameThread).min()?;
    let pairs: Vec<&Pair> = drawn(found).filter(|pair| pair.place == nearest).collect();
    let chart = chart(&pairs, "all kernels at the nearest distance")?;
    (pairs.len() > 1).then_some((place(nearest), chart))
}

fn drawn(found: &Interference) -> impl Iterator<Item = &Pair> {
    found.pairs.iter().filter(|pair| pair.drawn.is_some())
}

/// Draws repetitions over the time since the start of their series.
fn chart(pairs: &[&Pair], title: &str) -> Option<Chart> {
    let curves = pairs.iter().enumerate().filter_map(|(number, pair)| curve(number, pair));
    let curves: Vec<Curve> = curves.collect();
    let x = Axis::linear("since the start of the series", Quantity::Time);
    let y = Axis::linear("time of a repetition", Quantity::Time);
    let y = axis_for(y, curves.iter().flat_map(|curve| &curve.y).copied());
    let chart = Chart::new(x, y, curves).named(format!("repetitions of {}", plain(title)));
    (!chart.curves.is_empty()).then_some(chart)
}

/// Returns the repetitions of a pair as points; nothing if none are drawn.
fn curve(number: usize, pair: &Pair) -> Option<Curve> {
    let points = &pair.drawn.as_ref()?.points;
    let start = points.first()?.0;
    let points: Vec<(f64, f64)> =
        points.iter().map(|(at, value)| (at.saturating_sub(start) as f64, *value)).collect();
    let (kernel, place) = (&pair.kernel, place(pair.place));
    let name =
        plain(&format!("{kernel} on CPU {}, interrupts on CPU {}: {place}", pair.cpu, pair.source));
    Some(Curve::numbered(number, name, Draw::Points, &points))
}
