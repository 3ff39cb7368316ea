//! Detours that a law draws, for each CPU a stream of its own.

use crate::parameters::{LATEST_PS, PS};
use crate::schedule::LONGEST_NS;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::time::Duration;

/// The longest mean length of a drawn detour: the longest ones are then far below what is cut off.
pub(crate) const LONGEST_DELAY_NS: u64 = 1_000_000_000;

/// A law of noise. Times are in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// A detour of `delay_ns` every `every_ns`, from start to start.
    Periodic {
        /// From the start of a detour to the start of the next.
        every_ns: u64,
        /// Length of a detour.
        delay_ns: u64,
    },
    /// Detours of exponential length after exponential gaps.
    Exponential {
        /// Mean of the gaps, from the end of a detour to the start of the next.
        every_ns: u64,
        /// Mean length of a detour.
        delay_ns: u64,
    },
    /// Detours of Pareto length after exponential gaps.
    Pareto {
        /// Mean of the gaps.
        every_ns: u64,
        /// Mean length of a detour.
        delay_ns: u64,
        /// Power of the tail: a detour is longer than x with a probability that falls as x to minus this power. Above 1.
        power: f64,
    },
    /// One detour on one rank.
    Once {
        /// The CPU of all ranks.
        cpu: usize,
        /// Its start.
        at_ns: u64,
        /// Its length.
        delay_ns: u64,
    },
}

impl Law {
    /// Returns the law with detours `times` times as long; none if the CPU would never be free, or too long.
    pub(crate) fn with_longer(mut self, times: f64) -> Option<Self> {
        let (delay_ns, too_long_ns) = match &mut self {
            Self::Periodic { every_ns, delay_ns } => (delay_ns, *every_ns),
            Self::Exponential { delay_ns, .. } | Self::Pareto { delay_ns, .. } => {
                (delay_ns, LONGEST_DELAY_NS)
            }
            Self::Once { delay_ns, .. } => (delay_ns, LONGEST_NS),
        };
        *delay_ns = (*delay_ns as f64 * times).round() as u64;
        (*delay_ns < too_long_ns).then_some(self)
    }

    /// Returns the law in words.
    pub(crate) fn words(self) -> String {
        let time = |ns: u64| format!("{:?}", Duration::from_nanos(ns));
        match self {
            Self::Periodic { every_ns, delay_ns } => {
                format!("a detour of {} every {}", time(delay_ns), time(every_ns))
            }
            Self::Exponential { every_ns, delay_ns } => {
                let (delay, every) = (time(delay_ns), time(every_ns));
                format!(
                    "detours of exponential length, mean {delay}, after exponential gaps, mean {every}"
                )
            }
            Self::Pareto { every_ns, delay_ns, power } => {
                let (delay, every) = (time(delay_ns), time(every_ns));
                format!(
                    "detours of Pareto length, mean {delay}, power {power}, after exponential gaps, mean {every}"
                )
            }
            Self::Once { cpu, at_ns, delay_ns } => {
                format!("one delay of {} on rank {cpu} at {}", time(delay_ns), time(at_ns))
            }
        }
    }
}

/// The detours of all CPUs, drawn as the simulation comes to them.
#[derive(Debug, Clone)]
pub struct Streams {
    law: Law,
    cpus: Vec<Stream>,
}

/// The next or present detour of a CPU, in ps, and what draws those after it.
#[derive(Debug, Clone)]
struct Stream {
    random: Pcg64Mcg,
    start: u64,
    end: u64,
}

/// The longest detour that a law draws.
const LONGEST_PS: f64 = LATEST_PS as f64;

impl Streams {
    /// Begins the streams of this many CPUs. The streams of a CPU are the same for any number of CPUs.
    pub(crate) fn new(law: Law, cpus: usize, seed: u64, together: bool) -> Self {
        let stream = |cpu: usize| {
            let number = if together { 0 } else { cpu as u64 };
            let mixed = seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let random = Pcg64Mcg::seed_from_u64(mixed);
            let mut stream = Stream { random, start: 0, end: 0 };
            stream.begin(law, cpu);
            stream
        };
        Self { law, cpus: (0..cpus).map(stream).collect() }
    }

    /// Returns whether it is a single delay of one CPU.
    pub(crate) fn is_one_delay(&self) -> bool {
        matches!(self.law, Law::Once { .. })
    }

