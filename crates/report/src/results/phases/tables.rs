//! Tables of the predicted slowdown, and of the source that costs most.

use super::words::near;
use crate::names::title_of;
use crate::style::clip;
use crate::table::{Align, Table};
use crate::units::{asked, between, bounds, count, rough_slowdown, slowdown};
use anechoic_analyze::stats::Interval;
use anechoic_predict::phases::{Cell, Extrapolated, GrainModel, PhaseModel, SourceCost};

/// Widest name of a source.
const NAME: usize = 28;

/// Returns the slowdown for each number of ranks.
pub(crate) fn cell_table(grain: &GrainModel) -> Table {
    let mark = |cell: &Cell| if cell.supported { " " } else { "*" };
    let table = Table::with_rows(&grain.cells)
        .number("ranks", |cell| format!("{}{}", count(cell.ranks), mark(cell)))
        .number("free start", |cell| slowdown(cell.free_start.slowdown))
        .number("95 %", |cell| {
            let (interval, at_least) = near(&cell.free_start);
            bounds(interval, at_least, slowdown)
        })
        .number("recursion", |cell| {
            cell.recursion.map_or("–".into(), |recursion| slowdown(recursion.slowdown))
        })
        .number("wall start", |cell| slowdown(cell.wall_start.slowdown))
        .number("Tsafrir", |cell| slowdown(cell.closed_form));
    let extrapolated = grain.cells.iter().any(|cell| cell.extrapolated.is_some());
    let table = match extrapolated {
        false => table,
        true => table.number("with tail (95 %)", |cell| {
            let tail = cell.extrapolated.as_ref();
            tail.and_then(with_tail).unwrap_or_default()
        }),
    };
    table.captioned("Slowdown by number of ranks")
}

fn with_tail(extrapolated: &Extrapolated) -> Option<String> {
    let Interval { low, high } = extrapolated.interval?;
    let range = between(&rough_slowdown(low), &rough_slowdown(high));
    Some(format!("{} ({range})", rough_slowdown(extrapolated.slowdown)))
}

/// Title of the table of the costliest sources.
pub(super) const WHOSE: &str =
    "costliest source (free start; slowdowns are those of the most ranks in the row)";

/// Returns the costliest source for each range of ranks in which it is the same; nothing if no source costs anything.
pub(crate) fn culprit_table(model: &PhaseModel) -> Option<Table> {
    let costly = |grain: &GrainModel| grain.cells.iter().any(|cell| worst(cell).is_some());
    if !model.grains.iter().any(costly) {
        return None;
    }
    const HEADS: [(&str, Align); 6] = [
        ("grain", Align::Right),
        ("ranks", Align::Right),
        ("costs most", Align::Left),
        ("slowdown", Align::Right),
        ("without it", Align::Right),
        ("alone", Align::Right),
    ];
    let mut table = Table::new(&HEADS).captioned("Which source costs most");
    for grain in &model.grains {
        let mut ranked: Vec<&Cell> = grain.cells.iter().collect();
        ranked.sort_by_key(|cell| cell.ranks);
        let same = |a: &&Cell, b: &&Cell| {
            worst(a).map(|s| (&s.source, &s.name)) == worst(b).map(|s| (&s.source, &s.name))
        };
        for stretch in ranked.chunk_by(same) {
            let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else { continue };
            let Some(source) = worst(last) else { continue };
            let ranks = match (first.ranks, last.ranks) {
                (first, last) if first == last => count(first),
                (first, last) => format!("{}–{}", count(first), count(last)),
            };
            table.row(vec![
                asked(grain.grain_ns),
                ranks,
                clip(&title_of(&source.source, &source.name, model.guest), NAME),
                slowdown(last.free_start.slowdown),
                slowdown(source.without),
                slowdown(source.alone),
            ]);
        }
    }
    Some(table)
}

/// Returns the costliest source; nothing if none costs anything.
fn worst(cell: &Cell) -> Option<&SourceCost> {
    cell.sources.first().filter(|source| source.without < cell.free_start.slowdown)
}
