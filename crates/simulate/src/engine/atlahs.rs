//! The rules of ATLAHS's fork of LogGOPSim: the same times in whole ns, its order of equal events included.
//!
//! It keeps events in the binary heap of the C++ library without a second key, so events of one time come in an order that
//! depends on the heap's moves. They are repeated here.

use super::costs::Costs;
use super::matching::{Entry, Matching, Waiting};
use super::waits::Waits;
use super::{Outcome, Progress, REPORT, ended_early, stuck, too_late};
use crate::noise::Noise;
use crate::parameters::{LATEST_PS, PS, Parameters};
use crate::schedule::{Kind, ON_START, Operation, Schedule, Shape};
use anechoic_recording::{Problem, ProblemKind};
use std::collections::{BTreeMap, VecDeque};

/// An operation that may begin, or a message that arrives.
#[derive(Debug, Clone, Copy)]
struct Event {
    time: u64,
    rank: u32,
    /// The other rank of a message.
    peer: u32,
    /// The operation; for a message that arrives, that of the sender.
    operation: u32,
    shape: Shape,
    arrives: bool,
}

/// Receives or messages that wait, by rank, tag and sender: operations with their CPU, or with when they came.
type Queues = BTreeMap<(u32, u32, u32), VecDeque<(u32, u64)>>;

struct Engine<'a> {
    schedule: &'a Schedule,
    costs: Costs<'a>,
    noise: &'a mut Noise,
    heap: Vec<Event>,
    waits: Waits,
    /// For each operation, the latest end of what it waited for.
    ready: Vec<u64>,
    /// For each CPU of all ranks, when it is free.
    cpus: Vec<u64>,
    /// For each network interface of all ranks, when it can send and receive.
    sending: Vec<u64>,
    receiving: Vec<u64>,
    receives: Queues,
    messages: Queues,
    /// For each rank, operations that became free.
    freed: Vec<Vec<u32>>,
    lost_ps: Vec<u64>,
    done: u64,
}

/// Simulates a schedule by these rules.
///
/// # Errors
/// As [`simulate`](super::simulate); a receive would be posted before its message had come.
pub(super) fn simulate(
    costs: Costs<'_>,
    schedule: &Schedule,
    noise: &mut Noise,
    progress: Progress<'_>,
) -> Result<Outcome, Problem> {
    let ranks = schedule.ranks() as usize;
    let mut engine = Engine {
        schedule,
        costs,
        noise,
        heap: vec![],
        waits: Waits::new(schedule),
        ready: vec![0; schedule.len()],
        cpus: vec![0; ranks * schedule.cpus()],
        sending: vec![0; ranks * schedule.nics()],
        receiving: vec![0; ranks * schedule.nics()],
        receives: Queues::new(),
        messages: Queues::new(),
        freed: vec![vec![]; ranks],
        lost_ps: vec![0; ranks],
        done: 0,
    };
    engine.begin();
    engine.run(progress)?;
    stuck::check(schedule, engine.done, &engine.left())?;
    let finish = engine.cpus.chunks_exact(schedule.cpus());
    Ok(Outcome {
        finish_ps: finish.map(|cpus| cpus.iter().copied().max().unwrap_or(0)).collect(),
        events: schedule.len() as u64 + schedule.messages(),
        lost_ps: engine.lost_ps,
    })
}

