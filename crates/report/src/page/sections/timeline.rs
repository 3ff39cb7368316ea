//! The section that draws each detour as a point, time against length, with one panel for each CPU and the parts of a
//! detour beside them.

use super::{Part, Section};
use crate::names::{role, sender};
use crate::page::data;
use crate::page::looks;
use crate::page::looks::swatch;
use crate::page::state::Page;
use crate::palette::{MORE, SHAPES, SHARED};
use crate::picture::{Look, Panel, Panels, Picture as Kept, lengths_axis};
use crate::results::longest;
use crate::screen::Screen;
use crate::style::plain;
use crate::units::counted;
use anechoic_analyze::Summary;
use anechoic_analyze::timeline::{Cell, CpuTimeline, Story, StoryRow, Timeline};
use anechoic_recording::ActivityKind;
use maud::{Markup, html};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

pub(super) const SECTION: Section = Section {
    id: "timeline",
    title: "Every detour over time",
    short: "Timeline",
    has: |part| part.get::<Timeline>().is_some_and(|timeline| timeline.lengths.count > 0),
    render,
};

/// Largest number of sources with an entry in the legend; the others share one.
const LEGEND: usize = 11;
/// Bits for the number of a source in a packed word; the others hold the count.
const SOURCE_BITS: u32 = 10;
const MOST_COUNT: u32 = (1 << (32 - SOURCE_BITS)) - 1;

/// The data that the script draws.
#[derive(Serialize)]
struct Picture<'a> {
    span_ns: u64,
    lengths: Lengths,
    /// The sources by the time that they took, the most first.
    sources: Vec<SourceLook<'a>>,
    /// Sources from this rank on share one entry of the legend.
    legend: usize,
    /// The look of the marks of these sources.
    more: SourceLook<'a>,
    cpus: Vec<Cpu>,
    stories: Vec<PackedStory>,
    /// Texts that stories refer to by number.
    words: Vec<String>,
    kinds: [&'static str; 7],
}

/// The vertical axis: its ends, and values with their labels.
#[derive(Serialize)]
struct Lengths {
    low: f64,
    high: f64,
    ticks: Vec<(f64, String)>,
}

/// Largest number of axis ticks on the vertical axis, because panels are low.
const TICKS: usize = 6;

fn lengths(timeline: &Timeline) -> Lengths {
    let axis = lengths_axis(timeline.cpus.iter().flat_map(|cpu| &cpu.cells));
    let (low, high) = axis.ends();
    let ticks = axis.ticks(TICKS, |_| true).into_iter();
    Lengths { low, high, ticks: ticks.map(|tick| (tick.value, tick.label)).collect() }
}

#[derive(Serialize)]
struct SourceLook<'a> {
    label: &'a str,
    color: &'static str,
    shape: usize,
}

/// The cells of one CPU as bytes in base64.
#[derive(Serialize)]
struct Cpu {
    cpu: u32,
    detours: u64,
    cells: usize,
    /// Start, as a part of the span in units of 2⁻³².
    starts: String,
    /// Length, in ns.
    lengths: String,
    /// Rank of the source in the upper ten bits, how many detours in the others.
    packed: String,
}

/// A story: index of its CPU, its cell there (−1 if a longer detour represents it), start, length, rank, steal, rows,
/// number of omitted rows and their time.
type PackedStory = (usize, i64, u64, u64, usize, Option<u64>, Vec<PackedRow>, u64, u64);
/// A row of a story: kind, depth, rank of the source, function, sender, start, own time.
type PackedRow = (usize, u32, usize, Option<usize>, Option<usize>, u64, u64);

fn render(part: &Part, page: &mut Page) -> Markup {
    let known = part.get::<Timeline>().zip(part.facts());
    let Some((timeline, facts)) = known else { return html! {} };
    let (looks, own) = ranked(looks::from_timeline(timeline, &facts));
    let id = page.id("timeline");
    let number = page.figure();
    page.keep(number, "", &caption(timeline), || {
        Kept::Timeline(panels(timeline, looks.clone(), own))
    });
    let several = timeline.cpus.len() > 1;
    html! {
        figure.timeline data-timeline=(id) {
            div.tools {
                @if several { (chooser(timeline)) }
                span.buttons role="group" aria-label="Zoom" {
                    button type="button" data-do="in" title="Zoom in (+)" { "Zoom in" }
                    button type="button" data-do="out" title="Zoom out (−)" { "Zoom out" }
                    button type="button" data-do="left" aria-label="Earlier" title="Earlier (Shift ←)" { "←" }
                    button type="button" data-do="right" aria-label="Later" title="Later (Shift →)" { "→" }
                    button type="button" data-do="reset" title="All (0)" { "All" }
                }
            }
            div.panels {}
            (legend(&looks, own))
            div.story aria-live="polite" { p.hint { "Point at a detour, or select the chart with Tab and use the arrow keys, to see what happened in it." } }
            figcaption {
                b { "Figure " (number) ". " }
                (MARKS) " Drag to zoom, Shift-drag or use the arrows to move, double-click to show all."
                (merged(timeline))
            }
            (data::element(&id, &picture(timeline, &looks, own)))
        }
        (longest_table(part))
    }
}

