//! Noise on demand: interrupts, time in interrupt context, and threads, of known rate and duration
//! (Ferreira et al. 2008).
//!
//! Nothing that makes the noise outlives this process: timers and programs hang on file
//! descriptors, threads are ours.

mod interrupt;
mod program;
mod sampled;
mod thread;
mod timer_program;
mod timers;
mod timing;

use anechoic_kernels::counter;
use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming, Spell};
use anechoic_recording::{Clock, Problem, ProblemKind};
use anechoic_system::cpus;
use interrupt::Interrupts;
use std::io;
use std::time::Duration;
use thread::Threads;
use timers::Timers;

pub use interrupt::RateLimit;
pub use timing::{LeftOut, Replay, ReplayError, Timing};

/// Shortest distance between two interrupts of the kernel's `cpu-clock` event.
pub(crate) const LEAST_PERIOD: Duration = Duration::from_micros(10);
/// Longest spin in the kernel at random or replayed times.
pub const LONGEST_SPIN: Duration = timer_program::LONGEST;
/// Largest share of a CPU that is taken without being asked twice.
pub(crate) const MOST_SHARE: f64 = 0.5;
/// What a bare interrupt, or switching to a thread and back, takes of a CPU besides, for the limit on the
/// share: as measured in a guest, where the VM exit is most of it; less on hardware.
const BARE_COST: Duration = Duration::from_micros(15);

/// Noise to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Injection {
    /// How.
    pub kind: InjectionKind,
    /// When.
    pub timing: Timing,
    /// How long each lasts in the kernel or the thread. Ignored by bare interrupts and by replays,
    /// whose detours each have their own.
    pub duration: Duration,
    /// Where, ascending, at least one.
    pub cpus: Vec<u32>,
}

/// Why noise cannot be made.
#[derive(Debug)]
pub enum InjectError {
    /// A CPU cannot be used.
    Cpu(cpus::CpuError),
    /// More of a CPU than is reasonable.
    Share {
        /// What would be taken, in percent.
        percent: f64,
        /// The limit, in percent.
        most: f64,
    },
    /// No CPU would be left.
    EveryCpu,
    /// As long as its own period, or longer.
    NoRoom {
        /// Asked duration.
        duration: Duration,
        /// Asked period.
        period: Duration,
    },
    /// The kernel's timer has a floor.
    TooFast {
        /// Asked period.
        period_ns: u64,
        /// The floor.
        least_ns: u64,
        /// The floor as a rate.
        most_hz: u64,
    },
    /// The kernel allows fewer samples a second.
    RateLimit(RateLimit),
    /// A spin in the kernel has a bound.
    TooLong {
        /// Asked duration.
        duration_ns: u64,
        /// The bound.
        most_ns: u64,
    },
    /// This kind cannot do that: why, and what can.
    NotOffered(&'static str, &'static str),
    /// A recording cannot be played.
    Replay(ReplayError),
    /// Refused.
    NotPermitted {
        /// What was tried.
        doing: &'static str,
        /// The kernel's answer.
        error: io::Error,
        /// What would permit it.
        remedy: &'static str,
    },
    /// The kernel's verifier did not accept the program.
    Refused {
        /// The oldest kernel.
        needs: &'static str,
        /// The last line of the verifier.
        verdict: String,
        /// The error number that came with it.
        error: io::Error,
    },
    /// Anything else.
    System {
        /// What was tried.
        doing: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
}

impl InjectError {
    fn problem(&self) -> Problem {
        match self {
            Self::Cpu(error) => error.into(),
            Self::Share { percent, most } => ProblemKind::Usage.problem(
                format!("this takes {percent:.0} % of each CPU, and the limit is {most:.0} %"),
                "ask for less",
            ),
            Self::EveryCpu => ProblemKind::Usage
                .problem("this disturbs every CPU of this machine", "leave one out with --cpus"),
            Self::NoRoom { duration, period } => ProblemKind::Usage.problem(
                format!("a duration of {duration:?} does not fit into a period of {period:?}"),
                "ask for a shorter --duration or a longer --period",
            ),
            Self::TooFast { period_ns, least_ns, most_hz } => ProblemKind::Usage.problem(
                format!(
                    "a period of {period_ns} ns is below the {least_ns} ns that the kernel's \
                     cpu-clock event has as its floor, and random interrupts here"
                ),
                format!("ask for at most {most_hz} Hz"),
            ),
            Self::RateLimit(error) => error.into(),
            Self::TooLong { duration_ns, most_ns } => ProblemKind::Usage.problem(
                format!(
                    "the kernel lets a program spin for {most_ns} ns at most, not \
                     {duration_ns} ns"
                ),
                "use --kind thread",
            ),
            Self::NotOffered(why, remedy) => ProblemKind::Usage.problem(*why, *remedy),
            Self::Replay(error) => error.into(),
            Self::NotPermitted { doing, error, remedy } => ProblemKind::Unavailable
                .problem(format!("not permitted to {doing} ({error})"), *remedy),
            Self::Refused { needs, verdict, error } => ProblemKind::Unavailable.problem(
                format!("the kernel refused the program that spins: {verdict} ({error})"),
                format!("it needs {needs}"),
            ),
            Self::System { doing, error } => {
                ProblemKind::Unavailable.problem(format!("cannot {doing}: {error}"), "")
            }
        }
    }
}

anechoic_recording::error_from_problem!(InjectError);

impl From<cpus::CpuError> for InjectError {
    fn from(error: cpus::CpuError) -> Self {
        Self::Cpu(error)
    }
}

impl From<RateLimit> for InjectError {
    fn from(error: RateLimit) -> Self {
        Self::RateLimit(error)
    }
}

impl From<ReplayError> for InjectError {
    fn from(error: ReplayError) -> Self {
        Self::Replay(error)
    }
}

impl Injection {
    /// Mean distance between two of them on one CPU.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.timing.period()
    }

