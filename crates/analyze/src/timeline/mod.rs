//! All detours of a recording as a picture: what the report draws, and the stories that it tells.
//!
//! Detours that cannot be told apart in a picture (near in time, alike in length, of one source) are put together
//! in one [`Cell`], whose longest is exact: no extreme is lost, however many detours there are. The most notable
//! ones keep their whole [`Story`].

mod cells;
mod durations;
mod pass;
mod stories;

pub use durations::Durations;
pub(crate) use pass::TimelineOf;

use crate::fold::read_once;
use crate::loops::watched;
use anechoic_recording::{ActivityKind, Problem, Recording};
use std::sync::Arc;

/// How much a timeline may hold: all CPUs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Cells. Each CPU has an equal part of them, and at least [`FEWEST_CELLS`].
    pub cells: usize,
    /// Stories.
    pub stories: usize,
}

/// A CPU has so many cells at least.
pub(crate) const FEWEST_CELLS: usize = 256;

/// All detours of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// From the run's start to the end of the last detour or loop.
    pub span_ns: u64,
    /// Sources and their names; the numbers below are places in it. The first is that of detours of which no
    /// activity tells: its texts are empty.
    pub sources: Vec<SourceName>,
    /// Each measured CPU.
    pub cpus: Vec<CpuTimeline>,
    /// How long all detours were.
    pub lengths: Durations,
    /// What each source took of each detour that it touched, by number of the source.
    pub charged: Vec<Durations>,
    /// The most notable detours, by CPU and time: the longest of all, and of each source, CPU and length one.
    pub stories: Vec<Story>,
}

/// A source, and which of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceName {
    /// Identifier of the source.
    pub source: Arc<str>,
    /// Which of that source's: device, vector, thread; empty where there is one only, and for those after the
    /// first [`MOST_NAMES`].
    pub name: Arc<str>,
}

/// Names that are told apart; of more, those that come later go under their source alone.
pub(crate) const MOST_NAMES: usize = 500;

/// One CPU's detours.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuTimeline {
    /// The CPU.
    pub cpu: u32,
    /// Time that its loops ran.
    pub wall_ns: u64,
    /// Detours.
    pub detours: u64,
    /// Its detours, by time.
    pub cells: Vec<Cell>,
    /// Time that each source took, by number of the source; shorter where the last ones took none.
    pub lost_ns: Vec<u64>,
}

/// Detours that are near in time, alike in length, and mostly of the same source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Start of the longest of them, since the run's start.
    pub start_ns: u64,
    /// Length of the longest, the shortest gap taken off.
    pub length_ns: u64,
    /// How many.
    pub count: u32,
    /// The source that took most of each: its number.
    pub source: u32,
}

/// One detour from its entry gap to its exit gap.
#[derive(Debug, Clone, PartialEq)]
pub struct Story {
    /// Its CPU.
    pub cpu: u32,
    /// When it began, since the run's start.
    pub start_ns: u64,
    /// How long it was, the shortest gap taken off.
    pub length_ns: u64,
    /// The source that took most of it: its number.
    pub source: u32,
    /// Hypervisor steal in it; absent where it was not read.
    pub steal_ns: Option<u64>,
    /// What happened, in order: of more than [`MOST_ROWS`] activities those that took most.
    pub rows: Vec<StoryRow>,
    /// Activities that are left out,
    pub more: u64,
    /// and their time.
    pub more_ns: u64,
}

/// Activities of a story that are told.
pub const MOST_ROWS: usize = 16;

/// One activity of a story.
#[derive(Debug, Clone, PartialEq)]
pub struct StoryRow {
    /// What it stands for in the detour.
    pub kind: ActivityKind,
    /// How deep it is nested in others.
    pub depth: u32,
    /// The source that it is charged to: its number.
    pub source: u32,
    /// The kernel function, where known.
    pub function: Option<Arc<str>>,
    /// CPU that sent it, where known.
    pub sent_by_cpu: Option<u32>,
    /// Task that sent it, where known.
    pub sent_by_task: Option<Arc<str>>,
    /// When it began, since the detour's start.
    pub start_ns: u64,
    /// Time that belongs to it alone.
    pub self_ns: u64,
}

/// Reads the detours of a recording, and of one with attribution what they were. One pass, in memory that the budget
/// bounds.
///
/// # Errors
/// The recording is one of whole samples, whose gaps were not watched, or a file is damaged.
pub fn timeline(recording: &Recording, budget: Budget) -> Result<Timeline, Problem> {
    let loops = watched(recording)?;
    let mut timeline = TimelineOf::new(recording.run(), budget);
    read_once(recording, &loops, &mut [&mut timeline], &mut |_| {})?;
    Ok(timeline.finish())
}
