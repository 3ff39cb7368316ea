//! The noise of ranks: how long a piece of work takes on a CPU that is interrupted.

mod delay;
pub(crate) mod law;
pub(crate) mod phase;
pub(crate) mod trace;

pub use delay::Delay;
use law::{Law, Streams};
use phase::Phase;
use std::sync::Arc;
use trace::Trace;

/// The noise of all ranks.
#[derive(Debug, Clone)]
pub enum Noise {
    /// None.
    Quiet,
    /// Recorded detours, repeated without end, from a phase of each CPU on.
    Recorded {
        /// The recordings.
        traces: Arc<Vec<Trace>>,
        /// For each CPU of each rank: the number of its recording, and where it begins in it, in ps.
        places: Vec<(u32, u64)>,
        /// A delay of one CPU on top of them.
        delay: Option<Delay>,
    },
    /// Detours that a law draws for each CPU.
    Law(Streams),
}

impl Noise {
    /// Returns recorded noise for this many CPUs of all ranks. `hosts` has the number of CPUs of each recorded host, whose
    /// traces stand one after the other.
    #[must_use]
    pub fn recorded(
        traces: impl Into<Arc<Vec<Trace>>>,
        hosts: &[usize],
        cpus: usize,
        phase: Phase,
        seed: u64,
    ) -> Self {
        let traces = traces.into();
        let places = phase::places(&traces, hosts, cpus, phase, seed);
        Self::Recorded { traces, places, delay: None }
    }

    /// Returns recorded noise with the phases that LogGOPSim draws at this second of its clock.
    #[must_use]
    pub fn as_loggopsim(
        traces: impl Into<Arc<Vec<Trace>>>,
        cpus: usize,
        phase: Phase,
        seed: u64,
    ) -> Self {
        let traces = traces.into();
        let places = phase::as_loggopsim(&traces, cpus, phase, seed);
        Self::Recorded { traces, places, delay: None }
    }

    /// Returns noise that a law draws, independently for each CPU of all ranks.
    #[must_use]
    pub fn from_law(law: Law, cpus: usize, seed: u64) -> Self {
        Self::Law(Streams::new(law, cpus, seed, false))
    }

    /// Returns the same noise with other recordings, of the same lengths.
    pub(crate) fn with_traces(&self, traces: &Arc<Vec<Trace>>) -> Self {
        match self {
            Self::Recorded { places, delay, .. } => {
                Self::Recorded { traces: traces.clone(), places: places.clone(), delay: *delay }
            }
            other => other.clone(),
        }
    }

    /// Returns the same recorded noise with a delay of one CPU on top of it.
    pub(crate) fn with_delay(mut self, added: Option<Delay>) -> Self {
        if let Self::Recorded { delay, .. } = &mut self {
            *delay = added;
        }
        self
    }

    /// Returns the same recorded noise where the delay of one CPU takes `times` times as long.
    pub(crate) fn with_longer_delay(mut self, times: f64) -> Self {
        if let Self::Recorded { delay: Some(delay), .. } = &mut self {
            let length_ps = (delay.end_ps - delay.start_ps) as f64 * times;
            delay.end_ps = delay.start_ps + length_ps.round() as u64;
        }
        self
    }

    /// Returns the same noise without the delay of one CPU: none if that was all.
    pub(crate) fn without_delay(&self) -> Self {
        match self {
            Self::Law(streams) if streams.is_one_delay() => Self::Quiet,
            other => other.clone().with_delay(None),
        }
    }

    /// Returns the same noise where a CPU of all ranks does not have this detour of its recording.
    pub(crate) fn without_detour(&self, cpu: usize, detour: u32) -> Self {
        let Self::Recorded { traces, places, delay } = self else { return self.clone() };
        let (mut traces, mut places) = (traces.to_vec(), places.clone());
        let trace = traces[places[cpu].0 as usize].without(detour);
        places[cpu].0 = traces.len() as u32;
        traces.push(trace);
        Self::Recorded { traces: Arc::new(traces), places, delay: *delay }
    }

