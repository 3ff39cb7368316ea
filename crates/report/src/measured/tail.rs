//! Figure: the slow tails of all series side by side, on logarithmic axes.

use crate::figure::{Axis, Plot, Quantity, ROWS, Scale, Steps};
use crate::measured::loss::Loss;
use crate::measured::names::{Named, shown};
use crate::style::{Tone, View};
use anechoic_analyze::samples::Measured;
use anechoic_recording::methods;
use std::io::{self, Write};

/// Curves in one figure, at most: more cannot be told apart.
const MOST: usize = 8;
/// The axis begins this far below the longest, at most.
const DEEPEST: f64 = 1e7;

/// A curve of one series.
pub(crate) struct Tail<'a> {
    pub named: Named<'a>,
    pub points: Vec<(f64, f64)>,
}

/// Draws the tails of do-nothing loops, or of any method's series where all are to be shown.
pub(super) fn write(measured: &Measured, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    if measured.method != methods::LOOPS && !view.all {
        return Ok(());
    }
    let mut tails: Vec<Tail<'_>> = shown(measured, view.all).into_iter().filter_map(tail).collect();
    let left_out = tails.len().saturating_sub(MOST);
    tails.truncate(MOST);
    let points = || tails.iter().flat_map(|tail| &tail.points);
    let longest = points().map(|(ns, _)| *ns).fold(0.0, f64::max);
    if longest == 0.0 {
        return Ok(());
    }
    let lengths = points().map(|(ns, _)| *ns).filter(|ns| *ns > longest / DEEPEST);
    let x = Axis::over(Quantity::Time, Scale::Log, lengths);
    let y = Axis::over(Quantity::Share, Scale::Log, points().map(|(_, share)| *share).chain([1.0]));
    let mut plot =
        Plot::new("share of the samples that lost so much or more", x, y, ROWS + 2, view);
    let steps: Vec<Steps<'_>> = tails
        .iter()
        .map(|tail| Steps { letter: tail.named.letter, points: &tail.points })
        .collect();
    plot.steps(&steps);
    let key = |(number, tail): (usize, &Tail<'_>)| {
        let letter = tail.named.letter.map_or(String::new(), |letter| format!("{letter} "));
        (format!("{letter}{}", tail.named.brief()), Tone::Series(number as u8))
    };
    plot.key = tails.iter().enumerate().map(key).collect();
    if left_out > 0 {
        plot.key.push((format!("{left_out} more not drawn"), Tone::Quiet));
    }
    writeln!(out)?;
    plot.write(view, out)
}

/// The curve: a share of samples from one loss up to the next.
pub(crate) fn tail(named: Named<'_>) -> Option<Tail<'_>> {
    let distribution = named.result.distribution.as_ref()?;
    let loss = Loss::of(&named.result.facts, distribution);
    let survival = &named.result.figures.survival;
    let mut from = survival.first().map(|point| loss.ns(point.value))?;
    let mut points = vec![(0.0, 1.0)];
    for point in survival {
        // `share` of the samples reach this point: the curve is as high from the point before up to here.
        points.push((from, point.share));
        from = loss.ns(point.value).max(from);
    }
    points.push((from, survival.last()?.share));
    Some(Tail { named, points })
}
