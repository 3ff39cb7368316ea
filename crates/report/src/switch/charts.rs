//! The curves of the context-switch ring: the cost of a switch over the working set, one for each ring.

use crate::memory::words::size;
use crate::picture::{Axis, Chart, Curve, Draw, Place, Quantity, ROWS};
use anechoic_analyze::Switch;
use anechoic_analyze::switch::Point;
use anechoic_recording::switch::Partners;

/// Returns the figure for the terminal; nothing with fewer than two working sets beyond 0.
pub(crate) fn for_terminal(found: &Switch) -> Option<Chart> {
    let title = "cost of a switch in µs by working set of each member in KiB (those beyond 0)";
    let kib = |bytes: u64| (bytes > 0).then(|| bytes as f64 / 1024.0);
    let curves = curves(found, &kib).into_iter().map(|curve| curve.spanning(vec![])).collect();
    let x = Axis::log("KiB", Quantity::Number);
    let chart = Chart::of(x, Axis::log("µs", Quantity::Number), curves).titled(title, ROWS);
    let drawn = found.sizes().into_iter().filter(|&bytes| bytes > 0).count();
    (drawn > 1 && !chart.is_empty()).then_some(chart)
}

/// Returns the figure of the page with its caption.
pub(crate) fn for_page(found: &Switch) -> Option<(Chart, String)> {
    let sizes = found.sizes();
    let place = |bytes: u64| sizes.iter().position(|&of| of == bytes).map(|at| at as f64);
    let names = sizes.iter().zip(0_u32..);
    let names = names.map(|(&bytes, at)| Place { at: f64::from(at), name: size(bytes) });
    let x = Axis::named("working set of each member", names.collect());
    let y = Axis::log("cost of a switch, µs", Quantity::Number);
    let chart = Chart::of(x, y, curves(found, &place)).named("cost of a switch");
    // An end of an interval at or below 0 has no place on a logarithmic axis.
    let cut = chart.curves.iter().flat_map(|of| &of.spans).any(|&(low, _)| low <= 0.0);
    let caption = format!(
        "Cost of a switch by working set, one curve for each number of members: a hop of the token minus one without a switch, mean \
         over blocks with 95 % intervals. Costs that were not above 0 have no point.{}",
        if cut { " Intervals that reach 0 or less are cut at the axis." } else { "" }
    );
    (!chart.is_empty()).then_some((chart, caption))
}

/// Returns a curve for each ring; `place` is the horizontal position of a working set.
fn curves(found: &Switch, place: &dyn Fn(u64) -> Option<f64>) -> Vec<Curve> {
    let all = found.rings().into_iter().enumerate();
    let kinds = Partners::ALL.iter().filter(|&&of| found.points.iter().any(|p| p.partners == of));
    let one_kind = kinds.count() < 2;
    let curve = |(number, ring): (usize, (Partners, u32))| {
        let of_ring = found.points.iter().filter(|of| (of.partners, of.members) == ring);
        let points: Vec<(f64, f64, (f64, f64))> = of_ring
            .filter_map(|of: &Point| {
                let cost = of.cost_ns.filter(|cost| cost.value > 0.0)?;
                let us = cost.value / 1e3;
                let span = cost.interval.map_or((us, us), |of| (of.low / 1e3, of.high / 1e3));
                Some((place(of.bytes)?, us, span))
            })
            .collect();
        let name = match one_kind {
            true => format!("{} members", ring.1),
            false => format!("{} {}", ring.1, ring.0.name()),
        };
        let places: Vec<(f64, f64)> = points.iter().map(|&(x, y, _)| (x, y)).collect();
        let spans = points.iter().map(|&(.., span)| span).collect();
        (!places.is_empty())
            .then(|| Curve::numbered(number, name, Draw::Line, &places).spanning(spans))
    };
    all.filter_map(curve).collect()
}
