//! Where a loop stores its results, and what it returns.

use super::buffers::{BlockExchange, Sink, StoredSample};
use super::pacing::PaceSpan;
use super::place::LoopPlace;
use anechoic_kernels::detour::{Gap, Watch};
use anechoic_recording::run::Ended;
use anechoic_recording::wakeup::Passes;

/// The buffers of one loop.
#[derive(Debug)]
pub(crate) struct LoopBuffers<'a> {
    /// Where the loop runs.
    pub(crate) place: LoopPlace,
    pub(crate) gaps: BlockExchange<'a, Gap>,
    pub(crate) samples: Option<BlockExchange<'a, StoredSample>>,
    /// Those of a loop that watches the counter and does nothing else.
    pub(crate) paces: Option<BlockExchange<'a, PaceSpan>>,
}

/// The sinks of one loop.
#[derive(Debug)]
pub(crate) struct Sinks<'l, 'a> {
    pub(crate) gaps: Sink<'l, 'a, Gap>,
    pub(crate) samples: Option<Sink<'l, 'a, StoredSample>>,
    pub(crate) paces: Option<Sink<'l, 'a, PaceSpan>>,
}

impl Sinks<'_, '_> {
    /// Begins the series with this number.
    pub(crate) fn begin(&mut self, series: u32) {
        self.gaps.begin(series);
        if let Some(samples) = &mut self.samples {
            samples.begin(series);
        }
        if let Some(paces) = &mut self.paces {
            paces.begin(series);
        }
    }

    /// Hands on what is still in the buffers of this loop.
    pub(crate) fn flush(&mut self) {
        self.gaps.flush();
        if let Some(samples) = &mut self.samples {
            samples.flush();
        }
        if let Some(paces) = &mut self.paces {
            paces.flush();
        }
    }

    /// Returns the number of samples of this series that found no room.
    pub(crate) fn lost_samples(&self) -> u64 {
        self.samples.as_ref().map_or(0, |samples| samples.lost)
    }
}

/// The outcome of a series.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SeriesResult {
    pub(crate) series: u32,
    pub(crate) samples: u64,
    pub(crate) wrong: u64,
    pub(crate) lost: u64,
    pub(crate) ended: Ended,
    /// Mean duration of the steps that were no detours, if detours were watched for.
    pub(crate) step_ticks: Option<u64>,
    /// The longest time between two counter reads of a wait for other ranks that was no detour.
    pub(crate) wait_threshold_ticks: Option<u64>,
    /// How long the passes over the working set took after a wake-up.
    pub(crate) passes: Option<Passes>,
}

/// What a job returns.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) first_ticks: u64,
    pub(crate) last_ticks: u64,
    /// The state of the watch, if the job was to watch.
    pub(crate) watch: Option<Watch>,
    /// The outcome of the series, if the job was to take samples.
    pub(crate) series: Option<SeriesResult>,
    /// Whether the counter jumped back.
    pub(crate) jumped_back: bool,
}

impl Done {
    /// Returns what a job returns that took a series between these instants.
    pub(crate) fn with_series(first_ticks: u64, last_ticks: u64, series: SeriesResult) -> Self {
        let jumped_back = series.ended == Ended::Clock;
        Done { first_ticks, last_ticks, watch: None, series: Some(series), jumped_back }
    }
}

/// Returns whether a loop that is pinned to `cpu` was found `on` another one, because its own was taken
/// offline. A counter read gives the low 12 bits of the CPU's number.
#[inline(always)]
pub(crate) fn moved(cpu: Option<u32>, on: Option<u32>) -> bool {
    // A match instead of a method of `Option`, which in a debug build would be a call in every step.
    matches!((cpu, on), (Some(asked), Some(found)) if asked & 0xfff != found)
}
