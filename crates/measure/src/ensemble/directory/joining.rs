//! How the ranks of one job find each other in a directory, and nobody else's.
//!
//! A directory serves one job. Rank 0 makes `.ensemble` in the output directory, which must be new or empty, and
//! making a directory succeeds once. The others wait for it, and each leaves a *hello* with a word that it has
//! just made up. Once all are there, rank 0 repeats all words in its *welcome*: who finds its own there knows that
//! rank 0 lives, and is of the same job. What an earlier job left behind repeats no such word, whatever it holds;
//! rank 0 finds it, too, and says so in a *refusal*. What follows has names with a word of rank 0's in them, so
//! that ranks of an earlier job that are still around cannot speak up in a directory that was made again.

use super::files::{self, Naps};
use super::{JoinError, Patience, lost, who};
use crate::ensemble::EnsembleError;
use crate::ensemble::launched::Launched;
use anechoic_recording::WriteError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Where the ranks come together, below the output directory.
const PLACE: &str = ".ensemble";
/// How long rank 0 waits for others to read why they are sent away.
const GOODBYE: Duration = Duration::from_secs(2);

/// What a rank says first.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    size: u32,
    host: String,
    job: Option<String>,
}

/// What rank 0 says to all once all are there.
#[derive(Debug, Serialize, Deserialize)]
struct Welcome {
    /// Its own word.
    word: String,
    /// Its host.
    host: String,
    /// The words of all, in the order of ranks; its own first.
    words: Vec<String>,
}

/// What rank 0 says where there will be no welcome.
#[derive(Debug, Serialize, Deserialize)]
struct Refusal {
    job: Option<String>,
    why: String,
}

/// Where the ranks of a job have found each other.
#[derive(Debug)]
pub(super) struct Joined {
    /// What rank 0 removes at the end.
    pub(super) place: PathBuf,
    /// What is this job's alone.
    pub(super) of_job: PathBuf,
    /// The host of each rank at rank 0, of rank 0 at the others.
    pub(super) hosts: Vec<String>,
}

