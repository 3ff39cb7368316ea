//! What a loop does in a round.

use super::buffers::{Lane, Sink, Taken};
use super::detours::Watching;
use super::fixed_time::Counting;
use super::fixed_work::Working;
use super::place::Place;
use super::round::Round;
use super::sorting::{Array, Sorting};
use super::stepping::Stepping;
use super::worker::Usage;
use anechoic_kernels::detour::{Gap, Watch};
use anechoic_recording::run::Ended;

/// What a loop does in a round.
#[derive(Debug)]
pub(super) enum Job {
    /// Watches the counter.
    Watch(Watching),
    /// Does the same work again and again.
    Work(Working),
    /// Counts the work done in each window.
    Count(Counting),
    /// Sorts again and again, maybe beside other copies.
    Sort(Sorting),
    /// Computes and meets other ranks, again and again.
    Step(Stepping),
}

/// Buffers of one loop.
#[derive(Debug)]
pub(super) struct Lanes<'a> {
    /// Where the loop runs.
    pub(super) place: Place,
    pub(super) gaps: Lane<'a, Gap>,
    pub(super) samples: Option<Lane<'a, Taken>>,
}

/// Where one loop puts what it sees, and what it works on.
#[derive(Debug)]
pub(super) struct Sinks<'l, 'a> {
    pub(super) gaps: Sink<'l, 'a, Gap>,
    pub(super) samples: Option<Sink<'l, 'a, Taken>>,
    /// What is sorted; empty where nothing is.
    pub(super) array: Array,
}

/// What one loop saw in one round.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) lane: usize,
    pub(super) place: Place,
    pub(super) first_ticks: u64,
    pub(super) last_ticks: u64,
    /// Gaps that were stored, and that found no room.
    pub(super) gaps: (u64, u64),
    /// The watch's own state, where the job was to watch.
    pub(super) watch: Option<Watch>,
    /// The series, where the job was to take samples.
    pub(super) series: Option<SeriesSeen>,
    pub(super) usage: Usage,
    /// CPU at the end; another than the asked one if that was taken offline.
    pub(super) last_cpu: u32,
    /// The counter was seen to jump back.
    pub(super) jumped_back: bool,
}

/// How the samples of one series went.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeriesSeen {
    pub(super) series: u32,
    pub(super) samples: u64,
    pub(super) wrong: u64,
    pub(super) lost: u64,
    pub(super) ended: Ended,
}

/// What a job gives back.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) first_ticks: u64,
    pub(super) last_ticks: u64,
    pub(super) watch: Option<Watch>,
    pub(super) series: Option<SeriesSeen>,
    pub(super) jumped_back: bool,
}

/// Whether a loop that is pinned to `cpu` was found `on` another: its own was taken offline.
/// The counter's reading tells the low 12 bits of the CPU's number.
pub(super) fn moved(cpu: Option<u32>, on: Option<u32>) -> bool {
    cpu.zip(on).is_some_and(|(asked, found)| asked & 0xfff != found)
}

impl Job {
    /// Whether it runs under SCHED_FIFO.
    pub(super) fn fifo(&self) -> bool {
        match self {
            Job::Watch(job) => job.fifo,
            Job::Work(job) => job.fifo,
            Job::Count(job) => job.fifo,
            Job::Sort(_) => false,
            Job::Step(job) => job.work.fifo,
        }
    }

    /// The series that it takes samples of.
    pub(super) fn series(&self) -> Option<u32> {
        match self {
            Job::Watch(_) => None,
            Job::Work(job) => Some(job.series),
            Job::Count(job) => Some(job.series),
            Job::Sort(job) => Some(job.series),
            Job::Step(job) => Some(job.work.series),
        }
    }

    /// Whether a loop that is done keeps its CPU busy until the others are: not where these are on the same CPU.
    pub(super) fn keeps_busy(&self) -> bool {
        !matches!(self, Job::Sort(_))
    }

    /// Numbers that it sorts.
    pub(super) fn numbers(&self) -> usize {
        match self {
            Job::Sort(job) => job.numbers,
            _ => 0,
        }
    }

    /// Whether its loops end at one time, so that one that does not is not waited for.
    pub(super) fn ends_on_time(&self) -> bool {
        matches!(self, Job::Watch(_))
    }

    /// Touches what the job will touch; the array was touched when it was made.
    pub(super) fn warm_up(&self) {
        match self {
            Job::Watch(_) => Watching::warm_up(),
            Job::Work(job) => job.work.warm_up(),
            Job::Count(job) => job.unit.warm_up(),
            Job::Sort(_) => Sorting::warm_up(),
            Job::Step(job) => job.work.work.warm_up(),
        }
    }

    pub(super) fn run(&self, round: &Round, sinks: &mut Sinks<'_, '_>) -> Done {
        match self {
            Job::Watch(job) => job.run(round, &mut sinks.gaps),
            Job::Work(job) => job.run(round, sinks),
            Job::Count(job) => job.run(round, sinks),
            Job::Sort(job) => job.run(round, sinks),
            Job::Step(job) => job.run(round, sinks),
        }
    }
}
