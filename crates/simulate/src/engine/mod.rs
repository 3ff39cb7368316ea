//! The simulation of a schedule: one event after the other, in the order of their times.

mod ahead;
mod atlahs;
mod costs;
mod in_order;
pub(crate) mod log;
mod logged;
mod matching;
mod outcome;
mod queue;
mod stuck;
mod waits;

pub(crate) use costs::Costs;
pub use costs::Model;
pub(crate) use logged::{Ends, simulate_with_ends, simulate_with_log};
pub use outcome::Outcome;

use crate::noise::Noise;
use crate::parameters::{LATEST_PS, Parameters};
use crate::schedule::{Kind, ON_START, Operation, Schedule};
use anechoic_recording::{Problem, ProblemKind};
use in_order::InOrder;
use log::{Cause, Log};
use matching::{Entry, Matching, Waiting};
use queue::{Event, Queue};
use waits::Waits;

/// Marks the shape of a message on its way.
const ON_ITS_WAY: u32 = 1 << 31;
/// Marks the shape of a message that came while its CPU or network interface was busy.
const QUEUED: u32 = 1 << 30;
/// Number of events whose data is read into the cache together.
const AHEAD: usize = 16;
/// Number of events between two reports of progress.
const REPORT: u64 = 1 << 20;

/// Called from time to time with the number of events so far and of all; false ends the simulation early.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Simulates a schedule.
///
/// # Errors
/// Ranks wait for each other or for messages that nobody sends, messages are not received, the simulated time exceeds
/// 53 days, or `progress` ended it.
pub fn simulate(
    schedule: &Schedule,
    parameters: &Parameters,
    model: Model,
    noise: &mut Noise,
    progress: Progress<'_>,
) -> Result<Outcome, Problem> {
    let costs = Costs { parameters: *parameters, model, network: None };
    simulate_at(costs, schedule, noise, progress)
}

/// Simulates a schedule at these costs.
///
/// # Errors
/// As [`simulate`].
pub(crate) fn simulate_at(
    costs: Costs<'_>,
    schedule: &Schedule,
    noise: &mut Noise,
    progress: Progress<'_>,
) -> Result<Outcome, Problem> {
    if costs.model == Model::Atlahs {
        return atlahs::simulate(costs, schedule, noise, progress);
    }
    let mut engine = Engine::new(schedule, costs, noise);
    engine.finish(progress)?;
    Ok(engine.outcome())
}

const TOO_LATE: &str = "the simulated time exceeds 53 days";

/// Returns the error of a simulation of more time than can be counted.
pub(crate) fn too_late() -> Problem {
    let remedy = "simulate fewer iterations, shorter times, or less noise";
    ProblemKind::Data.problem(TOO_LATE, remedy)
}

/// Returns the error of a simulation that was ended.
pub(crate) fn ended_early() -> Problem {
    let why = "the simulation was ended early";
    ProblemKind::NoVerdict.problem(why, "let it run, or simulate fewer ranks or --replicas")
}

/// A simulation in progress.
struct Engine<'a> {
    schedule: &'a Schedule,
    costs: Costs<'a>,
    noise: &'a mut Noise,
    queue: Queue,
    matching: Matching,
    in_order: InOrder,
    /// How many others each operation still waits for.
    waits: Waits,
    /// For each rank: when each of its CPUs is free, when each network interface can send, and when it can receive.
    clocks: Vec<u64>,
    /// With several CPUs to a rank: when what an operation waits for has happened.
    ready: Vec<u64>,
    lost_ps: Vec<u64>,
    /// Operations that became free by the present event.
    freed: Vec<(u32, Kind, u32)>,
    /// What each operation waited for, if that is asked for.
    log: Option<&'a mut Log>,
    /// When each operation ends, in ps, if that is asked for.
    ends: Option<&'a mut [u64]>,
    /// The place of the next event in the order of creation.
    order: u64,
    /// Operations that have ended.
    done: u64,
}

