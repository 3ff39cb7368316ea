//! The page around the sections: head, navigation, styles and scripts.

use super::same_cpu;
use super::sections::{Shown, anchor, render_all, shown};
use super::state::Page;
use super::study;
use super::whole::{made_from, whole};
use super::{HtmlReport, Part, data, head};
use crate::palette;
use crate::style::plain;
use crate::units::{TIMES, counted};
use anechoic_analyze::cluster::Cluster;
use anechoic_predict::bsp::Bsp;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use std::collections::BTreeSet;

/// The style sheet.
const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPTS: [&str; 4] = [
    include_str!("../../assets/report.js"),
    include_str!("../../assets/pictures.js"),
    include_str!("../../assets/story.js"),
    include_str!("../../assets/timeline.js"),
];

/// The security policy: no network access, and only the styles and scripts in the file.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The formats with which scripts write numbers as the text does.
#[derive(Serialize)]
struct Formats {
    times: [crate::units::TimeFormat; 9],
}

/// Returns the whole document.
pub(super) fn document(report: &HtmlReport, page: &mut Page) -> Markup {
    page.begin(report.recordings.len());
    let title = title(report);
    let together = shown(&report.together);
    let has_sections = together.iter().any(|section| section.short.is_some());
    let several = report.recordings.len() > 1 || has_sections || report.study.is_some();
    let study = report.study.as_ref().map(|study| study::part(study, page));
    let whole = whole(report, &together, page);
    let same_cpu = same_cpu::panels(report, page);
    let (mut parts, mut alone) = (vec![], vec![]);
    for recording in &report.recordings {
        let sections = shown(recording);
        parts.push(part(recording, &sections, several, page));
        alone = entries(1, &sections);
    }
    let navigation = navigation(report, &entries(0, &together), &alone);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("anechoic ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                style { (PreEscaped(colors())) (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#report" { "Skip to the report" }
                header.top {
                    span.brand { "anechoic" }
                    (navigation)
                    button #theme type="button" aria-label="Change between light and dark" { "Dark" }
                }
                main #report tabindex="-1" {
                    @for note in &report.notes { p.note { (plain(note)) } }
                    @if let Some(study) = study { (study) }
                    (whole)
                    (same_cpu)
                    @for part in &parts { (part) }
                }
                footer { p {
                    "Made by anechoic " (env!("CARGO_PKG_VERSION")) " from " (counted(made_from(report), "recording", "recordings"))
                    "."
                } }
                noscript { p.note { "Without scripts there is no timeline, and charts do not show values under the pointer; all numbers are in the tables." } }
                (data::element("formats", &Formats { times: TIMES }))
                @for script in SCRIPTS { script { (PreEscaped(script)) } }
            }
        }
    }
}

/// Returns the part on one recording.
fn part(part: &Part, sections: &[Shown], several: bool, page: &mut Page) -> Markup {
    let number = page.begin_part(part);
    let sections = render_all(sections, part, number, page);
    html! {
        article id=(format!("r{number}")) {
            @if several { p.part { "Recording " (number) " · " (plain(&part.name)) } }
            (head::head(part))
            @for section in sections { (section) }
        }
    }
}

fn title(report: &HtmlReport) -> String {
    if let Some(study) = &report.study {
        return format!("{} again · anechoic", study.paper.short);
    }
    let hosts = report.together.get::<Cluster>().map(|found| found.total.hosts);
    let hosts = hosts.or(report.together.get::<Bsp>().map(|found| found.hosts.len() as u64));
    if let Some(hosts) = hosts {
        return format!("OS noise on {} · anechoic", counted(hosts, "host", "hosts"));
    }
    match &report.recordings[..] {
        [] => "OS noise · anechoic".into(),
        [one] => {
            let host = one.run.as_ref().map_or("no host", |run| &run.machine.host);
            format!("OS noise on {} · anechoic", plain(host))
        }
        many => format!("OS noise in {} recordings · anechoic", many.len()),
    }
}

/// Returns the anchors of sections and what the navigation calls them.
fn entries(part: usize, sections: &[Shown]) -> Vec<(String, &'static str)> {
    let entry = |section: &Shown| Some((anchor(part, section.id), section.short?));
    sections.iter().filter_map(entry).collect()
}

/// Returns the navigation: the sections of a recording that is alone, or those on all recordings together and the
/// recordings.
fn navigation(
    report: &HtmlReport,
    whole: &[(String, &'static str)],
    alone: &[(String, &'static str)],
) -> Markup {
    html! {
        nav aria-label="Contents" {
            @if let Some(study) = &report.study { a href="#paper" { (study.paper.short) } }
            @for (anchor, short) in whole { a href=(format!("#{anchor}")) { (short) } }
            @match &report.recordings[..] {
                [_] if whole.is_empty() && report.study.is_none() => {
                    @for (anchor, short) in alone { a href=(format!("#{anchor}")) { (short) } }
                }
                many => {
                    @let names = names(many);
                    @for (at, name) in names.iter().enumerate() { a href=(format!("#r{}", at + 1)) { (name) } }
                }
            }
        }
    }
}

/// Returns names for recordings: the hosts if they all differ, else the names of the recordings.
fn names(parts: &[Part]) -> Vec<String> {
    let host =
        |part: &Part| part.run.as_ref().map_or(String::new(), |run| plain(&run.machine.host));
    let hosts: BTreeSet<String> = parts.iter().map(host).collect();
    let differ = hosts.len() == parts.len() && !hosts.contains("");
    parts.iter().map(|part| if differ { host(part) } else { plain(&part.name) }).collect()
}

/// Returns the colours as variables of the style sheet, for light and dark themes.
fn colors() -> String {
    let rule = |theme: fn(&palette::Color) -> &'static str| -> String {
        palette::all().iter().map(|color| format!("--c-{}:{};", color.name, theme(color))).collect()
    };
    let (light, dark) = (rule(|color| color.light), rule(|color| color.dark));
    format!(
        ":root{{{light}}}@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\
         :root[data-theme=dark]{{{dark}}}"
    )
}
