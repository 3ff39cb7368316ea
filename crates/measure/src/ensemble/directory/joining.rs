//! How the ranks of one job find each other in a directory, and nobody else.
//!
//! A directory serves one job. Rank 0 creates `.ensemble` in the output directory, which must be new or
//! empty; creating a directory succeeds only once. The others wait for it, and each leaves a *hello* with a
//! random token. Once all have come, rank 0 repeats all tokens in its *welcome*: a rank that finds its own
//! token there knows that rank 0 is alive and belongs to the same job. Files of an earlier job contain no
//! such token; rank 0 also finds them, and writes a *refusal*. All later names contain a token of rank 0, so
//! that ranks left over from an earlier job cannot interfere in a directory that was created again.

use super::files::{self, Naps};
use super::{JoinError, Patience, lost, who};
use crate::ensemble::launched::Launched;
use crate::ensemble::{EnsembleError, host_name};
use anechoic_recording::{Problem, ProblemKind, create_dir_all, verify_place};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The directory in which the ranks meet, inside the output directory.
const PLACE: &str = ".ensemble";
/// How long rank 0 waits for others to read why they are refused.
const GOODBYE: Duration = Duration::from_secs(2);

/// The first message of a rank.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    size: u32,
    host: String,
    job: Option<String>,
}

/// The message of rank 0 once all ranks have come.
#[derive(Debug, Serialize, Deserialize)]
struct Welcome {
    /// The token of rank 0.
    word: String,
    /// The host of rank 0.
    host: String,
    /// The tokens of all ranks, in rank order.
    words: Vec<String>,
}

/// The message of rank 0 if there will be no welcome.
#[derive(Debug, Serialize, Deserialize)]
struct Refusal {
    job: Option<String>,
    why: String,
}

/// The place where the ranks of a job have found each other.
#[derive(Debug)]
pub(super) struct Joined {
    /// The directory that rank 0 removes at the end.
    pub(super) place: PathBuf,
    /// The directory of this job alone.
    pub(super) of_job: PathBuf,
    /// At rank 0: the host of each rank; at the others: the host of rank 0.
    pub(super) hosts: Vec<String>,
}

/// Returns a random token.
fn word() -> String {
    // The keys come from the system's random number generator.
    let number = || RandomState::new().hash_one((std::process::id(), Instant::now()));
    format!("{:016x}{:016x}", number(), number())
}

/// A rank that is joining the others.
pub(super) struct Joining<'a> {
    pub(super) output: &'a Path,
    pub(super) launched: &'a Launched,
    pub(super) patience: Patience,
    pub(super) stop: &'a AtomicBool,
}

