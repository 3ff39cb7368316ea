//! The figures of the report as separate files, with the numbers and captions of the page.

use crate::page::{HtmlReport, pictures};
use crate::picture::{Kept, svg};
use crate::style::{plain, wrap};

/// A figure as a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Number in the report, from 1.
    pub number: usize,
    /// What it shows.
    pub subject: FigureSubject,
    /// Name of the file without extension: number, section, and what distinguishes it from others of that section.
    pub name: String,
    /// Its caption.
    pub caption: String,
    /// The picture.
    pub svg: String,
    /// Width and height on paper, in cm.
    pub size_cm: (f64, f64),
}

/// What a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureSubject {
    /// The paper whose experiments the recordings are.
    Paper,
    /// All recordings together.
    Together,
    /// The recording with this index in the report, from 0.
    Recording(usize),
}

/// Returns the figures of a report in order.
#[must_use]
pub fn figures(report: &HtmlReport) -> Vec<Figure> {
    let kept = pictures(report);
    let several = report.recordings.len() > 1 || kept.iter().any(|kept| kept.part == 0);
    kept.iter().map(|kept| figure(kept, several)).collect()
}

fn figure(kept: &Kept, several: bool) -> Figure {
    let (svg, (wide, high)) = svg::file(&kept.picture, &kept.caption);
    // Part 0 is what stands before the recordings.
    let subject = match kept.part.checked_sub(1) {
        Some(index) => FigureSubject::Recording(index),
        None if kept.of_paper => FigureSubject::Paper,
        None => FigureSubject::Together,
    };
    let which = match subject {
        FigureSubject::Recording(index) if several => format!("r{}-", index + 1),
        _ => String::new(),
    };
    let cm = |points: f64| points / 72.0 * 2.54;
    Figure {
        number: kept.number,
        subject,
        name: format!("{:02}-{which}{}", kept.number, kept.name),
        caption: kept.caption.clone(),
        svg,
        size_cm: (cm(wide), cm(high)),
    }
}

/// Returns the captions as text: the paper with its figures, those of all recordings together, and for each recording its
/// description and its figures.
#[must_use]
pub fn captions(report: &HtmlReport, figures: &[Figure]) -> String {
    let mut text = String::new();
    if let Some(study) = &report.study {
        let lacking = study.lacking.iter().map(String::as_str);
        let about = std::iter::once(study.paper.full).chain(lacking);
        for line in about.flat_map(|line| wrap(&plain(line), 100)) {
            text += &line;
            text.push('\n');
        }
        list(figures, FigureSubject::Paper, &mut text);
    }
    if figures.iter().any(|figure| figure.subject == FigureSubject::Together) {
        text += "All recordings together\n";
        list(figures, FigureSubject::Together, &mut text);
    }
    for (index, part) in report.recordings.iter().enumerate() {
        let Some(run) = part.facts() else { continue };
        let what = [&part.name, &run.method, &run.host, &run.model, &run.start_utc];
        let what: Vec<String> =
            what.into_iter().filter(|text| !text.is_empty()).map(|text| plain(text)).collect();
        text += &what.join(" · ");
        text.push('\n');
        list(figures, FigureSubject::Recording(index), &mut text);
    }
    text + concat!("Made by anechoic ", env!("CARGO_PKG_VERSION"), ".\n")
}

/// Adds the captions of these figures.
fn list(figures: &[Figure], subject: FigureSubject, text: &mut String) {
    for figure in figures.iter().filter(|figure| figure.subject == subject) {
        let (wide, high) = figure.size_cm;
        let (number, name) = (figure.number, &figure.name);
        *text += &format!("\nFigure {number}   {name} · {wide:.1} cm × {high:.1} cm\n");
        for line in wrap(&figure.caption, 100) {
            *text += &line;
            text.push('\n');
        }
    }
    text.push('\n');
}
