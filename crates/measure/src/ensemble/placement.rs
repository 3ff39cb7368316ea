//! Where the ranks run: which ranks share a host, and which CPUs their launcher gave them.

use super::{Ensemble, EnsembleError};
use anechoic_recording::parallel::{Parallel, Rank};
use anechoic_system::cpus;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a rank reports about itself.
#[derive(Debug, Serialize, Deserialize)]
struct RankInfo {
    version: String,
    host: String,
    cpus: Vec<u32>,
    tids: Vec<i32>,
    /// Nanoseconds since 1970 by the host's clock.
    since_epoch_ns: u64,
}

/// The place of a rank among the others of its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The number of this rank.
    pub rank: u32,
    /// The job, with the ranks on this rank's host.
    pub parallel: Parallel,
}

impl Placement {
    /// Asks all ranks of the job where they run.
    ///
    /// Ranks share a host if it has the same name (`uname -n`), also in containers of one machine.
    ///
    /// # Errors
    /// [`EnsembleError`]; ranks of different versions do not measure together.
    pub fn gather(ensemble: &dyn Ensemble, version: &str) -> Result<Self, EnsembleError> {
        let info = RankInfo {
            version: version.to_owned(),
            host: host_name(),
            cpus: cpus::allowed(),
            tids: threads(),
            since_epoch_ns: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since_epoch| since_epoch.as_nanos() as u64),
        };
        let info = serde_json::to_vec(&info).unwrap_or_default();
        let all = ensemble.gather(&info)?;
        // Broadcast undecoded: what one rank cannot decode, no rank can, so none waits for the others.
        let all = ensemble.broadcast(&all.map(|all| all.join(&b'\n')).unwrap_or_default())?;
        let all = all.split(|&byte| byte == b'\n').enumerate();
        let all = all.map(|(rank, info)| read::<RankInfo>(rank, info));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        if let Some(rank) = all.iter().position(|info| info.version != version) {
            let why = format!("it is version {}, this is {version}", all[rank].version);
            return Err(EnsembleError::Version { rank, why });
        }
        Ok(Self::among(ensemble, all))
    }

    fn among(ensemble: &dyn Ensemble, all: Vec<RankInfo>) -> Self {
        let hosts: BTreeSet<&str> = all.iter().map(|info| info.host.as_str()).collect();
        let (hosts, rank) = (hosts.len() as u32, ensemble.rank());
        let host = all.get(rank as usize).map_or_else(host_name, |info| info.host.clone());
        // Every rank has the same list, so every host names the job alike. No host is named: recordings are shared.
        let job = all.first().map(|first| {
            let thread = first.tids.first().copied().unwrap_or(0);
            format!("{:x}-{thread:x}", first.since_epoch_ns)
        });
        let here = (0..).zip(all).filter(|(_, info)| info.host == host);
        let here = here.map(|(rank, info)| Rank { rank, cpus: info.cpus, tids: info.tids });
        let parallel = Parallel {
            job,
            through: ensemble.through(),
            ranks: ensemble.size(),
            hosts,
            here: here.collect(),
            host,
        };
        Self { rank, parallel }
    }

    /// Returns whether this is the first rank on its host, which measures for all ranks there.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.parallel.here.first().is_some_and(|first| first.rank == self.rank)
    }

    /// Returns the CPUs that the launcher gave to the ranks of this host, in ascending order.
    #[must_use]
    pub fn cpus(&self) -> Vec<u32> {
        let all: BTreeSet<u32> = self.parallel.here.iter().flat_map(|r| &r.cpus).copied().collect();
        all.into_iter().collect()
    }

    /// Returns the directory of this host's recording in the directory of the job.
    #[must_use]
    pub fn host_dir(&self, job: &Path) -> PathBuf {
        job.join(format!("host={}", file_name(&self.parallel.host)))
    }

    /// Returns where another rank of this host records, until that becomes part of the host's recording.
    #[must_use]
    pub fn rank_dir(&self, host: &Path, rank: u32) -> PathBuf {
        let name = host.file_name().unwrap_or_default().to_string_lossy().into_owned();
        host.with_file_name(format!("{name}.rank={rank}"))
    }

    /// Returns a CPU for each rank of this host, in rank order: its own CPU if the launcher gave enough, else
    /// the one of its CPUs that the fewest ranks have.
    #[must_use]
    pub fn own_cpus(&self) -> Vec<u32> {
        let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
        let mut own = Vec::new();
        // Ranks with the fewest CPUs to choose from choose first.
        let mut order: Vec<usize> = (0..self.parallel.here.len()).collect();
        order.sort_by_key(|&at| self.parallel.here[at].cpus.len());
        for at in order {
            let cpus = &self.parallel.here[at].cpus;
            let least = cpus.iter().min_by_key(|cpu| (taken.get(cpu).copied().unwrap_or(0), **cpu));
            let cpu = least.copied().unwrap_or(0);
            *taken.entry(cpu).or_default() += 1;
            own.push((at, cpu));
        }
        own.sort_unstable();
        own.into_iter().map(|(_, cpu)| cpu).collect()
    }
}

