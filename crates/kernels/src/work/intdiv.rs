//! INTDIV (Radojković 2008): 64-bit unsigned integer divisions.
//!
//! Divisions have 64 bits, like the paper's `udivx` and like `a / b` of two words. Cores divide faster when
//! the quotient is shorter, so all quotients of a kernel have the same length: about 64 bits on x86-64, 32
//! bits on AArch64.

use super::{Kernel, tick};

#[cfg(target_arch = "aarch64")]
use aarch64 as arch;
#[cfg(target_arch = "x86_64")]
use x86_64 as arch;

pub(super) const INDEPENDENT: Kernel = tick(
    "intdiv",
    "512 independent divisions, full pressure on the divider: longer when the core is taken away, shared with an SMT sibling, or clocked down",
    arch::run_independent,
    arch::expected_independent,
);

pub(super) const CHAIN: Kernel = tick(
    "intdiv-chain",
    "512 divisions, each waiting for the one before: longer when the core is taken away or clocked down; hides an SMT sibling",
    arch::run_chain,
    arch::expected_chain,
);

/// x86-64: `div` divides the 128-bit number `rdx:rax` and leaves the quotient in `rax` and the remainder in
/// `rdx`.
#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::super::TICK_INSTRUCTIONS;
    use core::arch::asm;

    /// The divisor is under 2^63, so that sums modulo [`MODULUS`] fit in 128 bits.
    const DIVISOR: u64 = 0x7a3c_95e1_4f0b_2d87;

    /// Upper half of the first dividend: just under the divisor, so that the quotient is long.
    const HIGH: u64 = 0x6c62_272e_07bb_0142;

    /// Lower half of the first dividend.
    const LOW: u64 = 0x9e37_79b9_7f4a_7c15;

    const MODULUS: u128 = ((DIVISOR as u128) << 64) - 1;

    /// All divisions are the same. Two moves before each `div`, whose operands are in fixed registers, make
    /// it independent of the last one. Moves and sum fit into the time of a division.
    #[inline(never)]
    pub(super) fn run_independent(iterations: u64) -> u64 {
        let mut sum = 0;
        // SAFETY: changes the declared registers; no memory, no stack. The upper half of the
        // dividend is less than the divisor, so no quotient overflows.
        unsafe {
            asm!(
                begin!(),
                ".rept 512",
                "mov rdx, {high}", "mov rax, {low}", "div {divisor}", "add {sum}, rax",
                ".endr",
                repeat!(),
                high = in(reg) HIGH,
                low = in(reg) LOW,
                divisor = in(reg) DIVISOR,
                sum = inout(reg) sum,
                left = inout(reg) iterations => _,
                out("rax") _, out("rdx") _,
                options(nomem, nostack),
            );
        }
        sum
    }

    pub(super) fn expected_independent(iterations: u64) -> u64 {
        let quotient = (u128::from(HIGH) << 64 | u128::from(LOW)) / u128::from(DIVISOR);
        iterations.wrapping_mul(u64::from(TICK_INSTRUCTIONS)).wrapping_mul(quotient as u64)
    }

    /// Nothing stands between the divisions: the remainder and the quotient of one are the upper and the
    /// lower half of the next dividend. A remainder is less than the divisor, so no quotient overflows, and
    /// quotients are as long as those of random numbers.
    #[inline(never)]
    pub(super) fn run_chain(iterations: u64) -> u64 {
        let (mut low, mut high) = (LOW, HIGH);
        // SAFETY: changes the declared registers; no memory, no stack.
        unsafe {
            asm!(
                begin!(),
                ".rept 512", "div {divisor}", ".endr",
                repeat!(),
                divisor = in(reg) DIVISOR,
                left = inout(reg) iterations => _,
                inout("rax") low,
                inout("rdx") high,
                options(nomem, nostack),
            );
        }
        low ^ high
    }

    /// With the dividend n = q·d + r, the next dividend is n' = r·2^64 + q. Modulo m = d·2^64 − 1, in which
    /// d·2^64 = 1, we have d·n' = r + d·q = n. So n' = n·2^64, and k divisions give n·2^(64·k).
    pub(super) fn expected_chain(iterations: u64) -> u64 {
        let mut exponent = u128::from(iterations) * u128::from(TICK_INSTRUCTIONS);
        let mut dividend = u128::from(HIGH) << 64 | u128::from(LOW);
        let mut square = 1 << 64;
        while exponent > 0 {
            if exponent & 1 == 1 {
                dividend = product(dividend, square);
            }
            square = product(square, square);
            exponent >>= 1;
        }
        (dividend ^ dividend >> 64) as u64
    }

    /// Returns a·b modulo [`MODULUS`], for two numbers below it.
    fn product(mut a: u128, mut b: u128) -> u128 {
        let mut product = 0;
        while b > 0 {
            if b & 1 == 1 {
                product = (product + a) % MODULUS;
            }
            a = (a + a) % MODULUS;
            b >>= 1;
        }
        product
    }
}

