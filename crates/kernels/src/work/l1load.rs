//! A chain of loads that hit the first-level cache, each at the address that the last one returned.

use super::{Kernel, TICK_INSTRUCTIONS, tick};
use core::arch::asm;

pub(super) const KERNEL: Kernel = tick(
    "l1load",
    "512 loads from the first-level cache, each waiting for the one before: longer when the core is taken away or clocked down, or others used its cache",
    run,
    expected,
);

/// Cache lines in the ring: just under 16 KiB. The number is prime, so that an iteration does not end where
/// it began.
const LINES: usize = 251;

/// Size of a line in bytes.
const STRIDE: usize = 64;

/// One line of the ring: the byte offset of the next line, and padding.
#[repr(C, align(64))]
struct Node([u64; STRIDE / 8]);

/// A ring through all lines.
static RING: [Node; LINES] = ring();

/// Builds a random ring through all lines (Sattolo's shuffle), the same in every build.
const fn ring() -> [Node; LINES] {
    let mut next = [0; LINES];
    let mut i = 0;
    while i < LINES {
        next[i] = i;
        i += 1;
    }
    let mut random: u64 = 1;
    while i > 1 {
        i -= 1;
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        next.swap(i, (random >> 33) as usize % i);
    }
    let mut ring = [const { Node([0; STRIDE / 8]) }; LINES];
    i = 0;
    while i < LINES {
        ring[i].0[0] = (next[i] * STRIDE) as u64;
        i += 1;
    }
    ring
}

#[inline(never)]
fn run(iterations: u64) -> u64 {
    let mut at = 0_u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every offset in the ring is that of one of its lines, and so is 0, the first.
    unsafe {
        asm!(
            begin!(),
            ".rept 512", "mov {at}, [{ring} + {at}]", ".endr",
            repeat!(),
            at = inout(reg) at,
            ring = in(reg) RING.as_ptr(),
            left = inout(reg) iterations => _,
            options(readonly, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every offset in the ring is that of one of its lines, and so is 0, the first.
    unsafe {
        asm!(
            begin!(),
            ".rept 512", "ldr {at}, [{ring}, {at}]", ".endr",
            repeat!(),
            at = inout(reg) at,
            ring = in(reg) RING.as_ptr(),
            left = inout(reg) iterations => _,
            options(readonly, nostack),
        );
    }
    at
}

/// Walks the steps that are left over after whole turns of the ring.
fn expected(iterations: u64) -> u64 {
    let loads = u128::from(iterations) * u128::from(TICK_INSTRUCTIONS);
    (0..loads % LINES as u128).fold(0, |at, _| RING[at as usize / STRIDE].0[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_goes_through_all_lines_and_closes() {
        let (mut at, mut seen) = (0, [false; LINES]);
        for _ in 0..LINES {
            assert_eq!(at % STRIDE, 0);
            assert!(!seen[at / STRIDE], "line {} comes twice", at / STRIDE);
            seen[at / STRIDE] = true;
            at = RING[at / STRIDE].0[0] as usize;
        }
        assert_eq!(at, 0);
    }
}
