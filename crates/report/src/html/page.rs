//! The page around the sections: head, navigation, and everything that it carries with it.

use super::sections::{Section, shown, without_sections};
use super::whole::{has_sections, made_from, whole};
use super::{HtmlReport, Part, data, head};
use crate::palette;
use crate::picture::{Kept, Picture};
use crate::style::{View, plain};
use crate::units::{TIMES, counted};
use anechoic_analyze::cluster::Cluster;
use anechoic_predict::bsp::Bsp;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

/// Style and scripts.
const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPTS: [&str; 4] = [
    include_str!("../../assets/report.js"),
    include_str!("../../assets/pictures.js"),
    include_str!("../../assets/story.js"),
    include_str!("../../assets/timeline.js"),
];

/// Nothing may be asked of any network; styles and scripts are those in the file.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// What the script must know to write numbers as the text does.
#[derive(Serialize)]
struct Formats {
    times: [crate::units::TimeFormat; 9],
}

/// The page in the making: numbers of figures, identifiers that are not used twice.
#[derive(Debug, Default)]
pub(crate) struct Page {
    part: usize,
    section: &'static str,
    ids: usize,
    figures: usize,
    /// The figures themselves, where they are wanted.
    kept: Option<Vec<Kept>>,
}

/// Letters and digits in lower case with dashes between them, as many as any file system takes.
fn file_name(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = words.map(str::to_lowercase).collect::<Vec<_>>().join("-");
    name.truncate(80);
    name
}

impl Page {
    /// An identifier that no other element has.
    pub(super) fn id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}-{}", self.ids)
    }

    /// The number of the next figure.
    pub(super) fn figure(&mut self) -> usize {
        self.figures += 1;
        self.figures
    }

    /// A page that also keeps what its figures show.
    pub(super) fn keeping() -> Self {
        Self { kept: Some(vec![]), ..Self::default() }
    }

    /// Keeps what the figure of this number shows, where that is wanted, under a name fit for a file: its section, and
    /// what tells it from others of that section.
    pub(super) fn keep(
        &mut self,
        number: usize,
        name: &str,
        caption: &str,
        picture: impl FnOnce() -> Picture,
    ) {
        let (part, section) = (self.part, self.section);
        if let Some(kept) = &mut self.kept {
            let name = file_name(&format!("{section} {name}"));
            kept.push(Kept { number, part, name, caption: plain(caption), picture: picture() });
        }
    }

    /// What was kept.
    pub(super) fn kept(self) -> Vec<Kept> {
        self.kept.unwrap_or_default()
    }

    /// The whole document.
    pub(super) fn document(&mut self, report: &HtmlReport) -> Markup {
        let title = title(report);
        let several = report.recordings.len() > 1 || has_sections(report);
        let whole = whole(report, self);
        let parts: Vec<Markup> =
            report.recordings.iter().map(|part| self.part(part, several)).collect();
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
                        (navigation(report))
                        button #theme type="button" aria-label="Change between light and dark" { "Dark" }
                    }
                    main #report tabindex="-1" {
                        (whole)
                        @for part in &parts { (part) }
                    }
                    footer { p {
                        "Made by anechoic " (env!("CARGO_PKG_VERSION")) " from " (counted(made_from(report), "recording", "recordings"))
                        "."
                    } }
                    noscript { p.note { "Without scripts there is no timeline, and charts do not show the values that are pointed at; all numbers are in the tables." } }
                    (data::element("formats", &Formats { times: TIMES }))
                    @for script in SCRIPTS { script { (PreEscaped(script)) } }
                }
            }
        }
    }

    /// The sections of a recording that have anything to show; of number 0, those of all recordings together.
    pub(super) fn sections(&mut self, part: &Part, number: usize) -> Vec<Markup> {
        let section = |section: &'static Section| {
            self.section = section.id;
            html! {
                section id=(anchor(number, section.id)) {
                    h2 { (section.title) }
                    ((section.render)(part, self))
                }
            }
        };
        let mut sections: Vec<Markup> = shown(part).map(section).collect();
        let view = View { width: 120, all: true, ..View::default() };
        sections.extend(without_sections(part).map(|found| {
            html! {
                section id=(anchor(number, found.row().id())) {
                    h2 { (found.row().title()) }
                    (found.screen(&view))
                }
            }
        }));
        sections
    }

    /// One recording.
    fn part(&mut self, part: &Part, several: bool) -> Markup {
        self.part += 1;
        let number = self.part;
        let sections = self.sections(part, number);
        html! {
            article id=(format!("r{number}")) {
                @if several { p.part { "Recording " (number) " · " (plain(&part.name)) } }
                (head::head(part))
                @for section in sections { (section) }
            }
        }
    }
}

/// Where a section of a recording is; of number 0, where that of all recordings together is.
fn anchor(part: usize, section: &str) -> String {
    match part {
        0 => format!("all-{section}"),
        part => format!("r{part}-{section}"),
    }
}

fn title(report: &HtmlReport) -> String {
    let hosts = report.together.get::<Cluster>().map(|found| found.total.hosts);
    let hosts = hosts.or(report.together.get::<Bsp>().map(|found| found.hosts.len() as u64));
    if let Some(hosts) = hosts {
        return format!("OS noise on {} · anechoic", counted(hosts, "host", "hosts"));
    }
    match &report.recordings[..] {
        [] => "anechoic: no recording".into(),
        [one] => {
            let host = one.run.as_ref().map_or("no host", |run| &run.machine.host);
            format!("OS noise on {} · anechoic", plain(host))
        }
        many => format!("OS noise in {} recordings · anechoic", many.len()),
    }
}

/// Where to go: the sections of the only recording; or those of the whole, and the recordings.
fn navigation(report: &HtmlReport) -> Markup {
    let whole: Vec<&Section> = shown(&report.together).collect();
    html! {
        nav aria-label="Contents" {
            @for section in &whole { a href=(format!("#{}", anchor(0, section.id))) { (section.short) } }
            @match &report.recordings[..] {
                [part] if whole.is_empty() => {
                    @for section in shown(part) {
                        a href=(format!("#{}", anchor(1, section.id))) { (section.short) }
                    }
                }
                many => {
                    @for (at, _) in many.iter().enumerate() { a href=(format!("#r{}", at + 1)) { "Recording " (at + 1) } }
                }
            }
        }
    }
}

/// The colours as variables of the style sheet, for light and for dark paper.
fn colors() -> String {
    let rule = |of: fn(&palette::Color) -> &'static str| -> String {
        palette::all().iter().map(|color| format!("--c-{}:{};", color.name, of(color))).collect()
    };
    let (light, dark) = (rule(|color| color.light), rule(|color| color.dark));
    format!(
        ":root{{{light}}}@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\
         :root[data-theme=dark]{{{dark}}}"
    )
}