/// Returns the sources by rank, and how many have an entry of their own in the legend: the first of each colour,
/// because marks that are too dense for shapes can only be distinguished by colour.
fn ranked(looks: Vec<Look>) -> (Vec<Look>, usize) {
    let (mut own, mut shared): (Vec<Look>, Vec<Look>) = (vec![], vec![]);
    for look in looks {
        let is_new = own.len() < LEGEND && own.iter().all(|known| known.color != look.color);
        if is_new { own.push(look) } else { shared.push(look) }
    }
    let count = own.len();
    own.append(&mut shared);
    (own, count)
}

/// Explains the marks.
const MARKS: &str = "Each mark is a detour: its start, its length, and by colour the source that took most of it. Detours too close to distinguish share one mark at the height of the longest; its size grows with their number.";
/// Largest number of CPUs with a panel.
const PANELS: usize = 4;

/// Returns the caption of the static figure.
fn caption(timeline: &Timeline) -> String {
    let detours = counted(timeline.lengths.count, "detour", "detours");
    match timeline.cpus.len() {
        all @ ..=PANELS => format!("{MARKS} {detours} on {}.", counted(all as u64, "CPU", "CPUs")),
        all => format!("{MARKS} The {PANELS} noisiest of {all} CPUs, with {detours} in all."),
    }
}

/// Returns the panels of the noisiest CPUs, which are shown at first.
fn panels(timeline: &Timeline, looks: Vec<Look>, legend: usize) -> Panels {
    let mut cpus: Vec<&CpuTimeline> = timeline.cpus.iter().collect();
    cpus.sort_by_key(|cpu| {
        (Reverse(cpu.lost_ns.iter().copied().fold(0, u64::saturating_add)), cpu.cpu)
    });
    cpus.truncate(PANELS);
    cpus.sort_by_key(|cpu| cpu.cpu);
    let ranks = ranks(timeline, &looks);
    let ranked = |cell: &Cell| Cell { source: ranks[cell.source as usize] as u32, ..*cell };
    let panel =
        |cpu: &CpuTimeline| Panel { cpu: cpu.cpu, cells: cpu.cells.iter().map(ranked).collect() };
    let panels = cpus.into_iter().map(panel).collect();
    Panels { span_ns: timeline.span_ns.max(1), looks, legend, panels }
}

/// Returns the rank of each source by its number.
fn ranks(timeline: &Timeline, looks: &[Look]) -> Vec<usize> {
    let mut ranks = vec![0; timeline.sources.len()];
    for (rank, look) in looks.iter().enumerate() {
        ranks[look.number] = rank;
    }
    ranks
}

/// Returns the selector of the CPUs to show.
fn chooser(timeline: &Timeline) -> Markup {
    html! {
        label { "CPUs "
            select data-do="cpus" {
                option value="worst" { @if timeline.cpus.len() > PANELS { "the " (PANELS) " noisiest" } @else { "all" } }
                @for (at, cpu) in timeline.cpus.iter().enumerate() { option value=(at) { "CPU " (cpu.cpu) } }
            }
        }
    }
}

fn merged(timeline: &Timeline) -> Markup {
    let marks: usize = timeline.cpus.iter().map(|cpu| cpu.cells.len()).sum();
    html! { " " (counted(timeline.lengths.count, "detour", "detours")) " in " (counted(marks as u64, "mark", "marks")) "; "
    (counted(timeline.stories.len() as u64, "detour", "detours")) " with all parts." }
}

fn legend(looks: &[Look], own: usize) -> Markup {
    html! {
        ul.legend aria-label="sources; press to hide" {
            @for (at, look) in looks.iter().take(own).enumerate() {
                li { button type="button" aria-pressed="true" data-source=(at) { (swatch(look.color, look.shape)) (look.label) } }
            }
            @if looks.len() > own {
                li { button type="button" aria-pressed="true" data-source=(own) { (swatch(MORE, SHARED)) (looks.len() - own) " more" } }
            }
        }
    }
}

