//! The indirect share of every pair, and observed against predicted.

use crate::figure::{Axis, Plot, Quantity, ROWS, Scale};
use crate::style::{Tone, View};
use crate::units::{counted, share};
use anechoic_predict::ticks::ProcessorModel;
use std::io::{self, Write};

/// Fewer pairs than this need no figure.
const FEWEST: usize = 3;
/// Ticks to which a vertical axis is rounded.
const TICKS: usize = 5;
/// Dots in a character, across and down.
pub(super) const DOTS: (usize, usize) = (2, 4);
/// Up to so many numbers of copies stand beside each other where that helps.
const MOST_BESIDE: usize = 6;
/// What is drawn for a single number of copies.
const ALONE: char = '•';

/// Draws both.
pub(super) fn write(of: &ProcessorModel, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    if of.pairs.len() < FEWEST {
        return Ok(());
    }
    let signs = Signs::of(of);
    shares(of, &signs, view, out)?;
    overhead(of, &signs, view, out)
}

/// The sign of each number of copies.
struct Signs(Vec<(u32, char, Tone)>);

impl Signs {
    fn of(of: &ProcessorModel) -> Self {
        let letters = ('a'..='z').chain('A'..='Z').chain(std::iter::repeat(ALONE));
        let tones = (0..=u8::MAX).cycle().map(Tone::Series);
        let copies = of.tickless.iter().map(|tickless| tickless.copies);
        let mut signs: Vec<_> = copies
            .zip(letters)
            .zip(tones)
            .map(|((copies, letter), tone)| (copies, letter, tone))
            .collect();
        if let [alone] = &mut signs[..] {
            alone.1 = ALONE;
        }
        Self(signs)
    }

    /// Puts the sign of `copies` where a value stands; with `beside` those of other copies stand beside it.
    fn put(&self, plot: &mut Plot, copies: u32, (x, y): (f64, f64), beside: bool) {
        let Some(place) = self.0.iter().position(|sign| sign.0 == copies) else { return };
        let (_, sign, tone) = self.0[place];
        let (column, row) = (plot.x_dot(x) / DOTS.0, plot.y_dot(y) / DOTS.1);
        let all = self.0.len();
        let column = if beside && all <= MOST_BESIDE {
            column.saturating_sub(all / 2).min(plot.canvas.columns.saturating_sub(all)) + place
        } else {
            column
        };
        plot.canvas.put(column, row, sign, tone);
    }

    /// What they mean.
    fn key(&self) -> Vec<(String, Tone)> {
        let name = |(copies, sign, tone): &(u32, char, Tone)| {
            (format!("{sign} {}", counted(u64::from(*copies), "copy", "copies")), *tone)
        };
        self.0.iter().map(name).collect()
    }
}

fn shares(
    of: &ProcessorModel,
    signs: &Signs,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(all) = of.shares else { return Ok(()) };
    // A pair of near rates may have any share below 1: those under −1 stand on the edge.
    let y =
        Axis::over(Quantity::Share, Scale::Linear, [all.min.clamp(-1.0, 0.0), 1.0]).rounded(TICKS);
    let x = Axis::over(Quantity::Frequency, Scale::Log, of.pairs.iter().map(|pair| pair.high_hz));
    let mut plot = Plot::new("indirect share of each pair, over its higher rate", x, y, ROWS, view);
    let median = plot.y_dot(all.median);
    let dots = plot.canvas.columns * DOTS.0;
    (0..dots).step_by(3).for_each(|x| plot.canvas.dot(x, median, Tone::Quiet));
    for pair in &of.pairs {
        if let Some(share) = pair.indirect_share {
            signs.put(&mut plot, pair.copies, (pair.high_hz, share), true);
        }
    }
    plot.key = signs.key();
    plot.key.push((format!("⠤ median {}", share(all.median)), Tone::Quiet));
    writeln!(out)?;
    plot.write(view, out)
}

fn overhead(
    of: &ProcessorModel,
    signs: &Signs,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rates = || of.points.iter().map(|point| point.point.rate_hz);
    let both = of.points.iter().flat_map(|point| [point.observed, point.predicted]);
    let x = Axis::over(Quantity::Frequency, Scale::Linear, rates().chain([0.0]));
    let y = Axis::over(Quantity::Share, Scale::Linear, both.flatten().chain([0.0])).rounded(TICKS);
    let title = "how much longer than without interrupts, over the rate";
    let mut plot = Plot::new(title, x, y, ROWS, view);
    let dots = plot.canvas.columns * DOTS.0;
    for dot in 0..dots {
        let rate_hz = x.low + (x.high - x.low) * dot as f64 / (dots - 1).max(1) as f64;
        let f = of.cost.total_us * rate_hz / 1e6;
        if f < 1.0 {
            let at = plot.y_dot(f / (1.0 - f));
            plot.canvas.dot(dot, at, Tone::Quiet);
        }
    }
    for point in &of.points {
        if let Some(observed) = point.observed {
            signs.put(&mut plot, point.point.copies, (point.point.rate_hz, observed), false);
        }
    }
    plot.key = signs.key();
    plot.key.push(("⠤ predicted".to_owned(), Tone::Quiet));
    writeln!(out)?;
    plot.write(view, out)
}
