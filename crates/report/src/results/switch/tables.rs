//! The tables of the context-switch ring: a row for each working set, a column for each number of members.

use crate::results::memory::words::size;
use crate::table::{Rows, Table};
use crate::units::{counted, number};
use anechoic_analyze::Switch;
use anechoic_analyze::stats::Estimate;
use anechoic_analyze::switch::Point;
use anechoic_recording::switch::Partners;
use std::collections::BTreeSet;

const NOTHING: &str = "–";

/// Writes a time in µs with half of its interval.
fn time(estimate: Option<Estimate>) -> String {
    let Some(estimate) = estimate else { return NOTHING.into() };
    let half = estimate.interval.map(|within| (within.high - within.low) / 2e3);
    let half = half.map_or(String::new(), |half| format!(" ±{}", number(half)));
    format!("{}{half}", number(estimate.value / 1e3))
}

/// Adds a column for each ring of a kind.
fn by_ring<'s>(
    table: Rows<'s, u64>,
    found: &Switch,
    partners: Partners,
    value: fn(&Point) -> Option<Estimate>,
) -> Rows<'s, u64> {
    let rings = found.rings().into_iter().filter(|ring| ring.0 == partners);
    rings.fold(table, |table, ring| {
        let head = counted(u64::from(ring.1), "member", "members");
        table.number(&head, |&bytes| time(found.point(ring, bytes).and_then(value)))
    })
}

/// Returns all tables with their titles.
pub(crate) fn all(found: &Switch) -> Vec<(String, Table)> {
    let measured =
        |partners: &Partners| found.points.iter().any(|point| point.partners == *partners);
    let kinds = Partners::ALL.into_iter().filter(measured);
    kinds.flat_map(|partners| all_between(found, partners)).flatten().collect()
}

/// Returns the tables of a kind of partners with their titles; without working sets one is missing.
fn all_between(found: &Switch, partners: Partners) -> [Option<(String, Table)>; 3] {
    let name = partners.name();
    [
        Some((format!("Cost of a switch between {name} in a ring, µs"), costs(found, partners))),
        indirect(found, partners)
            .map(|table| (format!("What the working sets of {name} add to that, µs"), table)),
        Some((format!("A hop of the token between {name}, µs"), hops(found, partners))),
    ]
}

/// Returns what a switch costs.
fn costs(found: &Switch, partners: Partners) -> Table {
    let sizes = found.sizes();
    let table = Table::with_rows(&sizes).name("working set", |&bytes| size(bytes));
    by_ring(table, found, partners, |point| point.cost_ns)
        .captioned(&format!("Cost of a switch between {} by working set, µs", partners.name()))
}

/// Returns what the working sets add to the cost; nothing without working sets, or without the empty one.
fn indirect(found: &Switch, partners: Partners) -> Option<Table> {
    let points = found.points.iter().filter(|point| point.partners == partners);
    let known: BTreeSet<u64> =
        points.filter(|point| point.indirect_ns.is_some()).map(|point| point.bytes).collect();
    let sizes: Vec<u64> = found.sizes().into_iter().filter(|size| known.contains(size)).collect();
    let table = Table::with_rows(&sizes).name("working set", |&bytes| size(bytes));
    let table = by_ring(table, found, partners, |point| point.indirect_ns)
        .captioned(&format!("What the working sets of {} add, µs", partners.name()));
    (!sizes.is_empty()).then_some(table)
}

/// Returns the hops as they were measured, with those without a switch.
fn hops(found: &Switch, partners: Partners) -> Table {
    let sizes = found.sizes();
    let without = |&bytes: &u64| {
        time(found.without.iter().find(|point| point.bytes == bytes).map(|point| point.hop_ns))
    };
    let table = Table::with_rows(&sizes).name("working set", |&bytes| size(bytes));
    by_ring(table.number("no switch", without), found, partners, |point| Some(point.hop_ns))
        .captioned(&format!("Time of a hop between {} by working set, µs", partners.name()))
}
