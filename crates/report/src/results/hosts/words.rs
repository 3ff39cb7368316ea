//! The samples of many hosts in sentences.

use crate::results::cluster::words::{HOST, hosts_and_cpus, outlier};
use crate::style::{clip, plain};
use crate::units::{asked, count, counted, fine, length, noise};
use anechoic_analyze::sampled::{JoinedCpu, JoinedExperiment, SampledExperiment, SampledHosts};
use anechoic_analyze::samples::Fixed;
use std::collections::BTreeSet;

/// States what samples are compared with.
pub(crate) const ASSUMED: &str = "Each host calibrates its work for itself, so every sample is compared with the best one of \
    its own CPU: what that one lost, too, is not seen.";

/// Writes the numbers of hosts and CPUs.
pub(super) fn hosts(found: &SampledHosts) -> String {
    let rows = || found.experiments.iter().flat_map(|joined| &joined.by_cpu);
    let hosts: BTreeSet<&str> = rows().map(|row| &*row.host).collect();
    let cpus: BTreeSet<(&str, u32)> =
        rows().filter_map(|row| Some((&*row.host, row.cpu?))).collect();
    hosts_and_cpus(hosts.len() as u64, cpus.len() as u64)
}

/// States the noisiest experiment, its slowest CPU, and the outliers.
pub(crate) fn sentences(found: &SampledHosts) -> Vec<String> {
    let by_noise = |a: &&JoinedExperiment, b: &&JoinedExperiment| a.noise.total_cmp(&b.noise);
    let Some(worst) = found.experiments.iter().rev().max_by(by_noise) else {
        return vec!["No sample was taken.".into()];
    };
    let mut all = vec![lost(worst)];
    if found.experiments.len() > 1 {
        let experiments = counted(found.experiments.len() as u64, "experiment", "experiments");
        let name = experiment(&worst.experiment);
        all[0] = format!("The noisiest of {experiments} is {name}: {}", all[0]);
    }
    all.extend(slowest(worst));
    let out = found.experiments.iter();
    let out: Vec<String> = out
        .flat_map(|joined| joined.host_outliers.found.iter().chain(&joined.cpu_outliers.found))
        .map(|one| plain(&outlier(one)))
        .collect();
    match &out[..] {
        [] => {}
        [one] => all.push(format!("One outlier: {one}.")),
        [first, ..] => all.push(format!("{} outliers, the first {first}.", out.len())),
    }
    all
}

/// Describes an experiment: `counter, 1 ms`, with the policy and the pinning if they are not the usual ones.
pub(super) fn experiment(experiment: &SampledExperiment) -> String {
    let grain = experiment.grain_ns.map_or(String::new(), |ns| match experiment.fixed {
        Fixed::Work => format!(", {}", asked(ns)),
        Fixed::Time => format!(", windows of {}", asked(ns)),
    });
    let policy = if experiment.policy.is_other() {
        String::new()
    } else {
        format!(", {}", experiment.policy)
    };
    let place = if experiment.pinned { "" } else { ", unpinned" };
    plain(&format!("{}{grain}{policy}{place}", experiment.variant))
}

/// States the noise of an experiment and what its samples lost.
pub(super) fn lost(joined: &JoinedExperiment) -> String {
    let all = counted(joined.samples, "sample", "samples");
    let who = hosts_and_cpus(joined.hosts, joined.by_cpu.len() as u64);
    let Some(lost) = &joined.lost else { return format!("{all} on {who}.") };
    format!(
        "{all} on {who} have a noise of {}: a sample lost {} at the median, {} at the 99th percentile, {} at most.",
        noise(joined.noise),
        length(lost.p50_ns),
        length(lost.p99_ns),
        length(lost.max_ns)
    )
}

/// States which CPU is slowest, if there are several.
pub(super) fn slowest(joined: &JoinedExperiment) -> Option<String> {
    let row = joined.by_cpu.get(usize::try_from(joined.slowest?).ok()?)?;
    if joined.by_cpu.len() < 2 {
        return None;
    }
    let name = place(row);
    Some(match joined.experiment.fixed {
        Fixed::Work => {
            let asked = joined.experiment.grain_ns.map_or(String::new(), |ns| {
                format!(", {:.2} times the {} asked for", row.mean / ns as f64, asked(ns))
            });
            format!(
                "The slowest is {name}, with {} for a sample on average{asked}.",
                fine(row.mean)
            )
        }
        Fixed::Time => {
            let done = count(row.mean.round() as u64);
            format!("The slowest is {name}, with {done} units of work in a window on average.")
        }
    })
}

/// Names a CPU of a host.
fn place(row: &JoinedCpu) -> String {
    let cpu = row.cpu.map_or("unpinned".to_owned(), |cpu| format!("CPU {cpu}"));
    format!("{} {cpu}", plain(&clip(&row.host, HOST)))
}
