//! Pictures as SVG, for the page and as files for a paper: light, as wide as one or two columns, with text of seven
//! points, and with patterns and shapes besides colours.
//!
//! Drawings consist of a few paths and texts, and stay small.

mod chart;
mod frame;
mod heat;
mod legend;
mod patterns;
mod plot;
#[cfg_attr(not(feature = "png"), path = "no_raster.rs")]
mod raster;
#[cfg(all(test, feature = "png"))]
mod reach_tests;
mod sheet;
mod timeline;

pub use raster::{DPI, Raster};

use super::Picture;
use super::chart::{Chart, Draw};
use crate::palette::Color;
use maud::{Markup, html};
use sheet::{BROKEN, Drawing, Path, dashes};

/// Draws a picture as a file; returns its text, and its width and height on paper in points.
pub(crate) fn file(picture: &Picture, caption: &str) -> (String, (f64, f64)) {
    let drawing: Drawing = match picture {
        Picture::Chart(chart) => chart::draw(chart),
        Picture::Timeline(panels) => timeline::draw(panels),
        Picture::Heat(heat) => heat::draw(heat),
    };
    (drawing.file(caption), (drawing.width, drawing.height))
}

/// Draws a chart for the page, or for `half` of its width, once for each width that its place may have; the style sheet shows
/// one of them.
pub(crate) fn on_screen(chart: &Chart, half: bool) -> Markup {
    chart::on_screen(chart, half)
}

/// Returns the symbols of the curves of a chart for a legend of the page.
pub(crate) fn keys(chart: &Chart) -> Vec<Markup> {
    let patterns = patterns::patterns(chart);
    let key = |(curve, pattern): (&super::Curve, usize)| key(curve.color, pattern, curve.draw);
    chart.curves.iter().zip(patterns).map(key).collect()
}

/// Returns the symbol of a curve on the page: a piece of its line, or its shape.
pub(crate) fn key(color: Color, number: usize, draw: Draw) -> Markup {
    let style = format!("color:var(--c-{})", color.name);
    let mut path = Path::default();
    match draw {
        Draw::Points => html! {
            svg.key.point viewBox="-3 -3 6 6" aria-hidden="true" style=(style) { (path.shape(number, 0.0, 0.0, 2.1).shapes(number, "currentColor", 2.0)) }
        },
        _ => line_key(&style, dashes(number)),
    }
}

/// Returns the symbol of the level of a chart on the page.
pub(crate) fn level_key() -> Markup {
    line_key("color:var(--muted)", BROKEN)
}

fn line_key(style: &str, dashes: &str) -> Markup {
    let mut path = Path::default();
    let line = path.to(0.5, 0.0).line(12.5, 0.0).stroked("currentColor", 1.2, dashes);
    html! { svg.key viewBox="0 -3 13 6" aria-hidden="true" style=(style) { (line) } }
}
