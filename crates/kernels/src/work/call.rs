//! The do-nothing loop that calls a function, which counts the calls (Tsafrir 2007).
//!
//! The function follows the loop, at its own 64-byte boundary.

use super::{Kernel, Line, do_nothing};
use core::arch::asm;

pub(super) const MEMORY: Kernel = do_nothing(
    "call",
    "function call, the loop counter and the callee's count of calls in memory: longer when the core is taken away or clocked down",
    run_memory,
    |iterations| iterations,
);

pub(super) const REGISTER: Kernel = do_nothing(
    "call-reg",
    "function call, the loop counter and the callee's count of calls in registers: longer when the core is taken away or clocked down",
    run_register,
    |iterations| iterations,
);

#[inline(never)]
fn run_memory(iterations: u64) -> u64 {
    let mut line = Line([0, iterations]);
    let variables: *mut u64 = line.0.as_mut_ptr(); // calls, iterations left
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes the declared registers and `line`; the stack is as it was.
    unsafe {
        asm!(
            begin!(),
            "call 3f",
            "sub qword ptr [{variables} + 8], 1",
            "jnz 2b",
            "jmp 4f",
            ".p2align 6",
            "3:",
            "mov {t}, [{variables}]",
            "add {t}, 1",
            "mov [{variables}], {t}",
            "ret",
            "4:",
            variables = in(reg) variables, t = out(reg) _,
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes the declared registers and `line`.
    unsafe {
        asm!(
            begin!(),
            "bl 3f",
            "ldr {t}, [{variables}, #8]",
            "subs {t}, {t}, #1",
            "str {t}, [{variables}, #8]",
            "b.ne 2b",
            "b 4f",
            ".p2align 6",
            "3:",
            "ldr {t}, [{variables}]",
            "add {t}, {t}, #1",
            "str {t}, [{variables}]",
            "ret",
            "4:",
            variables = in(reg) variables, t = out(reg) _, out("lr") _,
        );
    }
    line.0[0]
}

#[inline(never)]
fn run_register(iterations: u64) -> u64 {
    let mut calls = 0_u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes the declared registers; the stack is as it was.
    unsafe {
        asm!(
            begin!(),
            "call 3f",
            repeat!(),
            "jmp 4f",
            ".p2align 6",
            "3:",
            "add {calls}, 1",
            "ret",
            "4:",
            calls = inout(reg) calls, left = inout(reg) iterations => _,
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes the declared registers.
    unsafe {
        asm!(
            begin!(),
            "bl 3f",
            repeat!(),
            "b 4f",
            ".p2align 6",
            "3:",
            "add {calls}, {calls}, #1",
            "ret",
            "4:",
            calls = inout(reg) calls, left = inout(reg) iterations => _, out("lr") _,
        );
    }
    calls
}
