//! A chart of named things: one line for each, with signs and intervals along one axis.

use super::frame::{WIDEST, write_key, write_lower_axis};
use super::layers::sign;
use crate::picture::axis::Axis;
use crate::picture::chart::{Chart, Curve, Draw};
use crate::style::{Tone, View, clip, plain, width};
use std::io::{self, Write};

/// Sign for two curves that coincide.
const BOTH: char = '◉';

/// Writes the chart.
pub(super) fn write(chart: &Chart, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (x, _) = chart.axes();
    let most = view.columns().min(WIDEST) / 2;
    let names: Vec<String> =
        chart.y.names.iter().map(|place| clip(&plain(&place.name), most)).collect();
    let gutter = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let columns = view.columns().min(WIDEST) - gutter - 3;
    writeln!(
        out,
        "{}",
        view.style.paint(Tone::Heading, &clip(&plain(&chart.title), view.columns()))
    )?;
    for (place, name) in chart.y.names.iter().zip(&names).rev() {
        for (number, (low, high)) in heights(chart, place.at).into_iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            let space = " ".repeat(gutter - width(name));
            let edge = view.style.paint(Tone::Quiet, &format!("{name}{space} │"));
            let here = |y: f64| low <= y && y <= high;
            writeln!(out, "{edge}{}", line(chart, here, &x, columns).trim_end())?;
        }
    }
    write_lower_axis(&x, gutter, columns, view, out)?;
    let key = key(chart);
    let whole = key.iter().map(|text| width(text) + 3).sum::<usize>();
    let indent = if gutter + 2 + whole <= view.columns() + 3 { gutter + 2 } else { 0 };
    let key: Vec<(String, Tone)> = key.into_iter().map(|text| (text, Tone::Quiet)).collect();
    write_key(&key, indent, view, out)
}

/// Returns the lowest and highest position of each line of a name: of each height in it if curves stand beside each other,
/// the highest first, else of all together.
fn heights(chart: &Chart, at: f64) -> Vec<(f64, f64)> {
    if !chart.beside {
        return vec![(at - 0.49, at + 0.49)];
    }
    let all = chart.curves.iter().flat_map(Curve::points).map(|(_, y)| y);
    let mut found: Vec<f64> = all.filter(|y| (y - at).abs() < 0.5).collect();
    found.sort_by(|a, b| b.total_cmp(a));
    found.dedup();
    if found.is_empty() { vec![(at, at)] } else { found.into_iter().map(|y| (y, y)).collect() }
}

/// Returns a line: intervals with signs on them.
fn line(chart: &Chart, here: impl Fn(f64) -> bool, axis: &Axis, columns: usize) -> String {
    let column = |value: f64| (axis.place(value) * (columns - 1) as f64).round() as usize;
    let mut line = vec![' '; columns];
    for curve in chart.curves.iter().filter(|curve| curve.draw == Draw::Segments) {
        let points: Vec<(f64, f64)> = curve.points().collect();
        for ends in points.chunks_exact(2).filter(|ends| here(ends[0].1)) {
            let (one, other) = (column(ends[0].0), column(ends[1].0));
            let (from, to) = (one.min(other), one.max(other));
            line[from..=to].fill('─');
            if from < to {
                (line[from], line[to]) = ('├', '┤');
            } else {
                line[from] = '┼';
            }
        }
    }
    let mut taken = vec![];
    for curve in chart.curves.iter().filter(|curve| curve.draw == Draw::Points) {
        for (x, _) in curve.points().filter(|(_, y)| here(*y)) {
            let place = column(x);
            line[place] = if taken.contains(&place) { BOTH } else { sign(curve) };
            taken.push(place);
        }
    }
    line.into_iter().collect()
}

fn key(chart: &Chart) -> Vec<String> {
    let curves = |draw| chart.curves.iter().filter(move |curve| curve.draw == draw);
    let mut key: Vec<String> =
        curves(Draw::Points).map(|curve| format!("{} {}", sign(curve), curve.name)).collect();
    if key.len() > 1 && !chart.beside {
        key.push(format!("{BOTH} both"));
    }
    key.extend(curves(Draw::Segments).map(|curve| format!("├──┤ {}", curve.name)));
    key
}
