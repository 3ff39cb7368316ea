//! Follows one cycle of pointers that visits every line of the working set exactly once: each load waits for the one
//! before, and no prefetcher knows the next line.
//!
//! The cycle goes over the whole range, so that beyond the reach of the TLB each step misses it too, or stays within
//! 64 pages before it goes on to the next 64 (as multichase does), which leaves the TLB out.

use super::{Line, MemoryKernel, Params, Workspace};
use core::arch::asm;

pub(super) const READ: MemoryKernel = MemoryKernel {
    id: "read-random",
    what: "follows pointers through all lines of the working set in random order: longer when its lines left the caches or the TLB",
    instructions: 1,
    pass: |params| params.lines() as u64,
    prepare: |params, lines| cycle(params, lines, usize::MAX),
    run: read,
    expected: position,
};

pub(super) const WRITE: MemoryKernel = MemoryKernel {
    id: "write-random",
    what: "follows pointers through all lines of the working set in random order and writes each: longer when its lines left the caches or the TLB",
    run: write,
    ..READ
};

pub(super) const READ_LOCAL: MemoryKernel = MemoryKernel {
    id: "read-random-local",
    what: "follows pointers through the working set in random order within 64 pages at a time: longer when its lines left the caches",
    prepare: |params, lines| cycle(params, lines, LOCAL_LINES),
    ..READ
};

pub(super) const WRITE_LOCAL: MemoryKernel = MemoryKernel {
    id: "write-random-local",
    what: "follows pointers through the working set in random order within 64 pages at a time and writes each line: longer when its lines left the caches",
    prepare: |params, lines| cycle(params, lines, LOCAL_LINES),
    ..WRITE
};

pub(super) const READ_ON: MemoryKernel = MemoryKernel {
    id: "read-random-on",
    what: "follows pointers through the working set in random order, each time from where it ended: longer when its lines left the caches or the TLB",
    run: read_on,
    ..READ
};

/// Lines of 64 pages of 4 KiB.
const LOCAL_LINES: usize = 64 * 4096 / size_of::<Line>();
/// The initial state of the generator; any constant will do.
const SEED: u64 = 0x2545_f491_4f6c_dd1d;

/// The word of a line with the address of the next one.
const NEXT: usize = 0;
/// The word that is written.
const WRITTEN: usize = 1;
/// The word with the line's position in the cycle.
const POSITION: usize = 2;
/// The word of line k with the number of the line at position k.
const LINE_AT: usize = 3;
/// The word of the first line with the number of the line at which a walk ended that goes on from there.
const ENDED_AT: usize = 4;

/// Links all lines to one cycle that begins with the first, in random order among each `local` neighbouring lines.
fn cycle<'m>(params: &Params, lines: &'m mut [Line], local: usize) -> Workspace<'m> {
    let set = &mut lines[..params.lines()];
    for (number, line) in set.iter_mut().enumerate() {
        line.0[LINE_AT] = number as u64;
    }
    let mut state = SEED;
    for (number, part) in set.chunks_mut(local).enumerate() {
        // The cycle begins with the first line, so that each call begins there.
        shuffle(if number == 0 { &mut part[1..] } else { part }, &mut state);
    }
    let first = set.as_mut_ptr().expose_provenance() as u64;
    for position in 0..set.len() {
        let [at, next] = [position, (position + 1) % set.len()].map(|at| set[at].0[LINE_AT]);
        let line = &mut set[at as usize];
        line.0[NEXT] = first + next * Line::BYTES;
        line.0[WRITTEN] = 0;
        line.0[POSITION] = position as u64;
    }
    set[0].0[ENDED_AT] = 0;
    Workspace { lines, params: *params }
}

/// Shuffles the numbers in [`LINE_AT`] (Fisher and Yates).
fn shuffle(part: &mut [Line], state: &mut u64) {
    for last in (1..part.len()).rev() {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = ((*state >> 32) * (last as u64 + 1)) >> 32;
        let numbers = [last, other as usize].map(|at| part[at].0[LINE_AT]);
        part[last].0[LINE_AT] = numbers[1];
        part[other as usize].0[LINE_AT] = numbers[0];
    }
}

/// Returns the position in the cycle after `iterations` steps.
fn position(params: &Params, iterations: u64) -> u64 {
    iterations % params.lines() as u64
}

#[inline(never)]
fn read(workspace: &mut Workspace<'_>, iterations: u64) -> u64 {
    let at = follow(workspace.lines.as_mut_ptr(), iterations);
    // SAFETY: it is a line of the workspace, whose addresses were exposed.
    unsafe { (*at).0[POSITION] }
}

