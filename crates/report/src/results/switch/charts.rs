//! The curves of the context-switch ring: the cost of a switch over the working set, one for each ring.

use crate::picture::{Axis, Chart, Curve, Draw, Place, Quantity, ROWS};
use crate::results::memory::words::size;
use anechoic_analyze::Switch;
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
        Chart::new(x, y, curves(found, &sizes)).named("cost of a switch").titled(title, ROWS);
    // An end of an interval at or below 0 has no place on a logarithmic axis.
    let cut = chart.curves.iter().flat_map(|curve| &curve.spans).any(|&(low, _)| low <= 0.0);
    let caption = format!(
        "Cost of a switch by working set, one curve for each number of members: a hop of the token minus one without a switch, mean \
         over blocks with 95 % intervals. Costs that were not above 0 have no point.{}",
        if cut { " Intervals that reach 0 or less are cut at the axis." } else { "" }
    );
    (chart, caption)
}

/// Returns a curve for each ring over the working sets in their order.
fn curves(found: &Switch, sizes: &[u64]) -> Vec<Curve> {
    let rings = found.rings();
    let one_kind = rings.iter().all(|ring| ring.0 == rings[0].0);
    let curves = rings.iter().enumerate().filter_map(|(number, ring)| {
        let name = match one_kind {
            true => format!("{} members", ring.1),
            false => format!("{} {}", ring.1, ring.0.name()),
        };
        curve(found, sizes, *ring, number, name)
    });
    curves.collect()
}

/// Returns the curve of a ring; nothing if no cost was above 0.
fn curve(
    found: &Switch,
    sizes: &[u64],
    ring: (Partners, u32),
    number: usize,
    name: String,
) -> Option<Curve> {
    let (mut points, mut spans) = (vec![], vec![]);
    for point in found.points.iter().filter(|point| (point.partners, point.members) == ring) {
        let place = sizes.iter().position(|&size| size == point.bytes);
        let cost = point.cost_ns.filter(|cost| cost.value > 0.0);
        let Some((place, cost)) = place.zip(cost) else { continue };
        let us = cost.value / 1e3;
        points.push((place as f64, us));
        let ends = cost.interval.map(|interval| (interval.low / 1e3, interval.high / 1e3));
        spans.push(ends.unwrap_or((us, us)));
    }
    let curve = Curve::numbered(number, name, Draw::Line, &points);
    (!points.is_empty()).then(|| curve.spanning(spans))
}
