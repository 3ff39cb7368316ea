//! The empty do-nothing loop, which only counts up (Tsafrir 2007).

use super::{Kernel, Line, do_nothing};
use core::arch::asm;

pub(super) const MEMORY: Kernel = do_nothing(
    "counter",
    "empty loop over a counter in memory: longer when the core is taken away or clocked down",
    run_memory,
    |iterations| iterations,
);

pub(super) const REGISTER: Kernel = do_nothing(
    "counter-reg",
    "empty loop over a counter in a register: longer when the core is taken away or clocked down",
    run_register,
    |iterations| iterations,
);

#[inline(never)]
fn run_memory(iterations: u64) -> u64 {
    let mut line = Line([0]);
    let counter: *mut u64 = &raw mut line.0[0];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes the declared registers and `line`; no stack.
    unsafe {
        asm!(
            begin!(),
            "mov {t}, [{counter}]",
            "add {t}, 1",
            "mov [{counter}], {t}",
            "cmp {t}, {iterations}",
            "jne 2b",
            counter = in(reg) counter, iterations = in(reg) iterations, t = out(reg) _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes the declared registers and `line`; no stack.
    unsafe {
        asm!(
            begin!(),
            "ldr {t}, [{counter}]",
            "add {t}, {t}, #1",
            "str {t}, [{counter}]",
            "cmp {t}, {iterations}",
            "b.ne 2b",
            counter = in(reg) counter, iterations = in(reg) iterations, t = out(reg) _,
            options(nostack),
        );
    }
    line.0[0]
}

#[inline(never)]
fn run_register(iterations: u64) -> u64 {
    let mut counter = 0;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            begin!(),
            "add {counter}, 1",
            "cmp {counter}, {iterations}",
            "jne 2b",
            counter = inout(reg) counter, iterations = in(reg) iterations,
            options(nomem, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            begin!(),
            "add {counter}, {counter}, #1",
            "cmp {counter}, {iterations}",
            "b.ne 2b",
            counter = inout(reg) counter, iterations = in(reg) iterations,
            options(nomem, nostack),
        );
    }
    counter
}
