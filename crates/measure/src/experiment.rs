//! An experiment as data: cells, and the order in which they are measured.
//!
//! A cell is what runs at the same time: loops that do one thing on some CPUs, under one policy and
//! one noise. A method makes its cells by nested loops; calibration, watching for gaps, kernel
//! events, storage and the common start are the frame's ([`crate::run`]).

use crate::inject::Injection;
use crate::kernel::Kernel;
use anechoic_recording::Fixed;
use anechoic_recording::machine::Machine;
use anechoic_recording::parallel::Meeting;
use std::collections::BTreeSet;
use std::time::Duration;

/// What a run measures.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The method, as recordings name it.
    pub method: &'static str,
    /// What is measured, one cell after the other.
    pub cells: Vec<Cell>,
    /// How often all cells are gone through.
    pub blocks: u32,
    /// In which order.
    pub order: Order,
    /// Whether it is worth nothing without kernel events.
    pub needs_events: bool,
    /// Period of switching the events on and off, to measure what the tracer costs.
    pub alternate: Option<Duration>,
    /// What the reader of the result must know.
    pub notes: Vec<String>,
}

/// In which order the cells of a block are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As they are listed.
    Listed,
    /// Shuffled in each block among neighbours of the same [`Cell::group`], so that a host that changes
    /// meanwhile is not taken for an effect of what the cells differ in.
    Shuffled {
        /// Repeats the order.
        seed: u64,
    },
}

/// Loops that measure at the same time.
#[derive(Debug, Clone)]
pub struct Cell {
    /// What each loop does.
    pub work: Work,
    /// Where the loops run.
    pub on: On,
    /// How they are scheduled.
    pub policy: Policy,
    /// Noise that is made meanwhile.
    pub noise: Option<Injection>,
    /// Loops on each CPU.
    pub copies: u32,
    /// What happens between two samples, in this order. A loop with an act does it before its first sample too.
    pub between: Vec<Act>,
    /// Cells that stand together and share this number are compared with each other.
    pub group: u32,
}

/// What a loop does.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    /// Watches the counter.
    Watch(Watch),
    /// Takes samples of a kernel.
    Sample(Sample),
}

/// How to watch for detours.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// For how long.
    pub duration: Duration,
    /// A gap over this many nanoseconds is a detour; calibrated where absent.
    pub threshold_ns: Option<u64>,
}

/// How to take samples.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// The kernel.
    pub kernel: Kernel,
    /// How much of its work is a sample.
    pub amount: Amount,
    /// Samples of each loop, at most.
    pub samples: Samples,
    /// End a series early once its accumulated mean moves by less than this, in millionths.
    pub maiv_ppm: Option<u32>,
    /// Whether to look at the counter inside of a sample, so that gaps in it are seen.
    pub watched: bool,
}

/// How much work a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// As much as fills this time undisturbed.
    Grain(Duration),
    /// Whatever is done in a window of this length, on a fixed grid of such windows.
    Window(Duration),
    /// One pass over the kernel's workspace, in one call.
    Pass,
}

/// How many samples a loop takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples {
    /// This number.
    Count(u64),
    /// As many as all copies on a CPU do in this time undisturbed, but one at least.
    Fill(Duration),
}

/// Where the loops of a cell run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// Pinned to each of these CPUs, ascending, at least one.
    Cpus(Vec<u32>),
    /// One loop, wherever the scheduler puts it.
    Anywhere,
}

/// How loops are scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_OTHER: as a user's program is.
    Other,
    /// SCHED_FIFO at priority 1.
    Fifo,
}

/// What a loop does between two samples. Its time is part of neither.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// Meets the loops of all ranks. The ranks are those of the plan's team, this process being one of
    /// them; without a team, each CPU of the cell has one.
    Meet(Meeting),
    /// Does the work of a sample, without measuring it.
    Repeat,
    /// Prepares the kernel's workspace anew, which writes all of it: its lines are dirty then.
    Prepare,
    /// Gives up the CPU for this time.
    Sleep(Duration),
    /// Runs this number of iterations of another kernel, on a workspace of its own.
    Preempt(Kernel, u64),
    /// Goes to this CPU; the next sample is taken there.
    Migrate(u32),
}

/// What a method may know of the machine when it makes its experiment.
#[derive(Debug, Clone)]
pub struct Host {
    /// The CPUs to measure, ascending, at least one.
    pub cpus: Vec<u32>,
    /// The machine.
    pub machine: Machine,
}

