//! A simulation that logs what each operation waited for.

use super::costs::{Busy, Costs};
use super::log::{BusyTime, Cause, Log};
use super::queue::Event;
use super::{Engine, ON_ITS_WAY, Outcome, Progress};
use crate::noise::Noise;
use crate::schedule::Schedule;
use anechoic_recording::Problem;

/// Simulates a schedule, which must be by our rules. Returns also what each operation waited for, and for each rank its CPU that finished
/// last.
///
/// # Errors
/// As [`simulate`].
pub(crate) fn simulate_with_log(
    costs: Costs<'_>,
    schedule: &Schedule,
    noise: &mut Noise,
    progress: Progress<'_>,
) -> Result<(Outcome, Log, Vec<usize>), Problem> {
    let mut engine = Engine::new(schedule, costs, noise);
    let mut log = Log::new(engine.clocks.len(), schedule.len());
    engine.log = Some(&mut log);
    engine.finish(progress)?;
    let latest = (0..schedule.ranks()).map(|rank| engine.latest_clock(rank)).collect();
    let outcome = engine.outcome();
    Ok((outcome, log, latest))
}

/// The outcome of a simulation, and when each operation ends, in ps.
pub(crate) type Ends = (Outcome, Vec<u64>);

/// Simulates a schedule, which must be by our rules. Returns also when each operation ends.
///
/// # Errors
/// As [`simulate`].
pub(crate) fn simulate_with_ends(
    costs: Costs<'_>,
    schedule: &Schedule,
    noise: &mut Noise,
    progress: Progress<'_>,
) -> Result<Ends, Problem> {
    let mut ends = vec![0; schedule.len()];
    let mut engine = Engine::new(schedule, costs, noise);
    engine.ends = Some(&mut ends);
    engine.finish(progress)?;
    let outcome = engine.outcome();
    Ok((outcome, ends))
}

impl Engine<'_> {
    /// Returns the place of the clock of a rank's CPU that finished last.
    fn latest_clock(&self, rank: u32) -> usize {
        let cpus = self.clock(rank)..self.clock(rank) + self.schedule.cpus();
        cpus.max_by_key(|&clock| self.clocks[clock]).unwrap_or(0)
    }

    /// Notes the time of a CPU in the log. Returns its end as a cause.
    #[inline]
    pub(super) fn note(
        &mut self,
        event: &Event,
        busy: &Busy,
        places: (usize, Option<usize>),
    ) -> Cause {
        let Some(log) = &mut self.log else { return Cause::NONE };
        let receives = event.shape & ON_ITS_WAY != 0;
        let &Event { time: start_ps, rank, operation, peer, .. } = event;
        let owner = if receives { peer } else { rank };
        let (end_ps, lost_ps, cause) = (busy.end_ps, busy.lost_ps, Cause::NONE);
        let number = self.schedule.number(owner, operation);
        let busy = BusyTime { start_ps, end_ps, lost_ps, cause, rank, owner, operation, receives };
        log.add(busy, number, places, &self.clocks)
    }
}
