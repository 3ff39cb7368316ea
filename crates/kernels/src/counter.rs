//! Reads the CPU's counter.

use core::arch::asm;

/// The name of the counter in recordings.
pub const NAME: &str = if cfg!(target_arch = "x86_64") { "tsc" } else { "cntvct" };

/// Returns the counter's value in ticks, read as cheaply as the CPU allows.
///
/// Neighbouring instructions may move past the read; see [`ordered`].
#[inline(always)]
#[must_use]
pub fn now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: RDTSC reads a register; user space may where the kernel has not forbidden it.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: reads a counter register that Linux opens to user space.
        unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
}

/// Returns the counter's value in ticks, read after all earlier and before all later instructions.
#[inline(always)]
#[must_use]
pub fn ordered() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let (low, high): (u64, u64);
        // SAFETY: fences and a counter read; only the declared registers change.
        unsafe {
            asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high, options(nostack));
        }
        high << 32 | low
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: a barrier and a counter read; only the declared register changes.
        unsafe { asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack)) };
        ticks
    }
}

/// Returns the counter's value in ticks, read after all earlier and before all later instructions, and the
/// CPU that it was read on, if that is known without a system call ([`current_cpu`]).
#[inline(always)]
#[must_use]
pub fn boundary() -> (u64, Option<u32>) {
    #[cfg(target_arch = "x86_64")]
    {
        let (low, high, aux): (u64, u64, u32);
        // SAFETY: a counter read and a fence; only the declared registers change.
        unsafe {
            asm!("rdtscp", "lfence", out("rax") low, out("rdx") high, out("ecx") aux, options(nostack));
        }
        (high << 32 | low, Some(aux & 0xfff))
    }
    #[cfg(target_arch = "aarch64")]
    {
        (ordered(), None)
    }
}

/// Returns the CPU that this thread runs on, if that is known without a system call.
///
/// On x86-64 Linux keeps the CPU's number in the low 12 bits of the register that RDTSCP reads.
#[inline(always)]
#[must_use]
pub fn current_cpu() -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    {
        let mut aux = 0;
        // SAFETY: RDTSCP reads two registers and stores one of them in `aux`.
        unsafe { core::arch::x86_64::__rdtscp(&mut aux) };
        Some(aux & 0xfff)
    }
    #[cfg(target_arch = "aarch64")]
    {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_moves_forward() {
        let mut last = now();
        for _ in 0..10_000 {
            let next = ordered();
            assert!(next >= last, "{next} after {last}");
            last = next;
        }
    }
}
