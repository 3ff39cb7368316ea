//! Noise by timer interrupts of the kernel's `cpu-clock` event, whose samples nobody reads.

use super::{Delivered, InjectError, Injection, LEAST_PERIOD, Timing};
use crate::perf::TimerInterrupts;
use anechoic_recording::injection::InjectionKind;
use std::fs;
use std::io;

const MAX_SAMPLE_RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";

/// A timer for each CPU.
#[derive(Debug)]
pub(super) struct Interrupts {
    timers: Vec<TimerInterrupts>,
}

/// What is possible in principle.
pub(super) fn check(injection: &Injection) -> Result<(), InjectError> {
    if !matches!(injection.timing, Timing::Periodic { .. }) {
        return Err(InjectError::NotOffered(
            "the kernel's cpu-clock event is periodic; random or replayed noise takes --kind thread",
        ));
    }
    if injection.kind == InjectionKind::Kernel {
        return Err(InjectError::NotOffered("not yet"));
    }
    let period = injection.period();
    if period < LEAST_PERIOD {
        return Err(InjectError::TooFast {
            period_ns: period.as_nanos() as u64,
            least_ns: LEAST_PERIOD.as_nanos() as u64,
            most_hz: 1_000_000_000 / LEAST_PERIOD.as_nanos() as u64,
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
        Ok(Interrupts { timers: injection.cpus.iter().map(open).collect::<Result<_, _>>()? })
    }

    pub(super) fn start(&mut self) -> Result<(), InjectError> {
        self.timers.iter().try_for_each(|timer| timer.set(true)).map_err(refused)
    }

    pub(super) fn stop(&mut self) -> Vec<Delivered> {
        let stopped = |timer: &TimerInterrupts| {
            let _ = timer.set(false); // it was switched on by the same descriptor
            Delivered::default()
        };
        self.timers.iter().map(stopped).collect()
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
