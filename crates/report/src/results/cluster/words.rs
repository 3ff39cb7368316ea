//! The result of many hosts in sentences.

use crate::names::title_of;
use crate::style::{clip, plain};
use crate::units::{counted, length, noise, noise_certainty, share};
use anechoic_analyze::cluster::{
    Cluster, ClusterNoise, FindingKind, HostDifference, HostNoise, Job, Machines, NOISIER, Outlier,
    Outliers,
};
use anechoic_recording::methods;

/// Largest number of outliers that are listed.
const NAMED: usize = 8;
/// A host is said to be slow from this share of its time on.
const SLOW: f64 = 0.01;
/// A host is slower than equal ones if the ratio of its calm pace to their median is at least this.
const SLOWER: f64 = 1.03;
/// Widest name of a host.
pub(crate) const HOST: usize = 20;
/// Widest value of a setting.
const VALUE: usize = 36;
/// Bounds given in place of small p-values: the statistic assumes too much to distinguish these.
const BOUNDS: [(f64, &str); 4] = [(1e-6, "10⁻⁶"), (1e-5, "10⁻⁵"), (1e-4, "10⁻⁴"), (1e-3, "10⁻³")];

/// Stands in the place of the noisiest host where an older version merged the hosts.
const NOT_COMPARED: &str = "The hosts were not compared with each other, because an older version merged them; \
    `anechoic merge` compares them.";

/// Stands in the place of the noise of all hosts where it is not one quantity.
const METHODS_DIFFER: &str = "The hosts were measured by different methods, whose noise is not the same quantity: it cannot be \
    added or compared. Merge recordings of one method.";

/// Explains the table of CPUs used.
pub(crate) const USED: &str = "The first 1, 2, 4, … CPUs of each host by number, then 1, 2, 4, … hosts by name with all \
    their CPUs, over the time in which all were measured. any: share of the time in which at least one of these CPUs \
    was in a detour, measured within a host (mean over hosts), computed for several hosts as if they were independent.";

/// Writes numbers of hosts and CPUs: `4 hosts with 64 CPUs`.
pub(crate) fn hosts_and_cpus(hosts: u64, cpus: u64) -> String {
    format!("{} with {}", counted(hosts, "host", "hosts"), counted(cpus, "CPU", "CPUs"))
}

/// States the noise of all hosts, its largest source, the outliers, and which host is noisier than the others.
pub(crate) fn sentences(found: &Cluster) -> Vec<String> {
    if found.findings.iter().any(|finding| finding.kind == FindingKind::Methods) {
        return vec![METHODS_DIFFER.into()];
    }
    let total = &found.total;
    let who = hosts_and_cpus(total.hosts, total.cpus);
    let least = if total.lost_detours > 0 { "at least " } else { "" };
    let lost = format!("{least}{}", noise(total.noise));
    let first = match found.methods == [methods::PROGRAM] {
        // Parts of a run are not alike, so that their spread gives no interval.
        true => format!(
            "On {who} the recorded programs lost {lost} of the time in which they wanted a CPU."
        ),
        false => format!(
            "{who} lost {lost} of {} time{}.",
            if total.hosts == 1 { "its" } else { "their" },
            noise_certainty(total.noise, total.interval, total.at_least),
        ),
    };
    let mut second = String::new();
    if let Some(row) = found.sources.as_ref().and_then(|sources| sources.rows.first()) {
        let name = title_of(&row.source, &row.name, is_guest(found));
        second = format!("The largest source, {name}, took {} of it. ", share(row.share));
    }
    if let Some(lengths) = &total.lengths {
        let detours = counted(total.detours, "detour", "detours");
        second += &format!("The longest of {detours} took {}.", length(lengths.max_ns));
    }
    let out = found.cpu_outliers.found.len() + found.host_outliers.found.len();
    let third = match out {
        0 => String::new(),
        1 => format!("One outlier: {}.", named_outliers(found).remove(0)),
        some => format!("{some} outliers, the largest {}.", named_outliers(found).remove(0)),
    };
    let all = [first, second.trim().to_owned(), third, noisiest(found), slowest(found)];
    all.into_iter().filter(|text| !text.is_empty()).collect()
}

