//! What is known of each recording of a host besides its results, and what that says of the data set.

use super::{Job, Machines};
use anechoic_recording::parallel::Parallel;
use anechoic_recording::run::RunState;
use anechoic_recording::{Recording, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Largest number of hosts that a sentence names.
pub(super) const NAMED: usize = 4;

/// What follows where hosts were measured one after the other.
const NOT_AT_ONCE: &str = "the recordings were not all made at the same time: hosts may differ because of when they were measured, and how \
    often several hosts are disturbed at once is not known; to compare hosts, measure them together (--rank-from-env)";

/// Prefix of a host's directory in a data set, followed by its name.
pub const HOST_DIR: &str = "host=";

/// Facts of a recording of one host, which every summary of it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Name of the host: from its directory (`host=NAME`), else from the job, else from the machine.
    pub host: String,
    /// Path of the recording, as given.
    pub recording: String,
    /// Version of anechoic that measured.
    pub measured_by: String,
    /// CPU model name.
    pub model: String,
    /// Kernel release and version.
    pub kernel: String,
    /// Name of the hypervisor, if there is one.
    pub hypervisor: Option<String>,
    /// Method of measurement: `detours`, or the method of the series.
    pub method: String,
    /// How the run ended.
    pub state: RunState,
    /// Start, RFC 3339 in UTC.
    pub start_utc: String,
    /// End, RFC 3339 in UTC; absent if the run was cut off.
    pub end_utc: Option<String>,
    /// Parallel job that it took part in; absent if there was none.
    pub parallel: Option<Parallel>,
    /// Whether noise was injected during the run.
    pub injected: bool,
}

impl HostFacts {
    /// Returns the facts of a recording.
    pub(crate) fn from_recording(recording: &Recording) -> Self {
        let run = recording.run();
        Self {
            host: host_name(recording),
            recording: recording.dir().display().to_string(),
            measured_by: run.tool_version.clone(),
            model: run.machine.model.clone(),
            kernel: run.machine.kernel.clone(),
            hypervisor: run.machine.hypervisor.clone(),
            method: run.method.clone(),
            state: run.state.clone(),
            start_utc: run.start_utc.clone(),
            end_utc: run.end_utc.clone(),
            parallel: run.parallel.clone(),
            injected: !run.injections.is_empty(),
        }
    }
}

/// Returns the name of a recording's host: from its directory (`host=NAME`) or the one above, from the job, or from the
/// machine.
#[must_use]
pub fn host_name(recording: &Recording) -> String {
    name_of(recording.dir(), recording.run())
}

fn name_of(dir: &Path, run: &Run) -> String {
    let named = |dir: &Path| Some(dir.file_name()?.to_str()?.strip_prefix(HOST_DIR)?.to_owned());
    let by_dir = || dir.ancestors().take(2).find_map(named).filter(|name| !name.is_empty());
    let by_job = || run.parallel.as_ref().map(|job| job.host.clone());
    by_dir().or_else(by_job).unwrap_or_else(|| run.machine.host.clone())
}

/// Makes the facts of a summary's host readable as its own.
macro_rules! has_facts {
    ($summary:ty) => {
        impl std::ops::Deref for $summary {
            type Target = crate::cluster::facts::HostFacts;

            fn deref(&self) -> &Self::Target {
                &self.facts
            }
        }

        impl std::ops::DerefMut for $summary {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.facts
            }
        }
    };
}
pub(crate) use has_facts;

/// Returns the largest of the jobs; several jobs are reported as a defect.
pub(crate) fn job(hosts: &[&HostFacts]) -> Option<Job> {
    let jobs = hosts.iter().filter_map(|host| host.parallel.as_ref());
    jobs.max_by_key(|job| (job.hosts, job.ranks)).map(|job| Job {
        through: job.through.clone(),
        ranks: job.ranks,
        hosts: job.hosts,
    })
}

/// Returns the kinds of hosts, the most frequent first.
pub(crate) fn machines(hosts: &[&HostFacts]) -> Vec<Machines> {
    let mut kinds: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for host in hosts {
        let kind = (&*host.model, &*host.kernel, host.hypervisor.as_deref(), &*host.measured_by);
        kinds.entry(kind).or_default().insert(&host.host);
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
pub(crate) fn notes(hosts: &[&HostFacts]) -> Vec<String> {
    let injected = sorted(hosts.iter().filter(|host| host.injected).map(|host| &*host.host));
    let mut notes = vec![];
    let last_start = hosts.iter().map(|host| &host.start_utc).max();
    let first_end = hosts.iter().filter_map(|host| host.end_utc.as_ref()).min();
    if last_start.zip(first_end).is_some_and(|(start, end)| start >= end) {
        notes.push(NOT_AT_ONCE.into());
    }
    if !injected.is_empty() {
        notes.push(format!("noise was injected on {}", few(&injected)));
    }
    notes
}

/// Returns the earliest start, and the latest end if all ends are known; absent for no host.
pub(crate) fn span(hosts: &[&HostFacts]) -> Option<(String, Option<String>)> {
    let start = hosts.iter().map(|host| &host.start_utc).min()?;
    let ends: Option<Vec<&String>> = hosts.iter().map(|host| host.end_utc.as_ref()).collect();
    let end = ends.and_then(|ends| ends.into_iter().max()).cloned();
    Some((start.clone(), end))
}

/// Returns the number of hosts with several recordings.
pub(crate) fn repeated(hosts: &[&HostFacts]) -> usize {
    let mut recordings = BTreeMap::<&str, usize>::new();
    hosts.iter().for_each(|host| *recordings.entry(&host.host).or_default() += 1);
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
    use anechoic_lab::builders::{clock, run};

    #[test]
    fn what_a_host_is_called() {
        let job = Parallel {
            job: None,
            through: "made up".into(),
            ranks: 2,
            hosts: 1,
            host: "job".into(),
            here: vec![],
        };
        let cases = [
            ("by its directory", "data/host=a", Some(&job), "a"),
            ("by the one above", "data/host=a/run-001", None, "a"),
            ("not from further above", "host=a/b/c", None, "node17"),
            ("by the job", "data/a", Some(&job), "job"),
            ("by itself", "data/a", None, "node17"),
            ("an empty name is none", "data/host=", None, "node17"),
            ("nowhere", "", None, "node17"),
        ];
        for (name, dir, parallel, expected) in cases {
            let run = Run { parallel: parallel.cloned(), ..run("detours", clock(1), vec![]) };
            assert_eq!(name_of(Path::new(dir), &run), expected, "case: {name}");
        }
    }

    #[test]
    fn hosts_that_were_not_measured_at_once_and_injected_noise_are_noted() {
        let host = |name: &str, start: &str, end: Option<&str>, injected| HostFacts {
            host: name.into(),
            recording: String::new(),
            measured_by: "0.1.0".into(),
            model: "model".into(),
            kernel: "6.18".into(),
            hypervisor: None,
            method: "detours".into(),
            state: RunState::Complete,
            start_utc: start.into(),
            end_utc: end.map(str::to_owned),
            parallel: None,
            injected,
        };
        let first = &host("a", "2026-11-01T00:00:00Z", Some("2026-11-01T00:00:10Z"), false);
        let together = &host("b", "2026-11-01T00:00:09Z", Some("2026-11-01T00:00:19Z"), false);
        let after = &host("c", "2026-11-01T00:00:10Z", None, false);
        let injected = &HostFacts { injected: true, ..together.clone() };
        let on_b = || "noise was injected on b".to_owned();
        let cases: [(&str, Vec<&HostFacts>, Vec<String>); 5] = [
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
