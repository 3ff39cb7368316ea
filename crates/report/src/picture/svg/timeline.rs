//! Detours over time, as wide as both columns of a paper, with one panel for each CPU.

use super::frame::{BELOW, Frame, Scale, Ticks};
use super::legend::{Entry, legend};
use super::sheet::{self, Anchor, Drawing, PAGE, Path, Sheet, TEXT};
use crate::palette::{Color, MORE, SHARED};
use crate::picture::axis::{Axis, Quantity};
use crate::picture::chart::Draw;
use crate::picture::timeline::{Panel, Panels, lengths_axis};
use anechoic_analyze::timeline::Cell;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of marks of all panels: more make the file large without being distinguishable.
const MARKS: usize = 10_000;
/// Largest number of marks at which their shapes are still distinguishable.
const SHAPED: usize = 3_000;
/// Initial distance in points below which marks are merged, doubled as often as needed.
const NEAR: f64 = 0.25;

/// A mark: its position, its rank, and its number of detours.
#[derive(Debug, Clone, Copy)]
struct Placed {
    x: f64,
    y: f64,
    rank: usize,
    count: u64,
}

/// Draws the timeline.
pub(super) fn draw(picture: &Panels) -> Drawing {
    let time = Axis::linear("time since the start", Quantity::Time);
    let time = Axis { range: Some((0.0, picture.span_ns as f64)), ..time };
    let length = lengths_axis(picture.panels.iter().flat_map(|panel| &panel.cells));
    let each = match picture.panels.len() {
        0 | 1 => 150.0,
        2 => 110.0,
        _ => 85.0,
    };
    let sheet = Sheet { width: PAGE, height: each, screen: false };
    let y_ticks = Ticks::upright(&length, each, PAGE);
    let left = y_ticks.beside(&length);
    let (x_ticks, right) = Ticks::across(&time, (left, PAGE - TEXT - 9.0), PAGE);
    let x = Scale { axis: time, from: left, to: right };
    let frames: Vec<(Frame, Scale)> = (0..picture.panels.len())
        .map(|at| {
            let top = 5.0 + (each + 5.0) * at as f64;
            let frame = Frame { left, top, right, bottom: top + each, sheet };
            (frame, Scale { axis: length.clone(), from: frame.bottom, to: top })
        })
        .collect();
    let bottom = frames.last().map_or(5.0, |(frame, _)| frame.bottom);
    let all = Frame { left, top: 5.0, right, bottom, sheet };
    let places =
        |panel: &Panel, y: &Scale| panel.cells.iter().map(|cell| place(cell, &x, y)).collect();
    let marks: Vec<Vec<Placed>> =
        picture.panels.iter().zip(&frames).map(|(panel, (_, y))| places(panel, y)).collect();
    let marks = thinned(marks);
    let looks = Looks::new(picture);
    let few = marks.iter().map(Vec::len).sum::<usize>() <= SHAPED;
    let (keys, keys_height) = legend(&looks.entries(picture), left, bottom + BELOW, right - left);
    let body = html! {
        @for ((panel, (frame, y)), marks) in picture.panels.iter().zip(&frames).zip(&marks) {
            (frame.grid((&x_ticks, &x), (&y_ticks, y)))
            (dots(marks, &looks, if few { 1.3 } else { 0.75 }))
            (frame.outline())
            (frame.vertical_ticks(&y_ticks, y))
            (sheet::turned((frame.right + TEXT + 3.0, (frame.top + frame.bottom) / 2.0), 90.0, Anchor::Middle, &format!("CPU {}", panel.cpu)))
        }
        (all.horizontal(&x_ticks, &x))
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

/// Merges adjacent marks of a source until there are few enough; the longest keeps its position.
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

/// Returns colour and shape of each rank. Shapes go by rank, so that the first ones differ even without colour.
struct Looks {
    /// Look of each rank; absent for those that share the last entry, because there are no further colours and shapes.
    own: Vec<Option<(Color, usize)>>,
}

impl Looks {
    fn new(picture: &Panels) -> Self {
        let mut taken = BTreeSet::new();
        let own = picture.looks.iter().enumerate().map(|(rank, look)| {
            let mut shapes = (0..SHARED).map(|by| (rank + by) % SHARED);
            let free = |shape: &usize| !taken.contains(&(look.color.name, *shape));
            let shape = shapes.find(free).filter(|_| rank < picture.legend)?;
            taken.insert((look.color.name, shape));
            Some((look.color, shape))
        });
        Self { own: own.collect() }
    }

    /// Returns the group that is drawn at once: a rank, or, after all ranks, those without a look.
    fn group(&self, rank: usize) -> usize {
        if self.own.get(rank).is_some_and(Option::is_some) { rank } else { self.own.len() }
    }

    fn get(&self, group: usize) -> (Color, usize) {
        let own = self.own.get(group).copied().flatten();
        own.unwrap_or((MORE, SHARED))
    }

    fn entries(&self, picture: &Panels) -> Vec<Entry> {
        let own = picture.looks.iter().enumerate().filter(|(rank, _)| self.own[*rank].is_some());
        let mut entries: Vec<Entry> =
            own.map(|(rank, look)| self.entry(look.label.clone(), rank)).collect();
        let more = picture.looks.len() - entries.len();
        if more > 0 {
            entries.push(self.entry(format!("{more} more"), self.own.len()));
        }
        entries
    }

    fn entry(&self, text: String, group: usize) -> Entry {
        let (color, shape) = self.get(group);
        Entry { text, color: color.light, shape, dashes: "", draw: Draw::Points, area: false }
    }
}

/// Draws the marks, with rarer sources on top.
fn dots(marks: &[Placed], looks: &Looks, r: f64) -> Markup {
    let mut paths: BTreeMap<usize, Path> = BTreeMap::new();
    for mark in marks {
        let group = looks.group(mark.rank);
        let r = r * (1.0 + 0.35 * (mark.count.max(1) as f64).log10());
        paths.entry(group).or_default().shape(looks.get(group).1, mark.x, mark.y, r);
    }
    html! { @for (group, path) in &paths {
        @let (color, shape) = looks.get(*group);
        (path.shapes(shape, color.light, r))
    } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette;
    use crate::picture::Look;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn few_enough_and_no_extreme_is_lost(
            marks in prop::collection::vec((0.0..480.0, 5.0..120.0, 0usize..3, 1u64..9), 1..400),
        ) {
            let placed = |&(x, y, rank, count): &(f64, f64, usize, u64)| Placed { x, y, rank, count };
            let marks: Vec<Placed> = marks.iter().map(placed).collect();
            for near in [0.25, 20.0, PAGE] {
                let fewer = together(&marks, near);
                let count = |marks: &[Placed]| marks.iter().map(|mark| mark.count).sum::<u64>();
                prop_assert_eq!(count(&marks), count(&fewer));
                for rank in 0..3 {
                    let highest = |marks: &[Placed]| {
                        let ranked = marks.iter().filter(|mark| mark.rank == rank);
                        ranked.map(|mark| mark.y).fold(f64::INFINITY, f64::min)
                    };
                    prop_assert_eq!(highest(&marks), highest(&fewer));
                }
            }
        }
    }

    #[test]
    fn marks_fit_into_the_budget() {
        let mark = |at: u32| Placed {
            x: f64::from(at % 997) / 2.0,
            y: f64::from(at % 883) / 8.0,
            rank: (at % 7) as usize,
            count: 1,
        };
        let marks: Vec<Placed> = (0..90_000).map(mark).collect();
        let left = thinned(vec![marks.clone(), marks]);
        let count = left.iter().map(Vec::len).sum::<usize>();
        assert!((MARKS / 3..=MARKS).contains(&count), "{count}");
    }

    #[test]
    fn no_two_entries_look_alike() {
        let look = |number: usize| Look {
            source: "thread".into(),
            name: number.to_string(),
            label: number.to_string(),
            color: palette::source_color("thread"),
            shape: number,
            number,
        };
        let picture =
            Panels { span_ns: 1, looks: (0..20).map(look).collect(), legend: 11, panels: vec![] };
        let looks = Looks::new(&picture);
        let entries = looks.entries(&picture);
        let kinds: BTreeSet<(&str, usize)> =
            entries.iter().map(|entry| (entry.color, entry.shape)).collect();
        assert_eq!(kinds.len(), entries.len());
        assert_eq!(entries.last().map(|entry| entry.text.as_str()), Some("15 more"));
        assert_eq!((looks.group(4), looks.group(5), looks.group(19)), (4, 20, 20));
    }
}