/// A word that nobody has said before.
fn word() -> String {
    // The keys are from the system's source of chance.
    let number = || RandomState::new().hash_one((std::process::id(), Instant::now()));
    format!("{:016x}{:016x}", number(), number())
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// One rank that joins the others.
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

    /// One more nap; an error when a signal has come.
    fn nap(&self, naps: &mut Naps<'_>) -> Result<bool, JoinError> {
        if self.stop.load(Ordering::Acquire) {
            return Err(JoinError::CalledOff);
        }
        Ok(naps.nap())
    }

    /// Rank 0: makes the place, and welcomes all others.
    fn first(&self) -> Result<Joined, JoinError> {
        self.make_place()?;
        self.welcome().inspect_err(|error| self.send_away(error))
    }

    fn make_place(&self) -> Result<(), JoinError> {
        let (output, place) = (self.output, self.place());
        let failed = |source| WriteError::Directory { dir: output.to_owned(), source };
        fs::create_dir_all(output).map_err(failed)?;
        let made = match fs::read_dir(output).map_err(failed)?.next() {
            None => fs::create_dir(&place),
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        };
        match made {
            Ok(()) => Ok(fs::create_dir(self.hellos()).map_err(failed)?),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let error = WriteError::NotEmpty { dir: output.to_owned() };
                if place.is_dir() {
                    self.refuse(&error.to_string());
                }
                Err(error.into())
            }
            Err(source) => Err(failed(source).into()),
        }
    }

    /// Tells whoever is here, and whoever comes, that this place will never serve.
    fn refuse(&self, why: &str) {
        let refusal = Refusal { job: self.launched.job.clone(), why: why.to_owned() };
        // Who does not hear of it waits as long as it was going to.
        let _ = files::write(&self.place().join("refused"), &json(&refusal));
    }

    /// Refuses, gives those who are here time to read it, and leaves the directory empty.
    fn send_away(&self, error: &JoinError) {
        match error {
            JoinError::Ensemble(EnsembleError::Lost { why }) => self.refuse(why),
            error => self.refuse(&error.to_string()),
        }
        let mut naps = Naps::within(GOODBYE);
        // Those who have read it take their hello away.
        while files::names(&self.hellos()).is_ok_and(|names| !names.is_empty()) && naps.nap() {}
        let _ = fs::remove_dir_all(self.place());
    }

    fn welcome(&self) -> Result<Joined, JoinError> {
        let mine = word();
        let mut words = BTreeMap::from([(0, (mine.clone(), host()))]);
        let mut naps = self.naps();
        while words.len() < self.launched.size as usize {
            self.hear(&mut words)?;
            if words.len() < self.launched.size as usize && !self.nap(&mut naps)? {
                return Err(self.missing(&words, &naps));
            }
        }
        let of_job = self.place().join(&mine);
        let (words, hosts): (Vec<_>, Vec<_>) = words.into_values().unzip();
        let welcome = Welcome { word: mine, host: host(), words };
        let say = || {
            fs::create_dir(&of_job)?;
            super::HALVES.iter().try_for_each(|half| fs::create_dir(of_job.join(half)))?;
            files::write(&self.place().join("welcome"), &json(&welcome))
        };
        say().map_err(|source| WriteError::Directory { dir: self.output.to_owned(), source })?;
        Ok(Joined { place: self.place(), of_job, hosts })
    }

    /// Takes note of the hellos that have come.
    fn hear(&self, words: &mut BTreeMap<u32, (String, String)>) -> Result<(), JoinError> {
        let names = files::names(&self.hellos());
        let names = names
            .map_err(|source| WriteError::Directory { dir: self.output.to_owned(), source })?;
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
                continue; // one of an earlier job that has not yet given up
            }
            let (size, told) = (self.launched.size, hello.size);
            if told != size {
                let why = format!(
                    "rank {rank} on {} was told of {told} ranks, rank 0 of {size}",
                    hello.host
                );
                return Err(JoinError::Launch { why });
            }
            if let Some((_, other)) = words.insert(rank, (word.to_owned(), hello.host.clone())) {
                let why = format!(
                    "two processes, on {other} and {}, were told that they are rank {rank}",
                    hello.host
                );
                return Err(JoinError::Launch { why });
            }
        }
        Ok(())
    }

    fn missing(&self, words: &BTreeMap<u32, (String, String)>, naps: &Naps<'_>) -> JoinError {
        let all = 0..self.launched.size;
        let missing: Vec<u32> = all.filter(|rank| !words.contains_key(rank)).collect();
        lost(format!(
            "{} did not come to {} within {}; see what they printed, whether it is a directory that all hosts share, \
             and whether they need longer to start (--patience)",
            who(&missing, &[]),
            self.output.display(),
            naps.waited()
        ))
        .into()
    }

    /// Any other rank: says hello, and waits for the welcome.
    fn other(&self) -> Result<Joined, JoinError> {
        let word = word();
        let hello = self.hellos().join(format!("{}.{word}", self.launched.rank));
        self.be_welcomed(&word, &hello).inspect_err(|_| {
            let _ = fs::remove_file(&hello); // rank 0 may come later, and is not to count on this one
        })
    }

    fn be_welcomed(&self, word: &str, hello: &Path) -> Result<Joined, JoinError> {
        let mut naps = self.naps();
        let mut said = false;
        loop {
            if self.say(hello) && !said {
                said = true;
                naps.at_least(self.patience.others + self.patience.grace());
            }
            if let Some(joined) = self.answer(word)? {
                return Ok(joined);
            }
            if !self.nap(&mut naps)? {
                return Err(self.unanswered(said, &naps));
            }
        }
    }

    /// Sees to it that the hello is there; whether it is.
    fn say(&self, hello: &Path) -> bool {
        // Opening what lies above makes a network file system ask what is new in it.
        let above: Vec<&Path> = hello.ancestors().skip(2).collect();
        above.iter().rev().for_each(|dir| drop(fs::read_dir(dir)));
        let Ok(names) = files::names(&self.hellos()) else { return false };
        if hello.file_name().is_some_and(|name| names.contains(&*name.to_string_lossy())) {
            return true;
        }
        let Launched { size, job, .. } = self.launched;
        let content = Hello { size: *size, host: host(), job: job.clone() };
        files::write(hello, &json(&content)).is_ok()
    }

    /// What rank 0 said to this one, if anything.
    fn answer(&self, word: &str) -> Result<Option<Joined>, JoinError> {
        let place = self.place();
        let Ok(names) = files::names(&place) else {
            return self.verify_empty().map(|()| None);
        };
        let read =
            |name: &str| names.contains(name).then(|| files::read(&place.join(name))).flatten();
        let welcome =
            read("welcome").and_then(|said| serde_json::from_slice::<Welcome>(&said).ok());
        let mine = |welcome: &Welcome| {
            welcome.words.get(self.launched.rank as usize).is_some_and(|w| w == word)
        };
        if let Some(welcome) = welcome.filter(mine) {
            let of_job = place.join(welcome.word);
            return Ok(Some(Joined { place, of_job, hosts: vec![welcome.host] }));
        }
        let refusal =
            read("refused").and_then(|said| serde_json::from_slice::<Refusal>(&said).ok());
        match refusal.filter(|r| !different(r.job.as_deref(), self.launched.job.as_deref())) {
            Some(Refusal { why, .. }) => Err(JoinError::Refused { why }),
            None => Ok(None),
        }
    }

    /// Where there is no place yet the directory must be empty, or rank 0 will not make one.
    fn verify_empty(&self) -> Result<(), JoinError> {
        let names = fs::read_dir(self.output).into_iter().flatten().flatten();
        let mut names = names.map(|entry| entry.file_name()).peekable();
        if names.peek().is_some() && names.all(|name| name != PLACE) {
            return Err(WriteError::NotEmpty { dir: self.output.to_owned() }.into());
        }
        Ok(())
    }

    fn unanswered(&self, said: bool, naps: &Naps<'_>) -> JoinError {
        let (output, waited) = (self.output.display(), naps.waited());
        lost(match said {
            true => format!(
                "rank 0 has not answered in {}, which was there, within {waited}; see what it printed, and whether \
                 this is left over from an earlier job: then remove it",
                self.place().display()
            ),
            false => format!(
                "rank 0 did not come to {output} within {waited}; see what it printed, and whether it is a directory \
                 that all hosts share"
            ),
        })
        .into()
    }
}

/// Whether two ranks are certainly of different jobs.
fn different(one: Option<&str>, other: Option<&str>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
