//! The do-nothing loop that sums its counter (Tsafrir 2007): 1 + 2 + … + n.

use super::{Kernel, Line, do_nothing};
use core::arch::asm;

pub(super) const MEMORY: Kernel = do_nothing(
    "sum",
    "sum of the loop counter, both in memory: longer when the core is taken away or clocked down",
    run_memory,
    expected,
);

pub(super) const REGISTER: Kernel = do_nothing(
    "sum-reg",
    "sum of the loop counter, both in registers: longer when the core is taken away or clocked down",
    run_register,
    expected,
);

/// Returns n·(n + 1)/2 (Gauss), modulo 2^64.
fn expected(iterations: u64) -> u64 {
    let n = u128::from(iterations);
    (if n % 2 == 0 { n / 2 * (n + 1) } else { n.div_ceil(2) * n }) as u64
}

#[inline(never)]
fn run_memory(iterations: u64) -> u64 {
    let mut line = Line([0; 2]);
    let variables: *mut u64 = line.0.as_mut_ptr(); // counter, sum
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes the declared registers and `line`; no stack.
    unsafe {
        asm!(
            begin!(),
            "mov {t}, [{variables}]",
            "add {t}, 1",
            "mov [{variables}], {t}",
            "add [{variables} + 8], {t}",
            "cmp {t}, {iterations}",
            "jne 2b",
            variables = in(reg) variables, iterations = in(reg) iterations, t = out(reg) _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes the declared registers and `line`; no stack.
    unsafe {
        asm!(
            begin!(),
            "ldr {t}, [{variables}]",
            "add {t}, {t}, #1",
            "str {t}, [{variables}]",
            "ldr {sum}, [{variables}, #8]",
            "add {sum}, {sum}, {t}",
            "str {sum}, [{variables}, #8]",
            "cmp {t}, {iterations}",
            "b.ne 2b",
            variables = in(reg) variables, iterations = in(reg) iterations,
            t = out(reg) _, sum = out(reg) _,
            options(nostack),
        );
    }
    line.0[1]
}

#[inline(never)]
fn run_register(iterations: u64) -> u64 {
    let mut sum = 0;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            begin!(),
            "add {counter}, 1",
            "add {sum}, {counter}",
            "cmp {counter}, {iterations}",
            "jne 2b",
            counter = inout(reg) 0_u64 => _, sum = inout(reg) sum, iterations = in(reg) iterations,
            options(nomem, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            begin!(),
            "add {counter}, {counter}, #1",
            "add {sum}, {sum}, {counter}",
            "cmp {counter}, {iterations}",
            "b.ne 2b",
            counter = inout(reg) 0_u64 => _, sum = inout(reg) sum, iterations = in(reg) iterations,
            options(nomem, nostack),
        );
    }
    sum
}
