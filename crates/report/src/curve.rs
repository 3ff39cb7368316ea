//! The rate of detours and the noise as functions of the threshold, in three lines.

use crate::style::{Style, Tone, View, width};
use crate::units::{asked, noise, rate};
use anechoic_analyze::Summary;
use anechoic_analyze::curve::CurvePoint;
use std::io::{self, Write};

/// Width of the column of one threshold.
const COLUMN: usize = 9;
/// Width of the column of labels.
const LABEL: usize = 16;
/// Character cells filled from the left, in eighths.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// Length of the longest bar, in characters.
const BAR: usize = COLUMN - 2;

/// Writes the curve with one column for each threshold.
pub(crate) fn write(summary: &Summary, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let points = chosen(&summary.curve, (view.columns() - LABEL) / COLUMN);
    let Some(most) = points.first().map(|point| point.noise) else { return Ok(()) };
    let cells = |value: &dyn Fn(&CurvePoint) -> String| points.iter().map(|p| value(p)).collect();
    let style = view.style;
    line("detours over", cells(&|p| asked(p.threshold_ns)), Some(Tone::Heading), style, out)?;
    line("  per s", cells(&|p| rate(p.rate_per_s)), None, style, out)?;
    line("  noise", cells(&|p| noise(p.noise)), None, style, out)?;
    line("", cells(&|p| bar(p.noise, most)), Some(Tone::Bar), style, out)
}

/// Returns all points if they fit, else the first point and the powers of ten as far as they fit.
fn chosen(curve: &[CurvePoint], room: usize) -> Vec<&CurvePoint> {
    let is_power = |ns: u64| ns > 0 && 10u64.pow(ns.ilog10()) == ns;
    let mut points: Vec<&CurvePoint> = curve.iter().collect();
    if points.len() > room {
        let first = points.first().map(|point| point.threshold_ns);
        points.retain(|p| Some(p.threshold_ns) == first || is_power(p.threshold_ns));
    }
    points.truncate(room);
    points
}

fn line(
    label: &str,
    cells: Vec<String>,
    tone: Option<Tone>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut text = format!("{label:LABEL$}");
    for cell in cells {
        let space = " ".repeat(COLUMN.saturating_sub(width(&cell)));
        text += &format!("{space}{cell}");
    }
    let text = text.trim_end();
    writeln!(out, "{}", tone.map_or(text.to_owned(), |tone| style.paint(tone, text)))
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
