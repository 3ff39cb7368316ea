//! Which CPU loses how much to which source, as a map.

use super::{Part, Section};
use crate::html::chart::swatch;
use crate::html::looks::{self, Look};
use crate::html::page::Page;
use crate::units::noise;
use anechoic_analyze::timeline::{CpuTimeline, Timeline};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "cpus",
    title: "CPU by source",
    short: "CPUs",
    has: |part| {
        let known = |timeline: &Timeline| timeline.charged.iter().skip(1).any(|of| of.count > 0);
        part.timeline.as_ref().is_some_and(|timeline| timeline.cpus.len() > 1 && known(timeline))
    },
    render,
};

/// Sources with a column of their own.
const COLUMNS: usize = 9;
/// CPUs that are shown, the noisiest.
const ROWS: usize = 128;
/// The darkest cell and one that is just seen lie so many factors of ten apart.
const DECADES: f64 = 4.0;

fn render(part: &Part, page: &mut Page) -> Markup {
    let Some(timeline) = &part.timeline else { return html! {} };
    let looks = looks::of(part);
    let (shown, others) = looks.split_at(looks.len().min(COLUMNS));
    let mut cpus: Vec<&CpuTimeline> = timeline.cpus.iter().collect();
    let lost = |cpu: &CpuTimeline| part_of(cpu, cpu.lost_ns.iter().sum());
    if cpus.len() > ROWS {
        cpus.sort_by(|a, b| lost(b).total_cmp(&lost(a)).then(a.cpu.cmp(&b.cpu)));
        cpus.truncate(ROWS);
    }
    let of = |cpu: &CpuTimeline, looks: &[Look]| {
        let ns = looks.iter().filter_map(|look| cpu.lost_ns.get(look.number));
        part_of(cpu, ns.sum())
    };
    let most =
        cpus.iter().flat_map(|cpu| shown.iter().map(|look| of(cpu, std::slice::from_ref(look))));
    let most = most.fold(0.0, f64::max);
    let number = page.figure();
    html! {
        figure {
            div.wide tabindex="0" role="region" aria-label="CPU by source" { table.heat {
                thead { tr {
                    th scope="col" { "CPU" }
                    @for look in shown { th scope="col" { (swatch(look.color, look.shape)) span { (look.label) } } }
                    @if !others.is_empty() { th scope="col" { span { (others.len()) " more" } } }
                    th scope="col" { span { "all" } }
                } }
                tbody { @for cpu in &cpus {
                    tr {
                        th scope="row" { (cpu.cpu) }
                        @for look in shown { (cell(of(cpu, std::slice::from_ref(look)), most)) }
                        @if !others.is_empty() { (cell(of(cpu, others), most)) }
                        td.sum { (noise(lost(cpu))) }
                    }
                } }
            } }
            figcaption { b { "Figure " (number) ". " } "Part of each CPU's time that each source took; shades are logarithmic over four factors of ten."
                @if cpus.len() < timeline.cpus.len() { " The " (ROWS) " noisiest of " (timeline.cpus.len()) " CPUs." }
            }
        }
    }
}

fn part_of(cpu: &CpuTimeline, ns: u64) -> f64 {
    if cpu.wall_ns == 0 { 0.0 } else { ns as f64 / cpu.wall_ns as f64 }
}

fn cell(value: f64, most: f64) -> Markup {
    if value <= 0.0 {
        return html! { td.none { "·" } };
    }
    let shade = (1.0 + (value / most).log10() / DECADES).clamp(0.02, 1.0);
    html! { td class=(if shade > 0.6 { "strong" } else { "" }) style=(format!("--v:{shade:.2}")) { (noise(value)) } }
}
