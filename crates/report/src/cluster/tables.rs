//! Tables of many hosts.

use super::words::HOST;
use crate::names::title_of;
use crate::style::clip;
use crate::table::Table;
use crate::units::{count, counted, length, noise, noise_interval, rate, share, time};
use anechoic_analyze::bootstrap::Interval;
use anechoic_analyze::cluster::{Cluster, ClusterSource, Used};
use std::collections::BTreeMap;

/// More rows than this are folded,
const MOST_ROWS: usize = 12;
/// to so many.
const SHOWN: usize = 8;
/// Lost time that no activity tells of is shown from this share on; less is the rounding of sums.
const LEAST_SHARE: f64 = 0.000_5;
/// The widest name of a source.
const SOURCE: usize = 28;

/// A table, folded to so many rows and to how many there are beside these.
fn folded(table: Table, rows: usize, all: bool) -> Table {
    if rows <= MOST_ROWS || all {
        return table;
    }
    table.folded(SHOWN, format!("and {} more (--all)", count((rows - SHOWN) as u64)))
}

/// The hosts, a row each.
pub(crate) fn hosts(cluster: &Cluster, all: bool) -> Table {
    let heads = ["CPUs", "noise", "95 %", "per s", "longest", "worst CPU", "its noise"];
    let mut table = Table::of_named("host", &heads).captioned("Hosts, the noisiest first");
    for host in &cluster.hosts {
        table.row(vec![
            clip(&host.host, HOST),
            count(host.cpus),
            noise(host.noise),
            interval(host.noise, host.interval),
            rate(host.rate_per_s),
            host.max_ns.map_or("–".into(), length),
            host.worst_cpu.map_or("–".into(), |cpu| cpu.to_string()),
            noise(host.worst),
        ]);
    }
    folded(table, cluster.hosts.len(), all)
}

/// CPUs, a row each, beside the median of their class.
pub(crate) fn cpus(cluster: &Cluster, all: bool) -> Table {
    let classes = &cluster.cpu_outliers.classes;
    let medians: BTreeMap<&str, f64> =
        classes.iter().map(|class| (&*class.class, class.median)).collect();
    let heads = ["CPU", "noise", "95 %", "per s", "p99", "longest", "× median"];
    let mut table = Table::of_named("host", &heads).captioned("CPUs, the noisiest first");
    for cpu in &cluster.cpus {
        let at_least = if cpu.lost_detours > 0 { "≥" } else { "" };
        let median = medians.get(&*cpu.class).copied().filter(|&median| median > 0.0);
        table.row(vec![
            clip(&cpu.host, HOST),
            cpu.cpu.to_string(),
            format!("{at_least}{}", noise(cpu.noise)),
            interval(cpu.noise, cpu.interval),
            rate(cpu.rate_per_s),
            cpu.p99_ns.map_or("–".into(), length),
            cpu.max_ns.map_or("–".into(), length),
            median.map_or("–".into(), |median| format!("{:.1}", cpu.noise / median)),
        ]);
    }
    folded(table, cluster.cpus.len(), all)
}

/// Sources, a row each, and what no activity accounts for.
pub(crate) fn sources(
    cluster: &Cluster,
    rows: &[ClusterSource],
    unattributed: f64,
    all: bool,
) -> Table {
    let guest = cluster.machines.iter().any(|kind| kind.hypervisor.is_some());
    let heads = ["share", "per s", "mean", "longest", "CPUs", "hosts", "most on"];
    let mut table = Table::of_named("what took the time", &heads).captioned("What took the time");
    for row in rows {
        table.row(vec![
            clip(&title_of(&row.source, &row.name, guest), SOURCE),
            share(row.share),
            rate(row.rate_per_s),
            time(row.mean_ns),
            length(row.max_ns),
            count(row.cpus),
            count(row.hosts),
            clip(&row.most_on, 12),
        ]);
    }
    if unattributed >= LEAST_SHARE {
        table.total(vec!["(no activity recorded)".to_owned(), share(unattributed)]);
    }
    folded(table, rows.len(), all)
}

/// CPUs of a host, then hosts, a row each.
pub(crate) fn used(by_cpus: &[Used], by_hosts: &[Used]) -> Table {
    let heads = ["mean noise", "worst CPU", "any", "hosts with so many"];
    let mut table = Table::of_named("used", &heads).captioned("Noise against CPUs and hosts used");
    for used in by_cpus {
        table.row(used_cells(counted(used.count, "CPU", "CPUs"), used, count(used.hosts)));
    }
    // One host is the last row of its CPUs.
    for used in by_hosts.iter().filter(|_| by_hosts.len() > 1) {
        table.row(used_cells(counted(used.count, "host", "hosts"), used, String::new()));
    }
    table
}

fn used_cells(name: String, used: &Used, hosts: String) -> Vec<String> {
    let any = used.any.map_or("–".into(), noise);
    vec![name, noise(used.noise), noise(used.worst), any, hosts]
}

fn interval(of: f64, interval: Option<Interval>) -> String {
    interval.map_or("–".into(), |interval| noise_interval(of, interval.low, interval.high))
}
