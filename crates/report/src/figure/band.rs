//! Layer: how something varied, as a band from the least to the most with the median in it.

use crate::figure::canvas::{ACROSS, DOWN};
use crate::figure::plot::Plot;
use crate::style::Tone;

/// What values there were over one stretch of the lower axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Band {
    pub from: f64,
    pub to: f64,
    pub low: f64,
    pub middle: Option<f64>,
    pub high: f64,
}

/// The median as one of three strokes in its row: above, in the middle, below.
const STROKES: [char; DOWN] = ['▔', '━', '━', '▁'];

impl Plot {
    /// Draws bands: dots from the least to the most, a stroke at the median.
    ///
    /// Every stretch is drawn in all columns that it touches, so that no extreme is left out;
    /// where several share a column, their least and most are drawn and the median of their medians.
    pub(crate) fn band(&mut self, bands: &[Band], tone: Tone, median: Tone) {
        let dots = self.canvas.columns * ACROSS;
        let mut extents: Vec<Option<(f64, f64)>> = vec![None; dots];
        let mut medians: Vec<Vec<f64>> = vec![vec![]; self.canvas.columns];
        for band in bands.iter().filter(|band| band.from.is_finite() && band.to.is_finite()) {
            let (first, last) =
                (self.x_dot(band.from.min(band.to)), self.x_dot(band.to.max(band.from)));
            // A stretch ends before the column of its end, where the next begins.
            let last = if last > first { last - 1 } else { last };
            for extent in &mut extents[first..=last] {
                let (low, high) = extent.unwrap_or((band.low, band.high));
                *extent = Some((low.min(band.low), high.max(band.high)));
            }
            for column in &mut medians[first / ACROSS..=last / ACROSS] {
                column.extend(band.middle);
            }
        }
        for (x, extent) in extents.iter().enumerate() {
            if let Some((low, high)) = extent {
                self.canvas.line(x, self.y_dot(*low), self.y_dot(*high), tone);
            }
        }
        for (column, values) in medians.iter_mut().enumerate() {
            values.sort_by(f64::total_cmp);
            if let Some(&middle) = values.get(values.len().saturating_sub(1) / 2) {
                let y = self.y_dot(middle);
                self.canvas.put(column, y / DOWN, STROKES[y % DOWN], median);
            }
        }
    }
}
