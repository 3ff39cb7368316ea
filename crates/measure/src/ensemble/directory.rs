//! Ranks that communicate through files in a directory that all their hosts share.
//!
//! Every gather and every broadcast has a number, because all ranks take the same steps. A rank writes its
//! data to a file whose name has the step and the rank, and polls for the files of others. This needs no lock
//! and no file notification: it works wherever a renamed file eventually becomes visible to other hosts.

mod files;
mod joining;

use super::launched::Launched;
use super::{Ensemble, EnsembleError};
use anechoic_recording::Problem;
use anechoic_system::cpus;
use files::{Naps, later};
use joining::{Joined, Joining};
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The two subdirectories: messages to rank 0, and messages from it.
const HALVES: [&str; 2] = ["to-first", "from-first"];
/// How long rank 0 finally waits for the others to leave.
const GOODBYE: Duration = Duration::from_secs(2);
/// The tolerance of [`Patience::grace`].
const GRACE: Duration = Duration::from_secs(5);
/// The largest number of missing ranks that are named with their hosts.
const NAMED: usize = 4;

/// How long ranks wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Longest time between the first and the last rank at a meeting.
    pub others: Duration,
    /// Time that the ranks' work between two meetings takes.
    pub work: Duration,
}

impl Patience {
    /// Other ranks wait longer for rank 0 than rank 0 waits for them, so that rank 0 can report which ranks
    /// are missing.
    fn grace(self) -> Duration {
        GRACE.min(self.others / 2)
    }
}

/// Why a rank could not join the others.
#[derive(Debug)]
pub enum JoinError {
    /// Other ranks did not join.
    Ensemble(EnsembleError),
    /// Any other reason.
    Other(Problem),
}

impl JoinError {
    fn problem(&self) -> Problem {
        match self {
            Self::Ensemble(error) => error.into(),
            Self::Other(problem) => problem.clone(),
        }
    }
}

anechoic_recording::error_from_problem!(JoinError);

impl From<Problem> for JoinError {
    fn from(problem: Problem) -> Self {
        Self::Other(problem)
    }
}

impl From<EnsembleError> for JoinError {
    fn from(error: EnsembleError) -> Self {
        Self::Ensemble(error)
    }
}

/// An ensemble that communicates through a directory.
///
/// A rank that drops it leaves the job: ranks that still wait for it are notified.
#[derive(Debug)]
pub struct SharedDirectory {
    launched: Launched,
    patience: Patience,
    stop: Arc<AtomicBool>,
    joined: Joined,
    state: Mutex<State>,
}

/// The progress of this rank.
#[derive(Debug)]
struct State {
    /// Number of the next step.
    next: u64,
    /// When all ranks were last known to be alive.
    met: Instant,
    /// Why there is no next step.
    lost: Option<String>,
    /// The ranks that will not come any more.
    missing: BTreeSet<u32>,
}

