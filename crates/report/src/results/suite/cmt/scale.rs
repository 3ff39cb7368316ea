//! The noise at scale: Figure 1 of the study.

use super::Place;
use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Quantity};
use crate::published::{CMT, find};
use crate::results::phases::words;
use crate::screen::Screen;
use crate::units::{asked, loss};
use anechoic_predict::phases::{Cell, GrainModel, PhaseModel};

/// The most processors of the figure.
const MOST: u64 = 1_024;
/// Experiment of the figure.
pub(super) const AT_MOST: &str = "slowdown at 1,024 processors";
/// Rows of the chart in the terminal.
const ROWS: usize = 8;

/// Adds the latency against the number of processors, predicted from the detours of this machine.
pub(super) fn figure_1(found: &PhaseModel, screen: &mut Screen) {
    screen.section("the noise at scale, predicted from detours of this machine (Figure 1)");
    found.grains.iter().filter_map(|grain| words::grain(found, grain)).for_each(|text| {
        screen.sentence(&text);
    });
    found.notes.iter().for_each(|note| screen.warning(note));
    let title = "Figure 1 · latency by the number of processors";
    let published = found.grains.iter().filter_map(|grain| {
        let place = place(grain)?;
        Some(format!(
            "{} at a grain of {}",
            find(&CMT, place[0], place[1], place[2])?.text(),
            place[1]
        ))
    });
    let published: Vec<String> = published.collect();
    screen.pictured(
        chart(found).titled(title, ROWS).named("figure 1"),
        format!(
            "As Figure 1 of the paper: what noise adds to a phase of the given length, against the number of processors. Lines: \
             predicted from the detours of this machine; points: more processors than the recording supports, an underestimate. \
             Grey: the slowdown on 1,024 processors in the study ({}).",
            published.join(", ")
        ),
    );
}

/// Returns the published slowdown of this grain, if the study has it.
fn place(grain: &GrainModel) -> Option<Place> {
    let rows = ["100 µs", "1 ms"];
    let row = rows.into_iter().find(|row| *row == asked(grain.grain_ns))?;
    Some([AT_MOST, row, "grain"])
}

/// Returns the time that noise adds to a phase.
fn latency_ns(grain: &GrainModel, cell: &Cell) -> f64 {
    (cell.slowdown() - 1.0) * grain.grain_ns as f64
}

/// Returns the latency for each number of ranks that the recording supports, or does not.
fn latencies(grain: &GrainModel, supported: bool) -> Vec<(f64, f64)> {
    let cells = grain.cells.iter().filter(|cell| cell.supported == supported);
    cells.map(|cell| (cell.ranks as f64, latency_ns(grain, cell))).collect()
}

fn chart(found: &PhaseModel) -> Chart {
    let mut curves = vec![];
    for (number, grain) in found.grains.iter().enumerate() {
        let length = asked(grain.grain_ns);
        let letter = ('A'..='Z').nth(number);
        let points = latencies(grain, true);
        let line = Curve::numbered(number, length.clone(), Draw::Line, &points);
        curves.push(line.lettered(letter));
        let (name, points) = (format!("{length}: underestimate"), latencies(grain, false));
        let few = Curve::numbered(number, name, Draw::Points, &points);
        if !few.x.is_empty() {
            curves.push(few.lettered(letter.map(|letter| letter.to_ascii_lowercase())));
        }
    }
    let there = found.grains.iter().filter_map(|grain| {
        let [experiment, row, column] = place(grain)?;
        let percent = find(&CMT, experiment, row, column)?.value.number()?;
        Some((MOST as f64, percent / 100.0 * grain.grain_ns as f64))
    });
    let mut points: Vec<(f64, f64)> = there.collect();
    // Both are 200 µs.
    points.dedup();
    let shape = found.grains.len();
    let name = "published, both grains".to_owned();
    curves.push(Curve::colored(palette::REST, shape, name, Draw::Points, &points));
    let x = Axis::log("processors", Quantity::Count);
    Chart::new(x, Axis::log("latency", Quantity::Time), curves)
}

/// Returns the slowdown on as many processors as in the study, of the grain of this published value.
pub(super) fn here(found: &PhaseModel, [_, row, _]: Place) -> Option<String> {
    let grain = found.grains.iter().find(|grain| asked(grain.grain_ns) == row)?;
    let cell = grain.cells.iter().find(|cell| cell.ranks == MOST)?;
    let at_least = if cell.supported { "" } else { "≥ " };
    Some(format!("{at_least}{}", loss(cell.slowdown() - 1.0)))
}
