//! The content of figures, independent of how they are drawn: a chart of curves, a shaded table, or detours over time.
//!
//! A picture is built once. [`svg`] draws it for the page and for the files of `report --figures`, [`braille`] for the
//! terminal. Both use the same axes, axis ticks, labels, shapes and colours.

mod axis;
pub(crate) mod braille;
mod by_name;
mod chart;
mod heat;
mod look;
pub(crate) mod svg;
mod ticks;
mod timeline;

pub(crate) use axis::{Axis, Place, Quantity};
pub(crate) use braille::PART;
pub(crate) use by_name::{Estimated, Series};
pub(crate) use chart::{Chart, Curve, Draw, Mark, ROWS};
pub(crate) use heat::{Cell, Column, Heat, Row};
pub(crate) use look::Look;
pub use svg::{DPI, Raster};
pub(crate) use timeline::{Panel, Panels, lengths_axis};

/// A figure of the report.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Number in the report, from 1.
    pub number: usize,
    /// Index of its recording, from 1; 0 for all recordings together.
    pub part: usize,
    /// Whether it is one of the figures of a paper, beside those of all recordings together.
    pub of_paper: bool,
    /// Section and name, for the name of a file.
    pub name: String,
    /// Its caption.
    pub caption: String,
    /// Content.
    pub picture: Picture,
}

/// Content of a figure.
#[derive(Debug, Clone)]
pub(crate) enum Picture {
    /// Curves.
    Chart(Chart),
    /// Detours over time.
    Timeline(Panels),
    /// A shaded table.
    Heat(Heat),
}

impl Picture {
    /// Returns whether there is nothing to draw.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Picture::Chart(chart) => chart.is_empty(),
            Picture::Heat(heat) => heat.rows.is_empty() || heat.columns.is_empty(),
            Picture::Timeline(panels) => panels.panels.is_empty(),
        }
    }
}

impl From<Chart> for Picture {
    fn from(chart: Chart) -> Self {
        Picture::Chart(chart)
    }
}

impl From<Heat> for Picture {
    fn from(heat: Heat) -> Self {
        Picture::Heat(heat)
    }
}
