//! What each operation waited for: the log of a simulation, from which its critical path is read.

/// How a busy time of a CPU held up what came after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The next one began when it ended.
    Ended,
    /// The next one began when it began: a sender that waited for its receiver.
    Started,
    /// The network interface was busy with its message.
    Interface,
    /// Its message was on its way.
    Message,
}

/// What held up an operation: a busy time, and how it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cause(u32);

impl Cause {
    /// Nothing did: it began with the simulation.
    pub(crate) const NONE: Self = Self(u32::MAX);

    fn new(busy: u32, how: How) -> Self {
        Self(busy << 2 | how as u32)
    }

    /// Returns the busy time by its number in the log, and how it held up; absent if nothing did.
    pub(crate) fn get(self) -> Option<(u32, How)> {
        let how = match self.0 & 3 {
            0 => How::Ended,
            1 => How::Started,
            2 => How::Interface,
            _ => How::Message,
        };
        (self != Self::NONE).then_some((self.0 >> 2, how))
    }
}

/// The time of a CPU for one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BusyTime {
    /// Its begin, in ps.
    pub(crate) start_ps: u64,
    /// Its end.
    pub(crate) end_ps: u64,
    /// By how much noise lengthened it.
    pub(crate) lost_ps: u64,
    /// What it waited for.
    pub(crate) cause: Cause,
    /// The rank.
    pub(crate) rank: u32,
    /// The rank whose operation it is: for a message that is received, the sender.
    pub(crate) owner: u32,
    /// The operation of that rank.
    pub(crate) operation: u32,
    /// Whether it receives a message.
    pub(crate) receives: bool,
}

/// The log.
#[derive(Debug)]
pub(crate) struct Log {
    busy: Vec<BusyTime>,
    /// For each clock, what set it.
    setters: Vec<Cause>,
    /// For each operation, what made it ready.
    ready: Vec<Cause>,
    /// For each operation of a sender, its busy time.
    sent: Vec<u32>,
    /// For each operation of a sender, the busy time of its receiver.
    received: Vec<u32>,
}

impl Log {
    /// Returns an empty log for this many clocks and operations.
    pub(super) fn new(clocks: usize, operations: usize) -> Self {
        Self {
            busy: vec![],
            setters: vec![Cause::NONE; clocks],
            ready: vec![Cause::NONE; operations],
            sent: vec![0; operations],
            received: vec![0; operations],
        }
    }

    /// Returns a busy time.
    pub(crate) fn busy(&self, number: u32) -> &BusyTime {
        &self.busy[number as usize]
    }

    /// Returns what set a clock.
    pub(crate) fn setter(&self, clock: usize) -> Cause {
        self.setters[clock]
    }

    /// Adds the busy time of an operation with this number among all, on a CPU and a network interface. What it waited
    /// for is what set the clock that stands at its start, else what made it ready. Returns its end as a cause.
    pub(super) fn add(
        &mut self,
        busy: BusyTime,
        number: usize,
        (cpu, interface): (usize, Option<usize>),
        clocks: &[u64],
    ) -> Cause {
        let before = match busy.receives {
            true => Cause::new(self.sent[number], How::Message),
            false => self.ready[number],
        };
        let cause =
            self.held_up_by(busy.start_ps, [Some(cpu), interface], clocks).unwrap_or(before);
        let place = self.busy.len() as u32;
        self.busy.push(BusyTime { cause, ..busy });
        self.setters[cpu] = Cause::new(place, How::Ended);
        if let Some(interface) = interface {
            self.setters[interface] = Cause::new(place, How::Interface);
            match busy.receives {
                true => self.received[number] = place,
                false => self.sent[number] = place,
            }
        }
        self.setters[cpu]
    }

    /// Returns what set the first of these clocks that stands at this time.
    fn held_up_by(&self, time: u64, places: [Option<usize>; 2], clocks: &[u64]) -> Option<Cause> {
        let mut set = places.into_iter().flatten().filter(|&place| clocks[place] == time);
        set.find_map(|place| Some(self.setters[place]).filter(|&cause| cause != Cause::NONE))
    }

    /// Notes what a waiting operation will have waited for, if it starts at this time.
    pub(super) fn becomes_ready(
        &mut self,
        number: usize,
        time: u64,
        places: [Option<usize>; 2],
        clocks: &[u64],
    ) {
        if let Some(cause) = self.held_up_by(time, places, clocks) {
            self.ready[number] = cause;
        }
    }

    /// Notes what made an operation ready.
    pub(super) fn made_ready(&mut self, number: usize, cause: Cause) {
        self.ready[number] = cause;
    }

    /// Returns what made an operation ready.
    pub(super) fn ready(&self, number: usize) -> Cause {
        self.ready[number]
    }

    /// Returns the end of the busy time that received a message, as a cause.
    pub(super) fn received(&self, number: usize) -> Cause {
        Cause::new(self.received[number], How::Ended)
    }

    /// Returns the start of a busy time that this cause is the end of.
    pub(super) fn start_of(cause: Cause) -> Cause {
        cause.get().map_or(cause, |(busy, _)| Cause::new(busy, How::Started))
    }

    /// Notes what set a clock.
    pub(super) fn set(&mut self, clock: usize, cause: Cause) {
        self.setters[clock] = cause;
    }
}
