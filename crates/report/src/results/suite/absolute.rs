//! Figures of samples in absolute values, with published values as lines.

use crate::palette;
use crate::picture::{Chart, Curve, Draw, Mark};
use crate::published::Value;
use crate::results::measured::names::{Named, shown, words};
use crate::results::measured::scatter::{self, Drawn};
use crate::screen::Screen;
use crate::style::plain;
use crate::units::asked;
use anechoic_analyze::samples::Measured;

/// Rows of a chart in the terminal.
const ROWS: usize = 8;

/// Height of the lines of published values, relative to the largest number of samples.
const HEADROOM: f64 = 1.3;

/// Largest number of kernels with figures; the page of each recording has the others.
const KERNELS: usize = 4;

/// A published value of a sample.
pub(super) struct Level {
    /// Its name.
    pub name: String,
    /// The value, or the ends of its range, in ns.
    pub ns: Vec<f64>,
}

impl Level {
    /// Returns a published value; `ns` is one unit of it.
    pub(super) fn new(name: &str, value: Value, ns: f64) -> Self {
        let ends = match value {
            Value::Between(low, high) => vec![low, high],
            other => other.number().into_iter().collect(),
        };
        Self { name: name.to_owned(), ns: ends.iter().map(|end| end * ns).collect() }
    }

    /// Returns a label at the upper end of its first upright line. All lines are grey, so each needs its name beside it.
    fn mark(&self, top: f64) -> Option<Mark> {
        Some(Mark { x: *self.ns.first()?, y: top, label: self.name.clone() })
    }
}

/// Adds for each kernel of a set the samples of all its series over time, as `figure` of the paper, with the published
/// values as horizontal lines. The terminal prints the first.
pub(super) fn over_time(set: &Measured, figure: &str, levels: &[Level], screen: &mut Screen) {
    let all = shown(set, true);
    for (number, group) in scatter::alike(&all).iter().take(KERNELS).enumerate() {
        let drawn = drawn(group);
        let mut chart = scatter::over_time(&drawn);
        let end = chart.curves.iter().flat_map(|curve| &curve.x).copied().fold(0.0, f64::max);
        chart.curves.extend(lines(levels, |ns| [(0.0, ns), (end, ns)]));
        chart.name = format!("{figure} {}", plain(&group[0].result.facts.variant));
        let caption = caption(figure, group, &scatter::caption(&drawn), levels);
        screen.pictured(titled(chart, number, figure, group), caption);
    }
}

/// Adds for each kernel of a set how many samples of each series took how long, as `figure` of the paper, with the
/// published values as vertical lines.
pub(super) fn counts(set: &Measured, figure: &str, levels: &[Level], screen: &mut Screen) {
    let all = shown(set, true);
    for (number, group) in scatter::alike(&all).iter().take(KERNELS).enumerate() {
        let drawn = drawn(group);
        let kernel = plain(&group[0].result.facts.variant);
        let mut chart = scatter::counts(&drawn);
        // The names of published values stand above all counts.
        let most = chart.curves.iter().flat_map(|curve| &curve.y).copied().fold(0.0, f64::max);
        let top = HEADROOM * most;
        chart.curves.extend(lines(levels, |ns| [(ns, 0.0), (ns, top)]));
        chart.marks = levels.iter().filter_map(|level| level.mark(top)).collect();
        chart.name = format!("{figure} {kernel} distribution");
        let caption = caption(figure, group, scatter::CAPTION_OF_COUNTS, levels);
        screen.pictured(titled(chart, number, figure, group), caption);
    }
}

/// Returns the series as they are drawn, without the letters that they have in the tables of their recording.
pub(super) fn drawn<'a>(group: &[Named<'a>]) -> Vec<Drawn<'a>> {
    group
        .iter()
        .map(|named| Drawn { title: words(&named.result.facts), result: named.result, factor: 1.0 })
        .collect()
}

/// Gives the first chart of a figure its title in the terminal.
fn titled(chart: Chart, number: usize, figure: &str, group: &[Named<'_>]) -> Chart {
    match number {
        0 => chart.titled(format!("{figure} · {}", what(group)), ROWS),
        _ => chart,
    }
}

/// Names the kernel and its samples.
fn what(group: &[Named<'_>]) -> String {
    let facts = &group[0].result.facts;
    format!("{}, samples of {}", plain(&facts.variant), asked(facts.grain_ns))
}

fn caption(figure: &str, group: &[Named<'_>], drawn: &str, levels: &[Level]) -> String {
    let published = if levels.is_empty() { "" } else { " Grey lines: the published values." };
    format!("As {figure} of the paper: {}. {drawn}{published}", what(group))
}

/// Returns the published values as grey lines; `ends` are those of the line at a value in ns.
fn lines(levels: &[Level], ends: impl Fn(f64) -> [(f64, f64); 2]) -> Vec<Curve> {
    let mut lines = vec![];
    for (number, level) in levels.iter().enumerate() {
        let points: Vec<(f64, f64)> = level.ns.iter().flat_map(|&ns| ends(ns)).collect();
        let name = format!("published: {}", level.name);
        lines.push(Curve::colored(palette::REST, number, name, Draw::Segments, &points));
    }
    lines
}