/// Returns by how many positions the walk went on.
#[inline(never)]
fn read_on(workspace: &mut Workspace<'_>, iterations: u64) -> u64 {
    let lines = (workspace.params.lines() as u64).max(1);
    let first = workspace.lines.as_mut_ptr();
    // SAFETY: a workspace has at least as many lines, and one; the walk ends at one of them.
    unsafe {
        let start = first.add((*first).0[ENDED_AT].min(lines - 1) as usize);
        let begins = (*start).0[POSITION];
        let end = follow(start, iterations);
        (*first).0[ENDED_AT] = (end.addr() - first.addr()) as u64 / Line::BYTES;
        ((*end).0[POSITION] + lines - begins) % lines
    }
}

/// Follows this many pointers.
#[inline(always)]
fn follow(mut at: *mut Line, iterations: u64) -> *mut Line {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every line's first word is the address of a line of the workspace.
    unsafe {
        asm!(
            begin!(),
            "mov {at}, [{at}]",
            repeat!(),
            at = inout(reg) at,
            left = inout(reg) iterations => _,
            options(readonly, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every line's first word is the address of a line of the workspace.
    unsafe {
        asm!(
            begin!(),
            "ldr {at}, [{at}]",
            repeat!(),
            at = inout(reg) at,
            left = inout(reg) iterations => _,
            options(readonly, nostack),
        );
    }
    at
}

/// Writes into each line how many were left to visit.
#[inline(never)]
fn write(workspace: &mut Workspace<'_>, iterations: u64) -> u64 {
    let mut at = workspace.lines.as_mut_ptr();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every line's first word is the address of a line of the workspace; another word is written.
    unsafe {
        asm!(
            begin!(),
            "mov {at}, [{at}]",
            "mov [{at} + 8], {left}",
            repeat!(),
            at = inout(reg) at,
            left = inout(reg) iterations => _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every line's first word is the address of a line of the workspace; another word is written.
    unsafe {
        asm!(
            begin!(),
            "ldr {at}, [{at}]",
            "str {left}, [{at}, #8]",
            repeat!(),
            at = inout(reg) at,
            left = inout(reg) iterations => _,
            options(nostack),
        );
    }
    // SAFETY: the loop ended at a line of the workspace, whose addresses were exposed.
    let last = unsafe { &mut *at };
    // The last visit wrote 1; it is removed, so that only a new visit can have written it.
    let written = core::mem::take(&mut last.0[WRITTEN]);
    if written == 1 { last.0[POSITION] } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec;

    #[test]
    fn one_cycle_visits_every_line_once_and_stays_in_its_pages_as_long_as_it_should() {
        for (lines, local) in
            [(1, usize::MAX), (5_000, usize::MAX), (3 * LOCAL_LINES + 7, LOCAL_LINES)]
        {
            let params = Params { bytes: lines as u64 * Line::BYTES };
            let mut memory = vec![Line::ZERO; lines + 1];
            let workspace = cycle(&params, &mut memory, local);
            let first = workspace.lines.as_ptr().addr() as u64;
            let mut visits = vec![0; lines];
            let (mut at, mut jumps) = (0, 0);
            for position in 0..lines {
                assert_eq!(workspace.lines[at].0[POSITION], position as u64);
                visits[at] += 1;
                let next = ((workspace.lines[at].0[NEXT] - first) / Line::BYTES) as usize;
                jumps += usize::from(next / LOCAL_LINES != at / LOCAL_LINES);
                at = next;
            }
            assert_eq!(at, 0, "the cycle closes");
            assert!(visits.iter().all(|&visits| visits == 1), "{lines} lines");
            let parts = lines.div_ceil(LOCAL_LINES);
            let expected = if local == LOCAL_LINES { parts..=parts } else { 0..=lines };
            assert!(expected.contains(&jumps), "{jumps} jumps in {lines} lines");
        }
    }

    #[test]
    fn a_walk_that_goes_on_visits_every_line_before_one_again() {
        let params = Params { bytes: 97 * Line::BYTES };
        let mut memory = vec![Line::ZERO; 100];
        let mut workspace = cycle(&params, &mut memory, usize::MAX);
        let mut at = vec![];
        for _ in 0..97 {
            assert_eq!(read_on(&mut workspace, 1_000), position(&params, 1_000));
            at.push(workspace.lines[0].0[ENDED_AT]);
        }
        // 1,000 steps are 30 more than ten times around, which has no factor in common with 97.
        at.sort_unstable();
        assert!(at.iter().copied().eq(0..97), "{at:?}");
    }

    #[test]
    fn a_write_that_did_not_happen_is_seen() {
        let params = Params { bytes: 64 * Line::BYTES };
        let mut memory = vec![Line::ZERO; 64];
        let mut workspace = cycle(&params, &mut memory, usize::MAX);
        read(&mut workspace, 64);
        assert!(workspace.lines.iter().all(|line| line.0[WRITTEN] == 0));
        assert_eq!(write(&mut workspace, 64), 0);
        assert_eq!(workspace.lines.iter().filter(|line| line.0[WRITTEN] > 0).count(), 63);
    }
}
