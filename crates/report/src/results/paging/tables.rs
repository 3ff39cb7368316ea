//! The tables of page sizes.

use super::words::kind;
use crate::published::{self, PAGING, Published, Value};
use crate::results::memory::words::size;
use crate::table::Table;
use crate::units::{count, number, percent};
use anechoic_analyze::Paging;
use anechoic_analyze::paging::{Kind, Point};
use anechoic_analyze::stats::Estimate;
use anechoic_recording::paging::{BASE, BUILDS, counts};

/// Up to this many sizes of the matrix are all shown.
pub(crate) const FEW: usize = 5;
const NOTHING: &str = "–";

/// Writes half of an interval.
fn reach(estimate: &Estimate, unit: f64) -> String {
    let half = estimate.interval.map(|interval| (interval.high - interval.low) / 2.0 * unit);
    half.map_or(String::new(), |half| format!(" ±{}", number(half)))
}

fn part(estimate: Option<Estimate>) -> String {
    estimate.map_or(NOTHING.into(), |known| {
        format!("{}{}", percent(known.value * 100.0), reach(&known, 100.0))
    })
}

/// Returns the page sizes that were measured with a build on a matrix, with their points.
fn measured<'f>(found: &'f Paging, build: &str, bytes: u64) -> Vec<(&'f Kind, &'f Point)> {
    let point = |kind: &'f Kind| Some((kind, found.point(&kind.id, build, bytes)?));
    found.kinds.iter().filter_map(point).collect()
}

/// Returns the results of a build on one matrix.
pub(crate) fn at(found: &Paging, build: &str, bytes: u64) -> Table {
    let counted = |name: &'static str| {
        move |(_, point): &(&Kind, &Point)| point.counts.get(name).map(|&count| number(count))
    };
    Table::with_rows(&measured(found, build, bytes))
        .name("pages", |(pages, _)| kind(pages))
        .number("ns", |(_, point)| format!("{}{}", number(point.ns.value), reach(&point.ns, 1.0)))
        .number("speed-up", |(_, point)| part(point.speedup))
        .number("over best", |(_, point)| part(point.over_best))
        .some_numbers("TLB misses", 1, counted(counts::TLB_MISSES))
        .some_numbers("walk cycles", 2, counted(counts::WALK_CYCLES))
        .some_numbers("faults", 3, counted(counts::FAULTS))
        .captioned(&format!("Time and events per access at {}", size(bytes)))
}

/// Writes a size in MiB without the unit, as the headings of many columns have place for.
fn mib(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib.fract() == 0.0 { count(mib as u64) } else { number(mib) }
}

/// Returns the time per access of a build by size of the matrix in MiB, of each factor of four unless all are wanted.
pub(crate) fn by_size(found: &Paging, build: &str, all: bool) -> Table {
    let sizes = found.sizes();
    let few = all || sizes.len() <= FEW;
    // The largest is always shown.
    let shown = |at: usize| few || (sizes.len() - 1 - at).is_multiple_of(2);
    let shown: Vec<u64> =
        sizes.iter().enumerate().filter(|(at, _)| shown(*at)).map(|(_, &bytes)| bytes).collect();
    let any =
        |pages: &&Kind| shown.iter().any(|&bytes| found.point(&pages.id, build, bytes).is_some());
    let kinds: Vec<&Kind> = found.kinds.iter().filter(any).collect();
    let mut table = Table::with_rows(&kinds).name("pages", |pages| kind(pages));
    for &bytes in &shown {
        table = table.number(&mib(bytes), |pages| {
            let point = found.point(&pages.id, build, bytes);
            point.map_or(NOTHING.into(), |point| number(point.ns.value))
        });
    }
    table.captioned("Time per access in ns by size of the matrix in MiB")
}

/// Returns the published numbers beside those of the largest matrix.
pub(crate) fn published(found: &Paging) -> Table {
    let rows: Vec<(&Published, &Published)> = PAGING
        .iter()
        .filter(|cell| cell.column == published::UNOPTIMISED)
        .filter_map(|cell| {
            let other = published::find(&PAGING, cell.experiment, cell.row, published::OPTIMISED)?;
            Some((cell, other))
        })
        .collect();
    let own = |build: usize| {
        move |(cell, _): &(&Published, &Published)| {
            here(found, cell, BUILDS[build]).unwrap_or_else(|| NOTHING.into())
        }
    };
    Table::with_rows(&rows)
        .name("quantity", |(cell, _)| format!("{}, {}", cell.experiment, cell.row))
        .number("-O0", |(cell, _)| text(cell))
        .number("-O3", |(_, cell)| text(cell))
        .number("here unopt.", own(1))
        .number("here opt.", own(0))
        .some_names("place", 1, |(cell, _)| Some(cell.place.to_owned()))
        .captioned("Published numbers, and the same here")
}

fn text(cell: &Published) -> String {
    match cell.value {
        Value::Is(value) if cell.unit.is_empty() => count(value as u64),
        Value::Is(value) if cell.unit == "%" => format!("{value:.2} %"),
        _ => cell.text(),
    }
}

/// Returns what was measured here of a published quantity.
fn here(found: &Paging, cell: &Published, build: &str) -> Option<String> {
    let &largest = found.sizes().last()?;
    let ids: &[&str] = match cell.row {
        published::SMALL_PAGES => &[BASE],
        published::LARGE_PAGES => &["huge-2m", "thp-2m"],
        published::HUGE_PAGES => &["huge-1g"],
        _ => &[],
    };
    let point = ids.iter().find_map(|id| found.point(id, build, largest))?;
    match cell.experiment {
        published::SPEEDUP => Some(percent(point.speedup?.value * 100.0)),
        published::SAVED => Some(format!("{} ns", number(point.saved_ns?.value))),
        published::TLB_MISSES => {
            let misses = point.counts.get(counts::TLB_MISSES)?;
            Some(format!("{} an access", number(*misses)))
        }
        _ => None,
    }
}
