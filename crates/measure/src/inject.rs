//! Injected noise of known rate and duration: interrupts, time in interrupt context, and threads (Ferreira et
//! al. 2008).
//!
//! Nothing that makes noise outlives this process: timers and programs are attached to file descriptors, and
//! the threads are ours.

mod interrupt;
mod program;
mod sampled;
mod thread;
mod timer_program;
mod timers;
mod timing;

use anechoic_kernels::counter;
use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming, Spell};
use anechoic_recording::{Clock, Problem, ProblemKind, remedy_of};
use anechoic_system::cpus;
use anechoic_system::tracefs::Marker;
use interrupt::Interrupts;
use std::io;
use std::time::Duration;
use thread::Threads;
use timers::Timers;

pub use interrupt::RateLimit;
pub use timing::{LeftOut, Replay, ReplayError, Timing};

/// The environment variable that tells a command which noise is injected around it.
pub const INJECTED: &str = "ANECHOIC_INJECTED";

/// Shortest period of the kernel's `cpu-clock` event.
pub(crate) const LEAST_PERIOD: Duration = Duration::from_micros(10);
/// Longest spin in the kernel at random or replayed times.
pub const LONGEST_SPIN: Duration = timer_program::LONGEST;
/// Largest share of a CPU that is taken without `--force`.
pub(crate) const MOST_SHARE: f64 = 0.5;
/// CPU time that a bare interrupt, or switching to a thread and back, takes in addition; used for the limit
/// on the share. Measured in a guest, where the VM exit is most of it; less on bare hardware.
const BARE_COST: Duration = Duration::from_micros(15);

/// A description of noise to inject.
#[derive(Debug, Clone, PartialEq)]
pub struct Injection {
    /// How the noise is made.
    pub kind: InjectionKind,
    /// When each one starts.
    pub timing: Timing,
    /// How long each one lasts in the kernel or the thread. Ignored for bare interrupts, and for replays,
    /// whose detours have their own durations.
    pub duration: Duration,
    /// The CPUs to disturb, in ascending order, at least one.
    pub cpus: Vec<u32>,
}