impl SharedDirectory {
    /// Joins the others in `output`, the same directory for all ranks, which must be empty or not exist. Rank
    /// 0 creates it.
    ///
    /// `stop` ends this wait, and limits later waits to [`Patience::others`].
    ///
    /// # Errors
    /// Returns [`JoinError`] at all ranks, except those that do not see the directory.
    pub fn join(
        output: &Path,
        launched: Launched,
        patience: Patience,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, JoinError> {
        let joined = Joining { output, launched: &launched, patience, stop: &stop }.join()?;
        let state = State { next: 0, met: Instant::now(), lost: None, missing: BTreeSet::new() };
        Ok(Self { launched, patience, stop, joined, state: Mutex::new(state) })
    }

    fn to_first(&self) -> PathBuf {
        self.joined.of_job.join(HALVES[0])
    }

    fn by_first(&self) -> PathBuf {
        self.joined.of_job.join(HALVES[1])
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next step; after a failed step there are no more.
    fn step<T>(
        &self,
        take: impl FnOnce(&mut State) -> Result<T, EnsembleError>,
    ) -> Result<T, EnsembleError> {
        let mut state = self.state();
        if let Some(why) = &state.lost {
            return Err(lost(why.clone()));
        }
        let taken = take(&mut state).inspect_err(|error| {
            if let EnsembleError::Lost { why } = error {
                state.lost = Some(why.clone());
            }
        });
        state.next += 1;
        taken
    }

    fn naps(&self, state: &State, grace: Duration) -> Naps<'_> {
        // All ranks were together at the last meeting, so their work since then began at the same time.
        let done = later(state.met, self.patience.work);
        let until = later(done.max(Instant::now()), self.patience.others + grace);
        Naps::until(until, &self.stop, self.patience.others)
    }

    fn give(&self, file: &Path, content: &[u8]) -> Result<(), EnsembleError> {
        files::write(file, content).map_err(|error| match error.kind() {
            ErrorKind::NotFound => self.gone(),
            _ => lost(format!(
                "cannot write {}: {error}; free space, or use another directory",
                file.display()
            )),
        })
    }

    /// Lists the files in one subdirectory; empty if it cannot be read at the moment.
    fn names(&self, half: &Path) -> Result<HashSet<String>, EnsembleError> {
        match files::names(half) {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(self.gone()),
            names => Ok(names.unwrap_or_default()),
        }
    }

    fn gone(&self) -> EnsembleError {
        lost(format!(
            "{} is gone: rank 0 has ended, or somebody removed it; see what rank 0 printed",
            self.joined.of_job.display()
        ))
    }

    /// At rank 0: collects the data of each rank in this step.
    fn collect(&self, mine: &[u8], state: &mut State) -> Result<Vec<Vec<u8>>, EnsembleError> {
        let (half, step) = (self.to_first(), state.next);
        let file = |rank| half.join(given(step, rank));
        let mut all: Vec<Option<Vec<u8>>> = vec![None; self.launched.size as usize];
        all[0] = Some(mine.to_vec());
        let mut naps = self.naps(state, Duration::ZERO);
        loop {
            let names = self.names(&half)?;
            for (rank, message) in (0..).zip(&mut all).filter(|(_, message)| message.is_none()) {
                let left = names.contains(&leaving(rank));
                // A rank leaves only after it has written all its data.
                if left || names.contains(&given(step, rank)) {
                    *message = files::read(&file(rank));
                }
                if left && message.is_none() {
                    return Err(self.has_left(rank, &half));
                }
            }
            let absent =
                (0..).zip(&all).filter(|(_, message)| message.is_none()).map(|(rank, _)| rank);
            let absent: Vec<u32> = absent.collect();
            if absent.is_empty() {
                break;
            }
            if !naps.nap() {
                let error = self.absent(&absent, &naps);
                state.missing.extend(absent);
                return Err(error);
            }
        }
        self.tidy(step);
        state.met = Instant::now();
        Ok(all.into_iter().flatten().collect())
    }

    /// Removes what all ranks have read: the data of this step and the broadcast before it.
    fn tidy(&self, step: u64) {
        let parts = (1..self.launched.size).map(|rank| self.to_first().join(given(step, rank)));
        let before = files::names(&self.by_first()).unwrap_or_default();
        let before =
            before.into_iter().filter(|name| name.parse().is_ok_and(|number: u64| number < step));
        for file in parts.chain(before.map(|name| self.by_first().join(name))) {
            let _ = fs::remove_file(file); // otherwise removed at the end
        }
    }

    /// At the other ranks: waits for the data of rank 0 in this step.
    fn receive(&self, state: &mut State) -> Result<Vec<u8>, EnsembleError> {
        let (half, name) = (self.by_first(), state.next.to_string());
        let mut naps = self.naps(state, self.patience.grace());
        loop {
            let names = self.names(&half)?;
            let left = names.contains(&leaving(0));
            let heard =
                (left || names.contains(&name)).then(|| files::read(&half.join(&name))).flatten();
            if let Some(heard) = heard {
                state.met = Instant::now();
                return Ok(heard);
            }
            if left {
                return Err(self.has_left(0, &half));
            }
            if !naps.nap() {
                return Err(self.absent(&[0], &naps));
            }
        }
    }

    /// Describes why a rank left, if it wrote a reason.
    fn has_left(&self, rank: u32, half: &Path) -> EnsembleError {
        let why = files::read(&half.join(leaving(rank))).unwrap_or_default();
        let who = who(&[rank], &self.joined.hosts);
        lost(match String::from_utf8_lossy(&why).trim() {
            "" => format!("{who} ended early; see what it printed"),
            why => format!("{who} ended the job: {why}"),
        })
    }

    fn absent(&self, ranks: &[u32], naps: &Naps<'_>) -> EnsembleError {
        let (who, waited) = (who(ranks, &self.joined.hosts), naps.waited());
        lost(format!(
            "{who} did not come within {waited}; check what it printed, whether the process and its host still run, and \
             whether the host still sees {}",
            self.joined.place.display()
        ))
    }
}

/// Returns the name of the file with a rank's data in a step.
fn given(step: u64, rank: u32) -> String {
    format!("{step}.{rank}")
}

/// Returns the name of the file that a rank writes when it leaves.
fn leaving(rank: u32) -> String {
    format!("left.{rank}")
}

fn lost(why: String) -> EnsembleError {
    EnsembleError::Lost { why }
}

/// Names the ranks; `hosts` are the hosts of the first ranks, as far as they are known.
fn who(ranks: &[u32], hosts: &[String]) -> String {
    let named = |&rank: &u32| Some(format!("rank {rank} on {}", hosts.get(rank as usize)?));
    let names: Option<Vec<String>> = ranks.iter().take(NAMED).map(named).collect();
    match (ranks, names) {
        ([rank], None) => format!("rank {rank}"),
        (ranks, Some(names)) if ranks.len() <= NAMED => names.join(", "),
        (ranks, _) => format!("ranks {}", cpus::list(ranks)),
    }
}

impl Ensemble for SharedDirectory {
    fn through(&self) -> String {
        "shared directory".to_owned()
    }

