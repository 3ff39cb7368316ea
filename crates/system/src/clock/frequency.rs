//! The counter's rate, from the kernel or the CPU, checked by regression.

use anechoic_kernels::counter;
use anechoic_recording::{Problem, ProblemKind};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Shortest time over which the rate is checked.
pub(super) const BASELINE: Duration = Duration::from_millis(100);
/// The source of a rate that only the regression gives.
pub(super) const REGRESSION: &str = "regression";
/// Number of attempts per anchor; the one with the narrowest bracket counts.
const TRIES: usize = 32;

/// An instant on the counter and on the kernel's clocks.
#[derive(Debug, Clone, Copy)]
pub struct Anchor {
    /// The counter, in ticks.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC_RAW`, in ns.
    pub raw_ns: u64,
    /// `CLOCK_MONOTONIC`, in ns.
    pub monotonic_ns: u64,
}

impl Anchor {
    /// Reads the clocks between two counter reads, several times, and keeps the attempt with the narrowest
    /// bracket.
    #[must_use]
    pub fn take() -> Self {
        let one = || {
            let before = counter::ordered();
            let raw = clock_gettime(ClockId::MonotonicRaw);
            let between = counter::ordered();
            let monotonic = clock_gettime(ClockId::Monotonic);
            let after = counter::ordered();
            let ns = |t: rustix::time::Timespec| t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64;
            let ticks = before + (between - before) / 2;
            (after - before, Anchor { ticks, raw_ns: ns(raw), monotonic_ns: ns(monotonic) })
        };
        (0..TRIES).map(|_| one()).min_by_key(|(width, _)| *width).expect("TRIES is not 0").1
    }

    /// Takes an anchor like [`Anchor::take`], at least `baseline` after `begin`.
    pub(super) fn take_after(begin: Anchor, baseline: Duration) -> Self {
        let passed = Duration::from_nanos(Anchor::take().raw_ns - begin.raw_ns);
        std::thread::sleep(baseline.saturating_sub(passed));
        Anchor::take()
    }

    /// Returns the rate between two anchors in thousandths of a hertz; `None` if no time passed.
    fn rate_millihertz(self, end: Anchor) -> Option<u64> {
        let ns = u128::from(end.raw_ns.checked_sub(self.raw_ns).filter(|&ns| ns > 0)?);
        let ticks = u128::from(end.ticks.checked_sub(self.ticks)?);
        u64::try_from((ticks * 1_000_000_000_000 + ns / 2) / ns).ok()
    }

    /// Returns the counter value at `ns` of `CLOCK_MONOTONIC`, by linear interpolation between two anchors.
    ///
    /// That clock may be slewed in between; the error stays below about a microsecond.
    #[must_use]
    pub fn ticks_of_monotonic(self, end: Anchor, ns: u64) -> u64 {
        let span_ns = i128::from(end.monotonic_ns.saturating_sub(self.monotonic_ns).max(1));
        let span_ticks = i128::from(end.ticks.saturating_sub(self.ticks));
        let since_ns = i128::from(ns) - i128::from(self.monotonic_ns);
        let ticks = i128::from(self.ticks) + since_ns * span_ticks / span_ns;
        u64::try_from(ticks).unwrap_or(0)
    }

    /// Converts ticks of the counter to `CLOCK_MONOTONIC`: the reverse of [`Anchor::ticks_of_monotonic`].
    #[must_use]
    pub(crate) fn monotonic_of_ticks(self, end: Anchor, ticks: u64) -> u64 {
        let span_ticks = i128::from(end.ticks.saturating_sub(self.ticks).max(1));
        let span_ns = i128::from(end.monotonic_ns.saturating_sub(self.monotonic_ns));
        let since_ticks = i128::from(ticks) - i128::from(self.ticks);
        let ns = i128::from(self.monotonic_ns) + since_ticks * span_ns / span_ticks;
        u64::try_from(ns).unwrap_or(0)
    }

    /// Returns the measured rate between two anchors minus `frequency_millihertz`, in parts per million.
    ///
    /// Each anchor is accurate to about 30 ns, so over 10 s the result is accurate to about 0.006 ppm.
    #[must_use]
    pub fn residual_ppm(self, end: Anchor, frequency_millihertz: u64) -> Option<f64> {
        let seen = self.rate_millihertz(end)? as f64;
        Some((seen / frequency_millihertz as f64 - 1.0) * 1e6)
    }
}

/// Returns whether the CPU reports that the counter keeps one rate in all power states.
#[must_use]
pub(crate) fn is_invariant() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let id = raw_cpuid::CpuId::new();
        id.get_advanced_power_mgmt_info().is_some_and(|info| info.has_invariant_tsc())
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        true // the generic timer of AArch64 has a fixed rate by definition
    }
}

/// Returns the rate in thousandths of a hertz and its source: the kernel's own conversion, or else the CPU,
/// or else the regression between the two anchors.
pub(super) fn find(begin: Anchor, end: Anchor) -> Result<(u64, String), Problem> {
    if let Some(millihertz) = crate::perf::counter_frequency_millihertz() {
        return Ok((millihertz, "perf mmap page".to_owned()));
    }
    if let Some((millihertz, source)) = from_cpu() {
        return Ok((millihertz, source.to_owned()));
    }
    let seen = begin.rate_millihertz(end).filter(|&millihertz| millihertz > 0);
    let stands_still = || {
        ProblemKind::Unavailable.problem(
            "the rate of the counter cannot be determined: CLOCK_MONOTONIC_RAW or the counter stands still",
            "`dmesg` may show what is wrong with the machine's clocks",
        )
    };
    Ok((seen.ok_or_else(stands_still)?, REGRESSION.to_owned()))
}

/// Returns the rate that the CPU itself reports.
fn from_cpu() -> Option<(u64, &'static str)> {
    #[cfg(target_arch = "x86_64")]
    {
        let id = raw_cpuid::CpuId::new();
        let own = id.get_tsc_info().and_then(|info| info.tsc_frequency());
        let khz = || id.get_hypervisor_info()?.tsc_frequency().filter(|&khz| khz > 0);
        own.map(|hz| (hz * 1000, "CPUID 15h")).or_else(|| {
            khz().map(|khz| (u64::from(khz) * 1_000_000, "hypervisor (CPUID 40000010h)"))
        })
    }
    #[cfg(target_arch = "aarch64")]
    {
        let hz: u64;
        // SAFETY: reads a register that Linux opens to user space.
        unsafe {
            std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack));
        }
        (hz > 0).then_some((hz * 1000, "cntfrq"))
    }
}