    /// Returns until when a CPU has no detour from this time on, at least: the end of its last work.
    pub(crate) fn quiet_until(&self, cpu: usize, at_ps: u64) -> u64 {
        let stream = &self.cpus[cpu];
        if stream.end <= at_ps { at_ps } else { stream.start.max(at_ps) }
    }

    /// Returns a number that depends on the stream of a CPU, so that it is in the cache.
    #[inline]
    pub(crate) fn touch(&self, cpu: usize) -> u64 {
        self.cpus[cpu].end
    }

    /// Returns when work ends that starts at `start_ps`. The starts on a CPU never decrease.
    #[inline]
    pub(crate) fn end(&mut self, cpu: usize, start_ps: u64, work_ps: u64) -> u64 {
        if work_ps == 0 {
            return start_ps;
        }
        let stream = &mut self.cpus[cpu];
        let (mut at, mut left) = (start_ps, work_ps);
        loop {
            if stream.end <= at {
                stream.next(self.law);
                continue;
            }
            if stream.start > at {
                if left <= stream.start - at {
                    return at + left;
                }
                left -= stream.start - at;
            }
            at = stream.end;
            if at > LATEST_PS {
                return LATEST_PS + 1;
            }
        }
    }
}

impl Stream {
    /// Draws the first detour.
    fn begin(&mut self, law: Law, cpu: usize) {
        match law {
            Law::Periodic { every_ns, delay_ns } => {
                // A detour may be in progress at the start.
                let phase = self.random.random_range(0..every_ns * PS);
                let ago = every_ns * PS - phase;
                match (delay_ns * PS).checked_sub(ago) {
                    Some(rest) if rest > 0 => (self.start, self.end) = (0, rest),
                    _ => (self.start, self.end) = (phase, phase + delay_ns * PS),
                }
            }
            Law::Once { cpu: only, at_ns, delay_ns } => {
                let start = if cpu == only { at_ns * PS } else { u64::MAX };
                (self.start, self.end) = (start, start.saturating_add(delay_ns * PS));
            }
            Law::Exponential { every_ns, delay_ns } | Law::Pareto { every_ns, delay_ns, .. } => {
                let busy = delay_ns as f64 / (every_ns as f64 + delay_ns as f64);
                match share(&mut self.random) <= busy {
                    true => self.end = self.rest(law),
                    false => self.next(law),
                }
            }
        }
    }

    /// Draws the rest of a detour that is in progress at the start. The longer ones are the more probable.
    fn rest(&mut self, law: Law) -> u64 {
        match law {
            Law::Pareto { delay_ns, power, .. } => {
                let length = pareto(&mut self.random, delay_ns, power, power - 1.0);
                (length * share(&mut self.random)) as u64
            }
            Law::Exponential { delay_ns, .. } => exponential(&mut self.random, delay_ns),
            Law::Periodic { .. } | Law::Once { .. } => 0,
        }
    }

    /// Draws the detour after this one.
    fn next(&mut self, law: Law) {
        let (gap, length) = match law {
            Law::Periodic { every_ns, delay_ns } => ((every_ns - delay_ns) * PS, delay_ns * PS),
            Law::Once { .. } => (u64::MAX, 0),
            Law::Exponential { every_ns, delay_ns } => {
                let gap = exponential(&mut self.random, every_ns);
                (gap, exponential(&mut self.random, delay_ns).max(1))
            }
            Law::Pareto { every_ns, delay_ns, power } => {
                let gap = exponential(&mut self.random, every_ns);
                (gap, pareto(&mut self.random, delay_ns, power, power).max(1.0) as u64)
            }
        };
        self.start = self.end.saturating_add(gap);
        self.end = self.start.saturating_add(length);
    }
}

/// Draws from a Pareto law, in ps: the shortest length is that of a law with this mean and power, `tail` the power of the
/// one that is drawn from.
fn pareto(random: &mut Pcg64Mcg, mean_ns: u64, power: f64, tail: f64) -> f64 {
    let least_ns = mean_ns as f64 * (power - 1.0) / power;
    (least_ns * share(random).powf(-1.0 / tail) * PS as f64).min(LONGEST_PS)
}

/// Returns a random number above 0 and at most 1.
fn share(random: &mut Pcg64Mcg) -> f64 {
    1.0 - random.random::<f64>()
}

/// Draws an exponential time with this mean, in ps.
fn exponential(random: &mut Pcg64Mcg, mean_ns: u64) -> u64 {
    (-share(random).ln() * mean_ns as f64 * PS as f64).clamp(0.0, LONGEST_PS) as u64
}
