//! Where a loop stores its results, and what it returns.

use super::buffers::{BlockExchange, Sink, StoredSample};
use super::place::LoopPlace;
use anechoic_kernels::detour::{Gap, Watch};
use anechoic_recording::run::Ended;

/// The buffers of one loop.
#[derive(Debug)]
pub(crate) struct LoopBuffers<'a> {
    /// Where the loop runs.
    pub(crate) place: LoopPlace,
    pub(crate) gaps: BlockExchange<'a, Gap>,
    pub(crate) samples: Option<BlockExchange<'a, StoredSample>>,
}

/// The sinks of one loop.
#[derive(Debug)]
pub(crate) struct Sinks<'l, 'a> {
    pub(crate) gaps: Sink<'l, 'a, Gap>,
    pub(crate) samples: Option<Sink<'l, 'a, StoredSample>>,
}

impl Sinks<'_, '_> {
    /// Begins the series with this number.
    pub(crate) fn begin(&mut self, series: u32) {
        self.gaps.begin(series);
        if let Some(samples) = &mut self.samples {
            samples.begin(series);
        }
    }

    /// Hands on what is still in the buffers of this loop.
    pub(crate) fn flush(&mut self) {
        self.gaps.flush();
        if let Some(samples) = &mut self.samples {
            samples.flush();
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
}

/// How long the steps of a series took together, and those among them that were detours.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepTimes {
    pub(crate) ticks: u64,
    pub(crate) steps: u64,
    pub(crate) detour_ticks: u64,
    pub(crate) detours: u64,
}

impl StepTimes {
    /// Returns the mean duration of a step that was no detour. If most were, it is the mean of all: the threshold was
    /// too low then, because something slows every step down.
    pub(crate) fn undisturbed_ticks(&self) -> Option<u64> {
        let mean = |ticks: u64, steps: u64| (ticks + steps / 2).checked_div(steps);
        match self.detours > self.steps / 2 {
            true => mean(self.ticks, self.steps),
            false => mean(
                self.ticks.saturating_sub(self.detour_ticks),
                self.steps.saturating_sub(self.detours),
            ),
        }
    }
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

/// Returns whether a loop that is pinned to `cpu` was found `on` another one, because its own was taken
/// offline. A counter read gives the low 12 bits of the CPU's number.
#[inline(always)]
pub(crate) fn moved(cpu: Option<u32>, on: Option<u32>) -> bool {
    // A match instead of a method of `Option`, which in a debug build would be a call in every step.
    matches!((cpu, on), (Some(asked), Some(found)) if asked & 0xfff != found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_a_series_is_that_of_its_undisturbed_steps() {
        let cases = [
            ("as calibrated", (100_000, 100, 0, 0), Some(1_000)),
            ("a tick of 20,000 in between", (119_000, 100, 20_000, 1), Some(1_000)),
            ("a slower core", (120_000, 100, 0, 0), Some(1_200)),
            (
                "a busy sibling: every step is over the threshold",
                (170_000, 100, 170_000, 100),
                Some(1_700),
            ),
            ("most steps", (160_000, 100, 110_000, 60), Some(1_600)),
            ("none", (0, 0, 0, 0), None),
        ];
        for (name, (ticks, steps, detour_ticks, detours), expected) in cases {
            let times = StepTimes { ticks, steps, detour_ticks, detours };
            assert_eq!(times.undisturbed_ticks(), expected, "case: {name}");
        }
    }
}
