//! Curves of the time per access by size of the matrix, one for each page size.

use super::words::{build, kind};
use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Estimated, Place, Quantity, ROWS, Series};
use crate::results::memory::words::size;
use anechoic_analyze::Paging;
use anechoic_analyze::paging::{Kind, Point};
use anechoic_analyze::stats::Estimate;
use anechoic_analyze::stats::Interval;
use anechoic_recording::paging::BUILDS;

/// The page sizes with curves of their own: more could not be distinguished.
const FEW: [&str; 4] = ["base", "thp-2m", "huge-2m", "huge-1g"];

/// Names the intervals of a figure.
pub(crate) const INTERVAL: &str = "95 % interval";

/// Returns the figure of a build over the size of the matrix, with its caption.
pub(super) fn by_size(found: &Paging, id: &'static str) -> Option<(Chart, String)> {
    let few = few(found).filter_map(|(number, kind)| curve(found, kind, number, id));
    let curves: Vec<Curve> = others(found, id).into_iter().chain(few).collect();
    let place = |&bytes: &u64| Place { at: log2(bytes), name: size(bytes) };
    let x = Axis::named("matrix", found.sizes().iter().map(place).collect());
    let chart = Chart::new(x, Axis::linear("ns per access", Quantity::Number), curves);
    let caption = format!(
        "Time per access by size of the matrix, {}: mean over blocks, with 95 % intervals, cut at 0, for the pages that have a curve of their own.",
        build(id)
    );
    let title = format!("ns per access by size of the matrix, {}", build(id));
    (!chart.is_empty()).then(|| (chart.named(build(id)).titled(title, ROWS), caption))
}

fn log2(bytes: u64) -> f64 {
    (bytes as f64).log2()
}

/// Returns the figure of both builds on each page size at the largest matrix, the smallest pages at the top (Figure 6.8 of the
/// thesis), with its caption; nothing for a single page size.
pub(crate) fn by_pages(found: &Paging) -> Option<(Chart, String)> {
    let largest = found.sizes().last().copied()?;
    let measured =
        |pages: &&Kind| BUILDS.iter().any(|id| found.point(&pages.id, id, largest).is_some());
    let kinds: Vec<&Kind> = found.kinds.iter().filter(measured).collect();
    let series = |id: &'static str| {
        let ns = |pages: &&Kind| Some(estimated(&found.point(&pages.id, id, largest)?.ns));
        let values = kinds.iter().map(ns).collect();
        Series { name: build(id).to_owned(), letter: None, values }
    };
    let names = kinds.iter().map(|pages| kind(pages)).collect();
    let axis = ("ns per access", Quantity::Number);
    let chart = Chart::by_name(names, &BUILDS.map(series), axis, INTERVAL);
    let caption = format!(
        "Time per access on each page size at {}, both builds: mean over blocks, with 95 % intervals.",
        size(largest)
    );
    (kinds.len() > 1).then(|| (chart.named("by pages"), caption))
}

/// Returns an estimate as a figure shows it.
pub(crate) fn estimated(estimate: &Estimate) -> Estimated {
    Estimated {
        value: estimate.value,
        ends: estimate.interval.map(|interval| (interval.low, interval.high)),
    }
}

/// Returns the page sizes with curves of their own, numbered.
fn few(found: &Paging) -> impl Iterator<Item = (usize, &Kind)> {
    found.kinds.iter().filter(|kind| FEW.contains(&&*kind.id)).enumerate()
}

/// Returns the lines of all other page sizes as one grey curve; nothing if none of them was measured.
fn others(found: &Paging, build: &str) -> Option<Curve> {
    let others = found.kinds.iter().filter(|kind| !FEW.contains(&&*kind.id));
    let lines: Vec<(&Kind, Curve)> =
        others.filter_map(|pages| Some((pages, curve(found, pages, 0, build)?))).collect();
    let points: Vec<(f64, f64)> = lines.iter().flat_map(|(_, line)| segments(line)).collect();
    let [(first, _), .., (last, _)] = &lines[..] else {
        return lines.into_iter().next().map(|(_, line)| line.recolored(palette::REST));
    };
    let name = format!("{} to {}", kind(first), size(last.page_bytes));
    Some(Curve::numbered(0, name, Draw::Segments, &points).recolored(palette::REST))
}

/// Returns the ends of the segments of a line.
fn segments(line: &Curve) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = line.points().collect();
    points.windows(2).flatten().copied().collect()
}

/// Returns the curve of a page size; nothing if it was not measured.
fn curve(found: &Paging, pages: &Kind, number: usize, build: &str) -> Option<Curve> {
    let sizes = found.sizes();
    let points: Vec<&Point> =
        sizes.iter().filter_map(|&bytes| found.point(&pages.id, build, bytes)).collect();
    let places: Vec<(f64, f64)> =
        points.iter().map(|point| (log2(point.bytes), point.ns.value)).collect();
    let ends = |estimate: &Estimate| {
        // No access takes less than no time.
        let drawn = |interval: Interval| (interval.low.max(0.0), interval.high);
        estimate.interval.map_or((estimate.value, estimate.value), drawn)
    };
    let spans = points.iter().map(|point| ends(&point.ns)).collect();
    let curve = || Curve::numbered(number, kind(pages), Draw::Line, &places).spanning(spans);
    (!places.is_empty()).then(curve)
}
