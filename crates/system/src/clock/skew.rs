//! The offset between the counters of two CPUs, measured by ping-pong through one cache line.

use crate::cpus;
use anechoic_kernels::counter;
use anechoic_recording::clock::Skew;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const ROUNDS: usize = 2_000;
/// Number of spins after which a partner that does not answer is given up (about a second).
const PATIENCE: u64 = 20_000_000;

/// A cache line through which two CPUs pass a turn number and a counter value.
#[repr(align(128))]
#[derive(Default)]
struct Line {
    turn: AtomicU64,
    value: AtomicU64,
}

impl Line {
    /// Waits for `turn`; returns false if it never comes.
    fn wait(&self, turn: u64) -> bool {
        for _ in 0..PATIENCE {
            if self.turn.load(Ordering::Acquire) == turn {
                return true;
            }
            spin_loop();
        }
        false
    }
}

/// Measures the offset of each CPU against the first of `cpus`; unreachable CPUs are left out.
pub(super) fn against_first(cpus: &[u32]) -> Vec<Skew> {
    let Some((&first, others)) = cpus.split_first() else { return Vec::new() };
    let own = Skew { cpu: first, offset_ticks: 0, bound_ticks: 0 };
    std::iter::once(own).chain(others.iter().filter_map(|&cpu| pair(first, cpu))).collect()
}

/// Uses the round trip with the narrowest bracket, within which the other CPU read its counter.
fn pair(first: u32, cpu: u32) -> Option<Skew> {
    let line = Line::default();
    let own = thread::Builder::new;
    thread::scope(|scope| {
        own().spawn_scoped(scope, || echo(&line, cpu)).ok()?;
        own().spawn_scoped(scope, || ask(&line, first)).ok()?.join().ok().flatten()
    })
    .map(|(round, offset_ticks)| Skew { cpu, offset_ticks, bound_ticks: round.div_ceil(2) })
}

/// Answers each odd turn with the counter's value.
fn echo(line: &Line, cpu: u32) {
    if cpus::pin(&[cpu]).is_err() {
        return;
    }
    for round in 0..ROUNDS as u64 {
        if !line.wait(2 * round + 1) {
            return;
        }
        line.value.store(counter::ordered(), Ordering::Relaxed);
        line.turn.store(2 * round + 2, Ordering::Release);
    }
}

/// Returns the shortest round trip and the offset measured in it, both in ticks.
fn ask(line: &Line, cpu: u32) -> Option<(u64, i64)> {
    cpus::pin(&[cpu]).ok()?;
    let mut best: Option<(u64, i64)> = None;
    for round in 0..ROUNDS as u64 {
        let before = counter::ordered();
        line.turn.store(2 * round + 1, Ordering::Release);
        if !line.wait(2 * round + 2) {
            break;
        }
        let after = counter::ordered();
        let there = line.value.load(Ordering::Relaxed);
        let offset = there.wrapping_sub(before.midpoint(after)) as i64;
        let seen = (after.saturating_sub(before), offset);
        best = Some(best.map_or(seen, |b| if seen.0 < b.0 { seen } else { b }));
    }
    best
}
