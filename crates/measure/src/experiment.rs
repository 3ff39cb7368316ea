//! An experiment as data: its cells, and the order in which they are measured.
//!
//! A cell is what runs at the same time: loops that do one kind of work on some CPUs, under one policy and
//! one noise. A method builds its cells in nested loops. [`crate::run`] does everything else: calibration,
//! watching for gaps, kernel events, storage and the common start.

mod threads;

use crate::inject::Injection;
use crate::kernel::Kernel;
pub use crate::mapping::{OwnMemory, Pages};
use anechoic_recording::Fixed;
use anechoic_recording::machine::Machine;
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::NotAvailable;
use anechoic_recording::switch::Partners;
pub use anechoic_recording::switch::Ring;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
pub use threads::{Pinning, Policy, Probes, Wake};

/// What a run measures.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The name of the method in recordings.
    pub method: &'static str,
    /// The cells to measure, one after the other.
    pub cells: Vec<Cell>,
    /// How many times all cells are measured.
    pub blocks: u32,
    /// The order within a block.
    pub order: Order,
    /// Whether the experiment is useless without kernel events.
    pub needs_events: bool,
    /// Period of switching the events on and off, to measure the tracer's cost.
    pub alternate: Option<Duration>,
    /// Notes for the reader of the result.
    pub notes: Vec<String>,
    /// What is not measured although it belongs to the experiment.
    pub absent: Vec<NotAvailable>,
    /// The pages of the kernels' workspaces.
    pub pages: Pages,
    /// The CPU of the thread that wakes the one of each measured CPU, where it is another.
    pub wakers: BTreeMap<u32, u32>,
    /// The NUMA node of all memory, if one was asked for. Otherwise each loop has memory near its CPU.
    pub memory_node: Option<u32>,
}

/// The order in which the cells of a block are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// In the order of the list.
    Listed,
    /// Shuffled in each block among neighbours of the same [`Cell::group`], so that a change of the host is
    /// not mistaken for an effect of what the cells differ in.
    Shuffled {
        /// Seed of the random order.
        seed: u64,
    },
}

/// Loops that measure at the same time.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The work of each loop.
    pub work: Work,
    /// The CPUs of the loops.
    pub on: Pinning,
    /// The scheduling policy.
    pub policy: Policy,
    /// Noise to inject during the measurement.
    pub noise: Option<Injection>,
    /// Number of loops on each CPU.
    pub copies: u32,
    /// Threads that work on other CPUs at the same time and are not measured.
    pub co_runner: Option<CoRunner>,
    /// What happens between two samples, in this order. It also happens before the first sample.
    pub between: Vec<Act>,
    /// Neighbouring cells with the same number are compared with each other.
    pub group: u32,
    /// The name of what it measures, where a method has several experiments.
    pub name: Option<&'static str>,
    /// The memory of its kernel, if it is not that of all cells.
    pub memory: Option<OwnMemory>,
    /// The ring around which a token goes in each sample, while each of its members does the work of the sample.
    pub ring: Option<Ring>,
    /// Whether kernel events are switched off meanwhile, because recording them would be a large part of what is measured.
    pub events_off: bool,
}

/// The work of a loop.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    /// Watches the counter.
    Watch(Watch),
    /// Takes samples of a kernel's work.
    Sample(Sample),
    /// Sleeps, and notes when it is woken.
    Wake(Wake),
    /// Probes what slows work that nothing interrupts.
    Probe(Probes),
}

/// How to watch for detours.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// Duration of the watch.
    pub duration: Duration,
    /// Gaps longer than this are detours, in nanoseconds; calibrated if absent.
    pub threshold_ns: Option<u64>,
}

/// How to take samples.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// The kernel.
    pub kernel: Kernel,
    /// The amount of work in one sample.
    pub amount: Amount,
    /// The largest number of samples per loop.
    pub samples: Samples,
    /// Ends a series early once its accumulated mean changes by less than this, in millionths.
    pub maiv_ppm: Option<u32>,
    /// Whether to read the counter inside a sample, so that gaps in it are recorded.
    pub watched: bool,
}

/// The amount of work in one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// As much work as fills this time without noise.
    Grain(Duration),
    /// Whatever is done in a window of this length, on a fixed grid of such windows.
    Window(Duration),
    /// One pass over the kernel's workspace, in one call.
    Pass,
}

/// How many samples a loop takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples {
    /// A fixed number.
    Count(u64),
    /// As many as all copies on a CPU complete in this time without noise, but at least one.
    Fill(Duration),
    /// As many as fit into this time with what happens between them, within a range.
    Within {
        /// The time.
        time: Duration,
        /// The smallest number, whatever time it takes.
        least: u64,
        /// The largest number.
        most: u64,
    },
}

