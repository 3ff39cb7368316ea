//! The do-nothing loop that computes Fibonacci numbers (Tsafrir 2007). The three terms of c = a + b advance
//! by one in every iteration. Numbers are modulo 2^64.

use super::{Kernel, Line, do_nothing};
use core::arch::asm;

pub(super) const MEMORY: Kernel = do_nothing(
    "fibonacci",
    "next Fibonacci number, its three terms and the loop counter in memory: longer when the core is taken away or clocked down",
    run_memory,
    expected,
);

pub(super) const REGISTER: Kernel = do_nothing(
    "fibonacci-reg",
    "next Fibonacci number, its three terms and the loop counter in registers: longer when the core is taken away or clocked down",
    run_register,
    expected,
);

/// Computes F(n) by doubling, from the highest bit of n down: F(2·k) = F(k)·(2·F(k + 1) − F(k)) and F(2·k +
/// 1) = F(k)² + F(k + 1)².
fn expected(iterations: u64) -> u64 {
    let (mut a, mut b) = (0_u64, 1_u64); // F(k), F(k + 1)
    for bit in (0..u64::BITS - iterations.leading_zeros()).rev() {
        let even = a.wrapping_mul(b.wrapping_mul(2).wrapping_sub(a));
        let odd = a.wrapping_mul(a).wrapping_add(b.wrapping_mul(b));
        (a, b) =
            if iterations >> bit & 1 == 0 { (even, odd) } else { (odd, even.wrapping_add(odd)) };
    }
    a
}

#[inline(never)]
fn run_memory(iterations: u64) -> u64 {
    let mut line = Line([iterations, 0, 1, 0]);
    let variables: *mut u64 = line.0.as_mut_ptr(); // iterations left, a, b, c
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes the declared registers and `line`; no stack.
    unsafe {
        asm!(
            begin!(),
            "mov {t}, [{variables} + 8]",
            "mov {u}, [{variables} + 16]",
            "add {t}, {u}",
            "mov [{variables} + 24], {t}",
            "mov [{variables} + 8], {u}",
            "mov {t}, [{variables} + 24]",
            "mov [{variables} + 16], {t}",
            "sub qword ptr [{variables}], 1",
            "jnz 2b",
            variables = in(reg) variables, t = out(reg) _, u = out(reg) _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes the declared registers and `line`; no stack.
    unsafe {
        asm!(
            begin!(),
            "ldr {t}, [{variables}, #8]",
            "ldr {u}, [{variables}, #16]",
            "add {t}, {t}, {u}",
            "str {t}, [{variables}, #24]",
            "str {u}, [{variables}, #8]",
            "ldr {t}, [{variables}, #24]",
            "str {t}, [{variables}, #16]",
            "ldr {t}, [{variables}]",
            "subs {t}, {t}, #1",
            "str {t}, [{variables}]",
            "b.ne 2b",
            variables = in(reg) variables, t = out(reg) _, u = out(reg) _,
            options(nostack),
        );
    }
    line.0[1]
}

#[inline(never)]
fn run_register(iterations: u64) -> u64 {
    let mut a = 0;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            begin!(),
            "lea {c}, [{a} + {b}]",
            "mov {a}, {b}",
            "mov {b}, {c}",
            repeat!(),
            a = inout(reg) a, b = inout(reg) 1_u64 => _, c = out(reg) _,
            left = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            begin!(),
            "add {c}, {a}, {b}",
            "mov {a}, {b}",
            "mov {b}, {c}",
            repeat!(),
            a = inout(reg) a, b = inout(reg) 1_u64 => _, c = out(reg) _,
            left = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
    a
}
