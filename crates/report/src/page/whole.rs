//! The part of the page on all recordings together, and the table that links to each.

use super::sections::{Shown, render_all};
use super::state::Page;
use super::{HtmlReport, head};
use crate::results::Found;
use crate::results::cluster::{machine, ran, words};
use crate::style::{View, plain};
use crate::units::{counted, noise, timestamp};
use anechoic_analyze::cluster::Cluster;
use anechoic_analyze::compare::Comparison;
use anechoic_analyze::rank::Ranking;
use anechoic_analyze::sweep::Sweep;
use anechoic_analyze::{Repeat, Summary};
use maud::{Markup, html};

/// Returns the part on all recordings together; nothing for a single recording.
pub(super) fn whole(report: &HtmlReport, sections: &[Shown], page: &mut Page) -> Markup {
    let sections = render_all(sections, &report.together, 0, page);
    if sections.is_empty() {
        let several = report.recordings.len() > 1 || report.together.get::<Repeat>().is_some();
        return html! { @if several { (together(report, true)) } };
    }
    html! {
        article #all {
            (heading(report))
            @for section in sections { (section) }
        }
        @if !report.recordings.is_empty() { (together(report, false)) }
    }
}

/// Returns the number of recordings that the report was made from.
pub(super) fn made_from(report: &HtmlReport) -> u64 {
    let ranked = report.together.get::<Ranking>();
    let ranked = ranked.map_or(0, |ranking| {
        ranking.configurations.iter().map(|configuration| configuration.runs).sum()
    });
    let not_shown = report.not_shown.as_ref().map_or(0, |not_shown| not_shown.recordings);
    let compared = report.together.get::<Comparison>();
    let compared = compared.map_or(0, |comparison| comparison.before.runs + comparison.after.runs);
    let joined = report.together.get::<Sweep>().map_or(0, |sweep| sweep.measurements);
    report.recordings.len() as u64 + not_shown + ranked + compared + joined
}

fn heading(report: &HtmlReport) -> Markup {
    let sentences: Vec<String> = report.together.found.iter().flat_map(Found::headline).collect();
    html! {
        header.head {
            (head::headline(&sentences))
            @if let Some(found) = report.together.get::<Cluster>() { (about(found)) }
            @if let Some(not_shown) = &report.not_shown { p.warning {
                "This report shows all recordings together only: a file has room for the details of " (not_shown.most) " recordings, not of " (not_shown.recordings)
                ". To show a single host: " code { (plain(&not_shown.example)) }
            } }
        }
    }
}

/// Returns machines, what was measured, and the defects of the data set.
fn about(found: &Cluster) -> Markup {
    html! {
        @for kind in &found.machines { p.machine { (plain(&machine(kind))) } }
        p.ran { (plain(&ran(found))) @if let Some(job) = &found.job { " · " (plain(&words::job(job))) } }
        @for finding in &found.findings { p.warning { (plain(&finding.text)) } }
    }
}

/// Returns a table of all recordings, and mean and spread of repeated runs.
fn together(report: &HtmlReport, first: bool) -> Markup {
    let view = View { all: true, ..View::default() };
    let repeat = report.together.found.iter().find(|found| found.get::<Repeat>().is_some());
    let title = counted(report.recordings.len() as u64, "recording", "recordings");
    html! {
        section #together {
            @if first { h1 { (title) } } @else { h2 { (title) } }
            div.wide tabindex="0" role="region" aria-label="All recordings" {
                table {
                    thead { tr { th scope="col" { "recording" } th scope="col" { "host" } th scope="col" { "method" } th scope="col" { "start" } th.n scope="col" { "noise" } } }
                    tbody {
                        @for (at, part) in report.recordings.iter().enumerate() {
                            tr {
                                td { a href=(format!("#r{}", at + 1)) { (plain(&part.name)) } }
                                @if let Some(run) = &part.run {
                                    td { (plain(&run.machine.host)) }
                                    td { (plain(&run.method)) }
                                    td { (timestamp(&run.start_utc)) }
                                }
                                td.n { (part.get::<Summary>().map_or("–".into(), |s| noise(s.total.noise))) }
                            }
                        }
                    }
                }
            }
            @if let Some(found) = repeat { (found.screen(&view)) }
        }
    }
}
