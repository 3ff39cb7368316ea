//! Multiplies a matrix by a vector, walking down the columns of a matrix that is stored row by row: each access is
//! one row further, so that in a large matrix each is to another page (Radojković 2009).
//!
//! There are two builds of the loop: one as an optimising compiler builds it, and one with every variable in memory, as a
//! compiler does without optimisation.

use super::{Line, MemoryKernel, Params, Workspace};
use core::arch::asm;

pub(super) const OPTIMISED: MemoryKernel = MemoryKernel {
    id: "matrix",
    what: "multiplies a matrix by a vector down its columns, one element an iteration, with its variables in registers: longer when pages left the TLB",
    instructions: 1,
    pass: |params| {
        let side = side(params);
        side * side
    },
    prepare,
    run: columns::<false>,
    expected,
};

pub(super) const UNOPTIMISED: MemoryKernel = MemoryKernel {
    id: "matrix-memory",
    what: "multiplies a matrix by a vector down its columns, one element an iteration, with every variable in memory: longer when pages left the TLB",
    run: columns::<true>,
    ..OPTIMISED
};

/// Words of a line.
const WORDS: u64 = Line::BYTES / 8;

/// Returns the number of rows and of columns: of the largest square matrix that fits, with its vector and the result. A row of a
/// larger matrix is an odd number of lines, so that the lines of a column are in all sets of a cache.
fn side(params: &Params) -> u64 {
    let words = params.lines() as u64 * WORDS;
    // n² + 2n words fit if (n + 1)² is at most one more.
    let most = (words + 1).isqrt() - 1;
    match most / WORDS {
        0 => most,
        lines => (lines - (1 - lines % 2)) * WORDS,
    }
}

/// The element in a row and column.
fn element(row: u64, column: u64) -> u64 {
    row + 1 + column
}

/// Fills the matrix, and the vector behind it with 1, 2, 3 and so on; the result is behind the vector.
fn prepare<'m>(params: &Params, lines: &'m mut [Line]) -> Workspace<'m> {
    let side = side(params) as usize;
    let used = &mut lines[..params.lines()];
    let words = used.iter_mut().flat_map(|line| &mut line.0);
    for (at, word) in words.enumerate() {
        let (row, column) = ((at / side) as u64, (at % side) as u64);
        *word = match at / side {
            within if within < side => element(row, column),
            vector if vector == side => column + 1,
            _ => 0,
        };
    }
    Workspace { lines, params: *params }
}

/// Multiplies column after column, stores each result, and returns the sum of all.
fn columns<const IN_MEMORY: bool>(workspace: &mut Workspace<'_>, iterations: u64) -> u64 {
    let side = side(&workspace.params);
    let matrix: *mut u64 = workspace.lines.as_mut_ptr().cast();
    // SAFETY: the workspace has `side` rows of `side` words, then the vector and the result.
    let (vector, result) = unsafe {
        let vector = matrix.add((side * side) as usize);
        (vector, vector.add(side as usize))
    };
    let (mut left, mut column, mut sum) = (iterations, 0, 0_u64);
    while left > 0 {
        let rows = left.min(side);
        // SAFETY: the column is one of the matrix, and has at least this many rows.
        unsafe {
            let first = matrix.add(column as usize);
            let value = match IN_MEMORY {
                true => dot_in_memory(first, side * 8, vector, rows),
                false => dot(first, side * 8, vector, rows),
            };
            result.add(column as usize).write_volatile(value);
            sum = sum.wrapping_add(value);
        }
        left -= rows;
        column = if column + 1 == side { 0 } else { column + 1 };
    }
    sum
}

/// Returns the sum over `columns` whole columns and `rows` elements of the next one: Σ (row + 1 + column)·(row + 1).
fn expected(params: &Params, iterations: u64) -> u64 {
    let side = side(params);
    let sum_to = |n: u128| n * (n + 1) / 2;
    let squares_to = |n: u128| n * (n + 1) * (2 * n + 1) / 6;
    let of_columns = |columns: u64| {
        let (n, c) = (u128::from(side), u128::from(columns));
        c * squares_to(n) + sum_to(n) * (c * c.saturating_sub(1) / 2)
    };
    let of_part = |column: u64, rows: u64| {
        let n = u128::from(rows);
        squares_to(n) + u128::from(column) * sum_to(n)
    };
    let (passes, rest) = (iterations / (side * side), iterations % (side * side));
    let (columns, rows) = (rest / side, rest % side);
    let of_pass = of_columns(side) as u64;
    let of_rest = of_columns(columns).wrapping_add(of_part(columns, rows)) as u64;
    passes.wrapping_mul(of_pass).wrapping_add(of_rest)
}

