//! All detours of a recording as data for a picture, with the parts of the most notable ones.
//!
//! Detours that are indistinguishable in a picture (close in time, of similar length, from one source) are merged into
//! one [`Cell`], whose longest detour is exact, so no extreme is lost. The most notable detours keep all their parts
//! ([`Story`]).

mod cells;
mod durations;
mod pass;
mod stories;

pub use durations::Durations;
pub(crate) use pass::TimelineBuilder;
pub(crate) use stories::rows as story_rows;

use anechoic_recording::ActivityKind;
use std::sync::Arc;

/// Size limits of a timeline, for all CPUs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Largest number of cells. Each CPU gets an equal part, and at least [`FEWEST_CELLS`].
    pub cells: usize,
    /// Largest number of stories.
    pub stories: usize,
}

/// Smallest number of cells of a CPU.
pub(crate) const FEWEST_CELLS: usize = 256;

/// All detours of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Time from the run's start to the end of the last detour or loop.
    pub span_ns: u64,
    /// Sources with their names, which the numbers below refer to. The first, with empty texts, stands for detours
    /// without a recorded activity.
    pub sources: Vec<SourceName>,
    /// Each measured CPU.
    pub cpus: Vec<CpuTimeline>,
    /// Lengths of all detours.
    pub lengths: Durations,
    /// Time that each source took of each detour that contains it, by number of the source.
    pub charged: Vec<Durations>,
    /// The most notable detours by CPU and time: the longest of all, and one for each source, CPU and length.
    pub stories: Vec<Story>,
}

/// A source with its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceName {
    /// Identifier of the source.
    pub source: Arc<str>,
    /// Name within the source: device, vector, thread; empty if there is only one, and for names after the first
    /// [`MOST_NAMES`].
    pub name: Arc<str>,
}

/// Largest number of names; further names are merged under their source.
pub(crate) const MOST_NAMES: usize = 500;

/// The detours of one CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuTimeline {
    /// The CPU.
    pub cpu: u32,
    /// Time in which its loops ran.
    pub wall_ns: u64,
    /// Number of detours.
    pub detours: u64,
    /// Cells of its detours by time.
    pub cells: Vec<Cell>,
    /// Time of each source by number; shorter if the last ones took none.
    pub lost_ns: Vec<u64>,
}

/// Detours that are close in time, of similar length, and mostly from one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Start of the longest, since the run's start.
    pub start_ns: u64,
    /// Length of the longest, minus the shortest gap.
    pub length_ns: u64,
    /// Number of detours.
    pub count: u32,
    /// Number of the source that took most of each.
    pub source: u32,
}

/// A detour with all its parts, from entry gap to exit gap.
#[derive(Debug, Clone, PartialEq)]
pub struct Story {
    /// Its CPU.
    pub cpu: u32,
    /// Start since the run's start.
    pub start_ns: u64,
    /// Length minus the shortest gap.
    pub length_ns: u64,
    /// Number of the source that took most of it.
    pub source: u32,
    /// Hypervisor steal in it; absent if it was not read.
    pub steal_ns: Option<u64>,
    /// Its activities in order; of more than [`MOST_ROWS`] those that took most.
    pub rows: Vec<StoryRow>,
    /// Number of omitted activities.
    pub more: u64,
    /// Time of the omitted activities.
    pub more_ns: u64,
}

/// Largest number of activities in a story.
pub const MOST_ROWS: usize = 16;

/// One activity of a story.
#[derive(Debug, Clone, PartialEq)]
pub struct StoryRow {
    /// Role of the activity in the detour.
    pub kind: ActivityKind,
    /// Depth of nesting.
    pub depth: u32,
    /// Number of the source that it is charged to.
    pub source: u32,
    /// Kernel function, if known.
    pub function: Option<Arc<str>>,
    /// CPU of the sender, if known.
    pub sent_by_cpu: Option<u32>,
    /// Task of the sender, if known.
    pub sent_by_task: Option<Arc<str>>,
    /// Start since the detour's start.
    pub start_ns: u64,
    /// Time without nested activities.
    pub self_ns: u64,
}
