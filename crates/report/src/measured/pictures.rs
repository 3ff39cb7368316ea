//! Figures of one series: its samples over time and its histogram, as the method calls for.

use crate::measured::histogram::{Bin, body};
use crate::measured::loss::Loss;
use crate::measured::names::{Named, noisiest, shown};
use crate::picture::{Axis, Chart, Curve, Draw, Quantity, ROWS};
use crate::style::View;
use crate::units::{count, fine, share};
use anechoic_analyze::samples::distribution::Distribution;
use anechoic_analyze::samples::figures::{Histogram, Point, TimeBin};
use anechoic_analyze::samples::{Fixed, Measured};
use anechoic_recording::methods;

/// The axis is logarithmic if the worst sample exceeds the mean by this factor.
const FAR: f64 = 30.0;
/// Largest ratio of the ends of a logarithmic axis.
const DEEPEST: f64 = 1e7;
/// Number of axis ticks to which a vertical axis is rounded.
const TICKS: usize = 5;
/// With a larger share of the samples outside the main body, the histogram shows all samples.
const MUCH_OUTSIDE: f64 = 0.01;
/// Between points of a distribution that differ by a larger factor there are no samples.
const APART: f64 = 1.5;

/// Returns figures of the noisiest series, or of all.
pub(super) fn figures(measured: &Measured, view: &View<'_>) -> Vec<Chart> {
    let shown = shown(measured, view.all);
    let drawn = if view.all { shown } else { noisiest(&shown).into_iter().collect() };
    let mut charts = vec![];
    for named in drawn {
        let Some(distribution) = &named.result.distribution else { continue };
        let loss = Loss::of(&named.result.facts, distribution);
        // Without variation the headline suffices.
        if loss.ns(loss.worst(distribution)) <= 0.0 {
            continue;
        }
        if view.all || measured.method != methods::LOOPS {
            charts.extend(over_time(&named, distribution, &loss));
        }
        if view.all || matches!(measured.method.as_str(), methods::FWQ | methods::TICK) {
            charts.extend(histogram(&named, distribution, &loss));
        }
    }
    charts
}

/// Names the values of a figure.
fn what(fixed: Fixed) -> &'static str {
    match fixed {
        Fixed::Work => "time over the shortest",
        Fixed::Time => "time lost per window",
    }
}

fn over_time(named: &Named<'_>, distribution: &Distribution, loss: &Loss) -> Option<Chart> {
    let bins = &named.result.figures.series;
    let starts: Vec<f64> = bins.iter().map(|bin| bin.start_ns as f64).collect();
    let apart = starts.windows(2).map(|pair| pair[1] - pair[0]).filter(|width| *width > 0.0);
    let facts = &named.result.facts;
    let width = apart.fold(facts.wall_ns as f64, f64::min);
    if bins.is_empty() {
        return None;
    }
    let means: Vec<(f64, f64)> =
        bins.iter().map(|bin| (bin.start_ns as f64, loss.ns(bin.mean))).collect();
    let span = |bin: &TimeBin| {
        let (one, other) = (loss.ns(bin.min), loss.ns(bin.max));
        (one.min(other), one.max(other))
    };
    let spans: Vec<(f64, f64)> = bins.iter().map(span).collect();
    let end = facts.start_ns.saturating_add(facts.wall_ns) as f64;
    let x = Axis::linear("since the start", Quantity::Time).over([facts.start_ns as f64, end]);
    let y = vertical(&spans, distribution, loss);
    let name = format!("mean of {}", fine(width));
    let curve = Curve::numbered(0, name, Draw::Band { width }, &means).spanning(spans);
    let title = format!("{} · {}", what(loss.fixed), named.title());
    Some(Chart::of(x, y, vec![curve]).titled(title, ROWS + 2))
}

