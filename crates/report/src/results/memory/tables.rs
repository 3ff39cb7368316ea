//! The tables of the memory experiments.

use super::words::{regions, size};
use crate::picture::{Cell, Column, Heat, Row};
use crate::table::Table;
use crate::units::{count, number, share};
use anechoic_analyze::Memory;
use anechoic_analyze::memory::{Experiment, REGIONS, Region};
use anechoic_recording::memory::MemoryGroup;

/// Up to this many experiments are all listed.
pub(crate) const FEW: usize = 12;
/// Factors of ten between the darkest cell and the lightest visible one.
const DECADES: f64 = 5.0;

/// Returns the borders between the regions.
pub(crate) fn borders(found: &Memory) -> Table {
    Table::with_rows(&found.borders)
        .name("cache", |border| border.name.clone())
        .number("reported", |border| size(border.reported_bytes))
        .some_numbers("random", 0, |border| border.knee_bytes.map(size))
        .some_numbers("sequential", 0, |border| border.sequential_knee_bytes.map(size))
        .captioned("Borders of the caches, reported and measured")
}

/// Returns the experiments that are listed: those of bandwidth and of random reads, or all.
fn listed(found: &Memory, all: bool) -> Vec<&Experiment> {
    let few = found.measured().count() <= FEW;
    let random_read = |experiment: &Experiment| experiment.kernel == "read-random";
    let listed = |experiment: &&Experiment| {
        all || few || experiment.group == MemoryGroup::Bandwidth || random_read(experiment)
    };
    found.measured().filter(listed).collect()
}

/// Returns the time per access in each region.
pub(crate) fn times(found: &Memory, all: bool) -> Table {
    let cell = |region: &Region| Some(number(region.ticks * found.tick_ns));
    by_region(found, &listed(found, all), cell, "Time per access in each region, ns")
}

/// Returns the operating system's part of the variance in each region.
pub(crate) fn os_share(found: &Memory) -> Table {
    let cell = |region: &Region| region.os_share.map(share);
    by_region(
        found,
        &listed(found, true),
        cell,
        "Part of the variance that is the operating system's",
    )
}

fn by_region(
    found: &Memory,
    listed: &[&Experiment],
    cell: impl Fn(&Region) -> Option<String>,
    caption: &str,
) -> Table {
    let names = regions(found);
    let mut table = Table::with_rows(listed).name("experiment", |experiment| experiment.id.clone());
    for (at, name) in (0..REGIONS).zip(&names).filter(|(_, name)| !name.is_empty()) {
        table = table
            .some_numbers(name, 0, |experiment| experiment.regions[at].as_ref().and_then(&cell));
    }
    let passes =
        |experiment: &&Experiment| count(experiment.points.iter().map(|point| point.samples).sum());
    table.number("passes", passes).captioned(caption)
}

/// Returns the noise in all regions as a shaded table, 184 numbers for the paper's 46 experiments.
pub(crate) fn heat(found: &Memory) -> Heat {
    let regions_of_all =
        found.measured().flat_map(|experiment| experiment.regions.iter().flatten());
    let most = regions_of_all.filter_map(|region| region.ratio).fold(0.0, f64::max);
    let names = regions(found);
    let columns: Vec<(usize, &String)> =
        names.iter().enumerate().filter(|(_, name)| !name.is_empty()).collect();
    let row = |experiment: &Experiment| {
        Row::new(
            experiment.id.clone(),
            columns.iter().map(|&(at, _)| cell(experiment, at)).collect(),
        )
    };
    Heat {
        name: "noise".into(),
        title: "noise: variance divided by mean, in ticks".into(),
        corner: "experiment".into(),
        columns: columns.iter().map(|(_, name)| Column::plain((*name).clone())).collect(),
        rows: found.experiments.iter().map(row).collect(),
        most,
        decades: DECADES,
        write: |ratio| format!("{} ticks", number(ratio)),
    }
}

fn cell(experiment: &Experiment, region: usize) -> Cell {
    let ratio = experiment.regions[region].as_ref().and_then(|region| region.ratio);
    match (&experiment.absent, ratio) {
        (Some(why), _) => Cell { hint: Some(why.clone()), ..Cell::text("absent") },
        (None, None) => Cell::text("–"),
        (None, Some(ratio)) => Cell::value(ratio, number(ratio)),
    }
}
