//! Fixed work: the same work repeatedly, with the time of each repetition (FWQ, tick kernels, do-nothing
//! loops, sorts, phases of a parallel job).

use super::between::{Between, LoopState};
use super::buffers::StoredSample;
use super::gate::Gate;
use super::sampling::Sampling;
use super::sinks::{Done, SeriesResult, Sinks, moved};
use super::steady::Steady;
use crate::kernel::Body;
use anechoic_kernels::counter;
use anechoic_kernels::steps::StepTimes;
use anechoic_recording::run::Ended;
use std::hint::black_box;
use std::sync::atomic::Ordering;

impl Sampling {
    /// Takes samples back to back: each begins with the counter read that ended the last, so no time goes
    /// unseen, and the loop's own overhead is part of the next sample. If something happens between two
    /// samples, the next begins after it.
    #[inline(never)]
    pub(super) fn fixed_work<B: Body, T: Between>(
        &self,
        body: &mut B,
        between: &mut T,
        gate: &Gate,
        sinks: &mut Sinks<'_, '_>,
    ) -> Done {
        let mut steady = self.maiv_ppm.map(|maiv_ppm| Steady::new(maiv_ppm, self.samples));
        let (mut taken, mut wrong, mut times) = (0, 0, StepTimes::default());
        let mut at = LoopState { last: 0, on: None, cpu: self.cpu };
        if self.within.is_some() {
            // The first sample of a pass over memory finds the caches as the others do, after the wait for the start.
            black_box(body.run(self.step.iterations));
        }
        let mut goes_on = between.begin(body, &mut at, gate);
        (at.last, at.on) = counter::boundary();
        let first_ticks = at.last;
        let ended = loop {
            if !goes_on {
                break Ended::Interrupted;
            }
            if moved(at.cpu, at.on) {
                break Ended::Offline; // the sample ran on two CPUs and belongs to neither
            }
            if taken == self.samples || self.has_enough(taken, at.last - first_ticks) {
                break steady.map_or(Ended::Complete, |steady| steady.verdict());
            }
            let start = at.last;
            let mut right = true;
            match self.sample(body, gate, &mut at.last, (&mut right, &mut times), sinks) {
                Ok(on) => at.on = on,
                Err(ended) => break ended,
            }
            if moved(at.cpu, at.on) {
                continue;
            }
            let cpu = at.cpu.or(at.on).unwrap_or(0);
            let sample = StoredSample { index: taken, start, end: at.last, count: 1, cpu };
            let ticks = at.last - start;
            times.ticks += ticks;
            times.steps += self.steps;
            if let Some(samples) = &mut sinks.samples {
                samples.store(sample);
            }
            wrong += u64::from(!right);
            taken += 1;
            if steady.as_mut().is_some_and(|steady| steady.add(ticks)) {
                break Ended::Steady;
            }
            goes_on = between.go_on(body, &mut at, gate, &mut sinks.gaps);
        };
        let lost = sinks.lost_samples();
        let step_ticks = times.undisturbed_ticks().filter(|_| self.step.is_watched());
        let series = SeriesResult {
            series: self.series,
            samples: taken,
            wrong,
            lost,
            ended,
            step_ticks,
            wait_threshold_ticks: between.wait_threshold_ticks(),
            passes: None,
        };
        Done::with_series(first_ticks, at.last, series)
    }

    /// Returns whether the time of a limited series has passed, and it has the smallest number of samples.
    #[inline(always)]
    fn has_enough(&self, taken: u64, passed_ticks: u64) -> bool {
        matches!(self.within, Some((ticks, least)) if taken >= least && passed_ticks >= ticks)
    }

    /// Takes one sample. Returns the CPU on which it ended, or why there is no sample: the counter jumped
    /// back, or the series ended before the sample did.
    #[inline(always)]
    fn sample<B: Body>(
        &self,
        body: &mut B,
        gate: &Gate,
        last: &mut u64,
        (right, times): (&mut bool, &mut StepTimes),
        sinks: &mut Sinks<'_, '_>,
    ) -> Result<Option<u32>, Ended> {
        let mut cpu = None;
        for _ in 0..self.steps {
            *right &= self.step.is_right(body);
            if body.has_ended() {
                return Err(Ended::Interrupted);
            }
            let (now, on) = counter::boundary();
            if now < *last {
                return Err(Ended::Clock);
            }
            if let Some(gap) = times.detour(*last, now, self.step.threshold_ticks) {
                sinks.gaps.store(gap);
            }
            (*last, cpu) = (now, on);
            if now >= gate.end.load(Ordering::Relaxed) {
                return Err(Ended::Interrupted);
            }
        }
        Ok(cpu)
    }
}
