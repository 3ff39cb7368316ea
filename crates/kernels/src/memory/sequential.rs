//! Passes through memory line by line, with vectors of 16 bytes: what the caches and the memory can stream.
//!
//! Vectors of 16 bytes (SSE2, or pairs of registers on AArch64) are what every CPU of the architecture has, so that
//! figures of different machines compare.

use super::{Line, MemoryKernel, Params, Workspace};
use core::arch::asm;
use core::ptr;

pub(super) const READ: MemoryKernel = MemoryKernel {
    id: "read-sequential",
    what: "reads the working set line by line, 16 bytes at a time: longer when its lines left the caches or others use their bandwidth",
    instructions: 1,
    pass: |params| params.lines() as u64,
    prepare: numbered,
    run: read,
    expected,
};

pub(super) const WRITE: MemoryKernel = MemoryKernel {
    id: "write-sequential",
    what: "writes the working set line by line, 16 bytes at a time: longer when its lines left the caches or others use their bandwidth",
    instructions: 1,
    pass: |params| params.lines() as u64,
    prepare: numbered,
    run: write,
    // All lines that were looked at had the value that was to be written.
    expected: |_, iterations| iterations,
};

/// Fills every word of a line with the line's number, from 1.
fn numbered<'m>(params: &Params, lines: &'m mut [Line]) -> Workspace<'m> {
    for (number, line) in (1..).zip(&mut lines[..params.lines()]) {
        *line = Line([number; 8]);
    }
    Workspace { lines, params: *params }
}

/// Returns the sum of all words that are read.
fn read(workspace: &mut Workspace<'_>, iterations: u64) -> u64 {
    let (first, lines) = (workspace.lines.as_ptr(), workspace.params.lines() as u64);
    let (mut left, mut sum) = (iterations, 0_u64);
    while left > 0 {
        let part = left.min(lines);
        // SAFETY: the workspace has at least this many lines.
        sum = sum.wrapping_add(unsafe { read_lines(first, part) });
        left -= part;
    }
    sum
}

fn expected(params: &Params, iterations: u64) -> u64 {
    let lines = params.lines() as u64;
    let of_pass = |lines: u64| lines.wrapping_mul(lines + 1) / 2;
    let passes = (iterations / lines).wrapping_mul(of_pass(lines));
    passes.wrapping_add(of_pass(iterations % lines)).wrapping_mul(8)
}

/// Returns the sum of the words of `count` lines.
///
/// # Safety
/// `first` must be valid for reads of `count` lines, and `count` at least 1.
#[inline(never)]
unsafe fn read_lines(first: *const Line, count: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{
            __m128i, _mm_add_epi64, _mm_cvtsi128_si64, _mm_setzero_si128, _mm_unpackhi_epi64,
        };
        // SAFETY: SSE2 is part of every x86-64, and lines are aligned.
        let mut sums: [__m128i; 4] = unsafe { [_mm_setzero_si128(); 4] };
        let [a, b, c, d] = &mut sums;
        // SAFETY: reads the lines that the caller vouches for; only the declared registers change.
        unsafe {
            asm!(
                begin!(),
                "paddq {a}, [{at}]",
                "paddq {b}, [{at} + 16]",
                "paddq {c}, [{at} + 32]",
                "paddq {d}, [{at} + 48]",
                "add {at}, 64",
                repeat!(),
                a = inout(xmm_reg) *a,
                b = inout(xmm_reg) *b,
                c = inout(xmm_reg) *c,
                d = inout(xmm_reg) *d,
                at = inout(reg) first => _,
                left = inout(reg) count => _,
                options(readonly, nostack),
            );
        }
        // SAFETY: as above.
        unsafe {
            let both = _mm_add_epi64(_mm_add_epi64(*a, *b), _mm_add_epi64(*c, *d));
            let sum = _mm_add_epi64(both, _mm_unpackhi_epi64(both, both));
            _mm_cvtsi128_si64(sum).cast_unsigned()
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let (mut a, mut b) = (0_u64, 0_u64);
        // SAFETY: reads the lines that the caller vouches for; only the declared registers change.
        unsafe {
            asm!(
                begin!(),
                ".rept 4",
                "ldp {x}, {y}, [{at}], #16",
                "add {a}, {a}, {x}",
                "add {b}, {b}, {y}",
                ".endr",
                repeat!(),
                a = inout(reg) a,
                b = inout(reg) b,
                x = out(reg) _,
                y = out(reg) _,
                at = inout(reg) first => _,
                left = inout(reg) count => _,
                options(readonly, nostack),
            );
        }
        a.wrapping_add(b)
    }
}

/// Writes a value that no line has, and returns `iterations` if the lines in the middle and at the end of what was
/// written have it.
fn write(workspace: &mut Workspace<'_>, iterations: u64) -> u64 {
    let (first, lines) = (workspace.lines.as_mut_ptr(), workspace.params.lines() as u64);
    // SAFETY: a workspace has at least one line, and asm below changes it, so the read must not be moved.
    let value = unsafe { ptr::addr_of!((*first).0[0]).read_volatile() }.wrapping_add(1);
    let mut left = iterations;
    while left > 0 {
        let part = left.min(lines);
        // SAFETY: the workspace has at least this many lines.
        unsafe { write_lines(first, part, value) };
        left -= part;
    }
    let written = iterations.min(lines);
    // SAFETY: both lines are among those written, at least one.
    let found = |line: u64| unsafe { first.add(line as usize).read_volatile() };
    let right = [written / 2, written - 1].into_iter().all(|line| found(line).0 == [value; 8]);
    if right { iterations } else { 0 }
}

/// Fills `count` lines with `value`.
///
/// # Safety
/// `first` must be valid for writes of `count` lines, and `count` at least 1.
#[inline(never)]
unsafe fn write_lines(first: *mut Line, count: u64, value: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: writes the lines that the caller vouches for; only the declared registers change.
    unsafe {
        let both = core::arch::x86_64::_mm_set1_epi64x(value.cast_signed());
        asm!(
            begin!(),
            "movdqa [{at}], {value}",
            "movdqa [{at} + 16], {value}",
            "movdqa [{at} + 32], {value}",
            "movdqa [{at} + 48], {value}",
            "add {at}, 64",
            repeat!(),
            value = in(xmm_reg) both,
            at = inout(reg) first => _,
            left = inout(reg) count => _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: writes the lines that the caller vouches for; only the declared registers change.
    unsafe {
        asm!(
            begin!(),
            ".rept 4",
            "stp {value}, {value}, [{at}], #16",
            ".endr",
            repeat!(),
            value = in(reg) value,
            at = inout(reg) first => _,
            left = inout(reg) count => _,
            options(nostack),
        );
    }
}
