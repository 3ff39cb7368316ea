//! INTMUL (Radojković 2008): 64-bit integer multiplications, register by register.

use super::{Kernel, TICK_INSTRUCTIONS, tick};
use core::arch::asm;

pub(super) const INDEPENDENT: Kernel = tick(
    "intmul",
    "512 independent multiplications, full pressure on the multipliers: longer when the core is taken away, shared with an SMT sibling, or clocked down",
    run_independent,
    expected_independent,
);

pub(super) const CHAIN: Kernel = tick(
    "intmul-chain",
    "512 multiplications, each waiting for the one before: longer when the core is taken away or clocked down; hides an SMT sibling",
    run_chain,
    |iterations| after(SEEDS[0], iterations, TICK_INSTRUCTIONS),
);

/// Initial values of the chains. They and the factor are odd, so no product becomes 0.
///
/// Ten chains: three multipliers of three cycles each need nine, and one is spare.
const SEEDS: [u64; 10] = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31];

/// The factor is 5 modulo 8, so its powers return to 1 only after 2^62 of them.
const FACTOR: u64 = 0x5851_f42d_4c95_7f2d;

/// Returns a product that started at `seed`, or a sum of such, after this many iterations with `each`
/// factors.
fn after(seed: u64, iterations: u64, each: u32) -> u64 {
    let mut exponent = u128::from(iterations) * u128::from(each);
    let (mut product, mut square) = (seed, FACTOR);
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = product.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        exponent >>= 1;
    }
    product
}

/// In an iteration the first two chains have 52 multiplications and the others 51.
fn expected_independent(iterations: u64) -> u64 {
    let (longer, shorter) = SEEDS.split_at(2);
    after(longer.iter().sum(), iterations, 52).wrapping_add(after(
        shorter.iter().sum(),
        iterations,
        51,
    ))
}

#[cfg(target_arch = "x86_64")]
macro_rules! mul {
    ($to:literal) => {
        concat!("imul {", $to, "}, {factor}")
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! mul {
    ($to:literal) => {
        concat!("mul {", $to, "}, {", $to, "}, {factor}")
    };
}

#[inline(never)]
fn run_independent(iterations: u64) -> u64 {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h, mut i, mut j] = SEEDS;
    // SAFETY: changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            begin!(),
            ".rept 51",
            mul!("a"), mul!("b"), mul!("c"), mul!("d"), mul!("e"),
            mul!("f"), mul!("g"), mul!("h"), mul!("i"), mul!("j"),
            ".endr",
            mul!("a"), mul!("b"),
            repeat!(),
            a = inout(reg) a, b = inout(reg) b, c = inout(reg) c, d = inout(reg) d,
            e = inout(reg) e, f = inout(reg) f, g = inout(reg) g, h = inout(reg) h,
            i = inout(reg) i, j = inout(reg) j,
            factor = in(reg) FACTOR,
            left = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
    [a, b, c, d, e, f, g, h, i, j].into_iter().fold(0, u64::wrapping_add)
}

#[inline(never)]
fn run_chain(iterations: u64) -> u64 {
    let mut product = SEEDS[0];
    // SAFETY: changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            begin!(),
            ".rept 512", mul!("product"), ".endr",
            repeat!(),
            product = inout(reg) product,
            factor = in(reg) FACTOR,
            left = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
    product
}
