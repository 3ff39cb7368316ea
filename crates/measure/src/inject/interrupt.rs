//! Noise by timer interrupts of the kernel's `cpu-clock` event, whose samples nobody reads, and by a program
//! that spins in them.
//!
//! If BPF is allowed, bare interrupts also run a program, which only counts.
//!
//! The kernel counts them down and ends them at zero, whatever happens to this process. Who injects for an unknown time
//! renews the count, so that a process that is stopped stops injecting.
//!
//! On some kernels an interrupt takes no sample while its CPU is idle (seen on Linux 6.18 as a guest), so no
//! program runs: the interrupt comes but does not spin and is not counted. A loop or a program under test
//! that keeps its CPU busy gets all of them.
//!
//! Periodic times only, because a program cannot change the timer that it runs in. Random and replayed times
//! are in `timers`.

use super::sampled::Programs;
use super::{Delivered, InjectError, Injection, LEAST_PERIOD, Timing, program, timer_program};
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::perf::TimerInterrupts;
use anechoic_system::rights;
use std::fs;
use std::io;
use std::num::NonZeroI32;
use std::time::{Duration, Instant};

const MAX_SAMPLE_RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";
/// If this setting is 0 or 100, the kernel refuses to change the limit.
const MAX_CPU_TIME: &str = "/proc/sys/kernel/perf_cpu_time_max_percent";
/// The kernel enforces the limit per tick: an event with as many samples in a tick as the limit allows is
/// stopped until the next tick before Linux 6.4, and one with more samples on any version. Two spare samples
/// per tick at 1,000 Hz avoid that: one for the stricter kernels, and one for ticks that are not evenly
/// spaced.
const HEADROOM_HZ: u64 = 2_000;

/// Returns the command that makes the limit changeable (the default is 25 %).
fn unlock(locked: bool) -> &'static str {
    if locked { "sysctl -w kernel.perf_cpu_time_max_percent=25 && " } else { "" }
}

/// A timer for each CPU.
#[derive(Debug)]
pub(super) struct Interrupts {
    timers: Vec<TimerInterrupts>,
    cpus: Vec<u32>,
    /// The counting or spinning programs; absent for bare interrupts if BPF is not allowed.
    programs: Option<Programs>,
    period: Duration,
    allowed: Allowed,
}

/// How long the interrupts go on without this process.
#[derive(Debug)]
struct Allowed {
    /// The time after each start or renewal.
    time: Duration,
    /// Interrupts that are allowed and did not come yet take this long.
    left: Duration,
    /// When that was so.
    at: Instant,
}

impl Allowed {
    /// Returns how many more interrupts must be allowed at `now`, so that they go on for the whole time; `None` without an
    /// end. The kernel skips interrupts that it is late for, so they may go on longer by these.
    fn more(&mut self, now: Instant, period: Duration) -> Option<i32> {
        self.pass(now);
        let count =
            self.time.saturating_sub(self.left).as_nanos().div_ceil(period.as_nanos().max(1));
        let count = i32::try_from(count).ok()?;
        self.left += period.saturating_mul(count.unsigned_abs());
        Some(count)
    }

    /// Takes what came since the last call off what is left.
    fn pass(&mut self, now: Instant) {
        self.left = self.left.saturating_sub(now.saturating_duration_since(self.at));
        self.at = now;
    }
}

/// Returns the longest spin at these times.
pub(super) fn longest(timing: &Timing) -> Duration {
    match timing {
        Timing::Periodic { .. } | Timing::Phased { .. } => program::LONGEST,
        Timing::Poisson { .. } | Timing::Replay(_) => timer_program::LONGEST,
    }
}

/// Checks what can be checked without the kernel.
pub(super) fn check(injection: &Injection) -> Result<(), InjectError> {
    let irregular = !matches!(injection.timing, Timing::Periodic { .. });
    let ns = |duration: Duration| duration.as_nanos() as u64;
    let (duration, period) = (injection.mean_duration(), injection.period());
    let most = longest(&injection.timing);
    if duration > most {
        let (duration_ns, most_ns) = (ns(duration), ns(most));
        let why = format!(
            "a program can spin in the kernel for at most {most_ns} ns, not {duration_ns} ns"
        );
        return Err(InjectError::usage(why, "use --kind thread"));
    }
    if period < LEAST_PERIOD {
        let (period_ns, least_ns) = (ns(period), ns(LEAST_PERIOD));
        let why = format!(
            "a period of {period_ns} ns is below the {least_ns} ns that is the floor of the kernel's \
             cpu-clock event, and of random interrupts here"
        );
        let remedy = format!("ask for at most {} Hz", 1_000_000_000 / least_ns);
        return Err(InjectError::usage(why, remedy));
    }
    if irregular {
        return Ok(()); // without samples there is no limit on them
    }
    let setting = |file: &str| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    // Without perf events there is no limit either; opening one reports what is wrong.
    let Some(limit_hz) = setting(MAX_SAMPLE_RATE) else { return Ok(()) };
    let locked = matches!(setting(MAX_CPU_TIME), Some(0 | 100));
    below_limit(period, limit_hz, locked).map_err(InjectError::Other)
}

/// Checks that the kernel lets an event expire every `period` under its limit.
fn below_limit(period: Duration, limit_hz: u64, locked: bool) -> Result<(), Problem> {
    let period_ns = period.as_nanos().max(1);
    let rate_hz = 1_000_000_000_u128.div_ceil(period_ns) as u64;
    // At low rates, a limit of twice the rate leaves enough room.
    let needed_hz = rate_hz + rate_hz.min(HEADROOM_HZ);
    if needed_hz <= limit_hz {
        return Ok(());
    }
    let why = format!(
        "{rate_hz} interrupts per second are too close to this kernel's limit of {limit_hz} \
         (kernel.perf_event_max_sample_rate), so it would drop some"
    );
    let remedy = format!(
        "use a lower rate, or raise the limit: {}sysctl -w kernel.perf_event_max_sample_rate={needed_hz}",
        unlock(locked)
    );
    Err(ProblemKind::Unavailable.problem(why, remedy))
}