impl<'a> Engine<'a> {
    fn new(schedule: &'a Schedule, costs: Costs<'a>, noise: &'a mut Noise) -> Self {
        let ranks = schedule.ranks() as usize;
        let is_parallel = schedule.cpus() > 1 && costs.model != Model::LogGopSim;
        Self {
            waits: Waits::new(schedule),
            clocks: vec![0; ranks * (schedule.cpus() + 2 * schedule.nics())],
            ready: vec![0; if is_parallel { schedule.len() } else { 0 }],
            lost_ps: vec![0; ranks],
            matching: Matching::new(schedule.ranks()),
            queue: Queue::default(),
            in_order: InOrder::default(),
            freed: vec![],
            log: None,
            ends: None,
            order: 0,
            done: 0,
            schedule,
            costs,
            noise,
        }
    }

    /// Executes all operations.
    fn finish(&mut self, progress: Progress<'_>) -> Result<(), Problem> {
        self.begin();
        self.run(progress)?;
        stuck::check(self.schedule, self.done, &self.matching)
    }

    /// Frees the operations that wait for nothing.
    fn begin(&mut self) {
        for rank in 0..self.schedule.ranks() {
            for operation in 0..self.schedule.count(rank) {
                if self.waits.is_free(self.schedule.number(rank, operation)) {
                    self.free(rank, operation);
                }
            }
            self.add_freed(rank, rank);
        }
    }

    fn run(&mut self, progress: Progress<'_>) -> Result<(), Problem> {
        let all = self.schedule.len() as u64 + self.schedule.messages();
        let (mut until_touch, mut until_report) = (0, 0);
        while let Some(event) = self.queue.pop() {
            if until_touch == 0 {
                self.touch();
                until_touch = AHEAD;
            }
            until_touch -= 1;
            if until_report == 0 {
                if !progress(self.order, all) {
                    return Err(ended_early());
                }
                until_report = REPORT;
            }
            until_report -= 1;
            self.check(event.time)?;
            self.step(event);
        }
        self.check(self.clocks.iter().copied().max().unwrap_or(0))
    }

    /// Refuses a time that is too late for sums of times.
    fn check(&self, time: u64) -> Result<(), Problem> {
        if time <= LATEST_PS {
            return Ok(());
        }
        match self.costs.model {
            Model::Anechoic | Model::Rounds | Model::Atlahs => Err(too_late()),
            Model::LogGopSim => {
                let remedy = "LogGOPSim wraps around for messages of 0 bytes if g is below G: else simulate less";
                Err(ProblemKind::Data.problem(TOO_LATE, remedy))
            }
        }
    }

    fn step(&mut self, event: Event) {
        if event.shape & ON_ITS_WAY != 0 {
            return self.arrive(event);
        }
        match self.schedule.shape(event.shape).kind {
            Kind::Compute => self.compute(event),
            Kind::Send => self.send(event),
            Kind::Receive => self.receive(event),
        }
    }

    /// Returns the place of a rank's first clock.
    #[inline]
    fn clock(&self, rank: u32) -> usize {
        rank as usize * (self.schedule.cpus() + 2 * self.schedule.nics())
    }

    /// Returns the place of the clock of a CPU.
    #[inline]
    fn cpu(&self, rank: u32, cpu: u8) -> usize {
        self.clock(rank) + usize::from(cpu)
    }

    /// Returns the place of the clock of a network interface that sends; that of its receives is after those of all.
    #[inline]
    fn sending(&self, rank: u32, nic: u8) -> usize {
        self.clock(rank) + self.schedule.cpus() + usize::from(nic)
    }

    /// Returns the number of a CPU among those of all ranks.
    #[inline]
    fn stream(&self, rank: u32, cpu: u8) -> usize {
        rank as usize * self.schedule.cpus() + usize::from(cpu)
    }

    fn compute(&mut self, event: Event) {
        let Event { peer, shape, .. } = event;
        let shape = self.schedule.whole_shape(Operation { peer, shape });
        let cpu = self.cpu(event.rank, shape.cpu);
        if self.clocks[cpu] > event.time {
            return self.again(event, self.clocks[cpu]);
        }
        let stream = self.stream(event.rank, shape.cpu);
        let busy = self.costs.compute(self.noise, stream, event.time, shape.size);
        let cause = self.note(&event, &busy, (cpu, None));
        self.clocks[cpu] = busy.end_ps;
        self.lost_ps[event.rank as usize] += busy.lost_ps;
        self.started(event.rank, event.operation, event.time, Log::start_of(cause));
        self.ended(event.rank, event.operation, busy.end_ps, cause);
        self.add_freed(event.rank, event.rank);
    }