/// Why noise cannot be injected.
#[derive(Debug)]
pub enum InjectError {
    /// A CPU cannot be used.
    Cpu(cpus::CpuError),
    /// It would take more of a CPU than is reasonable.
    Share {
        /// The share that it would take, in percent.
        percent: f64,
        /// The limit, in percent.
        most: f64,
    },
    /// It would leave no CPU undisturbed.
    EveryCpu,
    /// The duration is as long as the period, or longer.
    NoRoom {
        /// Requested duration.
        duration: Duration,
        /// Requested period.
        period: Duration,
    },
    /// The period is below the floor of the kernel's timer.
    TooFast {
        /// Requested period.
        period_ns: u64,
        /// The shortest period.
        least_ns: u64,
        /// The shortest period as a rate.
        most_hz: u64,
    },
    /// The kernel's limit on samples per second is too low.
    RateLimit(RateLimit),
    /// The spin is longer than the kernel can spin.
    TooLong {
        /// Requested duration.
        duration_ns: u64,
        /// The longest spin.
        most_ns: u64,
    },
    /// This kind of noise is not available: the reason, and what is available instead.
    NotOffered(&'static str, &'static str),
    /// The recording cannot be replayed.
    Replay(ReplayError),
    /// The kernel denied permission.
    NotPermitted {
        /// What was tried.
        doing: &'static str,
        /// The kernel's error.
        error: io::Error,
        /// What would permit it.
        remedy: &'static str,
    },
    /// The kernel's verifier rejected the program.
    Refused {
        /// The oldest kernel that accepts it.
        needs: &'static str,
        /// The last line of the verifier's log.
        verdict: String,
        /// The error number that came with it.
        error: io::Error,
    },
    /// Any other error.
    System {
        /// What was tried.
        doing: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
}

impl InjectError {
    fn problem(&self) -> Problem {
        match self {
            Self::Cpu(error) => error.into(),
            Self::Share { percent, most } => ProblemKind::Usage.problem(
                format!("this would take {percent:.0} % of each CPU; the limit is {most:.0} %"),
                "reduce the noise",
            ),
            Self::EveryCpu => ProblemKind::Usage
                .problem("this would disturb every CPU of this machine", "leave one out with --cpus"),
            Self::NoRoom { duration, period } => ProblemKind::Usage.problem(
                format!("a duration of {duration:?} does not fit into a period of {period:?}"),
                "use a shorter --length or a longer --period",
            ),
            Self::TooFast { period_ns, least_ns, most_hz } => ProblemKind::Usage.problem(
                format!(
                    "a period of {period_ns} ns is below the {least_ns} ns that is the floor of the kernel's \
                     cpu-clock event, and of random interrupts here"
                ),
                format!("ask for at most {most_hz} Hz"),
            ),
            Self::RateLimit(error) => error.into(),
            Self::TooLong { duration_ns, most_ns } => ProblemKind::Usage.problem(
                format!(
                    "a program can spin in the kernel for at most {most_ns} ns, not \
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
                ProblemKind::Unavailable
                    .problem(format!("cannot {doing}: {error}"), remedy_of(error))
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
    /// Returns the mean time between two starts on one CPU.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.timing.period()
    }

    /// Returns the mean duration of each one; zero for bare interrupts.
    #[must_use]
    pub(crate) fn mean_duration(&self) -> Duration {
        match (&self.timing, self.kind) {
            (_, InjectionKind::Interrupt) => Duration::ZERO,
            (Timing::Replay(replay), _) => replay.mean_duration(),
            _ => self.duration,
        }
    }

    /// Returns the approximate share of a CPU that it takes, from 0; for a replay, the share of the busiest
    /// CPU.
    #[must_use]
    pub fn share(&self) -> f64 {
        match &self.timing {
            Timing::Replay(replay) => replay.share(BARE_COST),
            _ => (self.mean_duration() + BARE_COST).as_secs_f64() / self.period().as_secs_f64(),
        }
    }

    /// Checks that it is reasonable and possible in principle.
    ///
    /// With `force` it may take more than half of a CPU, and disturb every CPU.
    ///
    /// # Errors
    /// Returns what is wrong with it, and what to use instead.
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

    /// Returns its description for a recording, before any noise was made.
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

/// What one CPU received since the start.
#[derive(Debug, Clone, Copy, Default)]
struct Delivered {
    /// The number of injections; absent if they cannot be counted.
    count: Option<u64>,
    /// How many of them ended before the requested duration.
    cut_short: u64,
    /// How many were left out; absent if only the requested number is known.
    overruns: Option<u64>,
}

/// An injector that is ready and can be started and stopped. Everything ends when it is dropped.
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
    /// Prepares everything without starting it. `clock` is that of the counter.
    ///
    /// # Errors
    /// Returns the errors that only the kernel can detect.
    pub fn prepare(injection: &Injection, clock: &Clock) -> Result<Self, InjectError> {
        Self::prepare_marked(injection, clock, &Marker::default())
    }

    /// Prepares like [`Injector::prepare`]; threads mark themselves in the trace.
    pub(crate) fn prepare_marked(
        injection: &Injection,
        clock: &Clock,
        marker: &Marker,
    ) -> Result<Self, InjectError> {
        let (maker, tids) = match (injection.kind, &injection.timing) {
            (InjectionKind::Thread, _) => {
                let threads = Threads::prepare(injection, clock, marker)?;
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

    /// Gives its threads the numbers that events have for them.
    pub(crate) fn rename(&mut self, thread: impl Fn(i32) -> i32) {
        self.injected.tids.iter_mut().for_each(|tid| *tid = thread(*tid));
    }

    /// Makes interrupts at random or replayed times end by themselves this long after each start, even if
    /// this process is then stopped. All other noise ends with [`Injector::stop`] or with the process.
    pub fn end_after(&mut self, time: Duration) {
        if let Maker::Timers(timers) = &mut self.maker {
            timers.end_after(time);
        }
    }

    /// Starts the noise.
    ///
    /// # Errors
    /// Returns the kernel's error.
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

    /// Stops the noise and records what was delivered since the start; does nothing if it was stopped.
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

    /// Returns what was injected so far.
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
