//! The tables of many hosts.

use super::words::HOST;
use crate::names::title_of;
use crate::style::clip;
use crate::table::Table;
use crate::units::{count, counted, length, noise, noise_bounds, rate, share, time};
use anechoic_analyze::cluster::{Cluster, ClusterSource, Used};
use std::collections::BTreeMap;

/// A table with more rows is shortened.
const MOST_ROWS: usize = 12;
/// Number of rows in a shortened table.
const SHOWN: usize = 8;
/// Lost time without a recorded activity is shown from this share on; less is rounding.
const LEAST_SHARE: f64 = 0.000_5;
/// Widest name of a source.
const SOURCE: usize = 28;

/// The same for a screen of 40 lines.
const FEW: usize = 4;

/// Shortens a table further where a terminal does not show all rows.
pub(crate) fn brief(table: Table, all: bool) -> Table {
    match all {
        true => table,
        false => table.first(FEW, false, |more| format!("and {} more (--all)", count(more as u64))),
    }
}

/// Shortens a table unless all rows are wanted.
pub(crate) fn folded(table: Table, rows: usize, all: bool) -> Table {
    match rows {
        ..=MOST_ROWS => table,
        _ => table.first(SHOWN, all, |more| format!("and {} more (--all)", count(more as u64))),
    }
}

/// Returns the hosts, one row each.
pub(crate) fn hosts(cluster: &Cluster, all: bool) -> Table {
    let table = Table::with_rows(&cluster.hosts)
        .name("host", |host| clip(&host.host, HOST))
        .number("CPUs", |host| count(host.cpus))
        .number("noise", |host| noise(host.noise))
        .number("95 %", |host| noise_bounds(host.noise, host.interval, host.at_least))
        .number("per s", |host| rate(host.rate_per_s))
        .number("longest", |host| host.max_ns.map_or("–".into(), length))
        .some_numbers("slower", 1, |host| host.slow.map(noise))
        .number("worst CPU", |host| host.worst_cpu.map_or("–".into(), |cpu| cpu.to_string()))
        .number("its noise", |host| noise(host.worst));
    folded(table.captioned("Hosts, the noisiest first"), cluster.hosts.len(), all)
}

/// Returns the CPUs, one row each, with the ratio to the median of their class.
pub(crate) fn cpus(cluster: &Cluster, all: bool) -> Table {
    let classes = &cluster.cpu_outliers.classes;
    let medians: BTreeMap<&str, f64> =
        classes.iter().map(|class| (&*class.class, class.median)).collect();
    let table = Table::with_rows(&cluster.cpus)
        .name("host", |cpu| clip(&cpu.host, HOST))
        .number("CPU", |cpu| cpu.cpu.to_string())
        .number("noise", |cpu| {
            format!("{}{}", if cpu.lost_detours > 0 { "≥" } else { "" }, noise(cpu.noise))
        })
        .number("95 %", |cpu| noise_bounds(cpu.noise, cpu.interval, cpu.at_least))
        .number("per s", |cpu| rate(cpu.rate_per_s))
        .number("p99", |cpu| cpu.p99_ns.map_or("–".into(), length))
        .number("longest", |cpu| cpu.max_ns.map_or("–".into(), length))
        .number("× median", |cpu| {
            let median = medians.get(&*cpu.class).filter(|&&median| median > 0.0);
            median.map_or("–".into(), |median| format!("{:.1}", cpu.noise / median))
        });
    folded(table.captioned("CPUs, the noisiest first"), cluster.cpus.len(), all)
}

/// Returns the sources, one row each, and the time without a recorded activity.
pub(crate) fn sources(
    cluster: &Cluster,
    rows: &[ClusterSource],
    unattributed: f64,
    all: bool,
) -> Table {
    let guest = cluster.machines.iter().any(|kind| kind.hypervisor.is_some());
    let mut table = Table::with_rows(rows)
        .name("what took the time", |row| clip(&title_of(&row.source, &row.name, guest), SOURCE))
        .number("share", |row| share(row.share))
        .number("per s", |row| rate(row.rate_per_s))
        .number("mean", |row| time(row.mean_ns))
        .number("longest", |row| length(row.max_ns))
        .number("CPUs", |row| count(row.cpus))
        .number("hosts", |row| count(row.hosts))
        .number("most on", |row| clip(&row.most_on, 12))
        .captioned("What took the time");
    if unattributed >= LEAST_SHARE {
        table.total(vec!["(no activity recorded)".to_owned(), share(unattributed)]);
    }
    folded(table, rows.len(), all)
}

/// Returns numbers of CPUs of a host and numbers of hosts, one row each.
pub(crate) fn used(by_cpus: &[Used], by_hosts: &[Used]) -> Table {
    let heads = ["mean noise", "worst CPU", "any", "hosts with as many"];
    let mut table =
        Table::with_names("used", &heads).captioned("Noise against CPUs and hosts used");
    for used in by_cpus {
        table.row(used_cells(counted(used.count, "CPU", "CPUs"), used, count(used.hosts)));
    }
    // A single host repeats the last row of its CPUs.
    for used in by_hosts.iter().filter(|_| by_hosts.len() > 1) {
        table.row(used_cells(counted(used.count, "host", "hosts"), used, String::new()));
    }
    table
}

fn used_cells(name: String, used: &Used, hosts: String) -> Vec<String> {
    let any = used.any.map_or("–".into(), noise);
    vec![name, noise(used.noise), noise(used.worst), any, hosts]
}
