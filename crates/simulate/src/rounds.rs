//! The simulation of a pattern round by round, without a schedule: each rank sends its messages of a round, then takes those
//! that it gets in it, in the order in which they come. A message that comes while its rank is in an earlier round waits.
//!
//! A round is two or three passes over all ranks. What a rank needs stands in arrays. Its noise is looked up only when its
//! next detour has come.

use crate::engine::{Outcome, Progress, ended_early, too_late};
use crate::noise::Noise;
use crate::parameters::{LATEST_PS, PS, Parameters};
use crate::patterns::exchange::Exchange;
use crate::patterns::{Job, Messages, Pattern, Round, with_messages};
use anechoic_recording::Problem;

/// The most messages that a rank gets in a round.
const MOST_MESSAGES: usize = 6;
/// Ranks whose noise is looked at together.
const GROUP: usize = 64;

/// Simulates a pattern round by round.
///
/// # Errors
/// The simulated time exceeds 53 days, or `progress` ended it.
pub(crate) fn simulate(
    pattern: &Pattern,
    job: &Job,
    parameters: &Parameters,
    noise: &mut Noise,
    progress: Progress<'_>,
) -> Result<Outcome, Problem> {
    let longest = Costs::new(parameters, pattern.longest_message(job));
    let is_limited =
        longest.limited_by_interface() || Costs::new(parameters, 1).limited_by_interface();
    let mut ranks = Ranks::new(job.ranks, *parameters, noise, is_limited);
    let (each, mut events) = (u64::from(job.ranks), 0);
    for iteration in 0..job.iterations {
        if pattern.is_front {
            goes_on(progress, events)?;
            ranks.front(pattern.rounds(job, iteration));
            events = events.saturating_add(4 * each);
        } else {
            for round in pattern.rounds(job, iteration) {
                goes_on(progress, events)?;
                match round {
                    Round::Compute { ns } => ranks.compute(ns),
                    Round::Exchange { messages, bytes } => {
                        with_messages!(messages, exchange => ranks.exchange(exchange, bytes));
                    }
                }
                events = events.saturating_add(each);
                if ranks.latest > LATEST_PS {
                    return Err(too_late());
                }
            }
        }
        if ranks.latest > LATEST_PS {
            return Err(too_late());
        }
    }
    Ok(Outcome { finish_ps: ranks.at, lost_ps: ranks.lost_ps, events })
}

fn goes_on(progress: &mut dyn FnMut(u64, u64) -> bool, events: u64) -> Result<(), Problem> {
    if progress(events, u64::MAX) { Ok(()) } else { Err(ended_early()) }
}

/// What a message of a round costs, in ps.
#[derive(Debug, Clone, Copy)]
struct Costs {
    latency: u64,
    overhead: u64,
    /// Time that a CPU takes for the bytes after the first.
    copy: u64,
    /// Time that the network takes for them.
    wire: u64,
    gap: u64,
    /// Whether the sender waits for the receiver.
    waits: bool,
}

impl Costs {
    fn new(parameters: &Parameters, bytes: u64) -> Self {
        let further = bytes.saturating_sub(1);
        Self {
            latency: parameters.latency_ps,
            overhead: parameters.overhead_ps,
            copy: further * parameters.overhead_per_byte_ps,
            wire: further * parameters.gap_per_byte_ps,
            gap: parameters.gap_ps,
            waits: bytes > parameters.eager_bytes,
        }
    }

    /// Returns whether a CPU may be free for its next message before its network interface is.
    fn limited_by_interface(self) -> bool {
        self.gap + self.wire > self.overhead + self.copy || self.gap > self.overhead
    }
}

/// All ranks, with their times in ps.
struct Ranks<'a> {
    parameters: Parameters,
    noise: &'a mut Noise,
    /// When each rank has ended what it did so far.
    at: Vec<u64>,
    /// Until when each has no detour.
    quiet_until: Vec<u64>,
    lost_ps: Vec<u64>,
    /// When each message of the round had been sent; if the sender waits for it, when it was taken.
    sent: Vec<u64>,
    /// When each network interface can send and receive; empty if CPUs are never free before.
    interfaces: Vec<[u64; 2]>,
    /// The latest time of all ranks.
    latest: u64,
    /// Ranks of the present group whose next detour has come, with the start of their work.
    interrupted: Vec<(u32, u64)>,
    /// What their noise needs.
    buckets: Vec<(u32, u32)>,
}

