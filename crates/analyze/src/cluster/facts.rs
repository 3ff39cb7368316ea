//! What is known of each recording of a host besides its results, and what that says of the data set.

use super::{Job, Machines};
use anechoic_recording::parallel::Parallel;
use anechoic_recording::run::RunState;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of hosts that a sentence names.
pub(super) const NAMED: usize = 4;

/// What follows where hosts were measured one after the other.
const NOT_AT_ONCE: &str = "the recordings were not all made at the same time: hosts may differ because of when they were measured, and how \
    often several hosts are disturbed at once is not known; to compare hosts, measure them together (--rank-from-env)";

/// Facts of a recording of one host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostFacts<'a> {
    /// Name of the host.
    pub(crate) host: &'a str,
    /// Version of anechoic that measured.
    pub(crate) measured_by: &'a str,
    /// CPU model name.
    pub(crate) model: &'a str,
    /// Kernel release and version.
    pub(crate) kernel: &'a str,
    /// Name of the hypervisor, if there is one.
    pub(crate) hypervisor: Option<&'a str>,
    /// Method of measurement.
    pub(crate) method: &'a str,
    /// How the run ended.
    pub(crate) state: &'a RunState,
    /// Start, RFC 3339 in UTC.
    pub(crate) start_utc: &'a str,
    /// End; absent if the run was cut off.
    pub(crate) end_utc: Option<&'a str>,
    /// Parallel job that it took part in.
    pub(crate) parallel: Option<&'a Parallel>,
    /// Whether noise was injected during the run.
    pub(crate) injected: bool,
    /// Whether anything was measured.
    pub(crate) measured: bool,
}

/// Returns the largest of the jobs; several jobs are reported as a defect.
pub(crate) fn job(hosts: &[HostFacts<'_>]) -> Option<Job> {
    let jobs = hosts.iter().filter_map(|host| host.parallel);
    jobs.max_by_key(|job| (job.hosts, job.ranks)).map(|job| Job {
        through: job.through.clone(),
        ranks: job.ranks,
        hosts: job.hosts,
    })
}

/// Returns the kinds of hosts, the most frequent first.
pub(crate) fn machines(hosts: &[HostFacts<'_>]) -> Vec<Machines> {
    let mut kinds: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for host in hosts {
        let kind = (host.model, host.kernel, host.hypervisor, host.measured_by);
        kinds.entry(kind).or_default().insert(host.host);
    }
    let mut machines: Vec<Machines> =
        kinds.into_iter().map(|(kind, names)| machines_of_kind(kind, names.len())).collect();
    machines.sort_by_key(|kind| Reverse(kind.hosts));
    machines
}

/// Returns a kind of hosts: their model, kernel, hypervisor and version of anechoic, and their number.
fn machines_of_kind(
    (model, kernel, hypervisor, measured_by): (&str, &str, Option<&str>, &str),
    hosts: usize,
) -> Machines {
    Machines {
        hosts: hosts as u64,
        model: model.to_owned(),
        kernel: kernel.to_owned(),
        hypervisor: hypervisor.map(str::to_owned),
        measured_by: measured_by.to_owned(),
    }
}

/// Returns notes on when the hosts were measured, and on injected noise.
pub(crate) fn notes(hosts: &[HostFacts<'_>]) -> Vec<String> {
    let injected = sorted(hosts.iter().filter(|host| host.injected).map(|host| host.host));
    let mut notes = vec![];
    let last_start = hosts.iter().map(|host| host.start_utc).max();
    let first_end = hosts.iter().filter_map(|host| host.end_utc).min();
    if last_start.zip(first_end).is_some_and(|(start, end)| start >= end) {
        notes.push(NOT_AT_ONCE.into());
    }
    if !injected.is_empty() {
        notes.push(format!("noise was injected on {}", few(&injected)));
    }
    notes
}

/// Returns the earliest start, and the latest end if all ends are known; absent for no host.
pub(crate) fn span(hosts: &[HostFacts<'_>]) -> Option<(String, Option<String>)> {
    let start = hosts.iter().map(|host| host.start_utc).min()?;
    let ends: Option<Vec<&str>> = hosts.iter().map(|host| host.end_utc).collect();
    let end = ends.and_then(|ends| ends.into_iter().max()).map(str::to_owned);
    Some((start.to_owned(), end))
}

/// Returns the number of hosts with several recordings.
pub(crate) fn repeated(hosts: &[HostFacts<'_>]) -> usize {
    let mut recordings = BTreeMap::<&str, usize>::new();
    hosts.iter().for_each(|host| *recordings.entry(host.host).or_default() += 1);
    recordings.values().filter(|&&count| count > 1).count()
}

/// Returns names in order, without repetitions.
pub(crate) fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: BTreeSet<&str> = names.collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Lists the first names.
pub(crate) fn few(names: &[String]) -> String {
    first(names, names.len())
}

/// Returns the first names of a list of `count`.
pub(super) fn first(names: &[String], count: usize) -> String {
    let shown = names[..names.len().min(NAMED)].join(", ");
    match count.saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_were_not_measured_at_once_and_injected_noise_are_noted() {
        let host = |name: &'static str, start_utc, end_utc, injected| HostFacts {
            host: name,
            measured_by: "0.1.0",
            model: "model",
            kernel: "6.18",
            hypervisor: None,
            method: "detours",
            state: &RunState::Complete,
            start_utc,
            end_utc,
            parallel: None,
            injected,
            measured: true,
        };
        let first = host("a", "2026-11-01T00:00:00Z", Some("2026-11-01T00:00:10Z"), false);
        let together = host("b", "2026-11-01T00:00:09Z", Some("2026-11-01T00:00:19Z"), false);
        let after = host("c", "2026-11-01T00:00:10Z", None, false);
        let injected = HostFacts { injected: true, ..together };
        let on_b = || "noise was injected on b".to_owned();
        let cases: [(&str, Vec<HostFacts<'_>>, Vec<String>); 5] = [
            ("at once", vec![first, together], vec![]),
            ("one after the other", vec![first, after], vec![NOT_AT_ONCE.into()]),
            ("injected", vec![first, injected], vec![on_b()]),
            ("both", vec![first, injected, after], vec![NOT_AT_ONCE.into(), on_b()]),
            ("without an end", vec![after], vec![]),
        ];
        for (name, hosts, expected) in cases {
            assert_eq!(notes(&hosts), expected, "case: {name}");
        }
    }
}
