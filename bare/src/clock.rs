//! The rate of the counter and the cost of reading it; the time of day.

use crate::acpi::{Acpi, TIMER_HZ};
use crate::cpu::{self, cpuid};
use anechoic_kernels::calibration::Counter;
use anechoic_kernels::counter;
use core::fmt;

/// The counter of this CPU.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Ticks per second.
    pub hz: u64,
    /// Where the rate is from.
    pub source: &'static str,
    /// The rate as another clock measures it, if the first source is not that clock.
    pub checked: Option<(u64, &'static str)>,
    /// Whether the CPU reports that the rate never changes.
    pub invariant: bool,
}

/// Rate of the interval timer in hertz.
const INTERVAL_HZ: u64 = 1_193_182;
/// How long the counter is compared with a timer, in milliseconds.
const COMPARED_MS: u64 = 50;
/// A timer that has not moved after this many ticks does not work.
const PATIENCE: u64 = 1 << 31;

impl Clock {
    /// Finds the rate: what CPUID or the hypervisor reports, checked against a timer, or else the timer's measurement.
    #[must_use]
    pub fn find(acpi: &Acpi) -> Option<Self> {
        let invariant = cpuid(0x8000_0007, 0).edx >> 8 & 1 == 1;
        let by_timer = || acpi.timer_port.and_then(by_power_timer).map(|hz| (hz, "ACPI timer"));
        let measured = by_timer().or_else(|| Some((by_interval_timer()?, "interval timer")));
        let reported = by_cpuid().or_else(by_hypervisor);
        let (hz, source) = reported.or(measured)?;
        Some(Clock { hz, source, checked: measured.filter(|_| reported.is_some()), invariant })
    }

    /// Converts nanoseconds to ticks, rounded to the nearest.
    #[must_use]
    pub fn ticks(&self, ns: u64) -> u64 {
        let ticks = (u128::from(ns) * u128::from(self.hz) + 500_000_000) / 1_000_000_000;
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// Converts ticks to nanoseconds, rounded to the nearest.
    #[must_use]
    pub fn ns(&self, ticks: u64) -> u64 {
        let hz = u128::from(self.hz.max(1));
        u64::try_from((u128::from(ticks) * 1_000_000_000 + hz / 2) / hz).unwrap_or(u64::MAX)
    }
}

/// The ratio of the counter to the crystal, and the crystal's rate.
fn by_cpuid() -> Option<(u64, &'static str)> {
    let leaf = cpuid(0x15, 0);
    let hz = u64::from(leaf.ecx) * u64::from(leaf.ebx) / u64::from(leaf.eax.max(1));
    (leaf.eax > 0 && hz > 0).then_some((hz, "CPUID 15h"))
}

fn by_hypervisor() -> Option<(u64, &'static str)> {
    cpu::hypervisor()?;
    // The rate in kilohertz, as KVM, VMware and others report it.
    let khz = u64::from(cpuid(0x4000_0010, 0).eax);
    (khz > 0).then_some((khz * 1000, "hypervisor"))
}

/// Compares the counter with the power-management timer, which has at least 24 bits.
fn by_power_timer(port: u16) -> Option<u64> {
    const BITS: u32 = 0xff_ffff;
    let timer = || (cpu::port_32(port) & BITS, counter::ordered());
    let begin = timer();
    let wanted = (TIMER_HZ * COMPARED_MS / 1000) as u32;
    while counter::now() - begin.1 < PATIENCE {
        let now = timer();
        let passed = now.0.wrapping_sub(begin.0) & BITS;
        if passed >= wanted {
            return Some((now.1 - begin.1) * TIMER_HZ / u64::from(passed));
        }
    }
    None
}

/// Compares the counter with one period of channel 2 of the interval timer, which makes no interrupt.
fn by_interval_timer() -> Option<u64> {
    let count = INTERVAL_HZ * COMPARED_MS / 1000;
    let gate = cpu::port(0x61);
    // SAFETY: the channel drives only the speaker, which stays off; the gate is restored.
    let begin = unsafe {
        cpu::write_port(0x61, gate & !3);
        cpu::write_port(0x43, 0xb0);
        cpu::write_port(0x42, count as u8);
        cpu::write_port(0x42, (count >> 8) as u8);
        cpu::write_port(0x61, gate & !2 | 1);
        counter::ordered()
    };
    let mut ticks = 0;
    let mut ended = false;
    while !ended && ticks < PATIENCE {
        ended = cpu::port(0x61) >> 5 & 1 == 1;
        ticks = counter::ordered() - begin;
    }
    // SAFETY: as above.
    unsafe { cpu::write_port(0x61, gate) };
    // A port without a device reads as ones: it ends at once.
    let hz = ticks * INTERVAL_HZ / count;
    (ended && hz > 100_000_000).then_some(hz)
}

/// What reading the counter costs.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadCost {
    /// Mean of undisturbed back-to-back reads, in thousandths of a tick.
    pub mean_millis: u64,
    /// The shortest distance of two reads, in ticks.
    pub min: u64,
    /// The distinct small distances, each with its count; the rest are zeros.
    pub deltas: [(u64, u64); 8],
}