impl<'a> Ranks<'a> {
    fn new(ranks: u32, parameters: Parameters, noise: &'a mut Noise, is_limited: bool) -> Self {
        let count = ranks as usize;
        Self {
            quiet_until: (0..count).map(|rank| noise.quiet_until(rank, 0)).collect(),
            at: vec![0; count],
            lost_ps: vec![0; count],
            sent: vec![0; count],
            interfaces: vec![[0; 2]; if is_limited { count } else { 0 }],
            latest: 0,
            interrupted: vec![],
            buckets: vec![],
            parameters,
            noise,
        }
    }

    /// Returns when work ends on a rank. The starts on a rank never decrease.
    #[inline]
    fn end(&mut self, rank: usize, start: u64, work: u64) -> u64 {
        if start + work <= self.quiet_until[rank] {
            return start + work;
        }
        self.interrupted_end(rank, start, work)
    }

    #[cold]
    fn interrupted_end(&mut self, rank: usize, start: u64, work: u64) -> u64 {
        if work == 0 {
            return start;
        }
        let (end, quiet_until) = self.noise.end_and_quiet(rank, start, work);
        self.quiet_until[rank] = quiet_until;
        end
    }

    /// Sets the time of a rank after work that would have ended at `undisturbed`.
    #[inline]
    fn set(&mut self, rank: usize, end: u64, undisturbed: u64) {
        if end > undisturbed {
            self.lost_ps[rank] += end - undisturbed;
        }
        self.at[rank] = end;
        self.latest = self.latest.max(end);
    }

    fn compute(&mut self, ns: u64) {
        for first in (0..self.at.len()).step_by(GROUP) {
            for rank in first..self.at.len().min(first + GROUP) {
                self.work_or_wait(rank, self.at[rank], ns * PS);
            }
            self.work_interrupted(ns * PS);
        }
    }

    #[inline]
    fn compute_one(&mut self, rank: usize, work: u64) {
        let start = self.at[rank];
        let end = self.end(rank, start, work);
        self.set(rank, end, start + work);
    }

    fn exchange<E: Exchange>(&mut self, exchange: E, bytes: u64) {
        let costs = Costs::new(&self.parameters, bytes);
        self.allow_slots(exchange);
        if E::SLOTS == 1 && costs.copy == 0 && !costs.waits && self.interfaces.is_empty() {
            return self.exchange_one(exchange, costs);
        }
        for rank in 0..self.at.len() {
            self.send(exchange, rank, costs);
        }
        for rank in 0..self.at.len() {
            self.receive(exchange, rank, costs);
        }
        if costs.waits || !self.interfaces.is_empty() {
            (0..self.at.len()).for_each(|rank| self.end_sends(exchange, rank));
        }
    }

    /// Exchanges at most one message each way, where only CPUs and the latency decide. Ranks whose next detour has come are
    /// looked at in groups.
    fn exchange_one<E: Exchange>(&mut self, exchange: E, costs: Costs) {
        for first in (0..self.at.len()).step_by(GROUP) {
            for rank in first..self.at.len().min(first + GROUP) {
                exchange.sends(rank as u32, |_, _| {
                    self.work_or_wait(rank, self.at[rank], costs.overhead);
                });
            }
            self.work_interrupted(costs.overhead);
        }
        self.sent.copy_from_slice(&self.at);
        for first in (0..self.at.len()).step_by(GROUP) {
            for rank in first..self.at.len().min(first + GROUP) {
                exchange.receives(rank as u32, |peer, _| {
                    let came = self.sent[peer as usize] + costs.latency;
                    let start = self.at[rank].max(came);
                    self.work_or_wait(rank, start + costs.wire, costs.overhead);
                });
            }
            self.work_interrupted(costs.overhead);
        }
    }

    /// Does a rank's work, or notes it for later if its next detour has come.
    #[inline]
    fn work_or_wait(&mut self, rank: usize, start: u64, work: u64) {
        let end = start + work;
        match end <= self.quiet_until[rank] {
            true => {
                self.at[rank] = end;
                self.latest = self.latest.max(end);
            }
            false => self.interrupted.push((rank as u32, start)),
        }
    }

    /// Does the work that was noted for later.
    fn work_interrupted(&mut self, work: u64) {
        if self.interrupted.is_empty() {
            return;
        }
        self.noise.touch_all(&self.interrupted, &mut self.buckets);
        for at in 0..self.interrupted.len() {
            let (rank, start) = self.interrupted[at];
            let end = self.interrupted_end(rank as usize, start, work);
            self.set(rank as usize, end, start + work);
        }
        self.interrupted.clear();
    }