/// Names the host that lost most by a slower pace without being interrupted, and the one whose calm pace is slower than that of
/// equal hosts; empty if neither is.
fn slowest(found: &Cluster) -> String {
    let name = |host: &HostNoise| plain(&clip(&host.host, HOST));
    let slow =
        most(found, |host| host.slow).filter(|(slow, _)| *slow >= SLOW).map(|(slow, host)| {
            format!(
                "Without being interrupted, {} lost another {} by a slower pace.",
                name(host),
                noise(slow)
            )
        });
    let calm = most(found, |host| host.calm_ns).zip(median_calm_ns(found));
    let calm = calm.filter(|((calm, _), median)| *calm >= SLOWER * median);
    let calm = calm.map(|((calm, host), median)| {
        let slower = share(calm / median - 1.0);
        format!(
            "Even when calm, {} is {slower} slower than the median of these equal hosts.",
            name(host)
        )
    });
    slow.into_iter().chain(calm).collect::<Vec<_>>().join(" ")
}

/// Returns the host with the largest of these values.
fn most(found: &Cluster, value: impl Fn(&HostNoise) -> Option<f64>) -> Option<(f64, &HostNoise)> {
    let known = found.hosts.iter().filter_map(|host| Some((value(host)?, host)));
    known.max_by(|one, other| one.0.total_cmp(&other.0))
}

/// Returns the median calm pace of at least three hosts of one CPU model under one hypervisor, or none.
fn median_calm_ns(found: &Cluster) -> Option<f64> {
    let first = found.machines.first()?;
    let is_alike =
        |kind: &Machines| (&kind.model, &kind.hypervisor) == (&first.model, &first.hypervisor);
    let alike = found.machines.iter().all(is_alike);
    let mut all: Vec<f64> = found.hosts.iter().filter_map(|host| host.calm_ns).collect();
    all.sort_by(f64::total_cmp);
    // The lower one of two in the middle: the pace of a host that is not slow.
    (alike && all.len() >= 3).then(|| all[(all.len() - 1) / 2])
}

/// Names the noisiest host and what sets it apart, or states that no host is noisier than the others; empty for one host.
fn noisiest(found: &Cluster) -> String {
    let measured = measured(found);
    let Some(differences) = &found.differences else {
        return match measured {
            0 | 1 => String::new(),
            _ => NOT_COMPARED.into(),
        };
    };
    let Some(host) = differences.first() else {
        return match measured {
            0 | 1 => String::new(),
            2 => format!("Neither host lost more than {NOISIER} times what the other did."),
            _ => format!("No host lost more than {NOISIER} times the median of the others."),
        };
    };
    let source = host.sources.first().map(|source| {
        let name = title_of(&source.source, &source.name, is_guest(found));
        let others = if measured > 2 { "the others" } else { "the other" };
        let on = plain(&clip(&host.host, HOST));
        format!(
            "; {name} took {} on {on}, {} on {others}",
            noise(source.noise),
            whole(source.others)
        )
    });
    let doubt = if is_clear(found, host) { "" } else { " This may be chance: measure for longer." };
    format!("{}{}.{doubt}", beside_others(host, measured), source.unwrap_or_default())
}

/// Writes a share of noise, and none at all without decimals.
fn whole(share: f64) -> String {
    if share == 0.0 { "0 %".into() } else { noise(share) }
}

/// Returns the number of hosts on which a loop ran.
fn measured(found: &Cluster) -> usize {
    found.hosts.iter().filter(|host| host.wall_ns > 0).count()
}

/// Returns whether the lower bound of a host's noise lies above the others, as it must for an outlier.
fn is_clear(found: &Cluster, difference: &HostDifference) -> bool {
    let host = found.hosts.iter().find(|host| host.host == difference.host);
    let low = host.and_then(|host| host.interval.map(|interval| interval.low).or(host.at_least));
    low.is_some_and(|low| low > difference.others)
}

/// Writes the noise of a host beside that of the others, for the number of measured hosts in all.
fn beside_others(host: &HostDifference, hosts: usize) -> String {
    let others = if hosts > 2 { "the median of the others" } else { "the other" };
    let name = plain(&clip(&host.host, HOST));
    format!("{name} lost {}, {others} {}", noise(host.noise), noise(host.others))
}

/// States for each host that stands out which sources took more time there, and how its settings differ.
pub(crate) fn differences(found: &Cluster) -> Vec<String> {
    found.differences.iter().flatten().map(|host| difference(found, host)).collect()
}