/// Returns an axis from 0, or a logarithmic one if the worst sample would compress all others.
fn vertical(spans: &[(f64, f64)], distribution: &Distribution, loss: &Loss) -> Axis {
    let most = spans.iter().map(|(_, high)| *high).fold(0.0, f64::max);
    let mean = loss.ns(distribution.mean);
    if most <= FAR * mean {
        return Axis::linear("time lost", Quantity::Time).over([0.0, most]).rounded(TICKS);
    }
    let axis = Axis::log("time lost", Quantity::Time);
    axis.over([lowest(distribution, loss, most), most]).rounded(TICKS)
}

/// Returns the start of a logarithmic axis up to `most`: the smallest loss that many samples have.
fn lowest(distribution: &Distribution, loss: &Loss, most: f64) -> f64 {
    let values = distribution.quantiles.iter().map(|quantile| quantile.value);
    let losses = values.chain([distribution.mean]).map(|value| loss.ns(value));
    losses.filter(|ns| *ns > 0.0).fold(most, f64::min).max(most / DEEPEST)
}

fn histogram(named: &Named<'_>, distribution: &Distribution, loss: &Loss) -> Option<Chart> {
    let Bars { x, bins, notes } = bars_of(named, distribution, loss)?;
    if bins.iter().all(|bin| bin.count == 0) {
        return None;
    }
    let spans = bins.iter().map(|bin| (bin.low, bin.high)).collect();
    let counts: Vec<(f64, f64)> = bins.iter().map(|bin| (bin.low, bin.count as f64)).collect();
    let bars = Curve::numbered(0, "samples".into(), Draw::Bars, &counts).spanning(spans);
    let y = Axis::linear("samples", Quantity::Count);
    let title = format!("samples by {} · {}", what(loss.fixed), named.title());
    Some(Chart { notes, ..Chart::of(x, y, vec![bars]).titled(title, ROWS) })
}

/// The content of a histogram.
struct Bars {
    x: Axis,
    bins: Vec<Bin>,
    notes: Vec<String>,
}

/// Returns the main body, or all samples on a logarithmic axis if the body is not nearly all of them.
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
        let x = Axis::linear("time lost", Quantity::Time).over(ends);
        return Some(Bars { x, bins, notes: beyond(histogram, distribution, loss) });
    }
    let x = Axis::log("time lost", Quantity::Time);
    let x = x.over([lowest(distribution, loss, most), most]).rounded(TICKS);
    let bins = all(&figures.cdf, distribution.samples, loss);
    let edge = format!("leftmost bin: {} or less", fine(x.ends().0));
    Some(Bars { x, bins, notes: vec![edge] })
}

/// Returns all samples in bins between the points of their cumulative distribution.
fn all(cdf: &[Point], samples: u64, loss: &Loss) -> Vec<Bin> {
    let before = std::iter::once(None).chain(cdf.iter().map(Some));
    let bin = |(before, point): (Option<&Point>, &Point)| {
        let here = loss.ns(point.value);
        let share = point.share - before.map_or(0.0, |before| before.share);
        let from = before.map_or(here, |before| loss.ns(before.value));
        // Far from the previous point, the samples lie at this point instead of in between.
        let alone = from.max(here) > APART * from.min(here);
        let count = (share.max(0.0) * samples as f64).round() as u64;
        Bin { low: if alone { here } else { from }, high: here, count }
    };
    before.zip(cdf).map(bin).collect()
}

/// States how many samples lie outside the main body.
fn beyond(histogram: &Histogram, distribution: &Distribution, loss: &Loss) -> Vec<String> {
    let (better, worse) = match loss.fixed {
        Fixed::Work => (histogram.below, histogram.above),
        Fixed::Time => (histogram.above, histogram.below),
    };
    let of = |number: u64| share(number as f64 / distribution.samples.max(1) as f64);
    let mut key = vec![];
    if better > 0 {
        key.push(format!("{} below this range ({})", count(better), of(better)));
    }
    if worse > 0 {
        let far = fine(loss.ns(loss.worst(distribution)));
        key.push(format!("{} above this range ({}), up to {far}", count(worse), of(worse)));
    }
    key
}
