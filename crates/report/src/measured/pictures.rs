//! Figures of one series: its samples over time, and its histogram; those that its method is read by, or both.

use crate::figure::{Axis, Band, Bin, Plot, Quantity, ROWS, Scale, columns};
use crate::measured::loss::Loss;
use crate::measured::names::{Named, noisiest, shown};
use crate::style::{Tone, View};
use crate::units::{count, fine, share};
use anechoic_analyze::samples::distribution::Distribution;
use anechoic_analyze::samples::figures::{Histogram, Point};
use anechoic_analyze::samples::{Fixed, Measured};
use anechoic_recording::methods;
use std::io::{self, Write};

/// The worst sample this many times over the mean needs a logarithmic axis.
const FAR: f64 = 30.0;
/// The fullest bin this many times over the emptiest does too.
const STEEP: f64 = 100.0;
/// A logarithmic axis begins this far below the worst sample, at most: what is less would only take room.
const DEEPEST: f64 = 1e7;
/// Ticks to which a vertical axis is rounded.
const TICKS: usize = 5;
/// With a larger share of the samples outside of it, the main body is not the whole picture.
const MUCH_OUTSIDE: f64 = 0.01;
/// Two points of a distribution this many times apart have nothing in between.
const APART: f64 = 1.5;

/// Draws the noisiest series, or all.
pub(super) fn write(measured: &Measured, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let shown = shown(measured, view.all);
    let drawn = if view.all { shown } else { noisiest(&shown).into_iter().collect() };
    for named in drawn {
        let Some(distribution) = &named.result.distribution else { continue };
        let loss = Loss::of(&named.result.facts, distribution);
        // Nothing varies: the headline says so.
        if loss.ns(loss.worst(distribution)) <= 0.0 {
            continue;
        }
        if view.all || measured.method != methods::LOOPS {
            over_time(&named, distribution, &loss, view, out)?;
        }
        if view.all || matches!(measured.method.as_str(), methods::FWQ | methods::TICK) {
            histogram(&named, distribution, &loss, view, out)?;
        }
    }
    Ok(())
}

/// What a figure's values are.
fn what(fixed: Fixed) -> &'static str {
    match fixed {
        Fixed::Work => "time over the shortest",
        Fixed::Time => "time lost in a window",
    }
}

fn over_time(
    named: &Named<'_>,
    distribution: &Distribution,
    loss: &Loss,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let bins = &named.result.figures.series;
    let starts: Vec<f64> = bins.iter().map(|bin| bin.start_ns as f64).collect();
    let apart = starts.windows(2).map(|pair| pair[1] - pair[0]).filter(|width| *width > 0.0);
    let facts = &named.result.facts;
    let width = apart.fold(facts.wall_ns as f64, f64::min);
    let bands: Vec<Band> = bins
        .iter()
        .map(|bin| {
            let (one, other) = (loss.ns(bin.min), loss.ns(bin.max));
            let from = bin.start_ns as f64;
            Band {
                from,
                to: from + width,
                low: one.min(other),
                middle: Some(loss.ns(bin.mean)),
                high: one.max(other),
            }
        })
        .collect();
    if bands.is_empty() {
        return Ok(());
    }
    let end = facts.start_ns.saturating_add(facts.wall_ns) as f64;
    let x = Axis::over(Quantity::Time, Scale::Linear, [facts.start_ns as f64, end]);
    let y = vertical(&bands, distribution, loss);
    let title = format!("{} · {}", what(loss.fixed), named.title());
    let mut plot = Plot::new(&title, x, y, ROWS + 2, view);
    plot.band(&bands, Tone::Bar, Tone::Series(1));
    plot.key = vec![
        ("⣿ least to most".into(), Tone::Bar),
        (format!("━ mean of {}", fine(width)), Tone::Series(1)),
    ];
    writeln!(out)?;
    plot.write(view, out)
}

/// From 0, or logarithmic where the worst sample would press all others flat.
fn vertical(bands: &[Band], distribution: &Distribution, loss: &Loss) -> Axis {
    let most = bands.iter().map(|band| band.high).fold(0.0, f64::max);
    let mean = loss.ns(distribution.mean);
    if most <= FAR * mean {
        return Axis::over(Quantity::Time, Scale::Linear, [0.0, most]).rounded(TICKS);
    }
    let axis = Axis::over(Quantity::Time, Scale::Log, [lowest(distribution, loss, most), most]);
    axis.rounded(TICKS)
}

/// Where a logarithmic axis up to `most` begins: at the smallest loss that many samples have.
fn lowest(distribution: &Distribution, loss: &Loss, most: f64) -> f64 {
    let values = distribution.quantiles.iter().map(|quantile| quantile.value);
    let losses = values.chain([distribution.mean]).map(|value| loss.ns(value));
    losses.filter(|ns| *ns > 0.0).fold(most, f64::min).max(most / DEEPEST)
}

