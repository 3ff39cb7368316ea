//! The curves of the context-switch ring: the cost of a switch over the working set, one for each ring.

use crate::memory::words::size;
use crate::picture::{Axis, Chart, Curve, Draw, Place, Quantity, ROWS};
use anechoic_analyze::Switch;
use anechoic_analyze::switch::Point;
use anechoic_recording::switch::Partners;

/// Returns the figure with its caption.
pub(super) fn costs(found: &Switch) -> (Chart, String) {
    let sizes = found.sizes();
    let names = sizes.iter().zip(0_u32..);
    let names = names.map(|(&bytes, at)| Place { at: f64::from(at), name: size(bytes) });
    let x = Axis::named("working set of each member", names.collect());
    let y = Axis::log("cost of a switch, µs", Quantity::Number);
    let title = "cost of a switch in µs by working set of each member";
    let chart =
        Chart::of(x, y, curves(found, &sizes)).named("cost of a switch").titled(title, ROWS);
    // An end of an interval at or below 0 has no place on a logarithmic axis.
    let cut = chart.curves.iter().flat_map(|of| &of.spans).any(|&(low, _)| low <= 0.0);
    let caption = format!(
        "Cost of a switch by working set, one curve for each number of members: a hop of the token minus one without a switch, mean \
         over blocks with 95 % intervals. Costs that were not above 0 have no point.{}",
        if cut { " Intervals that reach 0 or less are cut at the axis." } else { "" }
    );
    (chart, caption)
}

/// Returns a curve for each ring over the working sets in their order.
fn curves(found: &Switch, sizes: &[u64]) -> Vec<Curve> {
    let place = |bytes: u64| sizes.iter().position(|&size| size == bytes).map(|at| at as f64);
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