    fn send(&mut self, event: Event) {
        let shape = self.schedule.shape(event.shape);
        let (cpu, nic) = (self.cpu(event.rank, shape.cpu), self.sending(event.rank, shape.nic));
        let free = self.clocks[cpu].max(self.clocks[nic]);
        if free > event.time {
            return self.again(event, free);
        }
        let stream = self.stream(event.rank, shape.cpu);
        let busy = self.costs.send(self.noise, stream, event.time, shape.size);
        let cause = self.note(&event, &busy, (cpu, Some(nic)));
        self.started(event.rank, event.operation, event.time, Log::start_of(cause));
        self.clocks[cpu] = busy.end_ps;
        let message = self.costs.message((event.rank, event.peer), event.operation);
        self.clocks[nic] = self.costs.interface_free(&message, event.time, shape.size);
        self.lost_ps[event.rank as usize] += busy.lost_ps;
        let arrival_ps = self.costs.arrival(&message, event.time, &busy);
        let arrival_ps = self.in_order.arrival(self.costs, (event.rank, event.peer), arrival_ps);
        self.add(Event {
            time: arrival_ps,
            rank: event.peer,
            peer: event.rank,
            shape: event.shape | ON_ITS_WAY,
            ..event
        });
        if shape.size <= self.costs.parameters.eager_bytes {
            self.ended(event.rank, event.operation, busy.end_ps, cause);
        }
        self.add_freed(event.rank, event.rank);
    }

    fn receive(&mut self, event: Event) {
        let shape = self.schedule.shape(event.shape);
        let number = self.schedule.number(event.rank, event.operation);
        let ready = self.log.as_ref().map_or(Cause::NONE, |log| log.ready(number));
        self.started(event.rank, event.operation, event.time, ready);
        let (rank, peer, tag) = (event.rank, event.peer, shape.tag);
        let Some(message) = self.matching.take(rank, Waiting::Messages, peer, tag) else {
            self.matching.add(rank, Waiting::Receives, Entry::new(peer, tag, event.operation, 0));
            return self.add_freed(rank, rank);
        };
        // It is the sender's length that decides: a receive may be for more bytes than come.
        let sent = self.schedule.operation(message.from, message.operation).shape;
        if self.schedule.shape(sent).size > self.costs.parameters.eager_bytes {
            let place = (shape.cpu, shape.nic);
            self.sender_ended(message.from, message.operation, event.time, place, ready);
        }
        let cause = match &self.log {
            Some(log) if message.received_ps >= event.time => {
                log.received(self.schedule.number(message.from, message.operation))
            }
            _ => ready,
        };
        self.ended(rank, event.operation, message.received_ps.max(event.time), cause);
        self.add_freed(rank, message.from);
    }

    fn arrive(&mut self, event: Event) {
        let shape = self.schedule.shape(event.shape & !(ON_ITS_WAY | QUEUED));
        let (rank, sender) = (event.rank, event.peer);
        let cpu = self.cpu(rank, shape.cpu);
        let nic = self.sending(rank, shape.nic) + self.schedule.nics();
        let free = self.clocks[cpu].max(self.clocks[nic]);
        if free > event.time {
            return self.queue(event, free);
        }
        let stream = self.stream(rank, shape.cpu);
        let message = self.costs.message((sender, rank), event.operation);
        let busy = self.costs.receive(&message, self.noise, (stream, event.time), shape.size);
        let cause = self.note(&event, &busy, (cpu, Some(nic)));
        self.clocks[cpu] = busy.end_ps;
        self.clocks[nic] = self.costs.interface_free(&message, event.time, shape.size);
        self.lost_ps[rank as usize] += busy.lost_ps;
        let Some(receive) = self.matching.take(rank, Waiting::Receives, sender, shape.tag) else {
            let entry = Entry::new(sender, shape.tag, event.operation, busy.end_ps);
            return self.matching.add(rank, Waiting::Messages, entry);
        };
        if shape.size > self.costs.parameters.eager_bytes {
            let (place, began) = ((shape.cpu, shape.nic), Log::start_of(cause));
            self.sender_ended(sender, event.operation, event.time, place, began);
        }
        self.ended(rank, receive.operation, busy.end_ps, cause);
        self.add_freed(rank, sender);
    }

