//! One rank of a bulk-synchronous job: it computes, meets the others, and computes again
//! (Seelam 2010, P-SNAP).

use super::buffers::Taken;
use super::fixed_work::Working;
use super::job::{Done, SeriesSeen, Sinks, moved};
use super::round::Round;
use crate::ensemble::Meetings;
use anechoic_kernels::counter;
use anechoic_kernels::detour::Gap;
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::Ended;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How to take part in the phases of one series.
#[derive(Debug, Clone)]
pub(super) struct Stepping {
    /// The work of a phase, and how many there are.
    pub(super) work: Working,
    /// How each phase ends.
    pub(super) meeting: Meeting,
    pub(super) meetings: Arc<dyn Meetings>,
    /// A longer time between two looks while waiting is a detour.
    pub(super) wait_threshold_ticks: u64,
    /// Whether the rank has its CPU for itself, so that what it misses is a detour.
    pub(super) alone: bool,
}

impl Stepping {
    /// The counter is looked at through work and wait, so that detours are known in both.
    #[inline(never)]
    pub(super) fn run(&self, round: &Round, sinks: &mut Sinks<'_, '_>) -> Done {
        let Working { series, cpu, samples: phases, .. } = self.work;
        let (mut taken, mut wrong) = (0, 0);
        let in_time = &mut || counter::now() < round.end.load(Ordering::Relaxed);
        // The others start their phases now, too.
        let all_here = self.meetings.meet(Meeting::Barrier, in_time);
        let (mut last, mut on) = counter::boundary();
        let first_ticks = last;
        let ended = loop {
            if !all_here {
                break Ended::Interrupted;
            }
            if moved(cpu, on) {
                break Ended::Offline;
            }
            if taken == phases {
                break Ended::Complete;
            }
            let start = last;
            let mut right = true;
            match self.work.sample(round, &mut last, &mut right, sinks) {
                Ok(cpu) => on = cpu,
                Err(ended) => break ended,
            }
            let sample = Taken { index: taken, start, end: last, count: 1, cpu: cpu.unwrap_or(0) };
            if let Some(samples) = &mut sinks.samples {
                samples.store(sample);
            }
            wrong += u64::from(!right);
            taken += 1;
            if !self.meet(round, &mut last, sinks) {
                break Ended::Interrupted;
            }
        };
        let jumped_back = ended == Ended::Clock;
        let lost = sinks.samples.as_ref().map_or(0, |samples| samples.lost);
        let series = SeriesSeen { series, samples: taken, wrong, lost, ended };
        Done { first_ticks, last_ticks: last, watch: None, series: Some(series), jumped_back }
    }

    /// The end of a phase; whether there is another.
    #[inline(always)]
    fn meet(&self, round: &Round, last: &mut u64, sinks: &mut Sinks<'_, '_>) -> bool {
        if self.meeting == Meeting::Nothing {
            return true;
        }
        let threshold = self.wait_threshold_ticks;
        let look = &mut || {
            let now = counter::boundary().0;
            if now.saturating_sub(*last) > threshold && self.alone {
                sinks.gaps.store(Gap { start: *last, end: now });
            }
            *last = now;
            now < round.end.load(Ordering::Relaxed)
        };
        let all_here = self.meetings.meet(self.meeting, look);
        look() && all_here
    }
}