impl Interrupts {
    pub(super) fn prepare(injection: &Injection) -> Result<Self, InjectError> {
        let period_ns = injection.period().as_nanos() as u64;
        let open = |&cpu: &u32| TimerInterrupts::open(cpu, period_ns).map_err(refused);
        let timers: Vec<_> = injection.cpus.iter().map(open).collect::<Result<_, _>>()?;
        let programs = match injection.kind {
            InjectionKind::Kernel => Some(Programs::that_spin(&timers, injection.duration)?),
            // Without a program only our own count is missing.
            _ => Programs::that_count(&timers).ok(),
        };
        let allowed = Allowed { time: Duration::MAX, left: Duration::ZERO, at: Instant::now() };
        let (cpus, period) = (injection.cpus.clone(), injection.period());
        Ok(Interrupts { timers, cpus, programs, period, allowed })
    }

    /// Makes the interrupts end by themselves this long after each start or renewal.
    pub(super) fn end_after(&mut self, time: Duration) {
        self.allowed.time = time;
    }

    pub(super) fn start(&mut self) -> Result<(), InjectError> {
        self.programs.as_ref().map_or(Ok(()), Programs::reset)?;
        self.allowed.at = Instant::now(); // none came since the stop
        self.renew()
    }

    /// Lets them go on for the whole time from now.
    pub(super) fn renew(&mut self) -> Result<(), InjectError> {
        let more = self.allowed.more(Instant::now(), self.period);
        let allow = |timer: &TimerInterrupts| match more.map(NonZeroI32::new) {
            None => timer.set(true),
            Some(None) => Ok(()),
            Some(Some(count)) => timer.allow(count),
        };
        self.timers.iter().try_for_each(allow).map_err(refused)
    }

    pub(super) fn stop(&mut self) -> Vec<Delivered> {
        for timer in &self.timers {
            let _ = timer.set(false); // cannot fail: the same descriptor switched it on
        }
        self.allowed.pass(Instant::now());
        self.programs
            .as_ref()
            .and_then(|programs| programs.delivered(&self.cpus))
            .unwrap_or_else(|| vec![Delivered::default(); self.cpus.len()])
    }
}

fn refused(error: io::Error) -> InjectError {
    let doing = "open a CPU-wide timer event";
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            InjectError::not_permitted(doing, &error, &rights::perf_remedy(0))
        }
        _ => InjectError::cannot(doing, &error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_lasts_for_the_time_after_each_renewal() {
        let (begin, ms) = (Instant::now(), Duration::from_millis);
        let mut allowed = Allowed { time: ms(1_000), left: Duration::ZERO, at: begin };
        let steps = [
            ("start", 0, Some(200)),
            ("renewed", 100, Some(20)),
            ("renewed at once", 100, Some(0)),
            ("not renewed for a while", 700, Some(120)),
            ("after it was stopped for long", 9_000, Some(200)),
        ];
        for (name, at_ms, expected) in steps {
            assert_eq!(allowed.more(begin + ms(at_ms), ms(5)), expected, "case: {name}");
        }
        allowed.time = Duration::MAX;
        assert_eq!(allowed.more(begin + ms(9_000), ms(5)), None, "more than the kernel counts");
    }

    #[test]
    fn rates_at_and_around_the_limit() {
        let micros = Duration::from_micros;
        // Each case has the period, the limit, and the limit that it needs.
        let cases = [
            (micros(10), 102_000, None),
            (micros(10), 101_999, Some(102_000)),
            (micros(10), 100_000, Some(102_000)),
            (micros(10), 99_999, Some(102_000)),
            (micros(20), 100_000, None),
            (Duration::from_nanos(10_204), 100_000, Some(100_001)),
            (Duration::from_nanos(10_205), 100_000, None),
            (micros(1_000), 2_000, None),
            (micros(1_000), 1_999, Some(2_000)),
            (micros(1_000_000), 2, None),
            (micros(1_000_000), 1, Some(2)),
            (Duration::from_secs(3_600), 1, Some(2)),
            (Duration::ZERO, u64::MAX, None),
        ];
        for (period, limit_hz, needed_hz) in cases {
            let found = below_limit(period, limit_hz, false).err().map(|error| error.remedy);
            let found = found.map(|remedy| {
                remedy.rsplit('=').next().and_then(|hz| hz.parse().ok()).expect("a rate")
            });
            assert_eq!(found, needed_hz, "{period:?} under {limit_hz}");
            if let Some(needed_hz) = needed_hz {
                assert_eq!(below_limit(period, needed_hz, false), Ok(()), "the remedy works");
            }
        }
    }

    #[test]
    fn the_remedy_is_one_that_the_kernel_takes() {
        let text = |locked| {
            let refused = below_limit(Duration::from_micros(50), 20_000, locked);
            refused.expect_err("at the limit").to_string()
        };
        let raise = "sysctl -w kernel.perf_event_max_sample_rate=22000";
        assert!(text(false).ends_with(&format!("raise the limit: {raise}")), "{}", text(false));
        let first = "sysctl -w kernel.perf_cpu_time_max_percent=25";
        assert!(
            text(true).ends_with(&format!("raise the limit: {first} && {raise}")),
            "{}",
            text(true)
        );
    }
}