    /// Sends the messages of a rank. The CPU does its part at once; a message leaves when the network interface is free.
    #[inline]
    fn send<E: Exchange>(&mut self, exchange: E, rank: usize, costs: Costs) {
        let work = costs.overhead + costs.copy;
        exchange.sends(rank as u32, |slot, _| {
            let start = self.at[rank];
            let end = self.end(rank, start, work);
            self.set(rank, end, start + work);
            let mut sent = end;
            if let Some([sends, _]) = self.interfaces.get_mut(rank) {
                let begin = start.max(*sends);
                sent = sent.max(begin + work);
                *sends = begin + costs.gap + costs.wire;
            }
            self.sent[rank * E::SLOTS + slot] = sent;
        });
    }

    /// Takes the messages that a rank gets, in the order in which they come.
    #[inline]
    fn receive<E: Exchange>(&mut self, exchange: E, rank: usize, costs: Costs) {
        if E::SLOTS == 1 {
            return exchange.receives(rank as u32, |peer, _| self.take(rank, peer as usize, costs));
        }
        let (mut messages, mut count) = ([(0, 0); MOST_MESSAGES], 0);
        exchange.receives(rank as u32, |peer, slot| {
            let place = peer as usize * E::SLOTS + slot;
            messages[count] = (self.sent[place], place);
            count += 1;
        });
        let messages = &mut messages[..count];
        messages.sort_unstable();
        messages.iter().for_each(|&(_, place)| self.take(rank, place, costs));
    }

    /// Takes the message at a place of those that were sent.
    #[inline]
    fn take(&mut self, rank: usize, place: usize, costs: Costs) {
        let mut start = self.at[rank].max(self.sent[place] + costs.latency);
        if let Some([_, receives]) = self.interfaces.get_mut(rank) {
            start = start.max(*receives);
            *receives = start + costs.gap + costs.wire;
        }
        let copied = match costs.copy {
            0 => start,
            copy => self.end(rank, start, copy),
        };
        let end = self.end(rank, copied.max(start + costs.wire), costs.overhead);
        self.set(rank, end, start + costs.wire.max(costs.copy) + costs.overhead);
        if costs.waits {
            self.sent[place] = start;
        }
    }

    /// Lets a rank go on when its messages have left, or have been taken if it waits for that.
    #[inline]
    fn end_sends<E: Exchange>(&mut self, exchange: E, rank: usize) {
        exchange.sends(rank as u32, |slot, _| {
            self.at[rank] = self.at[rank].max(self.sent[rank * E::SLOTS + slot]);
        });
        self.latest = self.latest.max(self.at[rank]);
    }

    /// Does all rounds of an iteration rank after rank, in the order in which a wave front comes to them.
    fn front(&mut self, rounds: impl Iterator<Item = Round>) {
        let rounds: Vec<Round> = rounds.collect();
        let messages = rounds.iter().find_map(|round| match round {
            Round::Exchange { messages, .. } => Some(*messages),
            Round::Compute { .. } => None,
        });
        match messages {
            Some(Messages::Front(front)) => front.in_order(|rank| self.pass(&rounds, rank)),
            _ => (0..self.at.len()).for_each(|rank| self.pass(&rounds, rank)),
        }
        for round in rounds {
            if let Round::Exchange { messages, bytes } = round
                && Costs::new(&self.parameters, bytes).waits
            {
                with_messages!(messages, exchange => {
                    (0..self.at.len()).for_each(|rank| self.end_sends(exchange, rank));
                });
            }
        }
    }

    /// Does what a rank does when a wave front comes to it.
    fn pass(&mut self, rounds: &[Round], rank: usize) {
        for &round in rounds {
            if self.latest > LATEST_PS {
                return;
            }
            match round {
                Round::Compute { ns } => self.compute_one(rank, ns * PS),
                Round::Exchange { messages, bytes } => {
                    let costs = Costs::new(&self.parameters, bytes);
                    with_messages!(messages, exchange => {
                        self.allow_slots(exchange);
                        self.receive(exchange, rank, costs);
                        self.send(exchange, rank, costs);
                        self.end_sends(exchange, rank);
                    });
                }
            }
        }
    }

    /// Makes room for the messages of a round.
    #[inline]
    fn allow_slots<E: Exchange>(&mut self, _: E) {
        self.sent.resize(self.at.len() * E::SLOTS, 0);
    }
}