impl Engine<'_> {
    fn begin(&mut self) {
        for rank in 0..self.schedule.ranks() {
            for operation in 0..self.schedule.count(rank) {
                if self.waits.is_free(self.schedule.number(rank, operation)) {
                    let event = self.event(rank, operation, 0);
                    push(&mut self.heap, event);
                }
            }
        }
    }

    fn run(&mut self, progress: Progress<'_>) -> Result<(), Problem> {
        let all = self.schedule.len() as u64 + self.schedule.messages();
        let mut taken = 0_u64;
        while let Some(event) = pop(&mut self.heap) {
            if taken.is_multiple_of(REPORT) && !progress(taken.min(all), all) {
                return Err(ended_early());
            }
            taken += 1;
            if event.time > LATEST_PS {
                return Err(too_late());
            }
            match (event.arrives, event.shape.kind) {
                (true, _) => self.arrive(event),
                (_, Kind::Compute) => self.compute(event),
                (_, Kind::Send) => self.send(event),
                (_, Kind::Receive) => self.receive(event)?,
            }
        }
        Ok(())
    }

    /// Returns the event of an operation.
    fn event(&self, rank: u32, operation: u32, time: u64) -> Event {
        let Operation { peer, shape } = self.schedule.operation(rank, operation);
        let shape = self.schedule.whole_shape(Operation { peer, shape });
        Event { time, rank, peer, operation, shape, arrives: false }
    }

    fn cpu(&self, rank: u32, cpu: u8) -> usize {
        rank as usize * self.schedule.cpus() + usize::from(cpu)
    }

    fn nic(&self, rank: u32, nic: u8) -> usize {
        rank as usize * self.schedule.nics() + usize::from(nic)
    }

    /// Returns the noise that an operation of this length meets: all CPUs of a rank have the same.
    fn noise(&mut self, rank: u32, at: u64, length_ps: u64) -> u64 {
        let stream = rank as usize * self.schedule.cpus();
        let lost_ps = self.noise.added_as_loggopsim(stream, at, at + length_ps);
        self.lost_ps[rank as usize] += lost_ps;
        lost_ps
    }

    /// Returns the time of a CPU for the bytes after the first.
    fn copy_ps(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(1) * self.costs.parameters.overhead_per_byte_ps
    }

    fn compute(&mut self, event: Event) {
        let cpu = self.cpu(event.rank, event.shape.cpu);
        if self.cpus[cpu] > event.time {
            let time = self.cpus[cpu];
            return push(&mut self.heap, Event { time, ..event });
        }
        let work_ps = event.shape.size * PS;
        let end_ps = event.time + work_ps + self.noise(event.rank, event.time, work_ps);
        self.cpus[cpu] = end_ps;
        self.started(event.rank, event.operation);
        self.ended(event.rank, event.operation, end_ps);
        self.add_freed(event.rank);
    }

    fn send(&mut self, event: Event) {
        let (rank, shape) = (event.rank, event.shape);
        let (cpu, nic) = (self.cpu(rank, shape.cpu), self.nic(rank, shape.nic));
        let free = self.cpus[cpu].max(self.sending[nic]);
        if free > event.time {
            return push(&mut self.heap, Event { time: free, ..event });
        }
        self.started(rank, event.operation);
        let message = self.costs.message((rank, event.peer), event.operation);
        let overhead_ps = message.overhead_ps;
        let lost_ps = self.noise(rank, event.time, overhead_ps);
        let end_ps = event.time + overhead_ps + lost_ps + self.copy_ps(shape.size);
        let wire_ps = wire_ps(&message, shape.size);
        self.cpus[cpu] = end_ps;
        self.sending[nic] = event.time + message.gap_ps + wire_ps;
        let time = end_ps + message.latency_ps + wire_ps;
        let arrival = Event { time, rank: event.peer, peer: rank, arrives: true, ..event };
        push(&mut self.heap, arrival);
        if shape.size <= self.costs.parameters.eager_bytes {
            self.ended(rank, event.operation, end_ps);
        }
        self.add_freed(rank);
    }

    fn receive(&mut self, event: Event) -> Result<(), Problem> {
        let (rank, shape) = (event.rank, event.shape);
        self.started(rank, event.operation);
        let key = (rank, shape.tag, event.peer);
        let waiting = self.messages.get_mut(&key).and_then(VecDeque::pop_front);
        let Some((sent, arrived_ps)) = waiting else {
            let receive = (event.operation, u64::from(shape.cpu));
            self.receives.entry(key).or_default().push_back(receive);
            self.add_freed(rank);
            return Ok(());
        };
        if arrived_ps > event.time {
            return Err(posted_too_early(rank, event.operation));
        }
        // Faults of the reference: it takes the interface that sends for the one that receives, waits neither for the CPU
        // nor for the interface that receives, and meets no noise.
        let (cpu, nic) = (self.cpu(rank, shape.cpu), self.nic(rank, shape.nic));
        let parameters = self.costs.parameters;
        let gap_ps = self.sending[nic].max(event.time) + parameters.gap_ps;
        let end_ps = gap_ps + parameters.overhead_ps + self.copy_ps(shape.size);
        self.cpus[cpu] = end_ps;
        self.receiving[nic] = gap_ps;
        let is_late = shape.size > parameters.eager_bytes;
        if is_late {
            self.sender_ended((event.peer, sent), &shape, gap_ps, end_ps);
        }
        self.ended(rank, event.operation, end_ps);
        // Its set of ranks gives the one that was added last first.
        if is_late && event.peer != rank {
            self.add_freed(event.peer);
        }
        self.add_freed(rank);
        Ok(())
    }

    fn arrive(&mut self, event: Event) {
        let (rank, shape) = (event.rank, event.shape);
        let key = (rank, shape.tag, event.peer);
        let waiting = self.receives.get_mut(&key).and_then(VecDeque::pop_front);
        let Some((operation, receives_on)) = waiting else {
            let message = (event.operation, event.time);
            return self.messages.entry(key).or_default().push_back(message);
        };
        let (cpu, nic) = (self.cpu(rank, receives_on as u8), self.nic(rank, shape.nic));
        let free = self.cpus[cpu].max(self.receiving[nic]);
        if free > event.time {
            push(&mut self.heap, Event { time: free, ..event });
            // The receive goes to the end of its queue: another one may get the message.
            return self.receives.entry(key).or_default().push_back((operation, receives_on));
        }
        let parameters = self.costs.parameters;
        let lost_ps = self.noise(rank, event.time, parameters.overhead_ps);
        let gap_ps = event.time + parameters.gap_ps;
        let end_ps = gap_ps + parameters.overhead_ps + lost_ps + self.copy_ps(shape.size);
        self.cpus[cpu] = end_ps;
        self.receiving[nic] = gap_ps;
        let is_late = shape.size > parameters.eager_bytes;
        if is_late {
            self.sender_ended((event.peer, event.operation), &shape, gap_ps, end_ps);
        }
        self.ended(rank, operation, end_ps);
        self.add_freed(rank);
        if is_late && event.peer != rank {
            self.add_freed(event.peer);
        }
    }

    /// Ends the send of a message that waited for its receiver: its CPU and interface are free when the receiver's are.
    fn sender_ended(&mut self, sent: (u32, u32), shape: &Shape, gap_ps: u64, end_ps: u64) {
        let (rank, operation) = sent;
        let (cpu, nic) = (self.cpu(rank, shape.cpu), self.nic(rank, shape.nic));
        self.ended(rank, operation, end_ps);
        self.cpus[cpu] = self.cpus[cpu].max(end_ps);
        self.sending[nic] = self.sending[nic].max(gap_ps);
    }

    fn started(&mut self, rank: u32, operation: u32) {
        for &edge in self.schedule.dependants(rank, operation) {
            let dependant = edge & !ON_START;
            let number = self.schedule.number(rank, dependant);
            if edge & ON_START != 0 && self.waits.one_less(number) {
                // A fault of the reference: what ended before is forgotten.
                self.ready[number] = 0;
                self.freed[rank as usize].push(dependant);
            }
        }
    }

    fn ended(&mut self, rank: u32, operation: u32, end_ps: u64) {
        self.done += 1;
        for &edge in self.schedule.dependants(rank, operation) {
            let number = self.schedule.number(rank, edge & !ON_START);
            if edge & ON_START == 0 {
                self.ready[number] = self.ready[number].max(end_ps);
                if self.waits.one_less(number) {
                    self.freed[rank as usize].push(edge);
                }
            }
        }
    }

    /// Adds the operations of a rank that became free, in this order.
    fn add_freed(&mut self, rank: u32) {
        for operation in std::mem::take(&mut self.freed[rank as usize]) {
            let ready = self.ready[self.schedule.number(rank, operation)];
            let mut event = self.event(rank, operation, ready);
            let clock = match event.shape.kind {
                Kind::Compute => self.cpus[self.cpu(rank, event.shape.cpu)],
                Kind::Send => self.sending[self.nic(rank, event.shape.nic)],
                Kind::Receive => 0,
            };
            event.time = ready.max(clock);
            push(&mut self.heap, event);
        }
    }

    /// Returns receives and messages that are left.
    fn left(&self) -> Matching {
        let mut left = Matching::new(self.schedule.ranks());
        let both = [(Waiting::Receives, &self.receives), (Waiting::Messages, &self.messages)];
        for (list, queues) in both {
            for (&(rank, tag, from), queue) in queues {
                for &(operation, _) in queue {
                    left.add(rank, list, Entry::new(from, tag, operation, 0));
                }
            }
        }
        left
    }
}