    /// Ends the send of a message that waited for its receiver. The sender goes on at this time, not before.
    fn sender_ended(
        &mut self,
        rank: u32,
        operation: u32,
        time: u64,
        (cpu, nic): (u8, u8),
        cause: Cause,
    ) {
        for clock in [self.cpu(rank, cpu), self.sending(rank, nic)] {
            if time > self.clocks[clock] {
                self.clocks[clock] = time;
                self.log.iter_mut().for_each(|log| log.set(clock, cause));
            }
        }
        self.ended(rank, operation, time, cause);
    }

    /// Frees what waited for the start of an operation.
    #[inline]
    fn started(&mut self, rank: u32, operation: u32, time: u64, cause: Cause) {
        self.release(rank, operation, ON_START, time, cause);
    }

    /// Frees what waited for the end of an operation.
    #[inline]
    fn ended(&mut self, rank: u32, operation: u32, time: u64, cause: Cause) {
        self.done += 1;
        if let Some(ends) = &mut self.ends {
            ends[self.schedule.number(rank, operation)] = time;
        }
        self.release(rank, operation, 0, time, cause);
    }

    #[inline]
    fn release(&mut self, rank: u32, operation: u32, on: u32, time: u64, cause: Cause) {
        let schedule = self.schedule;
        for &edge in schedule.dependants(rank, operation) {
            if edge & ON_START != on {
                continue;
            }
            let dependant = edge & !ON_START;
            let number = schedule.number(rank, dependant);
            if let Some(ready) = self.ready.get_mut(number).filter(|ready| **ready <= time) {
                *ready = time;
                self.log.iter_mut().for_each(|log| log.made_ready(number, cause));
            }
            if self.waits.one_less(number) {
                self.free(rank, dependant);
            }
        }
    }

    fn free(&mut self, rank: u32, operation: u32) {
        let shape = self.schedule.operation(rank, operation).shape;
        self.freed.push((rank, self.schedule.shape(shape).kind, operation));
    }

    /// Adds the operations of these two ranks that became free: the lower rank first, and sends before receives before
    /// computations.
    fn add_freed(&mut self, rank: u32, other: u32) {
        if self.freed.len() > 1 {
            self.freed.sort_by_key(|&(rank, kind, _)| (rank, kind));
        }
        debug_assert!(self.freed.iter().all(|freed| [rank, other].contains(&freed.0)));
        for at in 0..self.freed.len() {
            let (rank, kind, operation) = self.freed[at];
            let schedule = self.schedule;
            let Operation { peer, shape } = schedule.operation(rank, operation);
            let place = schedule.shape(shape);
            let cpu = self.cpu(rank, place.cpu);
            let nic = (kind == Kind::Send).then(|| self.sending(rank, place.nic));
            let mut time = self.clocks[cpu].max(nic.map_or(0, |nic| self.clocks[nic]));
            let number = schedule.number(rank, operation);
            if let Some(&ready) = self.ready.get(number) {
                time = time.max(ready);
            }
            if let Some(log) = &mut self.log {
                log.becomes_ready(number, time, [Some(cpu), nic], &self.clocks);
            }
            self.add(Event { time, order: 0, rank, operation, peer, shape });
        }
        self.freed.clear();
    }

    /// Adds a new event.
    #[inline]
    fn add(&mut self, event: Event) {
        self.queue.push(Event { order: self.order, ..event });
        self.order += 1;
    }

    /// Adds a message that must wait. Messages are taken in the order in which they came; LogGOPSim takes them in the order
    /// in which they were sent.
    fn queue(&mut self, event: Event, time: u64) {
        match self.costs.model != Model::LogGopSim && event.shape & QUEUED == 0 {
            true => self.add(Event { time, shape: event.shape | QUEUED, ..event }),
            false => self.again(event, time),
        }
    }

    /// Adds an event again, for when its CPU or network interface will be free.
    #[inline]
    fn again(&mut self, event: Event, time: u64) {
        self.queue.push(Event { time, ..event });
    }

    fn outcome(self) -> Outcome {
        let (cpus, nics) = (self.schedule.cpus(), self.schedule.nics());
        let finish = self.clocks.chunks_exact(cpus + 2 * nics);
        let latest = finish.map(|clocks| clocks[..cpus].iter().copied().max().unwrap_or(0));
        let events = self.schedule.len() as u64 + self.schedule.messages();
        Outcome { finish_ps: latest.collect(), lost_ps: self.lost_ps, events }
    }
}