fn read<T: for<'a> Deserialize<'a>>(rank: usize, info: &[u8]) -> Result<T, EnsembleError> {
    serde_json::from_slice(info)
        .map_err(|error| EnsembleError::Version { rank, why: error.to_string() })
}

/// Returns the name of this host.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the name of a host as a part of a file's name: without what leads elsewhere, and never empty.
fn file_name(host: &str) -> String {
    if host.is_empty() {
        return "unnamed".to_owned();
    }
    host.replace(|letter: char| letter == '/' || letter.is_control(), "_")
}

/// Returns the threads of this process.
fn threads() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let mut tids: Vec<i32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    tids.sort_unstable();
    tids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_names_a_directory_in_that_of_the_job() {
        for (host, expected) in [
            ("node-17.example", "host=node-17.example"),
            ("/../../../escaped", "host=_.._.._.._escaped"),
            ("a/b", "host=a_b"),
            ("..", "host=.."),
            ("", "host=unnamed"),
            ("a\n\0b", "host=a__b"),
        ] {
            let mut placement = placement(&[&[0]]);
            host.clone_into(&mut placement.parallel.host);
            let dir = placement.host_dir(Path::new("job"));
            assert_eq!(dir, Path::new("job").join(expected), "{host:?}");
            assert_eq!(dir.components().count(), 2, "{host:?}");
        }
    }

    fn placement(here: &[&[u32]]) -> Placement {
        let here = (0..).zip(here).map(|(rank, cpus)| Rank {
            rank,
            cpus: cpus.to_vec(),
            tids: Vec::new(),
        });
        let parallel = Parallel {
            job: None,
            through: String::new(),
            ranks: 8,
            hosts: 1,
            host: String::new(),
            here: here.collect(),
        };
        Placement { rank: 0, parallel }
    }

    #[test]
    fn every_rank_gets_a_cpu_of_its_own_where_there_is_one() {
        type Case = (&'static str, &'static [&'static [u32]], &'static [u32]);
        let cases: [Case; 5] = [
            ("bound", &[&[4], &[5]], &[4, 5]),
            ("free", &[&[0, 1], &[0, 1]], &[0, 1]),
            ("one bound, one free", &[&[0, 1], &[0]], &[1, 0]),
            ("more ranks than CPUs", &[&[0, 1], &[0, 1], &[0, 1]], &[0, 1, 0]),
            ("by sockets", &[&[0, 1], &[0, 1], &[2, 3], &[2, 3]], &[0, 1, 2, 3]),
        ];
        for (name, here, expected) in cases {
            assert_eq!(placement(here).own_cpus(), expected, "case: {name}");
        }
    }
}
