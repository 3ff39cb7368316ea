//! The do-nothing loop that calls a function (Tsafrir 2007), which counts the calls.

use super::{Family, Kernel, Line};
use core::arch::{asm, naked_asm};

pub(super) const MEMORY: Kernel = Kernel {
    id: "call",
    what: "function call, the loop counter and the callee's count of calls in memory: longer when the core is taken away or clocked down",
    family: Family::DoNothing,
    instructions: 1,
    run: run_memory,
    expected: |iterations| iterations,
};

pub(super) const REGISTER: Kernel = Kernel {
    id: "call-reg",
    what: "function call, the loop counter and the callee's count of calls in registers: longer when the core is taken away or clocked down",
    family: Family::DoNothing,
    instructions: 1,
    run: run_register,
    expected: |iterations| iterations,
};

/// Counts a call in memory: at the address in `rdi` (`x0`), through `rax` (`x1`).
#[unsafe(naked)]
extern "C" fn count_in_memory() {
    #[cfg(target_arch = "x86_64")]
    naked_asm!("mov rax, [rdi]", "add rax, 1", "mov [rdi], rax", "ret");
    #[cfg(target_arch = "aarch64")]
    naked_asm!("ldr x1, [x0]", "add x1, x1, #1", "str x1, [x0]", "ret");
}

/// Counts a call in `rax` (`x0`).
#[unsafe(naked)]
extern "C" fn count_in_register() {
    #[cfg(target_arch = "x86_64")]
    naked_asm!("add rax, 1", "ret");
    #[cfg(target_arch = "aarch64")]
    naked_asm!("add x0, x0, #1", "ret");
}

#[inline(never)]
fn run_memory(iterations: u64) -> u64 {
    let mut line = Line([0, iterations, 0, 0, 0, 0, 0, 0]);
    let variables: *mut u64 = line.0.as_mut_ptr(); // calls, iterations left
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes the declared registers and `line`; the callee changes no other register, and
    // the stack is as it was.
    unsafe {
        asm!(
            begin!(),
            "call {count}",
            "sub qword ptr [rdi + 8], 1",
            "jnz 2b",
            count = sym count_in_memory,
            in("rdi") variables,
            out("rax") _,
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes the declared registers and `line`; the callee changes no other register.
    unsafe {
        asm!(
            begin!(),
            "bl {count}",
            "ldr {t}, [x0, #8]",
            "subs {t}, {t}, #1",
            "str {t}, [x0, #8]",
            "b.ne 2b",
            count = sym count_in_memory,
            t = out(reg) _,
            in("x0") variables,
            out("x1") _,
            out("lr") _,
        );
    }
    line.0[0]
}

#[inline(never)]
fn run_register(iterations: u64) -> u64 {
    let mut calls = 0_u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes the declared registers, also by the callee; the stack is as it was.
    unsafe {
        asm!(
            begin!(),
            "call {count}",
            repeat!(),
            count = sym count_in_register,
            left = inout(reg) iterations => _,
            inout("rax") calls,
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: changes the declared registers, also by the callee.
    unsafe {
        asm!(
            begin!(),
            "bl {count}",
            repeat!(),
            count = sym count_in_register,
            left = inout(reg) iterations => _,
            inout("x0") calls,
            out("lr") _,
        );
    }
    calls
}
