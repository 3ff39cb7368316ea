//! Builds schedules, rank after rank.

use super::{
    ANY_RANK, Action, IN_OPERATION, Kind, LONGEST_BYTES, LONGEST_NS, MOST_OPERATIONS, ON_START,
    Operation, Place, SHORT_NS, Schedule, Shape, WORDS,
};
use anechoic_recording::{Problem, ProblemKind};
use std::collections::HashMap;

/// Builds a schedule, rank after rank.
#[derive(Debug)]
pub struct Builder {
    schedule: Schedule,
    shapes: HashMap<Shape, u32>,
    ranks: u32,
    /// The operations of the rank that is being built.
    operations: Vec<Operation>,
    /// Its dependencies: dependant, and what it waits for.
    waits: Vec<(u32, u32)>,
    last_shape: Option<(Shape, u32)>,
    /// The largest number of operations.
    most: usize,
}

/// Returns a problem of a schedule.
pub(crate) fn bad(why: impl Into<String>, remedy: impl Into<String>) -> Problem {
    ProblemKind::Data.problem(why, remedy)
}

impl Builder {
    /// Begins a schedule of this many ranks, with the first of them.
    #[must_use]
    pub fn new(ranks: u32) -> Self {
        let schedule = Schedule {
            words: vec![],
            shapes: vec![],
            places: vec![Place::default()],
            cpus: 0,
            nics: 0,
            messages: 0,
            bytes: 0,
            longest_ns: 0,
        };
        let (shapes, operations, waits) = (HashMap::new(), vec![], vec![]);
        let most = MOST_OPERATIONS;
        Self { schedule, shapes, ranks, operations, waits, last_shape: None, most }
    }

    /// Returns the number of the rank that is being built.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.schedule.ranks()
    }

    /// Returns the number of operations and of dependencies of the ranks that have ended.
    pub(crate) fn size(&self) -> (usize, usize) {
        let Place { operation, edge } = self.schedule.places[self.schedule.places.len() - 1];
        (operation as usize, edge as usize)
    }

    /// Accepts no more operations than this.
    pub(crate) fn limit(&mut self, operations: u64) {
        self.most = operations.min(MOST_OPERATIONS as u64) as usize;
    }

    /// Returns whether it has as many operations as it accepts.
    pub(crate) fn is_full(&self) -> bool {
        self.schedule.len() + self.operations.len() >= self.most
    }

    /// Reserves memory for this many operations and dependencies in all.
    ///
    /// # Errors
    /// There is not as much memory.
    pub(crate) fn reserve(&mut self, operations: usize, edges: usize) -> Result<(), Problem> {
        let words = WORDS * operations + edges;
        self.schedule.words.try_reserve_exact(words).map_err(|_| {
            let gib = (4 * words as u64) >> 30;
            let why = format!("the schedule needs {gib} GiB of memory");
            ProblemKind::Usage.problem(why, "simulate fewer ranks or iterations")
        })
    }

    /// Adds an operation on the first CPU and network interface. Returns its number within the rank.
    ///
    /// # Errors
    /// There are too many operations, or the other rank does not exist.
    pub fn add(&mut self, action: Action) -> Result<u32, Problem> {
        self.add_on(action, 0, 0)
    }

    /// Adds an operation on this CPU and network interface. Returns its number within the rank.
    ///
    /// # Errors
    /// There are too many operations, the other rank does not exist, or a computation is too long.
    pub fn add_on(&mut self, action: Action, cpu: u8, nic: u8) -> Result<u32, Problem> {
        let (kind, peer, size, tag) = match action {
            Action::Send { to, bytes, tag } => (Kind::Send, to, bytes, tag),
            Action::Receive { from, bytes, tag } => (Kind::Receive, from, bytes, tag),
            Action::Compute { ns } if ns < SHORT_NS => (Kind::Compute, ns as u32, IN_OPERATION, 0),
            Action::Compute { ns } => (Kind::Compute, 0, ns, 0),
        };
        self.check(kind, peer, size)?;
        let shape = self.shape(Shape { kind, size, tag, cpu, nic });
        let schedule = &mut self.schedule;
        let number = self.operations.len();
        if schedule.len() + number >= self.most {
            let why = format!("there are more than {} operations", self.most);
            return Err(bad(why, "simulate fewer ranks or iterations"));
        }
        if kind == Kind::Send {
            schedule.messages += 1;
            schedule.bytes = schedule.bytes.saturating_add(size);
        }
        if let Action::Compute { ns } = action {
            schedule.longest_ns = schedule.longest_ns.max(ns);
        }
        schedule.cpus = schedule.cpus.max(cpu);
        schedule.nics = schedule.nics.max(nic);
        self.operations.push(Operation { peer, shape });
        Ok(number as u32)
    }

    /// Refuses a rank that does not exist, and what is too long.
    fn check(&self, kind: Kind, peer: u32, size: u64) -> Result<(), Problem> {
        let named = match kind {
            Kind::Send => Some("send to"),
            Kind::Receive if peer != ANY_RANK => Some("receive from"),
            _ => None,
        };
        if let Some(what) = named.filter(|_| peer >= self.ranks) {
            let why = format!(
                "rank {}: {what} rank {peer}, of {} ranks",
                self.schedule.ranks(),
                self.ranks
            );
            return Err(bad(why, "ranks are numbered from 0"));
        }
        let too_long = match kind {
            Kind::Compute => size != IN_OPERATION && size > LONGEST_NS,
            _ => size > LONGEST_BYTES,
        };
        match too_long {
            true => {
                let what =
                    if kind == Kind::Compute { "ns of computation" } else { "bytes of a message" };
                let why = format!("rank {}: {size} {what} are too long", self.schedule.ranks());
                let remedy =
                    "a message has at most 64 GiB, and a computation takes at most 13 days";
                Err(bad(why, remedy))
            }
            false => Ok(()),
        }
    }

    /// Returns the number of a shape.
    fn shape(&mut self, shape: Shape) -> u32 {
        if let Some((_, number)) = self.last_shape.filter(|(last, _)| *last == shape) {
            return number;
        }
        let shapes = &mut self.schedule.shapes;
        let number = *self.shapes.entry(shape).or_insert_with(|| {
            shapes.push(shape);
            (shapes.len() - 1) as u32
        });
        self.last_shape = Some((shape, number));
        number
    }

    /// Makes an operation of this rank wait until another one has ended.
    pub fn after(&mut self, operation: u32, before: u32) {
        self.waits.push((operation, before));
    }

    /// Makes an operation of this rank wait until another one has started.
    pub fn after_start(&mut self, operation: u32, before: u32) {
        self.waits.push((operation | ON_START, before));
    }

    /// Ends this rank.
    ///
    /// # Errors
    /// Operations wait for each other in a circle, or there are too many dependencies.
    pub fn end_rank(&mut self) -> Result<(), Problem> {
        let schedule = &mut self.schedule;
        let rank = schedule.ranks();
        let place = schedule.places[rank as usize];
        if place.edge as usize + self.waits.len() > u32::MAX as usize {
            return Err(bad("there are too many dependencies", "simulate fewer ranks"));
        }
        if let Some(circle) = circle(self.operations.len(), &self.waits) {
            let why = format!("rank {rank}: operations wait for each other: {}", named(&circle));
            return Err(bad(why, "remove one of these `requires`"));
        }
        // Those that wait for the start stand before those that wait for the end; otherwise as they were added.
        let mut next = vec![0_u32; 2 * self.operations.len()];
        for &(dependant, before) in &self.waits {
            next[2 * before as usize + usize::from(dependant & ON_START == 0)] += 1;
        }
        let mut sum = 0;
        for count in &mut next {
            sum += std::mem::replace(count, sum);
        }
        for (operation, next) in self.operations.iter().zip(next.chunks(2)) {
            schedule.words.extend([operation.peer, operation.shape, next[0]]);
        }
        let edges = schedule.words.len();
        schedule.words.resize(edges + self.waits.len(), 0);
        for &(dependant, before) in &self.waits {
            let at = &mut next[2 * before as usize + usize::from(dependant & ON_START == 0)];
            schedule.words[edges + *at as usize] = dependant;
            *at += 1;
        }
        schedule.places.push(Place {
            operation: place.operation + self.operations.len() as u32,
            edge: place.edge + self.waits.len() as u32,
        });
        self.operations.clear();
        self.waits.clear();
        Ok(())
    }

    /// Returns the schedule.
    ///
    /// # Errors
    /// It has fewer or more ranks than were announced.
    pub fn finish(mut self) -> Result<Schedule, Problem> {
        let ranks = self.schedule.ranks();
        if ranks != self.ranks {
            let why = format!("there are {ranks} ranks, and {} were announced", self.ranks);
            return Err(bad(why, "give each rank a block, also if it does nothing"));
        }
        self.schedule.words.shrink_to_fit();
        Ok(self.schedule)
    }
}

