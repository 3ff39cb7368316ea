//! The rate of detours and the noise as functions of the threshold, in three lines.

use crate::screen::Screen;
use crate::style::{Tone, View, pad_left, width};
use crate::units::{asked, noise, rate};
use anechoic_analyze::Summary;
use anechoic_analyze::curve::CurvePoint;

/// Width of the column of one threshold.
const COLUMN: usize = 9;
/// Width of the column of labels.
const LABEL: usize = 16;
/// Character cells filled from the left, in eighths.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// Length of the longest bar, in characters.
const BAR: usize = COLUMN - 2;

/// The text of a point in one of the lines.
type Cell<'a> = &'a dyn Fn(&CurvePoint) -> String;

/// Adds the curve with one column for each threshold.
pub(crate) fn add(summary: &Summary, view: &View<'_>, screen: &mut Screen) {
    let points = chosen(&summary.curve, (view.columns() - LABEL) / COLUMN);
    let Some(most) = points.first().map(|point| point.noise) else { return };
    let lines: [(&str, Tone, Cell<'_>); 4] = [
        ("detours over", Tone::Heading, &|point| asked(point.threshold_ns)),
        ("  per s", Tone::Plain, &|point| rate(point.rate_per_s)),
        ("  noise", Tone::Plain, &|point| noise(point.noise)),
        ("", Tone::Bar, &|point| bar(point.noise, most)),
    ];
    for (label, tone, cell) in lines {
        let cells: String = points.iter().map(|point| pad_left(&cell(point), COLUMN)).collect();
        screen.toned_line(tone, format!("{label:LABEL$}{cells}").trim_end());
    }
}

/// Returns all points if they fit, else the first point and the powers of ten as far as they fit.
fn chosen(curve: &[CurvePoint], room: usize) -> Vec<&CurvePoint> {
    let is_power = |ns: u64| ns > 0 && 10u64.pow(ns.ilog10()) == ns;
    let mut points: Vec<&CurvePoint> = curve.iter().collect();
    if points.len() > room {
        let first = points.first().map(|point| point.threshold_ns);
        points.retain(|point| Some(point.threshold_ns) == first || is_power(point.threshold_ns));
    }
    points.truncate(room);
    points
}

/// Returns a bar of length `noise / most`, rounded to an eighth of a character and padded to the column.
fn bar(noise: f64, most: f64) -> String {
    let eighths = if most > 0.0 { (noise / most * (BAR * 8) as f64).round() as usize } else { 0 };
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8 - 1]);
    } else if eighths == 0 && noise > 0.0 {
        bar.push(EIGHTHS[0]);
    }
    format!("{bar}{}", " ".repeat(BAR.saturating_sub(width(&bar))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        let cases = [(1.0, "███████"), (0.5, "███▌   "), (0.001, "▏      "), (0.0, "       ")];
        for (noise, expected) in cases {
            assert_eq!(bar(noise, 1.0), expected, "{noise}");
        }
        assert_eq!(bar(0.0, 0.0), "       ");
    }
}
