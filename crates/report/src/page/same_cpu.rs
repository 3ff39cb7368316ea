//! One CPU of several recordings over time, in panels of one scale (Kärner 2014, Figures 3 c and d).

use super::state::Page;
use super::{HtmlReport, Part};
use crate::picture::{Axis, Chart, Curve, Draw, Quantity, lengths_axis};
use crate::style::plain;
use crate::units::counted;
use anechoic_analyze::timeline::{Cell, CpuTimeline, Timeline};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Largest number of panels.
const MOST: usize = 6;
/// Number of places on the horizontal and on the vertical axis; one detour is drawn in each.
const PLACES: (f64, f64) = (200.0, 60.0);

/// Returns the panels; nothing unless several recordings have a CPU in common.
pub(super) fn panels(report: &HtmlReport, page: &mut Page) -> Markup {
    let timelines: Vec<(&Part, &Timeline)> =
        report.recordings.iter().filter_map(|part| Some((part, part.get()?))).collect();
    let Some(cpu) = noisiest(&timelines) else { return html! {} };
    let place = |timeline: &Timeline| timeline.cpus.iter().position(|row| row.cpu == cpu);
    let shown = timelines
        .iter()
        .filter_map(|&(part, timeline)| Some((part, timeline, &timeline.cpus[place(timeline)?])));
    let shown: Vec<(&Part, &Timeline, &CpuTimeline)> = shown.take(MOST).collect();
    let span = shown.iter().map(|(_, timeline, _)| timeline.span_ns).max().unwrap_or(0) as f64;
    let lengths = lengths_axis(shown.iter().flat_map(|(_, _, cpu_timeline)| &cpu_timeline.cells));
    let more = timelines.len() - shown.len();
    page.begin_section("same-cpu");
    html! {
        section #same-cpu {
            h2 { "CPU " (cpu) " of each recording" }
            @for (part, _, cpu_timeline) in &shown {
                @let time = Axis::linear("since the start", Quantity::Time).over([0.0, span]);
                @let points = drawn(&cpu_timeline.cells, span, lengths.ends());
                @let curve = Curve::numbered(0, plain(&part.name).to_string(), Draw::Points, &points);
                @let chart = Chart::new(time, lengths.clone(), vec![curve]).named(format!("{} CPU {cpu}", part.name));
                (chart.figure(&format!("Detours of CPU {cpu} in {}, on the scale of all recordings.", plain(&part.name)), page))
            }
            @if more > 0 { p.note { (counted(more as u64, "more recording is", "more recordings are")) " not drawn here." } }
        }
    }
}

/// Returns the CPU that lost most among those that all recordings measured, of two recordings or more.
fn noisiest(timelines: &[(&Part, &Timeline)]) -> Option<u32> {
    if timelines.len() < 2 {
        return None;
    }
    let cpus =
        |timeline: &Timeline| timeline.cpus.iter().map(|cpu| cpu.cpu).collect::<BTreeSet<u32>>();
    let first = cpus(timelines[0].1);
    let common = first
        .into_iter()
        .filter(|cpu| timelines.iter().all(|(_, timeline)| cpus(timeline).contains(cpu)));
    // The first of equal ones.
    common.rev().max_by_key(|cpu| -> u64 {
        timelines.iter().map(|(_, timeline)| lost_ns(timeline, *cpu)).sum()
    })
}

/// Returns the time that a CPU lost.
fn lost_ns(timeline: &Timeline, cpu: u32) -> u64 {
    let all = timeline.cpus.iter().filter(|cpu_timeline| cpu_timeline.cpu == cpu);
    all.flat_map(|cpu_timeline| &cpu_timeline.lost_ns).sum()
}

/// Returns start and length of the detours, of those at one place the first.
fn drawn(cells: &[Cell], span: f64, (low, high): (f64, f64)) -> Vec<(f64, f64)> {
    let mut taken = BTreeSet::new();
    let points = cells.iter().map(|cell| (cell.start_ns as f64, cell.length_ns.max(1) as f64));
    let drawn = points.filter(|(start, length)| {
        let across = start / span.max(1.0) * PLACES.0;
        let up = (length / low).ln() / (high / low).ln() * PLACES.1;
        taken.insert((across as i64, up as i64))
    });
    drawn.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_detours_at_a_place_is_drawn() {
        let cell = |start_ns, length_ns| Cell { start_ns, length_ns, count: 1, source: 0 };
        let cells: Vec<Cell> = (0..10_000).map(|at| cell(at * 100, 1_000 + at % 3)).collect();
        let drawn = drawn(&cells, 1e6, (100.0, 1e6));
        assert!(
            drawn.len() <= 2 * PLACES.0 as usize && drawn.len() >= PLACES.0 as usize,
            "{}",
            drawn.len()
        );
        assert!(drawn.is_sorted_by(|a, b| a.0 <= b.0));
    }
}
