//! Exact values that come again and again (the fine view of Tsafrir 2007): how the tool itself varies where it does nothing.

use crate::measured::columns::Columns;
use crate::measured::loss::amount;
use crate::measured::names::{Named, shown};
use crate::style::{Tone, View, clip};
use crate::units::{count, counted, share};
use anechoic_analyze::samples::fine::FineView;
use anechoic_analyze::samples::{Fixed, Measured};
use std::io::{self, Write};

/// The kernel that does nothing.
const EMPTY: &str = "empty";

/// Writes the exact values of series that do nothing, or of all where all is to be shown.
pub(super) fn write(measured: &Measured, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    for named in shown(measured, view.all) {
        let Some(fine) = &named.result.fine else { continue };
        if view.all || named.result.facts.variant == EMPTY {
            one(&named, fine, view, out)?;
        }
    }
    Ok(())
}

fn one(named: &Named<'_>, fine: &FineView, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let heading = clip(&format!("exact values · {}", named.title()), view.columns());
    writeln!(out, "\n{}", view.style.paint(Tone::Heading, &heading))?;
    let fixed = named.result.facts.fixed;
    let values = || fine.dominant.iter();
    let mut columns = Columns::default();
    if fixed == Fixed::Work {
        columns.right("ticks", 0, values().map(|value| count(value.raw)));
        columns.right("time", 0, values().map(|value| amount(fixed, value.value)));
    } else {
        columns.right("units of work", 0, values().map(|value| count(value.raw)));
    }
    columns.right("samples", 0, values().map(|value| count(value.count)));
    columns.right("share", 0, values().map(|value| share(value.share)));
    columns.write(view, out)?;
    let distinct = fine.distinct.map_or("many distinct values".into(), |distinct| {
        counted(distinct, "distinct value", "distinct values")
    });
    let run = fine.longest_run;
    let unit = if fixed == Fixed::Work { ("tick", "ticks") } else { ("unit", "units") };
    let line = format!(
        "{distinct}; longest run of equal samples: {} of {}",
        count(run.length),
        counted(run.raw, unit.0, unit.1)
    );
    writeln!(out, "{}", view.style.paint(Tone::Quiet, &clip(&line, view.columns())))
}
