//! No work at all: what remains is the overhead of the measurement.

use super::{Family, Kernel};
use core::arch::asm;

pub(super) const KERNEL: Kernel = Kernel {
    id: "empty",
    what: "nothing: measures the tool itself",
    family: Family::Null,
    instructions: 0,
    run,
    expected: |iterations| iterations,
};

#[inline(never)]
fn run(mut iterations: u64) -> u64 {
    // SAFETY: no instruction at all; it only prevents the compiler from removing the call.
    unsafe { asm!("/* {} */", inout(reg) iterations, options(nomem, nostack, preserves_flags)) };
    iterations
}
