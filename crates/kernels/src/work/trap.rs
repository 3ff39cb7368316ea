//! The null system call: into the kernel and straight back (Tsafrir 2007, "trap").
//!
//! It is `getppid`, which no C library caches and the vDSO does not implement.

use super::{Family, Kernel};
use core::arch::asm;

pub(super) const KERNEL: Kernel = Kernel {
    id: "trap",
    what: "null system call (getppid), repeated: longer when the core is taken away or clocked down, or when entering the kernel costs more",
    family: Family::Trap,
    instructions: 1,
    run,
    expected: |iterations| iterations,
};

/// The number of `getppid` on Linux.
#[cfg(target_arch = "x86_64")]
const GETPPID: u64 = 110;
#[cfg(target_arch = "aarch64")]
const GETPPID: u64 = 173;

/// Returns the number of calls that the kernel answered without an error.
#[inline(never)]
fn run(iterations: u64) -> u64 {
    let mut errors = 0_u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `getppid` takes nothing and touches no memory of ours; the kernel changes RAX, RCX and
    // R11, which are declared, and keeps the stack.
    unsafe {
        asm!(
            begin!(),
            "mov eax, {getppid}",
            "syscall",
            "shr rax, 63", // an error is negative
            "add {errors}, rax",
            repeat!(),
            getppid = const GETPPID,
            errors = inout(reg) errors, left = inout(reg) iterations => _,
            out("rax") _, out("rcx") _, out("r11") _,
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `getppid` takes nothing and touches no memory of ours; the kernel changes X0 alone.
    unsafe {
        asm!(
            begin!(),
            "svc #0",
            "add {errors}, {errors}, x0, lsr #63", // an error is negative
            repeat!(),
            errors = inout(reg) errors, left = inout(reg) iterations => _,
            in("x8") GETPPID, out("x0") _,
        );
    }
    iterations - errors
}
