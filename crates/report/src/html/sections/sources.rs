//! The section on what took the time: a sortable table, and a description of each source.

use super::{Part, Section};
use crate::html::figure::swatch;
use crate::html::looks;
use crate::html::page::Page;
use crate::names::source_name;
use crate::owners;
use crate::results::summary::SUMMARY;
use crate::screen::Screen;
use crate::sources::{cpus, notes, shown, total_ns};
use crate::style::{View, plain};
use crate::units::{count, length, noise, rate, share, time};
use anechoic_analyze::Breakdown;
use anechoic_analyze::Summary;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::suspects::Suspect;
use anechoic_recording::sources;
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "sources",
    title: "What took the time",
    short: "Sources",
    stands_for: &[&SUMMARY],
    has: |part| {
        let summary = part.get::<Summary>();
        summary.is_some_and(|summary| summary.sources.is_some() || summary.suspects.is_some())
    },
    render,
};

fn render(part: &Part, _: &mut Page) -> Markup {
    let Some(summary) = part.get::<Summary>() else { return html! {} };
    match (&summary.sources, &summary.suspects) {
        (Some(found), _) if found.rows.is_empty() => {
            html! { p { "There are no detours." } }
        }
        (Some(found), _) => html! {
            (table(found, part))
            (whose(summary))
            (glossary(found, &summary.run))
        },
        (None, Some(found)) => html! { (suspects(found, &summary.run)) (whose(summary)) },
        (None, None) => html! {},
    }
}

/// Returns whose the lost time is, as the screen shows it.
fn whose(summary: &Summary) -> Screen {
    let view = View { all: true, ..View::default() };
    Screen::from_fn(|screen| owners::add(summary, &view, screen))
}

/// The columns: heading, whether it is a number, and explanation.
const HEADS: [(&str, bool, &str); 12] = [
    ("source", false, "What the CPU did instead"),
    ("share", true, "Share of the lost time, including entry and exit gaps"),
    ("total", true, "Sum of the shares of this row and those above it"),
    ("detours", true, "Number of detours that contain it"),
    ("time", true, "All time that it took, on all CPUs together"),
    ("noise", true, "Share of the CPUs' time"),
    ("per s", true, "Rate of detours that contain it, per CPU that has any"),
    ("median", true, "Median of its time in a detour"),
    ("p99", true, "99th percentile of its time in a detour"),
    ("longest", true, "Maximum of its time in a detour"),
    ("gaps", true, "Entry and exit gaps in its median: trap, return, VM exit"),
    ("CPUs", true, "CPUs on which it occurred"),
];

fn table(found: &Breakdown, part: &Part) -> Markup {
    let looks = looks::from_part(part);
    let Some(facts) = part.facts() else { return html! {} };
    let totals = found.rows.iter().scan(0.0, |sum, row| {
        *sum += row.share;
        Some(*sum)
    });
    let totals: Vec<f64> = totals.collect();
    let rows = shown(&found.rows);
    let unattributed = found.coverage.map_or(0.0, |coverage| coverage.unattributed);
    html! {
        p.note { "Click a heading to sort. The column \"total\" adds up the shares from the top." }
        div.wide tabindex="0" role="region" aria-label="Sources of noise" {
            table.sortable data-total="2" data-rows=(rows) {
                thead { tr { @for (at, (head, number, what)) in HEADS.iter().enumerate() {
                    th scope="col" class=(if *number { "n" } else { "" }) title=(what)
                        aria-sort=[(at == 1).then_some("descending")] {
                        @if at == 2 { (head) } @else { button type="button" { (head) } }
                    }
                } } }
                tbody {
                    @for (row, total) in found.rows.iter().zip(&totals) {
                        @let (color, shape) = looks::find(&looks, &row.source, &row.name);
                        tr {
                            th scope="row" data-v=(source_name(&row.source, &row.name, &facts)) {
                                (swatch(color, shape)) (source_name(&row.source, &row.name, &facts))
                                @let notes = notes(row, &facts);
                                @if !notes.is_empty() { small { (notes.join(" · ")) } }
                            }
                            td.n.bar data-v=(row.share) style=(format!("--v:{:.4}", row.share)) { (share(row.share)) }
                            td.n.total { (share(*total)) }
                            td.n data-v=(row.detours) { (count(row.detours)) }
                            td.n data-v=(total_ns(row, &facts)) { (time(total_ns(row, &facts))) }
                            td.n data-v=(row.noise) { (noise(row.noise)) }
                            td.n data-v=(row.rate_per_s) { (rate(row.rate_per_s)) }
                            td.n data-v=(row.charged.p50_ns) { (length(row.charged.p50_ns)) }
                            td.n data-v=(row.charged.p99_ns) { (length(row.charged.p99_ns)) }
                            td.n data-v=(row.charged.max_ns) { (length(row.charged.max_ns)) }
                            td.n data-v=(row.gap_p50_ns) { (length(row.gap_p50_ns)) }
                            td.n data-v=(row.cpus.len()) { (cpus(&row.cpus, facts.cpus.len())) }
                        }
                    }
                }
            }
        }
        @if found.rows.len() > rows {
            p { button.more type="button" data-more { "Show all " (count(found.rows.len() as u64)) " sources" } }
        }
        @if unattributed > 0.0 { p { "No activity is recorded for " (share(unattributed)) " of the lost time." } }
    }
}

/// Returns a description of each kind of source in the table, and what reduces it.
fn glossary(found: &Breakdown, run: &Facts) -> Markup {
    let mut kinds: Vec<&str> = vec![];
    for row in &found.rows {
        if !kinds.contains(&row.source.as_str()) {
            kinds.push(&row.source);
        }
    }
    html! {
        details {
            summary { "What these sources are, and what reduces them" }
            dl.glossary {
                @for kind in kinds.into_iter().filter_map(sources::find) {
                    dt { (source_name(kind.id, "", run)) }
                    dd { p { (kind.what) } ul { @for reduce in kind.reduce { li { (reduce) } } } }
                }
            }
        }
    }
}

/// Returns what the kernel's own counters suggest when no kernel events were recorded.
fn suspects(found: &[Suspect], run: &Facts) -> Markup {
    html! {
        p.note { "No kernel events were recorded, so it is not certain what took the time. The suspects are the kernel counters that increased." }
        @if found.is_empty() { p { "None: no kernel counter increased, or none could be read." } }
        @else {
            div.wide tabindex="0" role="region" aria-label="Suspects" { table.sortable {
                thead { tr {
                    th scope="col" { button type="button" { "counter" } }
                    th.n scope="col" { button type="button" { "share of the time" } }
                    th.n scope="col" { button type="button" { "per s" } }
                    th.n scope="col" { "CPUs" }
                } }
                tbody { @for suspect in found {
                    tr {
                        th scope="row" data-v=(plain(&suspect.what)) { (plain(&suspect.what)) }
                        td.n data-v=(suspect.time_share.unwrap_or(-1.0)) { (suspect.time_share.map_or("–".into(), share)) }
                        td.n data-v=(suspect.rate_per_s.unwrap_or(-1.0)) { (suspect.rate_per_s.map_or("–".into(), rate)) }
                        td.n { (cpus(&suspect.cpus, run.cpus.len())) }
                    }
                } }
            } }
        }
    }
}
