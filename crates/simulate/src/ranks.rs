//! Simulation by several processes at the same time, the ranks of a parallel job. All ranks take the same steps. Each
//! simulates a part of the replicas, and all get the results of all: they depend on the numbers of the replicas alone.

use anechoic_analyze::threads::in_order_at_most;
use anechoic_recording::{Problem, ProblemKind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long ranks simulate before they exchange what they have: an error of one ends all that soon, and what is left is
/// shared anew.
const ROUND: Duration = Duration::from_secs(1);

/// The processes that simulate together.
pub trait Together: Debug + Sync {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn size(&self) -> usize;

    /// Returns how a message names a rank.
    fn name(&self, rank: usize) -> String;

    /// Returns the number of threads that this rank may use.
    fn threads(&self) -> usize;

    /// Sends a line of text to all ranks, and returns those of all ranks in their order. All ranks call this together.
    ///
    /// # Errors
    /// The ranks lost contact.
    fn exchange(&self, mine: &str) -> Result<Vec<String>, Problem>;
}

/// The ranks that simulate together, or this process alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ranks<'a>(Option<&'a dyn Together>);

/// A problem on its way to other ranks.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Trouble {
    exit_code: u8,
    what: String,
    why: String,
    remedy: String,
}

/// What a rank reports at the end of a round.
#[derive(Serialize, Deserialize)]
struct Report<T> {
    /// Whether it was asked to stop.
    stops: bool,
    done: Vec<(usize, T)>,
    trouble: Option<Trouble>,
}

impl<'a> Ranks<'a> {
    /// Returns these processes.
    pub fn together(team: &'a dyn Together) -> Self {
        Self(Some(team))
    }

    /// Returns the result of this rank if no rank has a problem, and else the first problem of any rank, at all ranks. All
    /// ranks call this together.
    ///
    /// # Errors
    /// Any rank has a problem, or the ranks lost contact.
    pub fn agree<T>(self, mine: Result<T, Problem>) -> Result<T, Problem> {
        let Some(team) = self.0 else { return mine };
        let all = exchange(team, &mine.as_ref().err().map(Trouble::from_problem))?;
        first_problem(team, all).map_or(mine, Err)
    }

    /// Returns whether this is the rank that does what only one does.
    #[must_use]
    pub fn is_first(self) -> bool {
        self.0.is_none_or(|team| team.rank() == 0)
    }

    /// Returns the number of ranks.
    pub(crate) fn size(self) -> usize {
        self.0.map_or(1, Together::size)
    }

    /// Returns whether this is true at any rank, at all ranks. All ranks call this together.
    pub(crate) fn any(self, mine: bool) -> Result<bool, Problem> {
        let Some(team) = self.0 else { return Ok(mine) };
        Ok(exchange(team, &mine)?.contains(&true))
    }

