//! Tables of many hosts.

use super::words::HOST;
use crate::names::title_of;
use crate::style::{Tone, View, clip, plain};
use crate::table::{Align, Table};
use crate::units::{count, length, noise, noise_interval, rate, share, time};
use anechoic_analyze::bootstrap::Interval;
use anechoic_analyze::cluster::{Cluster, ClusterCpu, ClusterSource, HostNoise, Used};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// More rows than this are folded,
const MOST_ROWS: usize = 12;
/// to so many.
const SHOWN: usize = 8;
/// Lost time that no activity tells of is shown from this share on; less is the rounding of sums.
const LEAST_SHARE: f64 = 0.000_5;
/// The widest name of a source.
const SOURCE: usize = 28;

/// How many of so many rows to show.
fn shown(rows: usize, view: &View<'_>) -> usize {
    if rows > MOST_ROWS && !view.all { SHOWN } else { rows }
}

fn heads<const N: usize>(
    left: &'static str,
    right: [&'static str; N],
) -> Vec<(&'static str, Align)> {
    let right = right.map(|head| (head, Align::Right));
    [(left, Align::Left)].into_iter().chain(right).collect()
}

/// Writes a table, and how many rows of it there are beside those shown.
fn write(table: Table, rows: usize, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    table.fit(view.columns()).write(view.style, out)?;
    match rows.checked_sub(shown(rows, view)) {
        None | Some(0) => Ok(()),
        Some(more) => {
            let line = format!("and {} more (--all)", count(more as u64));
            writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))
        }
    }
}

/// Writes the hosts.
pub(super) fn hosts(cluster: &Cluster, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let table = host_table(&cluster.hosts[..shown(cluster.hosts.len(), view)]);
    write(table, cluster.hosts.len(), view, out)
}

/// The hosts, a row each.
pub(crate) fn host_table(hosts: &[HostNoise]) -> Table {
    let right = ["CPUs", "noise", "95 %", "per s", "longest", "worst CPU", "its noise"];
    let mut table = Table::new(&heads("host", right));
    for host in hosts {
        table.row(vec![
            name(&host.host),
            count(host.cpus),
            noise(host.noise),
            interval(host.noise, host.interval),
            rate(host.rate_per_s),
            host.max_ns.map_or("–".into(), length),
            host.worst_cpu.map_or("–".into(), |cpu| cpu.to_string()),
            noise(host.worst),
        ]);
    }
    table
}

/// Writes the noisiest CPUs.
pub(super) fn cpus(cluster: &Cluster, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let shown = shown(cluster.cpus.len(), view);
    let table = cpu_table(cluster, &cluster.cpus[..shown]);
    write(table, cluster.cpus.len(), view, out)
}

/// CPUs, a row each, beside the median of their class.
pub(crate) fn cpu_table(cluster: &Cluster, cpus: &[ClusterCpu]) -> Table {
    let classes = &cluster.cpu_outliers.classes;
    let medians: BTreeMap<&str, f64> =
        classes.iter().map(|class| (&*class.class, class.median)).collect();
    let right = ["CPU", "noise", "95 %", "per s", "p99", "longest", "× median"];
    let mut table = Table::new(&heads("host", right));
    for cpu in cpus {
        let at_least = if cpu.lost_detours > 0 { "≥" } else { "" };
        let median = medians.get(&*cpu.class).copied().filter(|&median| median > 0.0);
        table.row(vec![
            name(&cpu.host),
            cpu.cpu.to_string(),
            format!("{at_least}{}", noise(cpu.noise)),
            interval(cpu.noise, cpu.interval),
            rate(cpu.rate_per_s),
            cpu.p99_ns.map_or("–".into(), length),
            cpu.max_ns.map_or("–".into(), length),
            median.map_or("–".into(), |median| format!("{:.1}", cpu.noise / median)),
        ]);
    }
    table
}

/// Writes what took the time; gives whether that is known.
pub(super) fn sources(cluster: &Cluster, view: &View<'_>, out: &mut dyn Write) -> io::Result<bool> {
    let Some(found) = &cluster.sources else { return Ok(false) };
    writeln!(out)?;
    if found.rows.is_empty() {
        writeln!(out, "no detour was recorded")?;
        return Ok(true);
    }
    let guest = cluster.machines.iter().any(|kind| kind.hypervisor.is_some());
    let mut table = source_table(&found.rows[..shown(found.rows.len(), view)], guest);
    if found.unattributed >= LEAST_SHARE {
        let mut cells = vec!["(no activity recorded)".to_owned(), share(found.unattributed)];
        cells.resize(table.widths().len(), String::new());
        table.row(cells);
    }
    write(table, found.rows.len(), view, out)?;
    Ok(true)
}

/// Sources, a row each.
pub(crate) fn source_table(rows: &[ClusterSource], guest: bool) -> Table {
    let right = ["share", "per s", "mean", "longest", "CPUs", "hosts", "most on"];
    let mut table = Table::new(&heads("what took the time", right));
    for row in rows {
        table.row(vec![
            clip(&title_of(&row.source, &row.name, guest), SOURCE),
            share(row.share),
            rate(row.rate_per_s),
            time(row.mean_ns),
            length(row.max_ns),
            count(row.cpus),
            count(row.hosts),
            plain(&clip(&row.most_on, 12)),
        ]);
    }
    table
}

/// Writes noise against CPUs and hosts.
pub(super) fn used(cluster: &Cluster, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    used_table(&cluster.by_cpus, &cluster.by_hosts).fit(view.columns()).write(view.style, out)
}

/// CPUs of a host, then hosts, a row each.
pub(crate) fn used_table(by_cpus: &[Used], by_hosts: &[Used]) -> Table {
    let right = ["mean noise", "worst CPU", "any", "hosts with so many"];
    let mut table = Table::new(&heads("used", right));
    let mut row = |name: String, used: &Used, hosts: String| {
        let any = used.any.map_or("–".into(), noise);
        table.row(vec![name, noise(used.noise), noise(used.worst), any, hosts]);
    };
    for used in by_cpus {
        row(crate::units::counted(used.count, "CPU", "CPUs"), used, count(used.hosts));
    }
    // One host is the last row of its CPUs.
    for used in by_hosts.iter().filter(|_| by_hosts.len() > 1) {
        row(crate::units::counted(used.count, "host", "hosts"), used, String::new());
    }
    table
}

fn name(host: &str) -> String {
    plain(&clip(host, HOST))
}

fn interval(of: f64, interval: Option<Interval>) -> String {
    interval.map_or("–".into(), |interval| noise_interval(of, interval.low, interval.high))
}
