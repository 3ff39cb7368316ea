//! Where a loop puts what it sees, and what it gives back.

use super::buffers::{Lane, Sink, Taken};
use super::place::Place;
use anechoic_kernels::detour::{Gap, Watch};
use anechoic_recording::run::Ended;

/// Buffers of one loop.
#[derive(Debug)]
pub(crate) struct Lanes<'a> {
    /// Where the loop runs.
    pub(crate) place: Place,
    pub(crate) gaps: Lane<'a, Gap>,
    pub(crate) samples: Option<Lane<'a, Taken>>,
}

/// Where one loop puts what it sees.
#[derive(Debug)]
pub(crate) struct Sinks<'l, 'a> {
    pub(crate) gaps: Sink<'l, 'a, Gap>,
    pub(crate) samples: Option<Sink<'l, 'a, Taken>>,
}

impl Sinks<'_, '_> {
    /// Samples of this series that found no room.
    pub(crate) fn lost_samples(&self) -> u64 {
        self.samples.as_ref().map_or(0, |samples| samples.lost)
    }
}

/// How the samples of one series went.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeriesSeen {
    pub(crate) series: u32,
    pub(crate) samples: u64,
    pub(crate) wrong: u64,
    pub(crate) lost: u64,
    pub(crate) ended: Ended,
}

/// What a job gives back.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) first_ticks: u64,
    pub(crate) last_ticks: u64,
    /// The watch's own state, where the job was to watch.
    pub(crate) watch: Option<Watch>,
    /// The series, where the job was to take samples.
    pub(crate) series: Option<SeriesSeen>,
    /// The counter was seen to jump back.
    pub(crate) jumped_back: bool,
}

/// Whether a loop that is pinned to `cpu` was found `on` another: its own was taken offline.
/// The counter's reading holds the low 12 bits of the CPU's number.
#[inline(always)]
pub(crate) fn moved(cpu: Option<u32>, on: Option<u32>) -> bool {
    // A match and no method of Option: in a debug build those are calls, once a step.
    matches!((cpu, on), (Some(asked), Some(found)) if asked & 0xfff != found)
}
