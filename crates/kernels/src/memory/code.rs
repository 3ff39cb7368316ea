//! Runs a large amount of code once through: a preemptor that displaces instructions instead of data.

use super::{Line, MemoryKernel, Params, Workspace};
use core::arch::asm;

pub(super) const KERNEL: MemoryKernel = MemoryKernel {
    id: "code",
    what: "runs through up to 512 KiB of code, one addition and one jump in each line: longer when its lines left the caches",
    instructions: 1,
    pass: |params| lines(params),
    prepare: |params, lines| Workspace { lines, params: *params },
    run,
    expected: |_, iterations| iterations,
};

/// Lines of code that there are.
const LINES: u64 = 8192;

/// Returns how many lines of code the working set has.
fn lines(params: &Params) -> u64 {
    (params.lines() as u64).clamp(1, LINES)
}

/// Returns the number of additions.
fn run(workspace: &mut Workspace<'_>, iterations: u64) -> u64 {
    let lines = lines(&workspace.params);
    let (mut left, mut sum) = (iterations, 0);
    while left > 0 {
        let part = left.min(lines);
        sum += last_lines(part);
        left -= part;
    }
    sum
}

/// Runs the last `count` lines of the code, at most [`LINES`].
#[inline(never)]
fn last_lines(count: u64) -> u64 {
    let mut sum = 0_u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: jumps to the beginning of one of the lines below, or behind the last; only registers change.
    unsafe {
        asm!(
            "lea {at}, [rip + 3f]",
            "sub {at}, {bytes}",
            "jmp {at}",
            ".p2align 6",
            ".rept 8192",
            "add {sum}, 1",
            "jmp 2f",
            ".p2align 6",
            "2:",
            ".endr",
            "3:",
            sum = inout(reg) sum,
            bytes = in(reg) count.min(LINES) * Line::BYTES,
            at = out(reg) _,
            options(nomem, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: jumps to the beginning of one of the lines below, or behind the last; only registers change.
    unsafe {
        asm!(
            "adr {at}, 3f",
            "sub {at}, {at}, {bytes}",
            "br {at}",
            ".p2align 6",
            ".rept 8192",
            "add {sum}, {sum}, #1",
            "b 2f",
            ".p2align 6",
            "2:",
            ".endr",
            "3:",
            sum = inout(reg) sum,
            bytes = in(reg) count.min(LINES) * Line::BYTES,
            at = out(reg) _,
            options(nomem, nostack),
        );
    }
    sum
}
