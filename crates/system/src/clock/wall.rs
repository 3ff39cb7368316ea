//! The wall clock as the kernel keeps it.

use std::time::Duration;

/// Returns the kernel's own bound of the wall clock's error against UTC; absent if nothing synchronizes the clock, or if
/// the kernel does not say.
///
/// It is the largest error that the program which synchronizes the clock has set (chrony, ntpd), and grows by 500 ppm of
/// the time since.
#[must_use]
pub fn error_bound() -> Option<Duration> {
    // SAFETY: a `timex` of zeros is valid, and asks for nothing to be changed.
    let mut asked: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills the structure, which lives until the call returns.
    let state = unsafe { libc::adjtimex(&raw mut asked) };
    let synchronized =
        state >= 0 && state != libc::TIME_ERROR && asked.status & libc::STA_UNSYNC == 0;
    let micros = u64::try_from(asked.maxerror).ok();
    micros.filter(|_| synchronized).map(Duration::from_micros)
}
