//! The way back from the last operation to the start, and what its time consists of.

use crate::engine::Costs;
use crate::engine::log::{BusyTime, Cause, How, Log};
use crate::parameters::Parameters;
use crate::schedule::{Kind, Schedule};
use schemars::JsonSchema;
use serde::Serialize;

/// What the time of a critical path consists of. All parts together are the time of the job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathTime {
    /// Computations, in ps.
    pub compute_ps: u64,
    /// Noise, in ps.
    pub noise_ps: u64,
    /// How often the path has L: messages on their way.
    pub latencies: u64,
    /// How often it has o: messages that a CPU sends or receives.
    pub overheads: u64,
    /// How often it has g: messages that wait for the network interface.
    pub gaps: u64,
    /// Bytes after the first that the network takes: each of them G.
    pub wire_bytes: u64,
    /// Bytes after the first that a CPU takes: each of them O.
    pub copied_bytes: u64,
    /// Noise of the network, in ps: by how much drawn latencies and gaps per byte exceed L and G; negative if they are
    /// shorter.
    pub network_noise_ps: i64,
}

impl PathTime {
    /// Returns the time of the whole path, in ps.
    #[must_use]
    pub fn sum_ps(&self, parameters: &Parameters) -> u64 {
        let usual_ps = self.compute_ps
            + self.noise_ps
            + self.latencies * parameters.latency_ps
            + self.overheads * parameters.overhead_ps
            + self.gaps * parameters.gap_ps
            + self.wire_bytes * parameters.gap_per_byte_ps
            + self.copied_bytes * parameters.overhead_per_byte_ps;
        usual_ps.saturating_add_signed(self.network_noise_ps)
    }
}

/// A critical path.
#[derive(Debug)]
pub(crate) struct Path {
    /// What its time consists of.
    pub(crate) time: PathTime,
    /// The busy times on it that noise lengthened, the last one first.
    pub(crate) interrupted: Vec<BusyTime>,
    /// The ranks on it, in order of their numbers.
    pub(crate) ranks: Vec<u32>,
}

impl Path {
    /// Follows the path back from what ended last.
    pub(crate) fn back_from(
        last: Cause,
        log: &Log,
        schedule: &Schedule,
        costs: &Costs<'_>,
    ) -> Self {
        let mut path = Self { time: PathTime::default(), interrupted: vec![], ranks: vec![] };
        let (mut cause, mut next_ps) = (last, 0);
        while let Some((number, how)) = cause.get() {
            let busy = log.busy(number);
            path.ranks.push(busy.rank);
            match how {
                How::Started => {}
                How::Ended => path.pass(busy, schedule, costs),
                How::Message => {
                    // Also longer than it was drawn: behind messages that were sent before.
                    path.time.network_noise_ps += (next_ps - busy.end_ps) as i64;
                    path.time.network_noise_ps -= costs.parameters.latency_ps as i64;
                    path.time.latencies += 1;
                    path.pass(busy, schedule, costs);
                }
                How::Interface => {
                    path.time.gaps += 1;
                    path.bring(
                        further_bytes(busy, schedule),
                        &message(busy, schedule, costs),
                        costs,
                    );
                }
            }
            (cause, next_ps) = (busy.cause, busy.start_ps);
        }
        path.ranks.sort_unstable();
        path.ranks.dedup();
        path
    }

    /// Adds a busy time from its end to its start.
    fn pass(&mut self, busy: &BusyTime, schedule: &Schedule, costs: &Costs<'_>) {
        let bytes = further_bytes(busy, schedule);
        let message = message(busy, schedule, costs);
        let (wire_ps, copy_ps) = (message.gap_per_byte_ps, message.overhead_per_byte_ps);
        let time = &mut self.time;
        match schedule.whole_shape(schedule.operation(busy.owner, busy.operation)).kind {
            Kind::Compute => time.compute_ps += busy.end_ps - busy.start_ps - busy.lost_ps,
            _ if busy.receives && wire_ps > copy_ps => {
                time.overheads += 1;
                self.bring(bytes, &message, costs);
            }
            _ => {
                time.overheads += 1;
                time.copied_bytes += bytes;
            }
        }
        self.time.noise_ps += busy.lost_ps;
        if busy.lost_ps > 0 {
            self.interrupted.push(*busy);
        }
    }

    /// Adds the time in which the network brings these bytes of a message.
    fn bring(&mut self, bytes: u64, message: &Parameters, costs: &Costs<'_>) {
        let usual_ps = costs.parameters.gap_per_byte_ps as i64;
        self.time.wire_bytes += bytes;
        self.time.network_noise_ps += bytes as i64 * (message.gap_per_byte_ps as i64 - usual_ps);
    }
}

/// Returns what the message costs that a busy time sends or receives.
pub(super) fn message(busy: &BusyTime, schedule: &Schedule, costs: &Costs<'_>) -> Parameters {
    let to = schedule.operation(busy.owner, busy.operation).peer;
    costs.message((busy.owner, to), busy.operation)
}

/// Returns the bytes of a message after the first.
fn further_bytes(busy: &BusyTime, schedule: &Schedule) -> u64 {
    schedule.whole_shape(schedule.operation(busy.owner, busy.operation)).size.saturating_sub(1)
}