/// Returns operations that wait for each other in a circle, if there are any.
fn circle(operations: usize, waits: &[(u32, u32)]) -> Option<Vec<u32>> {
    // Without an operation that waits for a later one there is no circle, and few schedules have any.
    if waits.iter().all(|&(dependant, before)| dependant & !ON_START > before) {
        return None;
    }
    let mut left = vec![0_u32; operations];
    let mut dependants = vec![vec![]; operations];
    for &(dependant, before) in waits {
        left[(dependant & !ON_START) as usize] += 1;
        dependants[before as usize].push(dependant & !ON_START);
    }
    let mut free: Vec<u32> = (0..operations as u32).filter(|&at| left[at as usize] == 0).collect();
    while let Some(at) = free.pop() {
        for &dependant in &dependants[at as usize] {
            left[dependant as usize] -= 1;
            if left[dependant as usize] == 0 {
                free.push(dependant);
            }
        }
    }
    // What is left waits for something that is left: following that must come round.
    let mut at = left.iter().position(|&waits| waits > 0)? as u32;
    let mut seen = vec![];
    while !seen.contains(&at) {
        seen.push(at);
        let is_left = |&&(dependant, before): &&(u32, u32)| {
            dependant & !ON_START == at && left[before as usize] > 0
        };
        at = waits.iter().find(is_left)?.1;
    }
    let begin = seen.iter().position(|&seen| seen == at)?;
    Some(seen.split_off(begin))
}

/// Names the operations of a circle by their places within the rank, at most eight.
fn named(circle: &[u32]) -> String {
    let mut names: Vec<String> = circle.iter().take(8).map(|at| format!("#{}", at + 1)).collect();
    if circle.len() > 8 {
        names.push("…".into());
    }
    names.push(format!("#{}", circle[0] + 1));
    names.join(" → ")
}
