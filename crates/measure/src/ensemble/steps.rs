//! The steps of a run that all hosts take together, in this order at every rank.

use super::{EnsembleError, Team};
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

impl Team {
    /// Returns the time until all ranks start together by their hosts' clocks, which are assumed to be
    /// synchronized. If this host's clock is not, it starts one second after the meeting.
    ///
    /// # Errors
    /// [`EnsembleError`].
    pub(crate) fn start(&self) -> Result<Duration, EnsembleError> {
        let proposed = since_1970() + LEAD;
        let all = self.ensemble.gather(&(proposed.as_nanos() as u64).to_le_bytes())?;
        let latest = all.iter().flatten().filter_map(|ns| number(ns)).max().unwrap_or(0);
        let agreed = self.ensemble.broadcast(&latest.to_le_bytes())?;
        let agreed = Duration::from_nanos(number(&agreed).unwrap_or(0));
        let left = agreed.checked_sub(since_1970());
        Ok(left.filter(|&left| left <= LEAD + APART).unwrap_or(LEAD))
    }

    /// Returns when no rank measures any more.
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
/// [`crate::run::run`], and sleeps in between. `expected` is the duration of the measurement; `stop` ends the
/// sleep.
///
/// # Errors
/// [`EnsembleError`].
pub fn follow(team: &Team, expected: Duration, stop: &AtomicBool) -> Result<(), EnsembleError> {
    let mut left = team.start()?.saturating_add(expected);
    while !left.is_zero() && !stop.load(Ordering::Acquire) {
        let nap = left.min(NAP);
        thread::sleep(nap);
        left -= nap;
    }
    team.done()?;
    team.shortest(&BTreeMap::new()).map(|_| ())
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}
