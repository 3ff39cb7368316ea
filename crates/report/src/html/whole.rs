//! All recordings together: what they say as a whole, and where each is.

use super::page::Page;
use super::sections::{WHOLE, Whole, bsp, cluster};
use super::{HtmlReport, head};
use crate::style::plain;
use crate::units::{counted, noise};
use maud::{Markup, html};

/// The whole of the report, before its recordings; nothing where there is one recording alone.
///
/// `repeat` is mean and spread over runs that were repeated, as text.
pub(super) fn whole(report: &HtmlReport, repeat: Option<&str>, page: &mut Page) -> Markup {
    let shown = shown(report);
    if shown.is_empty() {
        let several = report.recordings.len() > 1;
        return html! { @if several || repeat.is_some() { (together(report, repeat, true)) } };
    }
    let sections: Vec<Markup> = shown
        .iter()
        .map(|section| {
            page.enter(section.id);
            html! { section id=(anchor(section)) { h2 { (section.title) } ((section.render)(report, page)) } }
        })
        .collect();
    html! {
        article #all {
            (heading(report))
            @for section in sections { (section) }
        }
        @if !report.recordings.is_empty() { (together(report, repeat, false)) }
    }
}

/// The sections of the whole that have anything to show.
pub(super) fn shown(report: &HtmlReport) -> Vec<&'static Whole> {
    WHOLE.iter().filter(|section| (section.has)(report)).collect()
}

/// Where a section of the whole is.
pub(super) fn anchor(section: &Whole) -> String {
    format!("all-{}", section.id)
}

/// How many recordings the report is made from.
pub(super) fn made_from(report: &HtmlReport) -> u64 {
    report.recordings.len() as u64 + report.not_shown.as_ref().map_or(0, |of| of.recordings)
}

fn heading(report: &HtmlReport) -> Markup {
    let job = report.job.iter().map(bsp::sentence);
    let sentences: Vec<String> =
        job.chain(report.cluster.iter().flat_map(cluster::sentences)).collect();
    html! {
        header.head {
            (head::headline(&sentences))
            @if let Some(found) = &report.cluster { (cluster::about(found)) }
            @if let Some(of) = &report.not_shown { p.warning {
                "This is the whole alone: one file has room for " (of.most) " recordings in detail, and there are " (of.recordings)
                ". A host by itself: " code { (plain(&of.example)) }
            } }
        }
    }
}

/// All recordings in a table, and over repeated runs mean and spread.
fn together(report: &HtmlReport, repeat: Option<&str>, first: bool) -> Markup {
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
                                td { (plain(&part.run.machine.host)) }
                                td { (plain(&part.run.method)) }
                                td { (plain(&part.run.start_utc)) }
                                td.n { (part.summary.as_ref().map_or("–".into(), |s| noise(s.total.noise))) }
                            }
                        }
                    }
                }
            }
            @if let Some(text) = repeat { pre.text tabindex="0" { (text) } }
        }
    }
}
