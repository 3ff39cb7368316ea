//! The detour loop reads the counter back to back and stops at a gap (Beckman 2008's selfish detour).

use core::arch::asm;

/// The state of the loop between two gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    /// The value of the last read, in ticks.
    pub last: u64,
    /// The shortest gap between two reads so far, in ticks.
    pub shortest: u64,
    /// Number of reads so far.
    pub iterations: u64,
}

/// A gap: two successive counter values, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The value before the gap.
    pub start: u64,
    /// The value after the gap.
    pub end: u64,
}

impl Watch {
    /// Starts at the counter's present value.
    #[must_use]
    pub fn begin() -> Self {
        Watch { last: crate::counter::ordered(), shortest: u64::MAX, iterations: 0 }
    }

    /// Reads the counter until two successive values differ by more than `threshold` ticks, or until a value
    /// is at least `until`. Returns the last gap, which in the second case may be an ordinary one.
    ///
    /// The loop touches no memory. Between two reads it subtracts, keeps the minimum, counts and compares,
    /// all of which fits into the time of the read itself. A longer iteration therefore means that the core
    /// was taken away, shared with an SMT sibling, or clocked down. If the counter jumps back, the gap ends
    /// before it starts.
    #[inline(always)]
    pub fn next_gap(&mut self, threshold: u64, until: u64) -> Gap {
        let (end, gap): (u64, u64);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: reads the counter and changes the declared registers; no memory, no stack.
        unsafe {
            asm!(
                "2:",
                "rdtsc",
                "shl rdx, 32",
                "or rax, rdx",
                "mov {gap}, rax",
                "sub {gap}, {last}",
                "mov {last}, rax",
                "inc {iterations}",
                "cmp {gap}, {shortest}",
                "cmovb {shortest}, {gap}",
                "cmp {gap}, {threshold}",
                "ja 3f",
                "cmp rax, {until}",
                "jb 2b",
                "3:",
                gap = out(reg) gap,
                last = inout(reg) self.last,
                iterations = inout(reg) self.iterations,
                shortest = inout(reg) self.shortest,
                threshold = in(reg) threshold,
                until = in(reg) until,
                out("rax") end,
                out("rdx") _,
                options(nomem, nostack),
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: reads the counter and changes the declared registers; no memory, no stack.
        unsafe {
            asm!(
                "2:",
                "isb", // without it the counter may be read too early
                "mrs {end}, cntvct_el0",
                "sub {gap}, {end}, {last}",
                "mov {last}, {end}",
                "add {iterations}, {iterations}, #1",
                "cmp {gap}, {shortest}",
                "csel {shortest}, {gap}, {shortest}, lo",
                "cmp {gap}, {threshold}",
                "b.hi 3f",
                "cmp {end}, {until}",
                "b.lo 2b",
                "3:",
                gap = out(reg) gap,
                end = out(reg) end,
                last = inout(reg) self.last,
                iterations = inout(reg) self.iterations,
                shortest = inout(reg) self.shortest,
                threshold = in(reg) threshold,
                until = in(reg) until,
                options(nomem, nostack),
            );
        }
        Gap { start: end.wrapping_sub(gap), end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_at_the_asked_value_or_at_a_gap() {
        let mut watch = Watch::begin();
        let until = watch.last + 1_000_000;
        let mut gaps = 0_u64;
        loop {
            let before = watch;
            let gap = watch.next_gap(20_000, until);
            assert_eq!(gap.end, watch.last);
            assert!(gap.start >= before.last, "gaps are in order");
            assert!(gap.end >= until || gap.end - gap.start > 20_000, "stopped for no reason");
            gaps += 1;
            if gap.end >= until {
                break;
            }
        }
        assert!(watch.iterations >= gaps && watch.shortest < 20_000);
    }

    #[test]
    fn a_threshold_of_zero_stops_at_every_step() {
        let mut watch = Watch::begin();
        let gap = watch.next_gap(0, u64::MAX);
        assert!(gap.end > gap.start);
    }
}