/// Multiplies with all variables in registers.
///
/// # Safety
/// `at` must be valid for reads of `count` words that are `row_bytes` apart, `vector` for `count` words, and `count` be at
/// least 1.
#[inline(never)]
unsafe fn dot(at: *const u64, row_bytes: u64, vector: *const u64, count: u64) -> u64 {
    let mut sum = 0_u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the words that the caller vouches for; only the declared registers change.
    unsafe {
        asm!(
            begin!(),
            "mov {t}, [{at}]",
            "imul {t}, [{vector}]",
            "add {sum}, {t}",
            "add {at}, {row_bytes}",
            "add {vector}, 8",
            repeat!(),
            t = out(reg) _,
            sum = inout(reg) sum,
            at = inout(reg) at => _,
            row_bytes = in(reg) row_bytes,
            vector = inout(reg) vector => _,
            left = inout(reg) count => _,
            options(readonly, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads the words that the caller vouches for; only the declared registers change.
    unsafe {
        asm!(
            begin!(),
            "ldr {t}, [{at}]",
            "ldr {u}, [{vector}], #8",
            "madd {sum}, {t}, {u}, {sum}",
            "add {at}, {at}, {row_bytes}",
            repeat!(),
            t = out(reg) _,
            u = out(reg) _,
            sum = inout(reg) sum,
            at = inout(reg) at => _,
            row_bytes = in(reg) row_bytes,
            vector = inout(reg) vector => _,
            left = inout(reg) count => _,
            options(readonly, nostack),
        );
    }
    sum
}

/// Multiplies with all variables in memory: each use loads them, each change stores them.
///
/// # Safety
/// As of [`dot`].
#[inline(never)]
unsafe fn dot_in_memory(at: *const u64, row_bytes: u64, vector: *const u64, count: u64) -> u64 {
    let mut variables = Line([
        at.expose_provenance() as u64,
        vector.expose_provenance() as u64,
        row_bytes,
        0, // the row
        count,
        0, // the sum
        0,
        0,
    ]);
    let frame: *mut u64 = variables.0.as_mut_ptr();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the words that the caller vouches for; only `variables` and the declared registers change.
    unsafe {
        asm!(
            begin!(),
            "mov {t}, [{frame} + 24]",
            "imul {t}, [{frame} + 16]",
            "add {t}, [{frame}]",
            "mov {t}, [{t}]",
            "mov {u}, [{frame} + 24]",
            "shl {u}, 3",
            "add {u}, [{frame} + 8]",
            "imul {t}, [{u}]",
            "add [{frame} + 40], {t}",
            "add qword ptr [{frame} + 24], 1",
            "mov {u}, [{frame} + 24]",
            "cmp {u}, [{frame} + 32]",
            "jne 2b",
            frame = in(reg) frame,
            t = out(reg) _,
            u = out(reg) _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads the words that the caller vouches for; only `variables` and the declared registers change.
    unsafe {
        asm!(
            begin!(),
            "ldr {t}, [{frame}, #24]",
            "ldr {u}, [{frame}, #16]",
            "mul {t}, {t}, {u}",
            "ldr {u}, [{frame}]",
            "ldr {t}, [{u}, {t}]",
            "ldr {u}, [{frame}, #24]",
            "ldr {v}, [{frame}, #8]",
            "ldr {u}, [{v}, {u}, lsl #3]",
            "mul {t}, {t}, {u}",
            "ldr {u}, [{frame}, #40]",
            "add {u}, {u}, {t}",
            "str {u}, [{frame}, #40]",
            "ldr {u}, [{frame}, #24]",
            "add {u}, {u}, #1",
            "str {u}, [{frame}, #24]",
            "ldr {v}, [{frame}, #32]",
            "cmp {u}, {v}",
            "b.ne 2b",
            frame = in(reg) frame,
            t = out(reg) _,
            u = out(reg) _,
            v = out(reg) _,
            options(nostack),
        );
    }
    variables.0[5]
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec;

    #[test]
    fn a_matrix_fits_and_its_rows_are_an_odd_number_of_lines() {
        for (bytes, expected) in [(64, 2), (4096, 8), (1 << 20, 360), (768 << 20, 10_024)] {
            let params = Params { bytes };
            let side = side(&params);
            assert_eq!(side, expected, "{bytes} bytes");
            assert!((side * side + 2 * side) * 8 <= bytes, "{bytes} bytes");
            assert!(side < WORDS || (side / WORDS) % 2 == 1, "{bytes} bytes");
        }
    }

    #[test]
    fn both_builds_return_the_product() {
        let params = Params { bytes: 4096 };
        for kernel in [&OPTIMISED, &UNOPTIMISED] {
            let mut memory = vec![Line::ZERO; params.lines()];
            let mut workspace = prepare(&params, &mut memory);
            let value = (kernel.run)(&mut workspace, 64);
            let words: vec::Vec<u64> =
                workspace.lines.iter().flat_map(|line| line.0).take(80).collect();
            let product =
                |column: u64| (0..8).map(|row| element(row, column) * (row + 1)).sum::<u64>();
            assert!((0..8).all(|column| words[72 + column as usize] == product(column)));
            assert_eq!(value, (0..8).map(product).sum::<u64>(), "{}", kernel.id);
        }
    }
}
