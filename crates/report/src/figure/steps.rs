//! Layer: curves that stay at a value until the next (survival, cumulative distribution), each
//! told from the others by letters on it, not by colour alone.

use crate::figure::canvas::{ACROSS, DOWN};
use crate::figure::plot::Plot;
use crate::style::Tone;

/// Cells between two letters of one curve.
const SPACING: usize = 16;

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Steps<'a> {
    /// The letter on it; none where it is alone.
    pub letter: Option<char>,
    /// Position on the lower axis, which never falls, and the value from there on.
    pub points: &'a [(f64, f64)],
}

impl Plot {
    /// Draws curves from their first point to their last.
    pub(crate) fn steps(&mut self, curves: &[Steps<'_>]) {
        let tones: Vec<Tone> = (0..curves.len()).map(|number| Tone::Series(number as u8)).collect();
        let traces: Vec<Vec<Option<usize>>> =
            curves.iter().map(|curve| self.trace(curve.points)).collect();
        for (trace, &tone) in traces.iter().zip(&tones) {
            let mut before = None;
            for (x, y) in trace.iter().enumerate() {
                if let Some(y) = *y {
                    self.canvas.line(x, before.unwrap_or(y), y, tone);
                }
                before = *y;
            }
        }
        for (number, (curve, trace)) in curves.iter().zip(&traces).enumerate() {
            if let Some(letter) = curve.letter {
                self.letters(trace, letter, number * SPACING / curves.len(), tones[number]);
            }
        }
    }

    /// The row of dots in each column of dots; nothing before the first point and after the last.
    fn trace(&self, points: &[(f64, f64)]) -> Vec<Option<usize>> {
        let mut trace = vec![None; self.canvas.columns * ACROSS];
        let shown = |(x, y): &&(f64, f64)| x.is_finite() && y.is_finite();
        let placed: Vec<(usize, usize)> =
            points.iter().filter(shown).map(|&(x, y)| (self.x_dot(x), self.y_dot(y))).collect();
        for pair in placed.windows(2) {
            let ((from, y), (to, _)) = (pair[0], pair[1]);
            (from..to).for_each(|x| trace[x] = Some(y));
        }
        if let Some(&(x, y)) = placed.last() {
            trace[x] = Some(y);
        }
        trace
    }

    /// Puts letters on a curve, evenly spaced and at its end, where no other letter stands.
    fn letters(&mut self, trace: &[Option<usize>], letter: char, offset: usize, tone: Tone) {
        let drawn =
            |column: &usize| trace[column * ACROSS].or(trace[column * ACROSS + 1]).is_some();
        let Some(last) = (0..self.canvas.columns).rev().find(drawn) else { return };
        let spaced = (offset..last.saturating_sub(1)).step_by(SPACING);
        for column in spaced.chain([last]) {
            let y = trace[column * ACROSS].or(trace[column * ACROSS + 1]);
            if let Some(row) = y.map(|y| y / DOWN).filter(|&row| !self.canvas.taken(column, row)) {
                self.canvas.put(column, row, letter, tone);
            }
        }
    }
}
