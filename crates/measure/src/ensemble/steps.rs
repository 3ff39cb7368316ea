//! The steps of a run that all hosts take together, in this order at every rank.

use super::{EnsembleError, Team};
use crate::experiment::Experiment;
use anechoic_recording::methods;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time from the agreement on a common start to the start, so that the slowest rank learns of it.
const LEAD: Duration = Duration::from_secs(1);
/// Hosts whose clocks differ by more than this do not start at the same time.
const APART: Duration = Duration::from_secs(2);
/// How often a waiting rank checks whether it must stop.
const NAP: Duration = Duration::from_millis(100);

/// What the ranks agree on before the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Time until all ranks start.
    pub(crate) lead: Duration,
    /// Number of rounds of the host that has most: with a round for each CPU that is the host with most CPUs.
    pub(crate) rounds: usize,
}

impl Team {
    /// Agrees on the start of all ranks by their hosts' clocks, which are assumed to be synchronized, and on the
    /// number of rounds, of which this rank has `rounds`. If this host's clock is not synchronized, it starts one second
    /// after the meeting.
    ///
    /// # Errors
    /// [`EnsembleError`].
    pub(crate) fn start(&self, rounds: usize) -> Result<Agreed, EnsembleError> {
        let proposed = since_1970() + LEAD;
        let all = self.ensemble.gather(&pair(proposed.as_nanos() as u64, rounds as u64))?;
        let asked = || all.iter().flatten().filter_map(|asked| numbers(asked));
        let latest = asked().map(|(start, _)| start).max().unwrap_or(0);
        let most = asked().map(|(_, rounds)| rounds).max().unwrap_or(0);
        let agreed = self.ensemble.broadcast(&pair(latest, most))?;
        let (start, most) = numbers(&agreed).unwrap_or((0, 0));
        let left = Duration::from_nanos(start).checked_sub(since_1970());
        let lead = left.filter(|&left| left <= LEAD + APART).unwrap_or(LEAD);
        Ok(Agreed { lead, rounds: usize::try_from(most).unwrap_or(rounds).max(rounds) })
    }

    /// Returns when no rank measures any more in this round.
    ///
    /// # Errors
    /// [`EnsembleError`].
    pub(crate) fn done(&self) -> Result<(), EnsembleError> {
        self.ensemble.meet()
    }

    /// Returns the shortest gap (ticks) of each class of CPUs on any host, given those of this host.
    ///
    /// # Errors
    /// [`EnsembleError`].
    pub(crate) fn shortest(
        &self,
        mine: &BTreeMap<String, u64>,
    ) -> Result<BTreeMap<String, u64>, EnsembleError> {
        let mine = serde_json::to_vec(mine).unwrap_or_default();
        let mut least: BTreeMap<String, u64> = BTreeMap::new();
        for steps in self.ensemble.gather(&mine)?.iter().flatten() {
            // Data that cannot be decoded comes from another version, which was detected when the ranks were
            // placed.
            let steps: BTreeMap<String, u64> = serde_json::from_slice(steps).unwrap_or_default();
            for (class, ticks) in steps {
                let known = least.entry(class).or_insert(ticks);
                *known = ticks.min(*known);
            }
        }
        let least = serde_json::to_vec(&least).unwrap_or_default();
        let least = self.ensemble.broadcast(&least)?;
        serde_json::from_slice(&least)
            .map_err(|error| EnsembleError::Version { rank: 0, why: error.to_string() })
    }
}

/// Takes the steps of a run at a rank that does not measure, while the first rank of its host runs
/// [`crate::run::run`], and sleeps in between. `experiment` is what that rank measures; `stop` ends the sleep.
///
/// # Errors
/// [`EnsembleError`].
pub fn follow(
    team: &Team,
    experiment: &Experiment,
    stop: &AtomicBool,
) -> Result<(), EnsembleError> {
    let rounds = experiment.rounds();
    let agreed = team.start(rounds.len())?;
    sleep(agreed.lead, stop);
    for expected in &rounds {
        sleep(*expected, stop);
        team.done()?;
    }
    (rounds.len()..agreed.rounds).try_for_each(|_| team.done())?;
    match experiment.method {
        methods::DETOURS => team.shortest(&BTreeMap::new()).map(|_| ()),
        _ => Ok(()),
    }
}

/// Sleeps for this time, or until `stop`.
fn sleep(mut left: Duration, stop: &AtomicBool) {
    while !left.is_zero() && !stop.load(Ordering::Acquire) {
        let nap = left.min(NAP);
        thread::sleep(nap);
        left -= nap;
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Encodes two numbers.
fn pair(first: u64, second: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    bytes
}

/// Decodes two numbers.
fn numbers(bytes: &[u8]) -> Option<(u64, u64)> {
    let (first, second) = bytes.split_at_checked(8)?;
    let [first, second] =
        [first, second].map(|bytes| bytes.try_into().ok().map(u64::from_le_bytes));
    first.zip(second)
}
