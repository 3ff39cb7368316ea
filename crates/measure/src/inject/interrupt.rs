//! Noise by timer interrupts of the kernel's `cpu-clock` event, whose samples nobody reads, and by
//! a program that spins in them.
//!
//! Where BPF is allowed, bare interrupts have a program too, which only counts. It makes them no
//! longer: the kernel then leaves out what it would prepare for a reader (0.1 µs less in the
//! kernel, measured).
//!
//! An interrupt that finds its CPU idle takes no sample on some kernels (seen on Linux 6.18 as a
//! guest), so that no program runs in it: it comes, and is neither spun in nor counted. A loop or a
//! program under test that keeps its CPU busy gets all of them.
//!
//! Periodic only. A program cannot set the timer that it runs in, so irregular noise would need an
//! event of its own for each interrupt, armed in batches by a thread on that CPU (from another CPU
//! each costs an IPI). Tried with groups of events, each armed for its first expiration: 3.3 to
//! 5.7 µs of that CPU per interrupt (batches of 128 to 8), since the kernel stops and restarts the
//! timers of all events of a CPU when it enables a group. That is more than a tenth of any spin
//! below 35 µs, several times a bare interrupt's own time, and of the order of what waking a thread
//! takes there (9 µs for a message to one and back).

use super::program::LONGEST;
use super::sampled::Programs;
use super::{Delivered, InjectError, Injection, LEAST_PERIOD, Timing};
use crate::perf::TimerInterrupts;
use anechoic_recording::injection::InjectionKind;
use std::fs;
use std::io;
use std::time::Duration;

const MAX_SAMPLE_RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";

/// A timer for each CPU.
#[derive(Debug)]
pub(super) struct Interrupts {
    timers: Vec<TimerInterrupts>,
    cpus: Vec<u32>,
    /// Absent for bare interrupts where BPF is not allowed.
    programs: Option<Programs>,
}

/// What is possible in principle.
pub(super) fn check(injection: &Injection) -> Result<(), InjectError> {
    if !matches!(injection.timing, Timing::Periodic { .. }) {
        return Err(InjectError::NotOffered(
            "the kernel's cpu-clock event is periodic, and arming one for each interrupt would disturb about as much as a thread; random or replayed noise takes --kind thread",
        ));
    }
    let ns = |duration: Duration| duration.as_nanos() as u64;
    let (duration, period) = (injection.mean_duration(), injection.period());
    if duration > LONGEST {
        let (duration_ns, most_ns) = (ns(duration), ns(LONGEST));
        return Err(InjectError::TooLong { duration_ns, most_ns });
    }
    if period < LEAST_PERIOD {
        return Err(InjectError::TooFast {
            period_ns: ns(period),
            least_ns: ns(LEAST_PERIOD),
            most_hz: 1_000_000_000 / ns(LEAST_PERIOD),
        });
    }
    let rate_hz = (1.0 / period.as_secs_f64()).round() as u64;
    let limit = fs::read_to_string(MAX_SAMPLE_RATE).ok().and_then(|text| text.trim().parse().ok());
    match limit {
        Some(most_hz) if rate_hz > most_hz => Err(InjectError::RateLimit { rate_hz, most_hz }),
        _ => Ok(()),
    }
}

impl Interrupts {
    pub(super) fn prepare(injection: &Injection) -> Result<Self, InjectError> {
        let period_ns = injection.period().as_nanos() as u64;
        let open = |&cpu: &u32| TimerInterrupts::open(cpu, period_ns).map_err(refused);
        let timers: Vec<_> = injection.cpus.iter().map(open).collect::<Result<_, _>>()?;
        let programs = match injection.kind {
            InjectionKind::Kernel => Some(Programs::that_spin(&timers, injection.duration)?),
            // Without them nothing is missing but our own count.
            _ => Programs::that_count(&timers).ok(),
        };
        Ok(Interrupts { timers, cpus: injection.cpus.clone(), programs })
    }

    pub(super) fn start(&mut self) -> Result<(), InjectError> {
        self.programs.as_ref().map_or(Ok(()), Programs::reset)?;
        self.timers.iter().try_for_each(|timer| timer.set(true)).map_err(refused)
    }

    pub(super) fn stop(&mut self) -> Vec<Delivered> {
        for timer in &self.timers {
            let _ = timer.set(false); // it was switched on by the same descriptor
        }
        self.programs
            .as_ref()
            .and_then(|programs| programs.delivered(&self.cpus))
            .unwrap_or_else(|| vec![Delivered::default(); self.cpus.len()])
    }
}

fn refused(error: io::Error) -> InjectError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => InjectError::NotPermitted {
            doing: "use a timer event of a whole CPU",
            error,
            remedy: "run as root, with CAP_PERFMON, or: sysctl -w kernel.perf_event_paranoid=0",
        },
        _ => InjectError::System { doing: "use a timer event of a whole CPU", error },
    }
}