fn histogram(
    named: &Named<'_>,
    distribution: &Distribution,
    loss: &Loss,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(Bars { x, bins, key }) = bars_of(named, distribution, loss) else { return Ok(()) };
    // The heights of the columns decide the vertical axis, whose labels decide how many columns there are.
    let rough = columns(&bins, &x, view.columns().min(90) - 10);
    let high = rough.iter().copied().fold(0.0, f64::max);
    if high == 0.0 {
        return Ok(());
    }
    let least = rough.iter().copied().filter(|count| *count > 0.0).fold(high, f64::min);
    let y = if high > STEEP * least.max(1.0) {
        Axis::over(Quantity::Count, Scale::Log, [0.5, high])
    } else {
        Axis::over(Quantity::Count, Scale::Linear, [0.0, high]).rounded(TICKS)
    };
    let title = format!("samples by {} · {}", what(loss.fixed), named.title());
    let mut plot = Plot::new(&title, x, y, ROWS, view);
    let heights = columns(&bins, &x, plot.canvas.columns);
    plot.bars(&heights, Tone::Bar);
    plot.key = key;
    writeln!(out)?;
    plot.write(view, out)
}

/// What a histogram shows.
struct Bars {
    x: Axis,
    bins: Vec<Bin>,
    key: Vec<(String, Tone)>,
}

/// The main body, or all samples on a logarithmic axis where the body is not nearly all.
fn bars_of(named: &Named<'_>, distribution: &Distribution, loss: &Loss) -> Option<Bars> {
    let figures = &named.result.figures;
    let histogram = figures.histogram.as_ref()?;
    let outside = histogram.below.saturating_add(histogram.above) as f64;
    let most = loss.ns(loss.worst(distribution));
    if outside <= MUCH_OUTSIDE * distribution.samples as f64
        || figures.cdf.is_empty()
        || most <= 0.0
    {
        let bins = body(histogram, loss);
        let ends = bins.iter().filter(|bin| bin.count > 0).flat_map(|bin| [bin.low, bin.high]);
        let x = Axis::over(Quantity::Time, Scale::Linear, ends);
        return Some(Bars { x, bins, key: beyond(histogram, distribution, loss) });
    }
    let x = Axis::over(Quantity::Time, Scale::Log, [lowest(distribution, loss, most), most])
        .rounded(TICKS);
    let bins = all(&figures.cdf, distribution.samples, loss);
    let edge = format!("left edge: {} or less", fine(x.low));
    Some(Bars { x, bins, key: vec![(edge, Tone::Quiet)] })
}

/// All samples in the bins between the points of their cumulative distribution.
fn all(cdf: &[Point], samples: u64, loss: &Loss) -> Vec<Bin> {
    let before = std::iter::once(None).chain(cdf.iter().map(Some));
    let bin = |(before, point): (Option<&Point>, &Point)| {
        let here = loss.ns(point.value);
        let share = point.share - before.map_or(0.0, |before| before.share);
        let from = before.map_or(here, |before| loss.ns(before.value));
        // Far from the point before, the samples are at this one and not spread in between.
        let alone = from.max(here) > APART * from.min(here);
        let count = (share.max(0.0) * samples as f64).round() as u64;
        Bin { low: if alone { here } else { from }, high: here, count }
    };
    before.zip(cdf).map(bin).collect()
}

/// The bins of a histogram as losses.
fn body(histogram: &Histogram, loss: &Loss) -> Vec<Bin> {
    let edge = |number: usize| loss.ns(histogram.low + number as f64 * histogram.width);
    let bin =
        |(number, &count): (usize, &u64)| Bin { low: edge(number), high: edge(number + 1), count };
    histogram.counts.iter().enumerate().map(bin).collect()
}

/// What the main body does not show.
fn beyond(histogram: &Histogram, distribution: &Distribution, loss: &Loss) -> Vec<(String, Tone)> {
    let (better, worse) = match loss.fixed {
        Fixed::Work => (histogram.below, histogram.above),
        Fixed::Time => (histogram.above, histogram.below),
    };
    let of = |number: u64| share(number as f64 / distribution.samples.max(1) as f64);
    let mut key = vec![];
    if better > 0 {
        key.push((format!("{} further to the left ({})", count(better), of(better)), Tone::Quiet));
    }
    if worse > 0 {
        let far = fine(loss.ns(loss.worst(distribution)));
        key.push((
            format!("{} further to the right ({}), up to {far}", count(worse), of(worse)),
            Tone::Quiet,
        ));
    }
    key
}
