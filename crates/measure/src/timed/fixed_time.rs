//! Fixed time: counts how much work is done in each window of a fixed grid (FTQ).

use super::buffers::StoredSample;
use super::gate::Gate;
use super::sampling::Sampling;
use super::sinks::{Done, SeriesResult, Sinks, moved};
use crate::kernel::Body;
use anechoic_kernels::counter;
use anechoic_kernels::steps::StepTimes;
use anechoic_recording::run::Ended;
use std::sync::atomic::Ordering;

impl Sampling {
    /// Counts units in the window in which they end. Window `k` begins at the common start plus `k` windows,
    /// so the grid cannot drift. A window in which nothing was done also has a sample, with count 0.
    #[inline(never)]
    pub(super) fn fixed_time<B: Body>(
        &self,
        window_ticks: u64,
        body: &mut B,
        gate: &Gate,
        sinks: &mut Sinks<'_, '_>,
    ) -> Done {
        let first_ticks = gate.start.load(Ordering::Acquire);
        let (mut taken, mut wrong, mut count, mut right) = (0, 0, 0_u32, true);
        let mut times = StepTimes::default();
        let mut window_end = first_ticks + window_ticks;
        let mut last = first_ticks; // a delay between the start and the first unit is a gap too
        let ended = 'series: loop {
            let unit_is_right = self.step.is_right(body);
            if body.has_ended() {
                break Ended::Interrupted;
            }
            let (now, on) = counter::boundary();
            if now < last {
                break Ended::Clock;
            }
            if moved(self.cpu, on) {
                break Ended::Offline;
            }
            if let Some(gap) = times.detour(last, now, self.step.threshold_ticks) {
                sinks.gaps.store(gap);
            }
            last = now;
            times.steps += 1;
            while now >= window_end {
                let cpu = self.cpu.or(on).unwrap_or(0);
                let start = window_end - window_ticks;
                let sample = StoredSample { index: taken, start, end: window_end, count, cpu };
                if let Some(samples) = &mut sinks.samples {
                    samples.store(sample);
                }
                wrong += u64::from(!right);
                (taken, count, right) = (taken + 1, 0, true);
                if taken == self.samples {
                    break 'series Ended::Complete;
                }
                window_end += window_ticks;
            }
            count = count.saturating_add(1);
            right &= unit_is_right;
            if now >= gate.end.load(Ordering::Relaxed) {
                break Ended::Interrupted;
            }
        };
        let lost = sinks.lost_samples();
        times.ticks = last - first_ticks;
        let step_ticks = times.undisturbed_ticks();
        let series = SeriesResult {
            series: self.series,
            samples: taken,
            wrong,
            lost,
            ended,
            step_ticks,
            ..SeriesResult::default()
        };
        Done::with_series(first_ticks, last, series)
    }
}
