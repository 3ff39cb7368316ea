//! Curves of the time per access by size of the matrix, one for each page size.

use super::words::{build, kind};
use crate::memory::words::size;
use crate::picture::{Axis, Chart, Curve, Draw, Place, Quantity, ROWS};
use anechoic_analyze::Paging;
use anechoic_analyze::paging::{Kind, Point};
use anechoic_recording::paging::BUILDS;

/// The page sizes that the terminal draws: more curves could not be distinguished.
const FEW: [&str; 5] = ["base", "thp-64k", "thp-2m", "huge-2m", "huge-1g"];

/// Returns the figure for the terminal: the optimised build on some page sizes.
pub(crate) fn for_terminal(found: &Paging) -> Option<Chart> {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let kinds = found.kinds.iter().filter(|kind| FEW.contains(&&*kind.id));
    let curves: Vec<Curve> = kinds
        .enumerate()
        .filter_map(|(number, kind)| curve(found, kind, number, BUILDS[0], &mib))
        .collect();
    let x = Axis::log("MiB", Quantity::Number);
    let chart = Chart::of(x, Axis::linear("ns", Quantity::Number), curves);
    let titled = chart.titled("ns per access by size of the matrix in MiB, optimised build", ROWS);
    (found.sizes().len() > 1 && !titled.is_empty()).then_some(titled)
}

/// Returns the figures of the page with their captions: one for each build.
pub(crate) fn for_page(found: &Paging) -> Vec<(Chart, String)> {
    let log2 = |bytes: u64| (bytes as f64).log2();
    let figure = |id: &'static str| {
        let numbered = found.kinds.iter().enumerate();
        let curves: Vec<Curve> =
            numbered.filter_map(|(number, kind)| curve(found, kind, number, id, &log2)).collect();
        let place = |&bytes: &u64| Place { at: log2(bytes), name: size(bytes) };
        let x = Axis::named("matrix", found.sizes().iter().map(place).collect());
        let chart = Chart::of(x, Axis::linear("ns per access", Quantity::Number), curves);
        let caption =
            format!("Time per access by size of the matrix, {}: mean over blocks.", build(id));
        (!chart.is_empty()).then(|| (chart.named(build(id)), caption))
    };
    BUILDS.into_iter().filter_map(figure).collect()
}

/// Returns the curve of a page size; nothing if it was not measured.
fn curve(
    found: &Paging,
    of: &Kind,
    number: usize,
    build: &str,
    place: &dyn Fn(u64) -> f64,
) -> Option<Curve> {
    let sizes = found.sizes();
    let points: Vec<&Point> =
        sizes.iter().filter_map(|&bytes| found.point(&of.id, build, bytes)).collect();
    let places: Vec<(f64, f64)> =
        points.iter().map(|point| (place(point.bytes), point.ns.value)).collect();
    (!places.is_empty()).then(|| Curve::numbered(number, kind(of), Draw::Line, &places))
}
