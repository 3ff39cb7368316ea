//! The section with a map of the time that each CPU loses to each source.

use super::{Part, Section};
use crate::page::looks;
use crate::page::state::Page;
use crate::picture::{Cell, Column, Heat, Look, Row};
use crate::units::noise;
use anechoic_analyze::timeline::{CpuTimeline, Timeline};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "cpus",
    title: "CPU by source",
    short: "CPUs",
    has: |part| {
        let known = |timeline: &Timeline| {
            timeline.charged.iter().skip(1).any(|durations| durations.count > 0)
        };
        part.get::<Timeline>().is_some_and(|timeline| timeline.cpus.len() > 1 && known(timeline))
    },
    render,
};

/// Number of sources with a column of their own.
const COLUMNS: usize = 9;
/// Largest number of CPUs, of which the noisiest are shown.
const ROWS: usize = 128;
/// Factors of ten between the darkest cell and the lightest visible one.
const DECADES: f64 = 4.0;

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(timeline) = part.get::<Timeline>() else { return html! {} };
    let looks = looks::from_part(part);
    let (shown, others) = looks.split_at(looks.len().min(COLUMNS));
    let mut cpus: Vec<&CpuTimeline> = timeline.cpus.iter().collect();
    let lost =
        |cpu: &CpuTimeline| part_of(cpu, cpu.lost_ns.iter().copied().fold(0, u64::saturating_add));
    if cpus.len() > ROWS {
        cpus.sort_by(|a, b| lost(b).total_cmp(&lost(a)).then(a.cpu.cmp(&b.cpu)));
        cpus.truncate(ROWS);
    }
    let one = |cpu: &CpuTimeline, look: &Look| lost_to(cpu, std::slice::from_ref(look));
    let most = cpus.iter().flat_map(|cpu| shown.iter().map(|look| one(cpu, look)));
    // The total comes first, because the last columns may be out of view.
    let mut columns = vec![Column::plain("all".into())];
    columns.extend(shown.iter().map(|look| Column {
        look: Some((look.color, look.shape)),
        ..Column::plain(look.label.clone())
    }));
    if !others.is_empty() {
        columns.push(Column::plain(format!("{} more", others.len())));
    }
    let mut rows = vec![];
    for cpu in &cpus {
        let mut cells = vec![Cell::text(noise(lost(cpu)))];
        cells.extend(shown.iter().map(|look| cell(one(cpu, look))));
        if !others.is_empty() {
            cells.push(cell(lost_to(cpu, others)));
        }
        rows.push(Row::new(cpu.cpu.to_string(), cells));
    }
    let heat = Heat {
        name: String::new(),
        title: String::new(),
        corner: "CPU".into(),
        columns,
        rows,
        most: most.fold(0.0, f64::max),
        decades: DECADES,
        write: noise,
    };
    let mut caption = "Share of each CPU's time that each source took; shades are logarithmic over four factors of ten.".to_owned();
    if cpus.len() < timeline.cpus.len() {
        caption += &format!(" The {ROWS} noisiest of {} CPUs.", timeline.cpus.len());
    }
    heat.figure("CPU by source", &caption, page)
}

/// Returns the share of a CPU's time that these sources took.
fn lost_to(cpu: &CpuTimeline, looks: &[Look]) -> f64 {
    let ns = looks.iter().filter_map(|look| cpu.lost_ns.get(look.number));
    part_of(cpu, ns.sum())
}

fn part_of(cpu: &CpuTimeline, ns: u64) -> f64 {
    if cpu.wall_ns == 0 { 0.0 } else { ns as f64 / cpu.wall_ns as f64 }
}

fn cell(value: f64) -> Cell {
    if value > 0.0 { Cell::value(value, noise(value)) } else { Cell::text("·") }
}
