//! Injected noise of known rate and duration: interrupts, time in interrupt context, and threads (Ferreira et
//! al. 2008).
//!
//! Nothing that makes noise outlives this process: timers and programs are attached to file descriptors, and
//! the threads are ours.

mod interrupt;
mod lateness;
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
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::time::Duration;
use thread::Threads;
use timers::Timers;

pub use timing::{LeftOut, Phase, Replay, Timing};

/// The environment variable that holds, for a command, which noise is injected around it.
pub const INJECTED: &str = "ANECHOIC_INJECTED";

/// Shortest period of the kernel's `cpu-clock` event.
pub(crate) const LEAST_PERIOD: Duration = Duration::from_micros(10);
/// Longest spin in the kernel at random or replayed times.
pub const LONGEST_SPIN: Duration = timer_program::LONGEST;
/// Longest time between two renewals; see [`Injector::end_unless_renewed`].
pub const RENEWAL: Duration = Duration::from_millis(100);
/// How long interrupts go on that nobody renews: long enough for a busy host, on which a thread may wait for its CPU.
const WITHOUT_RENEWAL: Duration = Duration::from_secs(1);
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
    Cpu(Problem),
    /// It would take more of a CPU than is reasonable, or leave no CPU undisturbed. `--force` permits both.
    Forceable(Problem),
    /// The kernel denied permission.
    NotPermitted(Problem),
    /// This kind of noise is not available.
    NotOffered(Problem),
    /// Any other reason.
    Other(Problem),
}

impl InjectError {
    fn problem(&self) -> Problem {
        let (Self::Cpu(problem)
        | Self::Forceable(problem)
        | Self::NotPermitted(problem)
        | Self::NotOffered(problem)
        | Self::Other(problem)) = self;
        problem.clone()
    }

    fn not_permitted(doing: &str, error: &io::Error, remedy: &str) -> Self {
        let why = format!("not permitted to {doing} ({error})");
        Self::NotPermitted(ProblemKind::Unavailable.problem(why, remedy))
    }

    fn cannot(doing: &str, error: &io::Error) -> Self {
        let why = format!("cannot {doing}: {error}");
        Self::Other(ProblemKind::Unavailable.problem(why, remedy_of(error)))
    }

    fn usage(why: String, remedy: impl Into<String>) -> Self {
        Self::Other(ProblemKind::Usage.problem(why, remedy))
    }
}

anechoic_recording::error_from_problem!(InjectError);

impl Injection {
    /// Returns periodic interrupts on one CPU that do nothing.
    pub(crate) fn interrupts(cpu: u32, period: Duration) -> Self {
        let (kind, timing) = (InjectionKind::Interrupt, Timing::Periodic { period });
        Injection { kind, timing, duration: Duration::ZERO, cpus: vec![cpu] }
    }

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
        cpus::verify(&self.cpus).map_err(InjectError::Cpu)?;
        let (duration, period) = (self.mean_duration(), self.period());
        if duration >= period {
            let why =
                format!("a duration of {duration:?} does not fit into a period of {period:?}");
            return Err(InjectError::usage(why, "use a shorter --length or a longer --period"));
        }
        if self.kind != InjectionKind::Thread {
            interrupt::check(self)?;
        }
        if self.share() > MOST_SHARE && !force {
            let (percent, most) = (100.0 * self.share(), 100.0 * MOST_SHARE);
            let why =
                format!("this would take {percent:.0} % of each CPU; the limit is {most:.0} %");
            return Err(InjectError::Forceable(
                ProblemKind::Usage.problem(why, "reduce the noise"),
            ));
        }
        let online = cpus::system("online");
        if !force && !online.is_empty() && online.iter().all(|cpu| self.cpus.contains(cpu)) {
            let why = "this would disturb every CPU of this machine";
            let problem = ProblemKind::Usage.problem(why, "leave one out with --cpus");
            return Err(InjectError::Forceable(problem));
        }
        Ok(())
    }

    /// Returns its description for a recording, before any noise was made.
    fn described(&self, tids: Vec<i32>) -> Injected {
        let timing = match &self.timing {
            Timing::Periodic { .. } | Timing::Phased { .. } => InjectionTiming::Periodic,
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
            starts: None,
        }
    }
}

fn monotonic_ns() -> u64 {
    ns_of(ClockId::Monotonic)
}

fn ns_of(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Returns one instant on the monotonic and on the wall clock.
fn both_clocks_ns() -> (u64, u64) {
    // The two clocks are read one after the other: tens of nanoseconds, unless this thread loses its CPU in between.
    let brackets = (0..8).map(|_| {
        let (before, wall, after) = (monotonic_ns(), ns_of(ClockId::Realtime), monotonic_ns());
        (after - before, before, wall)
    });
    let (_, at, wall) = brackets.min().unwrap_or_default();
    (at, wall)
}

/// Returns how far the wall clock is ahead of the monotonic one.
fn wall_ahead_ns() -> i64 {
    let (at, wall) = both_clocks_ns();
    wall.cast_signed().wrapping_sub(at.cast_signed())
}

/// Returns the time on the monotonic clock of the last whole multiple of the period on the wall clock. A step of the wall
/// clock later does not move it.
fn last_multiple_ns(period: Duration) -> u64 {
    let (at, wall) = both_clocks_ns();
    at.saturating_sub(wall % u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1))
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
            (_, Timing::Periodic { .. } | Timing::Phased { .. }) => {
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

    /// Makes interrupts end by themselves this long after each start, even if this process is then stopped; threads are
    /// stopped with it. All noise ends with [`Injector::stop`] or with the process.
    pub fn end_after(&mut self, time: Duration) {
        match &mut self.maker {
            Maker::Interrupts(interrupts) => interrupts.end_after(time),
            Maker::Timers(timers) => timers.end_after(time),
            Maker::Threads(_) => {}
        }
    }

    /// Makes interrupts end by themselves soon after this process is stopped, unless [`Injector::renew`] is called every
    /// [`RENEWAL`] or more often.
    pub fn end_unless_renewed(&mut self) {
        self.end_after(WITHOUT_RENEWAL);
    }

    /// Lets noise go on that ends by itself if nobody renews it.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub fn renew(&mut self) -> Result<(), InjectError> {
        match &mut self.maker {
            _ if self.on_since.is_none() => Ok(()),
            Maker::Interrupts(interrupts) => interrupts.renew(),
            Maker::Timers(timers) => timers.renew(),
            Maker::Threads(_) => Ok(()),
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
        if let Maker::Threads(threads) = &self.maker {
            self.injected.starts = threads.starts();
        }
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
