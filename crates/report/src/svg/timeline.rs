//! Detours over time, in both columns: a panel a CPU.

use super::axis::{self, BELOW, Frame, Scale, Ticks};
use super::legend::{Entry, legend};
use super::paper::{self, Anchor, Drawing, PAGE, Path, TEXT};
use crate::html::chart::{Axis, Draw, Quantity};
use crate::html::picture::{Panel, Panels};
use crate::palette::{self, SHAPES};
use anechoic_analyze::timeline::Cell;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Marks of all panels together: more make the file large, and nobody can tell them apart.
const MARKS: usize = 12_000;
/// Marks that still have a size at which their shapes differ.
const SHAPED: usize = 3_000;
/// Marks nearer than this are one at least, in points; as often doubled as it takes.
const NEAR: f64 = 0.25;

/// A mark: where it lies, its rank, how many detours it stands for.
#[derive(Debug, Clone, Copy)]
struct Placed {
    x: f64,
    y: f64,
    rank: usize,
    count: u64,
}

/// The timeline.
pub(super) fn draw(picture: &Panels) -> Drawing {
    let time = Axis::linear("time since the start", Quantity::Time);
    let length = Axis::log("length of the detour", Quantity::Time);
    let lengths = || {
        let cells = picture.panels.iter().flat_map(|panel| &panel.cells);
        cells.map(|cell| cell.length_ns.max(1) as f64)
    };
    let y_ends = axis::ends(&length, lengths());
    let each = match picture.panels.len() {
        0 | 1 => 150.0,
        2 => 110.0,
        _ => 85.0,
    };
    let y_ticks = Ticks::new(&length, y_ends, each, false);
    let (left, right) = (axis::beside(&y_ticks, &length), PAGE - 12.0);
    let x_ends = (0.0, picture.span_ns as f64);
    let x_ticks = Ticks::new(&time, x_ends, right - left, true);
    let x = Scale { low: x_ends.0, high: x_ends.1, log: false, from: left, to: right };
    let frames: Vec<(Frame, Scale)> = (0..picture.panels.len())
        .map(|at| {
            let top = 5.0 + (each + 5.0) * at as f64;
            let frame = Frame { left, top, right, bottom: top + each };
            let scale =
                Scale { low: y_ends.0, high: y_ends.1, log: true, from: frame.bottom, to: top };
            (frame, scale)
        })
        .collect();
    let bottom = frames.last().map_or(5.0, |(frame, _)| frame.bottom);
    let all = Frame { left, top: 5.0, right, bottom };
    let places =
        |panel: &Panel, y: &Scale| panel.cells.iter().map(|cell| place(cell, &x, y)).collect();
    let marks: Vec<Vec<Placed>> =
        picture.panels.iter().zip(&frames).map(|(panel, (_, y))| places(panel, y)).collect();
    let marks = thinned(marks);
    let few = marks.iter().map(Vec::len).sum::<usize>() <= SHAPED;
    let (keys, keys_height) = legend(&entries(picture), left, bottom + BELOW, right - left);
    let body = html! {
        @for ((panel, (frame, y)), marks) in picture.panels.iter().zip(&frames).zip(&marks) {
            (frame.grid(&x_ticks, &y_ticks, (&x, y)))
            (dots(marks, picture, if few { 1.3 } else { 0.75 }))
            (frame.outline())
            (frame.vertical_ticks(&y_ticks, y))
            (paper::on_top((frame.right - 4.0, frame.top + TEXT + 2.0), Anchor::End, TEXT, &format!("CPU {}", panel.cpu)))
        }
        (all.horizontal(&time, &x_ticks, &x))
        (all.vertical_name(&length.label))
        (keys)
    };
    Drawing { width: PAGE, height: bottom + BELOW + keys_height + 1.0, body }
}

fn place(cell: &Cell, x: &Scale, y: &Scale) -> Placed {
    Placed {
        x: x.at(cell.start_ns as f64),
        y: y.at(cell.length_ns.max(1) as f64),
        rank: cell.source as usize,
        count: u64::from(cell.count),
    }
}

/// Puts marks of a source that lie near each other together, so far that they are few enough. The longest stays
/// where it is.
fn thinned(panels: Vec<Vec<Placed>>) -> Vec<Vec<Placed>> {
    let mut near = NEAR;
    loop {
        let fewer: Vec<Vec<Placed>> = panels.iter().map(|marks| together(marks, near)).collect();
        if fewer.iter().map(Vec::len).sum::<usize>() <= MARKS || near > PAGE {
            return fewer;
        }
        near *= 1.25;
    }
}

fn together(marks: &[Placed], near: f64) -> Vec<Placed> {
    let mut cells: BTreeMap<(usize, i64, i64), Placed> = BTreeMap::new();
    for mark in marks {
        let cell = |at: f64| (at / near).floor() as i64;
        cells
            .entry((mark.rank, cell(mark.x), cell(mark.y)))
            .and_modify(|there| {
                let count = there.count.saturating_add(mark.count);
                // Longer is higher.
                if mark.y < there.y {
                    *there = *mark;
                }
                there.count = count;
            })
            .or_insert(*mark);
    }
    cells.into_values().collect()
}

/// The look of a rank: those without an entry of their own share one.
fn look(picture: &Panels, rank: usize) -> (&'static str, usize) {
    match picture.looks.get(rank).filter(|_| rank < picture.legend) {
        // Shapes go by rank, so that without colour too the foremost differ.
        Some(look) => (look.color.light, rank % SHAPES),
        None => (palette::of_source("").light, SHAPES - 1),
    }
}

/// The marks, the rarer sources on top.
fn dots(marks: &[Placed], picture: &Panels, r: f64) -> Markup {
    let mut paths: BTreeMap<usize, Path> = BTreeMap::new();
    for mark in marks {
        let rank = mark.rank.min(picture.legend);
        let r = r * (1.0 + 0.35 * (mark.count.max(1) as f64).log10());
        paths.entry(rank).or_default().shape(look(picture, rank).1, mark.x, mark.y, r);
    }
    html! { @for (rank, path) in &paths {
        @let (color, shape) = look(picture, *rank);
        (path.shapes(shape, color, r))
    } }
}

fn entries(picture: &Panels) -> Vec<Entry> {
    let entry = |text: String, rank: usize| {
        let (color, pattern) = look(picture, rank);
        Entry { text, color: color.to_owned(), pattern, draw: Draw::Points, area: false }
    };
    let own = picture.looks.iter().take(picture.legend).enumerate();
    let mut entries: Vec<Entry> = own.map(|(rank, look)| entry(look.label.clone(), rank)).collect();
    let more = picture.looks.len().saturating_sub(picture.legend);
    if more > 0 {
        entries.push(entry(format!("{more} more"), picture.legend));
    }
    entries
}