/// A thread on each of some CPUs that passes over its own workspace again and again.
#[derive(Debug, Clone, PartialEq)]
pub struct CoRunner {
    /// The kernel, the same in all cells.
    pub kernel: Kernel,
    /// The CPUs.
    pub cpus: Vec<u32>,
}

/// What a loop does between two samples. The time of it belongs to neither sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// Meets the loops of all ranks: those of the plan's team, of which this process is one; without a team,
    /// one rank per CPU of the cell.
    Meet(Meeting),
    /// Reads the counter again, so that what the loop itself does after a sample is in neither.
    Look,
    /// Does the work of a sample without measuring it.
    Repeat,
    /// Prepares the kernel's workspace again, which writes all its lines and leaves them dirty in the caches.
    Prepare,
    /// Sleeps for this time.
    Sleep(Duration),
    /// Runs this many iterations of another kernel, on its own workspace.
    Work(Kernel, u64),
    /// Wakes a thread of higher priority, which takes the CPU.
    Preempt(Preemption),
    /// Migrates to this CPU, where the next sample is taken.
    Migrate(u32),
}

/// What a preempting thread does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Preemption {
    /// Sleeps for this time.
    Sleep(Duration),
    /// Passes once over its own workspace with this kernel.
    Pass(Kernel),
}

impl Preemption {
    /// Returns the kernel, if it uses one.
    pub(crate) fn kernel(&self) -> Option<Kernel> {
        match self {
            Preemption::Sleep(_) => None,
            Preemption::Pass(kernel) => Some(*kernel),
        }
    }
}

impl Act {
    /// Returns the kernel that works on its own workspace, if there is one.
    pub(crate) fn kernel(&self) -> Option<Kernel> {
        match self {
            Act::Work(kernel, _) => Some(*kernel),
            Act::Preempt(how) => how.kernel(),
            _ => None,
        }
    }
}

/// What a method may use of the machine when it builds its experiment.
#[derive(Debug, Clone)]
pub struct Host {
    /// The CPUs to measure, in ascending order, at least one.
    pub cpus: Vec<u32>,
    /// The description of the machine.
    pub machine: Machine,
}

impl Experiment {
    /// Returns whether its memory may need other settings or pools of huge pages than the kernel has.
    pub(crate) fn changes_huge_pages(&self) -> bool {
        let of_cells = self.cells.iter().filter_map(|cell| cell.memory).map(|own| own.pages);
        let mut all = of_cells.chain([self.pages]);
        all.any(|pages| matches!(pages, Pages::Only(_) | Pages::Explicit(_)))
    }

    /// Creates an experiment that measures these cells once, in this order.
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
            absent: Vec::new(),
            pages: Pages::default(),
            wakers: BTreeMap::new(),
            memory_node: None,
        }
    }

    /// Returns the measured CPUs in ascending order.
    #[must_use]
    pub fn cpus(&self) -> Vec<u32> {
        self.cells
            .iter()
            .flat_map(|cell| cell.on.cpus())
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// Returns the injections, in the order of their numbers in recordings.
    pub fn injections(&self) -> Vec<&Injection> {
        let mut injections: Vec<&Injection> = Vec::new();
        for noise in self.cells.iter().filter_map(|cell| cell.noise.as_ref()) {
            if !injections.contains(&noise) {
                injections.push(noise);
            }
        }
        injections
    }

    /// Returns the CPUs that have a co-runner in any cell, with its kernel.
    pub(crate) fn co_runners(&self) -> BTreeMap<u32, Kernel> {
        let runners = self.cells.iter().filter_map(|cell| cell.co_runner.as_ref());
        runners.flat_map(|runner| runner.cpus.iter().map(|&cpu| (cpu, runner.kernel))).collect()
    }

    /// Returns the policies, in the order of the first cells that have them.
    pub(crate) fn policies(&self) -> Vec<Policy> {
        let mut policies: Vec<Policy> = self.cells.iter().map(|cell| cell.policy).collect();
        policies.sort_by_key(|&policy| self.cells.iter().position(|cell| cell.policy == policy));
        policies.dedup();
        policies
    }

    /// Returns how detours are watched for, if they are.
    pub(crate) fn watch(&self) -> Option<Watch> {
        self.cells.iter().find_map(|cell| match cell.work {
            Work::Watch(watch) => Some(watch),
            Work::Sample(_) | Work::Wake(_) | Work::Probe(_) => None,
        })
    }

    /// Returns whether all its loops sleep and are woken.
    pub(crate) fn only_wakes(&self) -> bool {
        self.cells.iter().all(|cell| matches!(cell.work, Work::Wake(_)))
    }

    /// Returns about how long each round takes without noise, in the order of the list: a round for each cell and
    /// block. Samples without a requested length count as nothing.
    #[must_use]
    pub fn rounds(&self) -> Vec<Duration> {
        let cells: Vec<Duration> = self.cells.iter().map(Cell::expected).collect();
        cells.repeat(self.blocks as usize)
    }

    /// Returns whether loops have processes as partners.
    pub(crate) fn forks(&self) -> bool {
        let mut rings = self.cells.iter().filter_map(|cell| cell.ring);
        rings.any(|ring| ring.switches && ring.partners == Partners::Processes)
    }

    /// Returns whether loops meet between their samples.
    pub(crate) fn meets(&self) -> bool {
        self.cells.iter().any(|cell| cell.meeting().is_some())
    }
}