impl Joining<'_> {
    pub(super) fn join(&self) -> Result<Joined, JoinError> {
        match self.launched.rank {
            0 => self.first(),
            _ => self.other(),
        }
    }

    fn place(&self) -> PathBuf {
        self.output.join(PLACE)
    }

    fn hellos(&self) -> PathBuf {
        self.place().join("hello")
    }

    fn naps(&self) -> Naps<'static> {
        Naps::within(self.patience.others)
    }

    /// Sleeps once more; fails after a signal.
    fn nap(&self, naps: &mut Naps<'_>) -> Result<bool, JoinError> {
        if self.stop.load(Ordering::Acquire) {
            return Err(Problem::called_off().into());
        }
        Ok(naps.nap())
    }

    /// Rank 0: creates the directory and welcomes all others.
    fn first(&self) -> Result<Joined, JoinError> {
        self.make_place()?;
        self.welcome().inspect_err(|error| self.send_away(error))
    }

    fn make_place(&self) -> Result<(), JoinError> {
        let (output, place) = (self.output, self.place());
        let failed = |source| Problem::cannot_write_to(output, &source);
        create_dir_all(output).map_err(failed)?;
        let made = match fs::read_dir(output).map_err(failed)?.next() {
            None => fs::create_dir(&place),
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        };
        match made {
            Ok(()) => Ok(fs::create_dir(self.hellos()).map_err(failed)?),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let error = Problem::not_empty(output);
                if place.is_dir() {
                    self.refuse(&error.to_string());
                }
                Err(error.into())
            }
            Err(source) => Err(failed(source).into()),
        }
    }

    /// Notifies all ranks, present and future, that this directory will not be used.
    fn refuse(&self, why: &str) {
        let refusal = Refusal { job: self.launched.job.clone(), why: why.to_owned() };
        // A rank that cannot read it waits until its timeout.
        let _ = files::write(&self.place().join("refused"), &json(&refusal));
    }

    /// Refuses, gives the ranks that are present time to read it, and leaves the directory empty.
    fn send_away(&self, error: &JoinError) {
        match error {
            JoinError::Ensemble(EnsembleError::Lost { why }) => self.refuse(why),
            error => self.refuse(&error.to_string()),
        }
        let mut naps = Naps::within(GOODBYE);
        // Ranks that have read it remove their hello.
        while files::names(&self.hellos()).is_ok_and(|names| !names.is_empty()) && naps.nap() {}
        let _ = fs::remove_dir_all(self.place());
    }

    fn welcome(&self) -> Result<Joined, JoinError> {
        let mine = word();
        let mut words = BTreeMap::from([(0, (mine.clone(), host_name()))]);
        let mut naps = self.naps();
        while words.len() < self.launched.size as usize {
            self.read_hellos(&mut words)?;
            if words.len() < self.launched.size as usize && !self.nap(&mut naps)? {
                return Err(self.missing(&words, &naps));
            }
        }
        let of_job = self.place().join(&mine);
        let (words, hosts): (Vec<_>, Vec<_>) = words.into_values().unzip();
        let welcome = Welcome { word: mine, host: host_name(), words };
        let say = || {
            fs::create_dir(&of_job)?;
            super::HALVES.iter().try_for_each(|half| fs::create_dir(of_job.join(half)))?;
            files::write(&self.place().join("welcome"), &json(&welcome))
        };
        say().map_err(|source| Problem::cannot_write_to(self.output, &source))?;
        Ok(Joined { place: self.place(), of_job, hosts })
    }

    /// Reads the hellos that have arrived.
    fn read_hellos(&self, words: &mut BTreeMap<u32, (String, String)>) -> Result<(), JoinError> {
        let names = files::names(&self.hellos());
        let names = names.map_err(|source| Problem::cannot_write_to(self.output, &source))?;
        for name in names {
            let Some((rank, word)) = name.split_once('.') else { continue };
            let Ok(rank) = rank.parse::<u32>() else { continue };
            if words.get(&rank).is_some_and(|known| known.0 == word) {
                continue;
            }
            let Some(hello) = files::read(&self.hellos().join(&name)) else { continue };
            let hello: Hello = serde_json::from_slice(&hello).map_err(|error| {
                EnsembleError::Version { rank: rank as usize, why: error.to_string() }
            })?;
            if different(hello.job.as_deref(), self.launched.job.as_deref()) {
                continue; // from a rank of an earlier job that is still waiting
            }
            let (size, expected) = (self.launched.size, hello.size);
            if expected != size {
                let why = format!(
                    "rank {rank} on {} expects {expected} ranks, rank 0 expects {size}",
                    hello.host
                );
                return Err(inconsistent(why));
            }
            if let Some((_, other)) = words.insert(rank, (word.to_owned(), hello.host.clone())) {
                let why =
                    format!("two processes, on {other} and {}, both have rank {rank}", hello.host);
                return Err(inconsistent(why));
            }
        }
        Ok(())
    }

    fn missing(&self, words: &BTreeMap<u32, (String, String)>, naps: &Naps<'_>) -> JoinError {
        let all = 0..self.launched.size;
        let missing: Vec<u32> = all.filter(|rank| !words.contains_key(rank)).collect();
        lost(format!(
            "{} did not come to {} within {}; check what they printed, whether all hosts share this directory, \
             and whether they need longer to start (--patience)",
            who(&missing, &[]),
            self.output.display(),
            naps.waited()
        ))
        .into()
    }

    /// Any other rank: writes its hello and waits for the welcome.
    fn other(&self) -> Result<Joined, JoinError> {
        let word = word();
        let hello = self.hellos().join(format!("{}.{word}", self.launched.rank));
        self.be_welcomed(&word, &hello).inspect_err(|_| {
            let _ = fs::remove_file(&hello); // rank 0 may come later, and must not wait for this one
        })
    }

    fn be_welcomed(&self, word: &str, hello: &Path) -> Result<Joined, JoinError> {
        let mut naps = self.naps();
        let mut written = false;
        loop {
            if self.hellos().is_dir() {
                let failed = |source| Problem::cannot_write_to(self.output, &source);
                verify_place(&self.hellos()).map_err(failed)?;
            }
            if self.write_hello(hello) && !written {
                written = true;
                naps.at_least(self.patience.others + self.patience.grace());
            }
            if let Some(joined) = self.answer(word)? {
                return Ok(joined);
            }
            if !self.nap(&mut naps)? {
                return Err(self.unanswered(written, &naps));
            }
        }
    }

    /// Writes the hello if it is missing; returns whether it is there.
    fn write_hello(&self, hello: &Path) -> bool {
        // Opening the directories above makes a network file system refresh them.
        let above: Vec<&Path> = hello.ancestors().skip(2).collect();
        above.iter().rev().for_each(|dir| drop(fs::read_dir(dir)));
        let Ok(names) = files::names(&self.hellos()) else { return false };
        if hello.file_name().is_some_and(|name| names.contains(&*name.to_string_lossy())) {
            return true;
        }
        let Launched { size, job, .. } = self.launched;
        let content = Hello { size: *size, host: host_name(), job: job.clone() };
        files::write(hello, &json(&content)).is_ok()
    }

    /// Returns what rank 0 answered to this rank, if anything.
    fn answer(&self, word: &str) -> Result<Option<Joined>, JoinError> {
        let place = self.place();
        let Ok(names) = files::names(&place) else {
            self.verify_empty()?;
            return Ok(None);
        };
        let read =
            |name: &str| names.contains(name).then(|| files::read(&place.join(name))).flatten();
        let welcome =
            read("welcome").and_then(|bytes| serde_json::from_slice::<Welcome>(&bytes).ok());
        let mine = |welcome: &Welcome| {
            welcome.words.get(self.launched.rank as usize).is_some_and(|w| w == word)
        };
        if let Some(welcome) = welcome.filter(mine) {
            let of_job = place.join(welcome.word);
            return Ok(Some(Joined { place, of_job, hosts: vec![welcome.host] }));
        }
        let refusal =
            read("refused").and_then(|bytes| serde_json::from_slice::<Refusal>(&bytes).ok());
        match refusal.filter(|r| !different(r.job.as_deref(), self.launched.job.as_deref())) {
            Some(Refusal { why, .. }) => {
                let why = format!("rank 0 ended the job: {why}");
                Err(ProblemKind::Unavailable
                    .problem(why, "mend that and start the job again")
                    .into())
            }
            None => Ok(None),
        }
    }

    /// Checks that the directory is empty while `.ensemble` does not exist, because rank 0 would refuse it
    /// otherwise.
    fn verify_empty(&self) -> Result<(), Problem> {
        let names = fs::read_dir(self.output).into_iter().flatten().flatten();
        let mut names = names.map(|entry| entry.file_name()).peekable();
        if names.peek().is_some() && names.all(|name| name != PLACE) {
            return Err(Problem::not_empty(self.output));
        }
        Ok(())
    }

    fn unanswered(&self, written: bool, naps: &Naps<'_>) -> JoinError {
        let (output, waited) = (self.output.display(), naps.waited());
        lost(match written {
            true => format!(
                "rank 0 did not answer within {waited} in {}, which already existed; check what rank 0 printed, and \
                 remove the directory if it is left over from an earlier job",
                self.place().display()
            ),
            false => format!(
                "rank 0 did not come to {output} within {waited}; check what it printed, and whether all hosts share \
                 this directory"
            ),
        })
        .into()
    }
}

/// Returns the problem of a launcher that assigned inconsistent ranks.
fn inconsistent(why: String) -> JoinError {
    let remedy = "start all ranks with one launcher, or give each rank its own ANECHOIC_RANK and \
                  all ranks the same ANECHOIC_SIZE";
    ProblemKind::Usage.problem(why, remedy).into()
}

/// Returns whether two ranks certainly belong to different jobs.
fn different(one: Option<&str>, other: Option<&str>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