/// AArch64: `udiv` gives no remainder. A chain divides `A·B` by `A`, then by the result `B`, and so on: the
/// dividend stays the same, and every quotient has 32 bits.
#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use core::arch::asm;

    /// Initial values of the chains, which return to them after an even number of divisions.
    const A: [u64; 8] = [
        0xd1b5_4a33,
        0xc2b2_ae35,
        0xe653_7b2f,
        0xb492_b66f,
        0x9ae1_6a3b,
        0xf135_7aeb,
        0xaef1_7503,
        0xd6e8_feb9,
    ];

    /// The value of the chains in between.
    const B: u64 = 0xcc9e_2d51;

    /// Runs eight independent chains.
    #[inline(never)]
    pub(super) fn run_independent(iterations: u64) -> u64 {
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = A;
        let mut sum = 0;
        // SAFETY: changes the declared registers; no memory, no stack.
        unsafe {
            asm!(
                begin!(),
                ".rept 64",
                "udiv {a}, {ab}, {a}", "udiv {b}, {bb}, {b}",
                "udiv {c}, {cb}, {c}", "udiv {d}, {db}, {d}",
                "udiv {e}, {eb}, {e}", "udiv {f}, {fb}, {f}",
                "udiv {g}, {gb}, {g}", "udiv {h}, {hb}, {h}",
                ".endr",
                "add {sum}, {sum}, {a}",
                repeat!(),
                a = inout(reg) a, b = inout(reg) b, c = inout(reg) c, d = inout(reg) d,
                e = inout(reg) e, f = inout(reg) f, g = inout(reg) g, h = inout(reg) h,
                ab = in(reg) A[0] * B, bb = in(reg) A[1] * B,
                cb = in(reg) A[2] * B, db = in(reg) A[3] * B,
                eb = in(reg) A[4] * B, fb = in(reg) A[5] * B,
                gb = in(reg) A[6] * B, hb = in(reg) A[7] * B,
                sum = inout(reg) sum,
                left = inout(reg) iterations => _,
                options(nomem, nostack),
            );
        }
        [a, b, c, d, e, f, g, h].into_iter().fold(sum, u64::wrapping_add)
    }

    pub(super) fn expected_independent(iterations: u64) -> u64 {
        A.into_iter().fold(iterations.wrapping_mul(A[0]), u64::wrapping_add)
    }

    #[inline(never)]
    pub(super) fn run_chain(iterations: u64) -> u64 {
        let mut sum = 0;
        // SAFETY: changes the declared registers; no memory, no stack.
        unsafe {
            asm!(
                begin!(),
                ".rept 512", "udiv {a}, {ab}, {a}", ".endr",
                "add {sum}, {sum}, {a}",
                repeat!(),
                a = inout(reg) A[0] => _,
                ab = in(reg) A[0] * B,
                sum = inout(reg) sum,
                left = inout(reg) iterations => _,
                options(nomem, nostack),
            );
        }
        sum
    }

    pub(super) fn expected_chain(iterations: u64) -> u64 {
        iterations.wrapping_mul(A[0])
    }
}