/// States which sources took more time on a host than on the others, and how its settings differ.
fn difference(found: &Cluster, host: &HostDifference) -> String {
    let (others, whose) = match measured(found) {
        0..=2 => ("the other", "the other host"),
        _ => ("the others", "the other hosts"),
    };
    let mut text = beside_others(host, measured(found));
    let sources = host.sources.iter().map(|source| {
        let name = title_of(&source.source, &source.name, is_guest(found));
        format!("{name} {} ({others} {})", noise(source.noise), whole(source.others))
    });
    let sources: Vec<String> = sources.collect();
    match sources.is_empty() {
        true => text += "; its sources are not known (`anechoic check` shows what that needs)",
        false => text += &format!(": {}", sources.join(", ")),
    }
    let settings = host.settings.iter().take(NAMED).map(|setting| {
        let here = setting.here.as_deref().unwrap_or("not known");
        let [here, there] = [here, &setting.others].map(|value| match value {
            "" => "nothing".to_owned(),
            value => plain(&clip(value, VALUE)),
        });
        format!("{} is {here} ({others} {there})", plain(&setting.name))
    });
    let settings: Vec<String> = settings.collect();
    match settings.is_empty() {
        true => text += &format!("; its recorded settings are those of {whose}"),
        false => text += &format!("; settings that differ: {}", settings.join(", ")),
    }
    if let Some(more) = host.settings.len().checked_sub(NAMED).filter(|&more| more > 0) {
        text += &format!(" and {more} more");
    }
    text + "."
}

/// Describes all outliers: hosts, then CPUs.
pub(crate) fn named_outliers(found: &Cluster) -> Vec<String> {
    let all = found.host_outliers.found.iter().chain(&found.cpu_outliers.found);
    all.map(|one| plain(&outlier(one))).collect()
}

/// Returns whether any machine is a guest of a hypervisor.
pub(crate) fn is_guest(found: &Cluster) -> bool {
    found.machines.iter().any(|kind| kind.hypervisor.is_some())
}

/// Describes the job that the hosts took part in.
pub(crate) fn job(job: &Job) -> String {
    let ranks = counted(job.ranks.into(), "rank", "ranks");
    let hosts = counted(job.hosts.into(), "host", "hosts");
    format!("job of {ranks} on {hosts}, joined by {}", clip(&job.through, 32))
}

/// Returns the number of detours and quantiles of their lengths.
pub(crate) fn lengths(total: &ClusterNoise) -> String {
    let Some(lengths) = &total.lengths else { return "no detours".into() };
    let [p50, p99, max] = [lengths.p50_ns, lengths.p99_ns, lengths.max_ns].map(length);
    let detours = counted(total.detours, "detour", "detours");
    format!("{detours}: p50 {p50}, p99 {p99}, max {max}")
}

/// Returns one line for each outlier: `node07 CPU 3: 9× the median, p < 10⁻⁶`.
pub(crate) fn outliers(outliers: &Outliers, all: bool) -> Vec<String> {
    let shown = if all { outliers.found.len() } else { outliers.found.len().min(NAMED) };
    let mut lines: Vec<String> = outliers.found[..shown].iter().map(outlier).collect();
    if let Some(more) = outliers.found.len().checked_sub(shown).filter(|&more| more > 0) {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// Describes an outlier with its p-value: `node07 CPU 3: 9× the median, p < 10⁻⁶`.
pub(crate) fn outlier(outlier: &Outlier) -> String {
    let cpu = outlier.cpu.map(|cpu| format!(" CPU {cpu}"));
    let times = match outlier.ratio {
        Some(ratio) if ratio < 9.95 => format!("{ratio:.1}× the median"),
        Some(ratio) => format!("{ratio:.0}× the median"),
        None => format!("noise {}, the median is 0", crate::units::noise(outlier.noise)),
    };
    let name = plain(&clip(&outlier.host, HOST));
    format!("{name}{}: {times}, {}", cpu.unwrap_or_default(), chance(outlier.p))
}

pub(crate) fn chance(p: f64) -> String {
    match BOUNDS.iter().find(|(bound, _)| p < *bound) {
        Some((_, bound)) => format!("p < {bound}"),
        None => format!("p = {p:.3}"),
    }
}

/// States that there are no outliers, and which classes are too small to judge.
pub(crate) fn not_judged(outliers: &Outliers, (one, more): (&str, &str)) -> Vec<String> {
    let mut lines = vec![];
    if outliers.judged > 0 && outliers.found.is_empty() {
        let judged = crate::units::count(outliers.judged);
        let what = if outliers.judged == 1 { one } else { more };
        lines.push(format!("no outlier among {judged} {what} (p < {})", outliers.alpha));
    }
    for class in outliers.classes.iter().filter(|class| class.spread.is_none()) {
        let count = counted(class.count, one, more);
        lines.push(format!(
            "{count} of {}: too few to identify outliers; at least {} are needed",
            clip(&class.class, 36),
            outliers.fewest
        ));
    }
    lines
}
