//! Fixed work: the same work again and again, the time of each kept (FWQ, tick kernels,
//! do-nothing loops).

use super::buffers::Taken;
use super::job::{Done, SeriesSeen, Sinks, moved};
use super::round::Round;
use super::steady::Steady;
use super::work::Work;
use anechoic_kernels::counter;
use anechoic_kernels::detour::Gap;
use anechoic_recording::run::Ended;
use std::sync::atomic::Ordering;

/// How to take the samples of one series.
#[derive(Debug, Clone, Copy)]
pub(super) struct Working {
    pub(super) series: u32,
    /// `None` where the scheduler chooses.
    pub(super) cpu: Option<u32>,
    /// The work between two looks at the counter.
    pub(super) work: Work,
    /// Looks in one sample: 1 where gaps are not watched.
    pub(super) steps: u64,
    pub(super) samples: u64,
    pub(super) maiv_ppm: Option<u32>,
    pub(super) fifo: bool,
}

impl Working {
    /// Takes samples back to back: one begins with the reading that ended the last, so no time
    /// passes unseen, and what the frame itself does is part of the next sample.
    #[inline(never)]
    pub(super) fn run(&self, round: &Round, sinks: &mut Sinks<'_, '_>) -> Done {
        let mut steady = self.maiv_ppm.map(|maiv_ppm| Steady::new(maiv_ppm, self.samples));
        let (mut taken, mut wrong) = (0, 0);
        let (mut last, mut on) = counter::boundary();
        let first_ticks = last;
        let ended = loop {
            if moved(self.cpu, on) {
                break Ended::Offline; // what was done here was done on two CPUs: it is nobody's sample
            }
            if taken == self.samples {
                break steady.map_or(Ended::Complete, |steady| steady.verdict());
            }
            let start = last;
            let mut right = true;
            match self.sample(round, &mut last, &mut right, sinks) {
                Ok(cpu) => on = cpu,
                Err(ended) => break ended,
            }
            if moved(self.cpu, on) {
                continue;
            }
            let cpu = self.cpu.or(on).unwrap_or(0);
            let sample = Taken { index: taken, start, end: last, count: 1, cpu };
            if let Some(samples) = &mut sinks.samples {
                samples.store(sample);
            }
            wrong += u64::from(!right);
            taken += 1;
            if steady.as_mut().is_some_and(|steady| steady.add(last - start)) {
                break Ended::Steady;
            }
        };
        let jumped_back = ended == Ended::Clock;
        let lost = sinks.samples.as_ref().map_or(0, |samples| samples.lost);
        let series = SeriesSeen { series: self.series, samples: taken, wrong, lost, ended };
        Done { first_ticks, last_ticks: last, watch: None, series: Some(series), jumped_back }
    }

    /// One sample; gives the CPU that it ended on, or why there is none: the counter jumped back, or
    /// the end came before that of the sample.
    #[inline(always)]
    pub(super) fn sample(
        &self,
        round: &Round,
        last: &mut u64,
        right: &mut bool,
        sinks: &mut Sinks<'_, '_>,
    ) -> Result<Option<u32>, Ended> {
        let mut cpu = None;
        for _ in 0..self.steps {
            *right &= self.work.is_right();
            let (now, on) = counter::boundary();
            let gap = now.checked_sub(*last).ok_or(Ended::Clock)?;
            if gap > self.work.threshold_ticks {
                sinks.gaps.store(Gap { start: *last, end: now });
            }
            (*last, cpu) = (now, on);
            if now >= round.end.load(Ordering::Relaxed) {
                return Err(Ended::Interrupted);
            }
        }
        Ok(cpu)
    }
}