impl Experiment {
    /// Cells that are gone through once, as they are listed.
    #[must_use]
    pub fn listed(method: &'static str, cells: Vec<Cell>) -> Self {
        Experiment {
            method,
            cells,
            blocks: 1,
            order: Order::Listed,
            needs_events: false,
            alternate: None,
            notes: Vec::new(),
        }
    }

    /// The CPUs that are measured, ascending.
    #[must_use]
    pub fn cpus(&self) -> Vec<u32> {
        let of = |cell: &Cell| cell.on.cpus().to_vec();
        self.cells.iter().flat_map(of).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What is injected, in the order of the numbers that recordings give it.
    pub(crate) fn injections(&self) -> Vec<&Injection> {
        let mut injections: Vec<&Injection> = Vec::new();
        for noise in self.cells.iter().filter_map(|cell| cell.noise.as_ref()) {
            if !injections.contains(&noise) {
                injections.push(noise);
            }
        }
        injections
    }

    /// The policies, in the order of the cells that first have them.
    pub(crate) fn policies(&self) -> Vec<Policy> {
        let mut policies: Vec<Policy> = self.cells.iter().map(|cell| cell.policy).collect();
        policies.sort_by_key(|&policy| self.cells.iter().position(|cell| cell.policy == policy));
        policies.dedup();
        policies
    }

    /// How detours are watched for, if they are.
    pub(crate) fn watch(&self) -> Option<Watch> {
        self.cells.iter().find_map(|cell| match cell.work {
            Work::Watch(watch) => Some(watch),
            Work::Sample(_) => None,
        })
    }

    /// Whether loops meet between their samples.
    pub(crate) fn meets(&self) -> bool {
        self.cells.iter().any(|cell| cell.meeting().is_some())
    }
}

impl Cell {
    /// Loops that take samples, with nothing else about them.
    #[must_use]
    pub fn sampling(sample: Sample, on: On) -> Self {
        Cell {
            work: Work::Sample(sample),
            on,
            policy: Policy::Other,
            noise: None,
            copies: 1,
            between: Vec::new(),
            group: 0,
        }
    }

    /// Loops that watch the counter.
    #[must_use]
    pub fn watching(watch: Watch, cpus: Vec<u32>) -> Self {
        Cell {
            work: Work::Watch(watch),
            on: On::Cpus(cpus),
            policy: Policy::Other,
            noise: None,
            copies: 1,
            between: Vec::new(),
            group: 0,
        }
    }

    /// How its loops meet, if they do.
    pub(crate) fn meeting(&self) -> Option<Meeting> {
        self.between.iter().find_map(|act| match act {
            Act::Meet(meeting) => Some(*meeting),
            _ => None,
        })
    }

    /// How it takes samples, if it does.
    #[must_use]
    pub fn sample(&self) -> Option<&Sample> {
        match &self.work {
            Work::Sample(sample) => Some(sample),
            Work::Watch(_) => None,
        }
    }
}

impl Sample {
    /// A number of samples that each fill a time, with looks at the counter inside of them.
    #[must_use]
    pub fn of(kernel: Kernel, grain: Duration, samples: u64) -> Self {
        let (amount, samples) = (Amount::Grain(grain), Samples::Count(samples));
        Sample { kernel, amount, samples, maiv_ppm: None, watched: true }
    }
}

impl Amount {
    /// What is the same in every sample.
    pub(crate) fn fixed(self) -> Fixed {
        match self {
            Amount::Grain(_) | Amount::Pass => Fixed::Work,
            Amount::Window(_) => Fixed::Time,
        }
    }

    /// The length of a sample that was asked for.
    #[must_use]
    pub fn length(self) -> Option<Duration> {
        match self {
            Amount::Grain(time) | Amount::Window(time) => Some(time),
            Amount::Pass => None,
        }
    }
}

impl On {
    /// The CPUs that loops are pinned to.
    #[must_use]
    pub fn cpus(&self) -> &[u32] {
        match self {
            On::Cpus(cpus) => cpus,
            On::Anywhere => &[],
        }
    }
}

impl Policy {
    /// As recordings hold it.
    pub(crate) fn recorded(self) -> anechoic_recording::Policy {
        match self {
            Policy::Other => anechoic_recording::Policy::other(),
            Policy::Fifo => anechoic_recording::Policy::fifo(crate::scheduling::FIFO_PRIORITY),
        }
    }
}