    /// Returns when a piece of work ends on a CPU of all ranks that starts it at `start_ps`.
    #[inline]
    pub(crate) fn end(&mut self, cpu: usize, start_ps: u64, work_ps: u64) -> u64 {
        match self {
            Self::Quiet => start_ps + work_ps,
            Self::Recorded { traces, places, delay } => {
                let (trace, phase_ps) = places[cpu];
                let trace = &traces[trace as usize];
                match delay {
                    Some(delay) if delay.cpu == cpu => {
                        let end = |start_ps, work_ps| trace.end(start_ps, phase_ps, work_ps);
                        delay.end(start_ps, work_ps, end)
                    }
                    _ => trace.end(start_ps, phase_ps, work_ps),
                }
            }
            Self::Law(streams) => streams.end(cpu, start_ps, work_ps),
        }
    }

    /// Returns when a piece of work ends, which is not none, and until when the CPU has no detour after that, at least.
    #[inline]
    pub(crate) fn end_and_quiet(&mut self, cpu: usize, start_ps: u64, work_ps: u64) -> (u64, u64) {
        match self {
            Self::Quiet => (start_ps + work_ps, u64::MAX),
            Self::Recorded { delay: Some(delay), .. } if delay.cpu == cpu => {
                let end_ps = self.end(cpu, start_ps, work_ps);
                (end_ps, self.quiet_until(cpu, end_ps))
            }
            Self::Recorded { traces, places, .. } => {
                let (trace, phase_ps) = places[cpu];
                traces[trace as usize].end_and_quiet(start_ps, phase_ps, work_ps)
            }
            Self::Law(streams) => {
                let end_ps = streams.end(cpu, start_ps, work_ps);
                (end_ps, streams.quiet_until(cpu, end_ps))
            }
        }
    }

    /// Reads what the noise of these CPUs needs at these times, all at once: the processor waits for memory a few times and
    /// not for each.
    pub(crate) fn touch_all(&self, coming: &[(u32, u64)], buckets: &mut Vec<(u32, u32)>) {
        let Self::Recorded { traces, places, .. } = self else { return };
        buckets.clear();
        buckets.extend(coming.iter().map(|&(cpu, at_ps)| {
            let (trace, phase_ps) = places[cpu as usize];
            (trace, traces[trace as usize].bucket(at_ps, phase_ps))
        }));
        let touched = buckets.iter().map(|&(trace, first)| traces[trace as usize].touch(first));
        std::hint::black_box(touched.fold(0, u64::wrapping_add));
    }

    /// Returns until when a CPU of all ranks has no detour from this time on, at least; this time itself within a detour. For
    /// a law, it is the time at which the last work ended.
    pub(crate) fn quiet_until(&self, cpu: usize, at_ps: u64) -> u64 {
        match self {
            Self::Quiet => u64::MAX,
            Self::Recorded { traces, places, delay } => {
                let (trace, phase_ps) = places[cpu];
                let until_ps = traces[trace as usize].quiet_until(at_ps, phase_ps);
                match delay {
                    Some(delay) if delay.cpu == cpu => delay.quiet_until(at_ps, until_ps),
                    _ => until_ps,
                }
            }
            Self::Law(streams) => streams.quiet_until(cpu, at_ps),
        }
    }

    /// Returns a number that depends on the noise of a CPU, so that it is in the cache.
    #[inline]
    pub(crate) fn touch(&self, cpu: usize) -> u64 {
        match self {
            Self::Quiet => 0,
            Self::Recorded { places, .. } => places[cpu].1,
            Self::Law(streams) => streams.touch(cpu),
        }
    }

    /// Returns the noise that LogGOPSim adds to an operation from `start_ps` to `end_ps`.
    #[inline]
    pub(crate) fn added_as_loggopsim(&self, cpu: usize, start_ps: u64, end_ps: u64) -> u64 {
        match self {
            Self::Recorded { traces, places, .. } => {
                let (trace, phase_ps) = places[cpu];
                let length_ps = end_ps.wrapping_sub(start_ps);
                traces[trace as usize].added_as_loggopsim(start_ps, phase_ps, length_ps)
            }
            Self::Quiet | Self::Law(_) => 0,
        }
    }
}