    /// Refuses inputs that are not the same at all ranks. `digests` returns what each of them is, with its
    /// digest.
    ///
    /// # Errors
    /// Those of a rank differ from those of the first one.
    pub(crate) fn compare<const N: usize>(
        self,
        digests: impl FnOnce() -> [(&'static str, u64); N],
    ) -> Result<(), Problem> {
        let Some(team) = self.0 else { return Ok(()) };
        let digests = digests();
        let numbers: Vec<u64> = digests.iter().map(|(_, digest)| *digest).collect();
        let all = exchange(team, &numbers)?;
        for (rank, other) in all.iter().enumerate() {
            let mut pairs = digests.iter().zip(all[0].iter().zip(other));
            if let Some(((what, _), _)) = pairs.find(|(_, (first, other))| first != other) {
                let why = format!("it has {what} other than {}", team.name(0));
                let remedy = "give all ranks the same arguments, and the same files on all hosts";
                return Err(ProblemKind::Data.problem(why, remedy).about(team.name(rank)));
            }
        }
        Ok(())
    }

    /// Does the work of all numbers below `count`, in `most` threads at most, and returns the results in order at all ranks.
    /// What is missing was left out because a rank was asked to stop; then all ranks return true as well.
    ///
    /// # Errors
    /// Work failed at any rank, or the ranks lost contact.
    pub(crate) fn share<T: Send + Serialize + DeserializeOwned>(
        self,
        count: usize,
        most: usize,
        must_stop: impl Fn() -> bool + Sync,
        work: impl Fn(usize) -> Result<T, Problem> + Sync,
    ) -> Result<(Vec<Option<T>>, bool), Problem> {
        let part = Part { must_stop, work, failed: AtomicBool::new(false) };
        let mut all: Vec<Option<T>> = (0..count).map(|_| None).collect();
        let Some(team) = self.0 else {
            let numbers: Vec<usize> = (0..count).collect();
            put(part.simulate(&numbers, most, None), &mut all)?;
            return Ok((all, (part.must_stop)()));
        };
        loop {
            let missing = (0..count).filter(|&number| all[number].is_none());
            let mine: Vec<usize> = missing.skip(team.rank()).step_by(team.size()).collect();
            let until = Some(Instant::now() + ROUND);
            let mut ours: Vec<Option<T>> = (0..count).map(|_| None).collect();
            let done = part.simulate(&mine, most.min(team.threads()), until);
            let trouble = put(done, &mut ours).err();
            let stops = (part.must_stop)();
            let done = ours.into_iter().enumerate();
            let done = done.filter_map(|(number, result)| Some((number, result?))).collect();
            let trouble = trouble.as_ref().map(Trouble::from_problem);
            let (mut stop, mut troubles) = (false, vec![]);
            for report in exchange(team, &Report { stops, done, trouble })? {
                stop |= report.stops;
                troubles.push(report.trouble);
                for (number, result) in report.done {
                    all[number] = Some(result);
                }
            }
            if let Some(problem) = first_problem(team, troubles) {
                return Err(problem);
            }
            if stop || all.iter().all(Option::is_some) {
                return Ok((all, stop));
            }
        }
    }
}

/// The work of one process.
struct Part<S, W> {
    must_stop: S,
    work: W,
    /// Whether some of it failed.
    failed: AtomicBool,
}

impl<S: Fn() -> bool + Sync, W> Part<S, W> {
    /// Does the work of these numbers until a time, but of one number at least. Leaves out what is left when it must stop,
    /// and what the stop ended.
    fn simulate<T: Send>(
        &self,
        numbers: &[usize],
        most: usize,
        until: Option<Instant>,
    ) -> Vec<(usize, Result<T, Problem>)>
    where
        W: Fn(usize) -> Result<T, Problem> + Sync,
    {
        let done = in_order_at_most(most, numbers.len(), |at| {
            let is_late = at > 0 && until.is_some_and(|until| Instant::now() > until);
            if is_late || self.failed.load(Ordering::Relaxed) || (self.must_stop)() {
                return None;
            }
            let done = (self.work)(numbers[at]);
            if done.is_err() && (self.must_stop)() {
                return None;
            }
            self.failed.fetch_or(done.is_err(), Ordering::Relaxed);
            Some((numbers[at], done))
        });
        done.into_iter().flatten().collect()
    }
}

/// Puts results in their places.
fn put<T>(done: Vec<(usize, Result<T, Problem>)>, all: &mut [Option<T>]) -> Result<(), Problem> {
    for (number, result) in done {
        all[number] = Some(result?);
    }
    Ok(())
}

/// Sends a value to all ranks, and returns those of all ranks in their order.
fn exchange<T: Serialize + DeserializeOwned>(
    team: &dyn Together,
    mine: &T,
) -> Result<Vec<T>, Problem> {
    let mine = serde_json::to_string(mine).map_err(|error| unreadable(&error))?;
    let all = team.exchange(&mine)?;
    let read = |line: &String| serde_json::from_str(line).map_err(|error| unreadable(&error));
    all.iter().map(read).collect()
}

/// Returns the problem of a line that cannot be read.
fn unreadable(error: &serde_json::Error) -> Problem {
    let why = format!("a rank sent data that cannot be read: {error}");
    ProblemKind::Unavailable.problem(why, "start the same version of anechoic on all hosts")
}

/// Returns the problem of the first rank that has one, with the name of the rank unless all have the same.
fn first_problem(team: &dyn Together, all: Vec<Option<Trouble>>) -> Option<Problem> {
    let is_same = all.iter().all(|trouble| *trouble == all[0]);
    let (rank, trouble) =
        all.into_iter().enumerate().find_map(|(rank, trouble)| Some((rank, trouble?)))?;
    let problem = trouble.problem();
    Some(if is_same { problem } else { problem.about(team.name(rank)) })
}

impl Trouble {
    fn from_problem(problem: &Problem) -> Self {
        let Problem { kind, what, why, remedy } = problem.clone();
        Self { exit_code: kind.exit_code(), what, why, remedy }
    }

    fn problem(self) -> Problem {
        use ProblemKind::{CannotWrite, Data, NoInput, NoVerdict, Unavailable, Usage};
        let mut kinds = [NoVerdict, Usage, Data, NoInput, CannotWrite].into_iter();
        let kind = kinds.find(|kind| kind.exit_code() == self.exit_code).unwrap_or(Unavailable);
        Problem { what: self.what, ..kind.problem(self.why, self.remedy) }
    }
}
