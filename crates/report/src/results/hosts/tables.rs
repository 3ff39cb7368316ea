//! The tables of the samples of many hosts.

use crate::results::cluster::tables::folded;
use crate::results::cluster::words::HOST;
use crate::style::clip;
use crate::table::Table;
use crate::units::{asked, count, fine, length, noise, noise_bounds, share};
use anechoic_analyze::sampled::{JoinedExperiment, LostShare};
use anechoic_analyze::samples::Fixed;

/// Returns the hosts, one row each.
pub(super) fn hosts(joined: &JoinedExperiment, all: bool) -> Table {
    let table = Table::with_rows(&joined.by_host)
        .name("host", |row| clip(&row.host, HOST))
        .number("CPUs", |row| count(row.cpus))
        .number("samples", |row| count(row.samples))
        .number("noise", |row| noise(row.noise))
        .some_numbers("p50 lost", 0, |row| Some(length(row.lost.as_ref()?.p50_ns)))
        .some_numbers("p99 lost", 0, |row| Some(length(row.lost.as_ref()?.p99_ns)))
        .some_numbers("most lost", 0, |row| Some(length(row.lost.as_ref()?.max_ns)))
        .number("worst CPU", |row| row.worst_cpu.map_or("any".into(), |cpu| cpu.to_string()))
        .number("its noise", |row| noise(row.worst));
    folded(table.captioned("Hosts, the noisiest first"), joined.by_host.len(), all)
}

/// Returns the CPUs, one row each.
pub(super) fn cpus(joined: &JoinedExperiment, all: bool) -> Table {
    let value = |amount: f64| match joined.experiment.fixed {
        Fixed::Work => fine(amount),
        Fixed::Time => count(amount.round() as u64),
    };
    let table = Table::with_rows(&joined.by_cpu)
        .name("host", |row| clip(&row.host, HOST))
        .number("CPU", |row| row.cpu.map_or("any".into(), |cpu| cpu.to_string()))
        .number("noise", |row| noise(row.noise))
        .number("95 %", |row| noise_bounds(row.noise, row.interval, row.at_least))
        .number("min", |row| value(row.min))
        .number("mean", |row| value(row.mean))
        .number("median", |row| value(row.median))
        .number("p99", |row| value(row.p99))
        .number("max", |row| value(row.max));
    folded(table.captioned("CPUs, the noisiest first"), joined.by_cpu.len(), all)
}

/// Returns the shares of samples that lost at least some time: each power of ten, or every step.
pub(super) fn shares(joined: &JoinedExperiment, all: bool) -> Table {
    let whole_power =
        |row: &&LostShare| all || row.at_least_ns.ilog10() > (row.at_least_ns - 1).ilog10();
    let rows: Vec<LostShare> = joined.shares.iter().filter(whole_power).copied().collect();
    Table::with_rows(&rows)
        .name("lost at least", |row| asked(row.at_least_ns))
        .number("samples", |row| count(row.samples))
        .number("share", |row| share(row.share))
        .captioned("Samples of all CPUs by the time that they lost")
}