    /// Mean duration of each; none of bare interrupts.
    #[must_use]
    pub(crate) fn mean_duration(&self) -> Duration {
        match (&self.timing, self.kind) {
            (_, InjectionKind::Interrupt) => Duration::ZERO,
            (Timing::Replay(replay), _) => replay.mean_duration(),
            _ => self.duration,
        }
    }

    /// Share of a CPU that it takes, about, from 0; of a replay that of the CPU that it takes most of.
    #[must_use]
    pub fn share(&self) -> f64 {
        match &self.timing {
            Timing::Replay(replay) => replay.share(BARE_COST),
            _ => (self.mean_duration() + BARE_COST).as_secs_f64() / self.period().as_secs_f64(),
        }
    }

    /// Whether it is reasonable, and possible in principle.
    ///
    /// With `force` it may take more than half of a CPU, and every CPU.
    ///
    /// # Errors
    /// What is wrong with it, and what to ask for instead.
    pub fn check(&self, force: bool) -> Result<(), InjectError> {
        cpus::verify(&self.cpus)?;
        let (duration, period) = (self.mean_duration(), self.period());
        if duration >= period {
            return Err(InjectError::NoRoom { duration, period });
        }
        if self.kind != InjectionKind::Thread {
            interrupt::check(self)?;
        }
        if self.share() > MOST_SHARE && !force {
            return Err(InjectError::Share {
                percent: 100.0 * self.share(),
                most: 100.0 * MOST_SHARE,
            });
        }
        let online = cpus::system("online");
        if !force && !online.is_empty() && online.iter().all(|cpu| self.cpus.contains(cpu)) {
            return Err(InjectError::EveryCpu);
        }
        Ok(())
    }

    /// It as a recording tells it, before anything was made.
    fn described(&self, tids: Vec<i32>) -> Injected {
        let timing = match &self.timing {
            Timing::Periodic { .. } => InjectionTiming::Periodic,
            Timing::Poisson { seed, .. } => InjectionTiming::Poisson { seed: *seed },
            Timing::Replay(replay) => {
                InjectionTiming::Replay { recording: replay.recording().to_owned() }
            }
        };
        Injected {
            kind: self.kind,
            timing,
            period_ns: self.period().as_nanos() as u64,
            duration_ns: self.mean_duration().as_nanos() as u64,
            cpus: self.cpus.clone(),
            tids,
            spells: Vec::new(),
        }
    }
}

/// What one CPU got since the start.
#[derive(Debug, Clone, Copy, Default)]
struct Delivered {
    /// How many; absent where they cannot be counted.
    count: Option<u64>,
    /// How many of them ended before the asked duration.
    cut_short: u64,
    /// How many were left out; absent where that is only known from what was asked.
    overruns: Option<u64>,
}

/// Noise that is ready, and can be switched on and off. All ends when it is dropped.
#[derive(Debug)]
pub struct Injector {
    maker: Maker,
    injected: Injected,
    on_since: Option<u64>,
}

#[derive(Debug)]
enum Maker {
    Interrupts(Interrupts),
    Timers(Timers),
    Threads(Threads),
}

impl Injector {
    /// Makes all ready, with nothing switched on. `clock` is that of the counter.
    ///
    /// # Errors
    /// Each [`InjectError`] that only the kernel can tell.
    pub fn prepare(injection: &Injection, clock: &Clock) -> Result<Self, InjectError> {
        let (maker, tids) = match (injection.kind, &injection.timing) {
            (InjectionKind::Thread, _) => {
                let threads = Threads::prepare(injection, clock)?;
                let tids = threads.tids();
                (Maker::Threads(threads), tids)
            }
            (_, Timing::Periodic { .. }) => {
                (Maker::Interrupts(Interrupts::prepare(injection)?), Vec::new())
            }
            (_, Timing::Poisson { .. } | Timing::Replay(_)) => {
                (Maker::Timers(Timers::prepare(injection)?), Vec::new())
            }
        };
        Ok(Injector { maker, injected: injection.described(tids), on_since: None })
    }

    /// Has interrupts at random or replayed times end by themselves so long after each start, even if this
    /// process is stopped then. All others end with [`Injector::stop`] or the process.
    pub fn end_after(&mut self, time: Duration) {
        if let Maker::Timers(timers) = &mut self.maker {
            timers.end_after(time);
        }
    }

    /// Switches it on.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn start(&mut self) -> Result<(), InjectError> {
        self.on_since = Some(counter::ordered());
        match &mut self.maker {
            Maker::Interrupts(interrupts) => interrupts.start(),
            Maker::Timers(timers) => timers.start(),
            Maker::Threads(threads) => {
                threads.start();
                Ok(())
            }
        }
    }

    /// Switches it off and notes what came since the start; nothing if it was off.
    pub fn stop(&mut self) {
        let Some(start_ticks) = self.on_since.take() else { return };
        let delivered = match &mut self.maker {
            Maker::Interrupts(interrupts) => interrupts.stop(),
            Maker::Timers(timers) => timers.stop(),
            Maker::Threads(threads) => threads.stop(),
        };
        let end_ticks = counter::ordered();
        let cpus = self.injected.cpus.iter();
        self.injected.spells.extend(cpus.zip(delivered).map(|(&cpu, delivered)| Spell {
            cpu,
            start_ticks,
            end_ticks,
            delivered: delivered.count,
            cut_short: delivered.cut_short,
            overruns: delivered.overruns,
        }));
    }

    /// What was made so far.
    #[must_use]
    pub fn injected(&self) -> &Injected {
        &self.injected
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        self.stop();
    }
}