/// Returns the time of the network for the bytes after the first, in whole ns as the reference rounds it.
fn wire_ps(message: &Parameters, bytes: u64) -> u64 {
    let ns = message.gap_per_byte_ps as f64 / PS as f64;
    (bytes.saturating_sub(1) as f64 * ns) as u64 * PS
}

fn posted_too_early(rank: u32, operation: u32) -> Problem {
    let why = format!(
        "ATLAHS's simulator stops at operation {operation} of rank {rank}: it posts a receive at a time before its message \
         had come"
    );
    ProblemKind::Data.problem(why, "leave --model out")
}

/// Adds an event as `std::push_heap` of libstdc++ does: a later one never passes one of the same time.
fn push(heap: &mut Vec<Event>, event: Event) {
    let place = heap.len();
    heap.push(event);
    rise(heap, place, event);
}

/// Puts an event where it belongs between this place and the top.
fn rise(heap: &mut [Event], mut place: usize, event: Event) {
    while place > 0 && heap[(place - 1) / 2].time > event.time {
        heap[place] = heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap[place] = event;
}

/// Takes the first event as `std::pop_heap` of libstdc++ does: the gap goes down to a leaf, and the last event rises from
/// there.
fn pop(heap: &mut Vec<Event>) -> Option<Event> {
    let last = heap.pop()?;
    let Some(&first) = heap.first() else { return Some(last) };
    let (length, mut gap) = (heap.len(), 0);
    while 2 * gap + 1 < length {
        let (left, right) = (2 * gap + 1, 2 * gap + 2);
        let child = match right < length && heap[right].time <= heap[left].time {
            true => right,
            false => left,
        };
        heap[gap] = heap[child];
        gap = child;
    }
    rise(heap, gap, last);
    Some(first)
}