fn picture<'a>(timeline: &Timeline, looks: &'a [Look], legend: usize) -> Picture<'a> {
    let ranks = ranks(timeline, looks);
    let sources = looks.iter().map(|look| SourceLook {
        label: &look.label,
        color: look.color.name,
        shape: look.shape % SHAPES,
    });
    let mut words = Words::default();
    let stories = timeline
        .stories
        .iter()
        .map(|story| packed_story(story, timeline, &ranks, &mut words))
        .collect();
    Picture {
        span_ns: timeline.span_ns.max(1),
        lengths: lengths(timeline),
        sources: sources.collect(),
        legend,
        more: SourceLook { label: "", color: MORE.name, shape: SHARED },
        cpus: timeline.cpus.iter().map(|cpu| cells(cpu, timeline.span_ns.max(1), &ranks)).collect(),
        stories,
        words: words.texts,
        kinds: ActivityKind::ALL.map(role),
    }
}

fn cells(cpu: &CpuTimeline, span_ns: u64, ranks: &[usize]) -> Cpu {
    Cpu {
        cpu: cpu.cpu,
        detours: cpu.detours,
        cells: cpu.cells.len(),
        starts: data::u32s(cpu.cells.iter().map(|cell| packed_start(cell, span_ns))),
        lengths: data::f32s(cpu.cells.iter().map(|cell| cell.length_ns as f32)),
        packed: data::u32s(cpu.cells.iter().map(|cell| packed_source(cell, ranks))),
    }
}

/// Returns the start of a cell as a part of the span, in units of 2⁻³².
fn packed_start(cell: &Cell, span_ns: u64) -> u32 {
    let part = (u128::from(cell.start_ns) << 32) / u128::from(span_ns);
    u32::try_from(part).unwrap_or(u32::MAX)
}

/// Returns the rank of the source of a cell in the upper bits, and its number of detours in the others.
fn packed_source(cell: &Cell, ranks: &[usize]) -> u32 {
    let rank = (ranks[cell.source as usize] as u32).min((1 << SOURCE_BITS) - 1);
    rank << (32 - SOURCE_BITS) | cell.count.min(MOST_COUNT)
}

/// Texts by number, without repetitions.
#[derive(Default)]
struct Words {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Words {
    fn number(&mut self, text: String) -> usize {
        if let Some(&number) = self.numbers.get(&text) {
            return number;
        }
        self.texts.push(text.clone());
        self.numbers.insert(text, self.texts.len() - 1);
        self.texts.len() - 1
    }
}

fn packed_story(
    story: &Story,
    timeline: &Timeline,
    ranks: &[usize],
    words: &mut Words,
) -> PackedStory {
    let place = timeline.cpus.iter().position(|cpu| cpu.cpu == story.cpu).unwrap_or(0);
    let rows = story.rows.iter().map(|row| packed_row(row, ranks, words)).collect();
    let cell = timeline.cpus.get(place).map_or(-1, |cpu| cell_of(&cpu.cells, story));
    let rank = ranks[story.source as usize];
    (
        place,
        cell,
        story.start_ns,
        story.length_ns,
        rank,
        story.steal_ns,
        rows,
        story.more,
        story.more_ns,
    )
}

fn packed_row(row: &StoryRow, ranks: &[usize], words: &mut Words) -> PackedRow {
    let sent = sender(row.sent_by_cpu, row.sent_by_task.as_deref());
    (
        row.kind as usize,
        row.depth,
        ranks[row.source as usize],
        row.function.as_deref().map(|function| words.number(plain(function))),
        sent.map(|sent| words.number(sent)),
        row.start_ns,
        row.self_ns,
    )
}

/// Returns the cell that shows this detour; −1 if a longer detour represents it.
fn cell_of(cells: &[Cell], story: &Story) -> i64 {
    let from = cells.partition_point(|cell| cell.start_ns < story.start_ns);
    let near = cells[from..].iter().take_while(|cell| cell.start_ns == story.start_ns);
    let found = near.enumerate().find(|(_, cell)| cell.length_ns == story.length_ns);
    found.map_or(-1, |(at, _)| (from + at) as i64)
}

/// Returns a table of the longest detours, also for readers who cannot see the chart.
fn longest_table(part: &Part) -> Markup {
    let Some(summary) = part.get::<Summary>().filter(|summary| !summary.longest.is_empty()) else {
        return html! {};
    };
    html! {
        h3 { "The longest detours" }
        (Screen::from_fn(|screen| screen.table(longest::table(&summary.longest, &summary.run, true))))
    }
}