impl ReadCost {
    /// Measures the cost in `reads`, which is overwritten.
    pub fn measure(reads: &mut [u64]) -> Self {
        reads.iter_mut().for_each(|read| *read = counter::now());
        for at in 1..reads.len() {
            reads[at - 1] = reads[at].saturating_sub(reads[at - 1]);
        }
        let gaps = reads.len() - 1;
        let gaps = &mut reads[..gaps];
        gaps.sort_unstable();
        let limit = 4 * gaps[gaps.len() / 2].max(1);
        let small = &gaps[..gaps.partition_point(|&gap| gap <= limit)];
        let mut deltas = [(0, 0); 8];
        for (at, same) in deltas.iter_mut().zip(small.chunk_by(|a, b| a == b)) {
            *at = (same[0], same.len() as u64);
        }
        let mean_millis = small.iter().sum::<u64>() * 1000 / small.len().max(1) as u64;
        ReadCost { mean_millis, min: gaps[0], deltas }
    }

    /// Returns the step in which the counter advances: the smallest distance over one tick between two of the deltas.
    #[must_use]
    pub fn step(&self) -> u64 {
        let pairs = self.deltas.windows(2).filter(|pair| pair[1].1 > 0);
        pairs.map(|pair| pair[1].0 - pair[0].0).filter(|&step| step > 1).min().unwrap_or(1)
    }
}

/// Describes the counter for calibration.
#[must_use]
pub fn counter(clock: &Clock, reads: &ReadCost) -> Counter {
    Counter {
        ticks_per_ns: clock.hz as f64 / 1e9,
        read_ticks: reads.mean_millis as f64 / 1e3,
        step_ticks: reads.step(),
    }
}

/// The time of the battery-backed clock, which is in UTC or in local time.
#[derive(Debug, Clone, Copy)]
pub struct TimeOfDay([u8; 6]);

impl TimeOfDay {
    /// Reads the clock. It is read twice, so that no carry falls between two of its registers.
    #[must_use]
    pub fn now() -> Self {
        let mut last = Self::read();
        for _ in 0..10 {
            let next = Self::read();
            if next.0 == last.0 {
                break;
            }
            last = next;
        }
        last
    }

    fn read() -> Self {
        let register = |number| {
            // SAFETY: selects a register of the clock, which nothing else uses now.
            unsafe { cpu::write_port(0x70, number) };
            cpu::port(0x71)
        };
        for _ in 0..100_000 {
            if register(0x0a) >> 7 == 0 {
                break;
            }
        }
        let binary = register(0x0b) >> 2 & 1 == 1;
        let value = |byte: u8| if binary { byte } else { (byte >> 4) * 10 + (byte & 15) };
        TimeOfDay([9, 8, 7, 4, 2, 0].map(|number| value(register(number))))
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [year, month, day, hour, minute, second] = self.0;
        write!(f, "20{year:02}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}
