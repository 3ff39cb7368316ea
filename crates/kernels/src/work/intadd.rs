//! INTADD (Radojković 2008): 64-bit integer additions, register to register.
//!
//! The paper's code puts full pressure on the core. A chain of dependent instructions takes the same time on
//! every core, leaves a wide core idle and hides an SMT sibling. An addition takes one cycle on every core
//! that we know. No operand is a constant, because some cores fold constant additions into register renaming.

use super::{Kernel, TICK_INSTRUCTIONS, tick};
use core::arch::asm;

pub(super) const INDEPENDENT: Kernel = tick(
    "intadd",
    "512 independent additions, full pressure on the core: longer when it is taken away, shared with an SMT sibling, or clocked down",
    run_independent,
    |iterations| after(SEEDS.iter().sum(), iterations),
);

pub(super) const CHAIN: Kernel = tick(
    "intadd-chain",
    "512 additions, each waiting for the one before: longer when the core is taken away or clocked down; hides an SMT sibling",
    run_chain,
    |iterations| after(SEEDS[0], iterations),
);

/// Initial values of the chains. Eight chains keep six adders busy.
const SEEDS: [u64; 8] = [2, 3, 5, 7, 11, 13, 17, 19];

/// The value that is added.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns a sum that started at `seed` after this many iterations.
fn after(seed: u64, iterations: u64) -> u64 {
    let additions = iterations.wrapping_mul(u64::from(TICK_INSTRUCTIONS));
    seed.wrapping_add(additions.wrapping_mul(STEP))
}

#[cfg(target_arch = "x86_64")]
macro_rules! add {
    ($to:literal) => {
        concat!("add {", $to, "}, {step}")
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! add {
    ($to:literal) => {
        concat!("add {", $to, "}, {", $to, "}, {step}")
    };
}

#[inline(never)]
fn run_independent(iterations: u64) -> u64 {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = SEEDS;
    // SAFETY: changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            begin!(),
            ".rept 64",
            add!("a"), add!("b"), add!("c"), add!("d"), add!("e"), add!("f"), add!("g"), add!("h"),
            ".endr",
            repeat!(),
            a = inout(reg) a, b = inout(reg) b, c = inout(reg) c, d = inout(reg) d,
            e = inout(reg) e, f = inout(reg) f, g = inout(reg) g, h = inout(reg) h,
            step = in(reg) STEP,
            left = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
    [a, b, c, d, e, f, g, h].into_iter().fold(0, u64::wrapping_add)
}

#[inline(never)]
fn run_chain(iterations: u64) -> u64 {
    let mut sum = SEEDS[0];
    // SAFETY: changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            begin!(),
            ".rept 512", add!("sum"), ".endr",
            repeat!(),
            sum = inout(reg) sum,
            step = in(reg) STEP,
            left = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
    sum
}
