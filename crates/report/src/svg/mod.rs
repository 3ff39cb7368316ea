//! The figures of the report as files of their own, fit for a paper: light, of a column's width or both, with text of
//! seven points, and patterns and shapes beside colours.
//!
//! What they show, their numbers and their captions are those of the HTML report. They are drawn by hand: each is a
//! few paths and texts, in points, and stays small.

mod axis;
mod chart;
mod heat;
mod labels;
mod legend;
mod paper;
mod raster;
mod timeline;

pub use raster::{DPI, Raster};

use crate::html::picture::{Kept, Picture};
use crate::html::{HtmlReport, pictures};
use crate::style::{plain, wrap};
use std::fmt::Write;

/// A figure as a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its number in the report, from 1.
    pub number: usize,
    /// The recording that it is of: its place in the report, from 0.
    pub recording: usize,
    /// What the file is called, without an ending: number and section.
    pub name: String,
    /// Its caption.
    pub caption: String,
    /// The picture.
    pub svg: String,
    /// Its size on paper in cm: width and height.
    pub size_cm: (f64, f64),
}

/// The figures of a report, in its order.
#[must_use]
pub fn figures(report: &HtmlReport) -> Vec<Figure> {
    let several = report.recordings.len() > 1;
    pictures(report).iter().map(|kept| figure(kept, several)).collect()
}

fn figure(kept: &Kept, several: bool) -> Figure {
    let drawing = match &kept.picture {
        Picture::Chart(chart) => chart::draw(chart),
        Picture::Timeline(panels) => timeline::draw(panels),
        Picture::Heat(heat) => heat::draw(heat),
    };
    let of = if several { format!("r{}-", kept.part) } else { String::new() };
    let cm = |points: f64| points / 72.0 * 2.54;
    Figure {
        number: kept.number,
        recording: kept.part.saturating_sub(1),
        name: format!("{:02}-{of}{}", kept.number, kept.name),
        caption: kept.caption.clone(),
        svg: drawing.file(&kept.caption),
        size_cm: (cm(drawing.width), cm(drawing.height)),
    }
}

/// The captions as a text file: of each recording what it is, then its figures.
#[must_use]
pub fn captions(report: &HtmlReport, figures: &[Figure]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (at, part) in report.recordings.iter().enumerate() {
        let run = part.facts();
        let what = [&part.name, &run.method, &run.host, &run.model, &run.start_utc];
        let what: Vec<String> =
            what.into_iter().filter(|text| !text.is_empty()).map(|text| plain(text)).collect();
        let _ = writeln!(text, "{}", what.join(" · "));
        for figure in figures.iter().filter(|figure| figure.recording == at) {
            let (wide, high) = figure.size_cm;
            let head = format!("{} · {wide:.1} cm × {high:.1} cm", figure.name);
            let _ = write!(text, "\nFigure {}   {head}\n", figure.number);
            for line in wrap(&figure.caption, 100) {
                let _ = writeln!(text, "{line}");
            }
        }
        text.push('\n');
    }
    let _ = writeln!(text, "Made by anechoic {}.", env!("CARGO_PKG_VERSION"));
    text
}
