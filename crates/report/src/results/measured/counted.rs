//! Events that were counted during each series: misses of caches and page faults, of the program and of the kernel
//! (Tsafrir 2007, Figures 12 to 14).

use crate::results::measured::names::{Named, shown};
use crate::screen::Screen;
use crate::table::Table;
use crate::units::{noise, number};
use anechoic_analyze::samples::Measured;
use anechoic_recording::paging::counts::{FAULTS_IN, FIRST_LEVEL, LAST_LEVEL};

const WHAT: &str = "cache misses and page faults in each sample";
/// Explains the columns.
pub(crate) const HOW: &str = "means over the samples; L1: loads that missed the first-level data cache; LLC: accesses that missed the last level; \
                   user: of the loop; kernel: of what the kernel did on its CPU meanwhile";

/// Returns the events with their headings, `L1, user`.
pub(crate) fn all() -> impl Iterator<Item = (String, &'static str)> {
    EVENTS.into_iter().flat_map(|(_, title, names)| {
        let modes = ["user", "kernel"].into_iter().zip(names);
        modes.map(move |(mode, name)| (format!("{title}, {mode}"), name))
    })
}

/// The events: which go first where the table is too wide, their heading, and their names of the program and of the kernel.
const EVENTS: [(u8, &str, [&str; 2]); 3] =
    [(1, "L1", FIRST_LEVEL), (0, "LLC", LAST_LEVEL), (2, "faults", FAULTS_IN)];

/// Adds the table, if any event was counted.
pub(crate) fn add(measured: &Measured, all: bool, screen: &mut Screen) {
    if let Some(table) = table(measured, all) {
        screen.section(WHAT);
        screen.table(table);
        screen.note(HOW);
    }
}

/// Returns one row for each series; absent if no event was counted.
fn table(measured: &Measured, all: bool) -> Option<Table> {
    let rows: Vec<Named<'_>> = shown(measured, all);
    let any = rows.iter().any(|named| named.result.facts.counts.values().any(|count| *count > 0));
    let mut table = Table::with_rows(&rows)
        .some_names("", 0, |named| named.letter.map(String::from))
        .name("kernel", |named| named.result.facts.variant.clone())
        .number("CPU", |named| named.result.facts.cpu.map_or("any".into(), |cpu| cpu.to_string()))
        .some_numbers("noise", 0, |named| named.result.distribution.as_ref()?.noise.map(noise));
    for (goes, title, names) in EVENTS {
        for (mode, name) in ["user", "kernel"].into_iter().zip(names) {
            table = table
                .some_numbers(&format!("{title}, {mode}"), goes, |named| per_sample(named, name));
        }
    }
    any.then(|| {
        table.captioned("Cache misses and page faults in each sample, by program and kernel")
    })
}

/// Writes how many of these events were counted in each sample.
fn per_sample(named: &Named<'_>, event: &str) -> Option<String> {
    let facts = &named.result.facts;
    let count = *facts.counts.get(event)?;
    (facts.samples > 0).then(|| number(count as f64 / facts.samples as f64))
}
