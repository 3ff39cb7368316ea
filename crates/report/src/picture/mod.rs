//! What a figure shows, apart from how it is drawn: a chart of curves, a shaded table, or detours over time.
//!
//! A picture is built once. [`svg`] draws it for the page and for the files of `report --figures`, [`braille`] for the
//! terminal. Both take axes, ticks, labels, shapes and colours from here, so that they show the same.

mod axis;
pub(crate) mod braille;
mod chart;
mod heat;
mod look;
pub(crate) mod svg;
mod ticks;
mod timeline;

pub(crate) use axis::{Axis, Place, Quantity};
pub(crate) use chart::{Chart, Curve, Draw, Mark, ROWS};
pub(crate) use heat::{Cell, Column, Heat, Row};
pub(crate) use look::Look;
pub use svg::{DPI, Raster};
pub(crate) use timeline::{Panel, Panels, lengths_axis};

/// A figure of the report.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Its number in the report, from 1.
    pub number: usize,
    /// The recording that it is of: its place, from 1; 0 for all together.
    pub part: usize,
    /// Section and name, for a file's name.
    pub name: String,
    /// Its caption.
    pub caption: String,
    /// What it shows.
    pub picture: Picture,
}

/// What a figure shows.
#[derive(Debug, Clone)]
pub(crate) enum Picture {
    /// Curves.
    Chart(Chart),
    /// Detours over time.
    Timeline(Panels),
    /// A shaded table.
    Heat(Heat),
}
