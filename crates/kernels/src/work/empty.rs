//! No work at all: what remains is the cost of the measuring frame.

use super::{Family, Kernel};
use core::arch::asm;

pub(super) const KERNEL: Kernel = Kernel {
    id: "empty",
    what: "nothing: what is measured is the tool itself",
    family: Family::Null,
    instructions: 0,
    run,
    expected: |iterations| iterations,
};

#[inline(never)]
fn run(mut iterations: u64) -> u64 {
    // SAFETY: no instruction at all; it only keeps the compiler from leaving the call out.
    unsafe { asm!("/* {} */", inout(reg) iterations, options(nomem, nostack, preserves_flags)) };
    iterations
}