impl Cell {
    /// Returns the size of the working set of this kernel in bytes, if it has one. A user's function has one in named
    /// experiments.
    pub(crate) fn working_set_bytes(&self, kernel: Kernel) -> Option<u64> {
        let named = || self.name.map(|_| kernel.workspace_bytes()).filter(|&bytes| bytes > 0);
        kernel.params().map(|params| params.bytes).or_else(named)
    }

    /// Creates a cell of loops that take samples, with everything else at its default.
    #[must_use]
    pub fn sampling(sample: Sample, on: Pinning) -> Self {
        Cell::new(Work::Sample(sample), on)
    }

    fn new(work: Work, on: Pinning) -> Self {
        Cell {
            work,
            on,
            policy: Policy::Other,
            noise: None,
            copies: 1,
            co_runner: None,
            between: Vec::new(),
            group: 0,
            name: None,
            memory: None,
            ring: None,
            events_off: false,
        }
    }

    /// Creates a cell of loops that watch the counter.
    #[must_use]
    pub fn watching(watch: Watch, cpus: Vec<u32>) -> Self {
        Cell::new(Work::Watch(watch), Pinning::Cpus(cpus))
    }

    /// Creates a cell of loops that probe their CPUs.
    pub(crate) fn probing(probes: Probes, on: Pinning) -> Self {
        Cell::new(Work::Probe(probes), on)
    }

    /// Creates a cell of threads that sleep and are woken.
    #[must_use]
    pub fn waking(wake: Wake, cpus: Vec<u32>) -> Self {
        Cell::new(Work::Wake(wake), Pinning::Cpus(cpus))
    }

    /// Returns how its loops meet, if they do.
    pub(crate) fn meeting(&self) -> Option<Meeting> {
        self.between.iter().find_map(|act| match act {
            Act::Meet(meeting) => Some(*meeting),
            _ => None,
        })
    }

    /// Returns about how long it takes without noise, as far as the requested lengths show that.
    fn expected(&self) -> Duration {
        let sample = match &self.work {
            Work::Watch(watch) => return watch.duration,
            Work::Wake(wake) => return wake.expected(),
            Work::Probe(probes) => return probes.duration,
            Work::Sample(sample) => sample,
        };
        let one = sample.amount.length().unwrap_or_default();
        match sample.samples {
            Samples::Count(count) => {
                let all = count.saturating_mul(self.copies.into());
                one.saturating_mul(u32::try_from(all).unwrap_or(u32::MAX))
            }
            Samples::Fill(time) | Samples::Within { time, .. } => time,
        }
    }

    /// Returns whether its loops change the CPU between samples.
    pub(crate) fn wanders(&self) -> bool {
        self.between.iter().any(|act| matches!(act, Act::Migrate(_)))
    }

    /// Returns how it takes samples, if it does.
    #[must_use]
    pub fn sample(&self) -> Option<&Sample> {
        match &self.work {
            Work::Sample(sample) => Some(sample),
            Work::Watch(_) | Work::Wake(_) | Work::Probe(_) => None,
        }
    }
}

impl Sample {
    /// Samples that each fill a grain, with counter reads inside them.
    #[must_use]
    pub fn filling(kernel: Kernel, grain: Duration, samples: u64) -> Self {
        let (amount, samples) = (Amount::Grain(grain), Samples::Count(samples));
        Sample { kernel, amount, samples, maiv_ppm: None, watched: true }
    }
}

impl Amount {
    /// Returns what is the same in every sample.
    pub(crate) fn fixed(self) -> Fixed {
        match self {
            Amount::Grain(_) | Amount::Pass => Fixed::Work,
            Amount::Window(_) => Fixed::Time,
        }
    }

    /// Returns the requested length of a sample.
    #[must_use]
    pub fn length(self) -> Option<Duration> {
        match self {
            Amount::Grain(time) | Amount::Window(time) => Some(time),
            Amount::Pass => None,
        }
    }
}
