//! What is said of many hosts, in words.

use crate::names::title_of;
use crate::style::{clip, plain};
use crate::units::{counted, length, noise, noise_interval, share};
use anechoic_analyze::cluster::{Cluster, ClusterNoise, Job, Outlier, Outliers};

/// Outliers that are named, at most.
const NAMED: usize = 8;
/// The widest name of a host.
pub(crate) const HOST: usize = 20;
/// Smaller chances are not told apart: the statistic assumes too much for that.
const BOUNDS: [(f64, &str); 4] = [(1e-6, "10⁻⁶"), (1e-5, "10⁻⁵"), (1e-4, "10⁻⁴"), (1e-3, "10⁻³")];

/// What the table of CPUs used means.
pub(crate) const USED: &str = "The first 1, 2, 4, … CPUs of each host by number, then hosts by name with all their \
    CPUs, while all were measured. Any: share of the time in which at least one of them was in a detour; of one host \
    as measured (mean over hosts), of several hosts as if they were independent.";

/// `4 hosts, 64 CPUs`.
pub(crate) fn hosts_and_cpus(hosts: u64, cpus: u64) -> String {
    format!("{}, {}", counted(hosts, "host", "hosts"), counted(cpus, "CPU", "CPUs"))
}

/// What all hosts say, in a sentence or two.
pub(crate) fn sentences(found: &Cluster) -> Vec<String> {
    let total = &found.total;
    let who = hosts_and_cpus(total.hosts, total.cpus);
    let least = if total.lost_detours > 0 { "at least " } else { "" };
    let interval = total.interval.map(|of| {
        let interval = noise_interval(total.noise, of.low, of.high);
        format!(" (95 %: {interval} %)")
    });
    let first = format!(
        "{who} lost {least}{} of their time{}.",
        noise(total.noise),
        interval.unwrap_or_default()
    );
    let mut second = String::new();
    if let Some(row) = found.sources.as_ref().and_then(|sources| sources.rows.first()) {
        let name = title_of(&row.source, &row.name, is_guest(found));
        second = format!("Most of it, {}, was {name}. ", share(row.share));
    }
    if let Some(lengths) = &total.lengths {
        let detours = counted(total.detours, "detour", "detours");
        second += &format!("The longest of {detours} took {}.", length(lengths.max_ns));
    }
    let out = found.cpu_outliers.found.len() + found.host_outliers.found.len();
    let third = match out {
        0 => String::new(),
        1 => format!("One stands out: {}.", named_outliers(found).remove(0)),
        some => format!("{some} stand out; most of all {}.", named_outliers(found).remove(0)),
    };
    [first, second.trim().to_owned(), third].into_iter().filter(|text| !text.is_empty()).collect()
}

/// Hosts, then CPUs.
pub(crate) fn named_outliers(found: &Cluster) -> Vec<String> {
    let all = found.host_outliers.found.iter().chain(&found.cpu_outliers.found);
    all.map(|of| plain(&outlier(of))).collect()
}

pub(crate) fn is_guest(found: &Cluster) -> bool {
    found.machines.iter().any(|kind| kind.hypervisor.is_some())
}

/// The job that the hosts were a part of.
pub(crate) fn job(job: &Job) -> String {
    let ranks = counted(job.ranks.into(), "rank", "ranks");
    let hosts = counted(job.hosts.into(), "host", "hosts");
    format!("job of {ranks} on {hosts}, joined by {}", clip(&job.through, 32))
}

/// How many detours, and how long.
pub(crate) fn lengths(total: &ClusterNoise) -> String {
    let Some(lengths) = &total.lengths else { return ": no detours".into() };
    let [p50, p99, max] = [lengths.p50_ns, lengths.p99_ns, lengths.max_ns].map(length);
    let detours = counted(total.detours, "detour", "detours");
    format!(", in {detours}: p50 {p50}, p99 {p99}, longest {max}")
}

/// A line an outlier: `node07 CPU 3: 9× the median, p < 10⁻⁶`.
pub(crate) fn outliers(of: &Outliers, all: bool) -> Vec<String> {
    let shown = if all { of.found.len() } else { of.found.len().min(NAMED) };
    let mut lines: Vec<String> = of.found[..shown].iter().map(outlier).collect();
    if let Some(more) = of.found.len().checked_sub(shown).filter(|&more| more > 0) {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// One of them, and the chance of it: `node07 CPU 3: 9× the median, p < 10⁻⁶`.
pub(crate) fn outlier(of: &Outlier) -> String {
    let cpu = of.cpu.map(|cpu| format!(" CPU {cpu}"));
    let times = match of.ratio {
        Some(ratio) if ratio < 9.95 => format!("{ratio:.1}× the median"),
        Some(ratio) => format!("{ratio:.0}× the median"),
        None => format!("noise {} where the median has none", crate::units::noise(of.noise)),
    };
    let name = plain(&clip(&of.host, HOST));
    format!("{name}{}: {times}, {}", cpu.unwrap_or_default(), chance(of.p))
}

fn chance(p: f64) -> String {
    match BOUNDS.iter().find(|(bound, _)| p < *bound) {
        Some((_, bound)) => format!("p < {bound}"),
        None => format!("p = {p:.3}"),
    }
}

/// Whom nothing can be said of, and that nobody stands out where nobody does.
pub(crate) fn not_judged(of: &Outliers, (one, more): (&str, &str)) -> Vec<String> {
    let mut lines = vec![];
    if of.judged > 0 && of.found.is_empty() {
        let judged = crate::units::count(of.judged);
        lines.push(format!("no {one} of {judged} stands out (p < {})", of.alpha));
    }
    for class in of.classes.iter().filter(|class| class.spread.is_none()) {
        let count = counted(class.count, one, more);
        lines.push(format!(
            "{count} of {}: too few to call any an outlier; {} are needed",
            clip(&class.class, 36),
            of.fewest
        ));
    }
    lines
}