    fn rank(&self) -> u32 {
        self.launched.rank
    }

    fn size(&self) -> u32 {
        self.launched.size
    }

    fn gather(&self, mine: &[u8]) -> Result<Option<Vec<Vec<u8>>>, EnsembleError> {
        self.step(|state| match self.launched.rank {
            0 => self.collect(mine, state).map(Some),
            rank => self.give(&self.to_first().join(given(state.next, rank)), mine).map(|()| None),
        })
    }

    fn broadcast(&self, of_first: &[u8]) -> Result<Vec<u8>, EnsembleError> {
        self.step(|state| match self.launched.rank {
            0 => {
                self.give(&self.by_first().join(state.next.to_string()), of_first)?;
                Ok(of_first.to_vec())
            }
            _ => self.receive(state),
        })
    }
}

impl Drop for SharedDirectory {
    /// Notifies ranks that may still wait. Rank 0 removes the files once all have left.
    fn drop(&mut self) {
        let rank = self.launched.rank;
        let half = if rank == 0 { self.by_first() } else { self.to_first() };
        let state = self.state();
        let why = state.lost.clone().unwrap_or_default();
        let _ = files::write(&half.join(leaving(rank)), why.as_bytes()); // on failure, the others time out
        if rank > 0 {
            return;
        }
        let mut naps = Naps::within(GOODBYE);
        let waited_for = |rank: &u32| !state.missing.contains(rank);
        loop {
            let names = files::names(&self.to_first()).unwrap_or_default();
            let all = (1..self.launched.size)
                .filter(waited_for)
                .all(|rank| names.contains(&leaving(rank)));
            if all || !naps.nap() {
                // A rank that is missing can still read the reason if it comes later.
                if all && state.missing.is_empty() {
                    let _ = fs::remove_dir_all(&self.joined.place);
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
