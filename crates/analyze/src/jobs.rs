//! Which recordings are of one parallel job.

use anechoic_recording::parallel::Parallel;
use std::collections::{BTreeMap, BTreeSet};

/// The recordings of one run of a parallel job.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Job<'a, T> {
    /// Number of hosts of the whole job.
    pub(crate) hosts: u32,
    /// The hosts that are present.
    pub(crate) present: BTreeSet<&'a str>,
    /// Its recordings, by host.
    pub(crate) parts: Vec<T>,
}

/// Groups recordings by job and run: each is what stands for it, its part of a job, and its start.
///
/// A job may have several runs, and recordings of older versions do not identify their job. The runs of a host are counted
/// in the order of their starts: the first of each host belong together, then the second. A copy has the start of its
/// original and is no other run.
pub(crate) fn by_job<'a, T>(
    parts: impl Iterator<Item = (T, &'a Parallel, &'a str)>,
) -> Vec<Job<'a, T>> {
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_key(|(_, job, start)| (&*job.host, *start));
    let mut starts: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    let mut jobs: BTreeMap<_, Job<'a, T>> = BTreeMap::new();
    for (part, job, start) in parts {
        let shape = (job.job.as_deref(), &*job.through, job.ranks, job.hosts);
        let starts = starts.entry((shape, &*job.host)).or_default();
        if starts.last() != Some(&start) {
            starts.push(start);
        }
        let new = || Job { hosts: job.hosts, present: BTreeSet::new(), parts: vec![] };
        let joined = jobs.entry((shape, starts.len())).or_insert_with(new);
        joined.present.insert(&job.host);
        joined.parts.push(part);
    }
    jobs.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted_in_their_own_job() {
        let job = |id: Option<&str>, hosts: u32, host: &str| Parallel {
            job: id.map(str::to_owned),
            through: "a launcher".into(),
            ranks: hosts,
            hosts,
            host: host.into(),
            here: vec![],
        };
        type Case<'a> = (&'a str, Vec<(Parallel, &'a str)>, &'a [&'a [usize]]);
        let cases: Vec<Case<'_>> = vec![
            (
                "whole",
                vec![(job(Some("x"), 2, "b"), "1"), (job(Some("x"), 2, "a"), "1")],
                &[&[1, 0]],
            ),
            (
                "halves of two jobs",
                vec![(job(Some("x"), 2, "a"), "1"), (job(Some("y"), 2, "b"), "1")],
                &[&[0], &[1]],
            ),
            (
                "of two sizes",
                vec![(job(None, 2, "a"), "1"), (job(None, 3, "b"), "1")],
                &[&[0], &[1]],
            ),
            (
                "one after the other",
                vec![(job(None, 2, "a"), "2"), (job(None, 2, "a"), "1"), (job(None, 2, "b"), "1")],
                &[&[1, 2], &[0]],
            ),
            (
                "a copy",
                vec![(job(Some("x"), 2, "a"), "1"), (job(Some("x"), 2, "a"), "1")],
                &[&[0, 1]],
            ),
        ];
        for (name, parts, expected) in cases {
            let parts = parts.iter().enumerate().map(|(at, (job, start))| (at, job, *start));
            let found: Vec<Vec<usize>> = by_job(parts).into_iter().map(|job| job.parts).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}
