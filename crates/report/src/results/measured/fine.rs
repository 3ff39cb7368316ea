//! The most frequent exact values (the fine view of Tsafrir 2007), which show how the tool itself varies when it does
//! nothing.

use crate::results::measured::loss::amount;
use crate::results::measured::names::shown;
use crate::screen::Screen;
use crate::style::View;
use crate::table::Table;
use crate::units::{between, count, counted, share};
use anechoic_analyze::samples::fine::FineView;
use anechoic_analyze::samples::{Fixed, Measured};

/// The kernel that does nothing.
const EMPTY: &str = "empty";

/// Adds the exact values of series that do nothing, or on a full screen of all series.
pub(super) fn add(measured: &Measured, view: &View<'_>, screen: &mut Screen) {
    for named in shown(measured, view.all) {
        let Some(fine) = &named.result.fine else { continue };
        if view.all || named.result.facts.variant == EMPTY {
            screen.section(&format!("exact values · {}", named.title()));
            let fixed = named.result.facts.fixed;
            screen.table(values(fine, fixed));
            screen.note(&distinct(fine, fixed));
            screen.note(&by_length(fine));
        }
    }
}

fn values(fine: &FineView, fixed: Fixed) -> Table {
    let table = Table::with_rows(&fine.dominant);
    let table = match fixed {
        Fixed::Work => table
            .number("counter ticks", |value| count(value.raw))
            .number("time", |value| amount(fixed, value.value)),
        Fixed::Time => table.number("units of work", |value| count(value.raw)),
    };
    table
        .number("samples", |value| count(value.count))
        .number("share", |value| share(value.share))
        .some_numbers("runs", 1, |value| value.runs.map(count))
        .some_numbers("longest", 2, |value| value.longest_run.map(count))
        .captioned("Exact values")
}

/// Writes how many runs of equal samples have which length.
fn by_length(fine: &FineView) -> String {
    let runs = fine.runs_by_length.iter().enumerate().filter(|(_, runs)| **runs > 0);
    let runs = runs.map(|(place, runs)| {
        let (from, to) = (1_u64 << place, (2_u64 << place) - 1);
        let length = if from == to { count(from) } else { between(&count(from), &count(to)) };
        format!("{length}: {}", count(*runs))
    });
    format!("runs by length: {}", runs.collect::<Vec<_>>().join(" · "))
}

fn distinct(fine: &FineView, fixed: Fixed) -> String {
    let distinct = fine.distinct.map_or("many distinct values".into(), |distinct| {
        counted(distinct, "distinct value", "distinct values")
    });
    let run = fine.longest_run;
    let (one, more) =
        if fixed == Fixed::Work { ("counter tick", "counter ticks") } else { ("unit", "units") };
    let (length, raw) = (count(run.length), counted(run.raw, one, more));
    format!("{distinct}; longest run of equal samples: {length} with {raw}")
}
