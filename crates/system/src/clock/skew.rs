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
/// The turn after the last, also if there was none.
const OVER: u64 = u64::MAX;

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
            match self.turn.load(Ordering::Acquire) {
                now if now == turn => return true,
                OVER => return false,
                _ => spin_loop(),
            }
        }
        false
    }
}

/// Measures the offset of each CPU against the first of `cpus` that can be reached. Those that cannot are left out, also
/// where a real-time thread keeps a CPU from all others.
pub(super) fn against_first(cpus: &[u32]) -> Vec<Skew> {
    let reached = |&cpu: &u32| cpus.len() == 1 || cpus::run_on(cpu, || ()).is_ok();
    let Some(place) = cpus.iter().position(reached) else { return Vec::new() };
    let (first, others) = (cpus[place], &cpus[place + 1..]);
    let own = Skew { cpu: first, offset_ticks: 0, bound_ticks: 0 };
    std::iter::once(own).chain(others.iter().filter_map(|&cpu| pair(first, cpu))).collect()
}

/// Uses the round trip with the narrowest bracket, within which the other CPU read its counter.
fn pair(first: u32, cpu: u32) -> Option<Skew> {
    let line = Line::default();
    thread::scope(|scope| {
        let answer = || cpus::run_on(cpu, || echo(&line));
        thread::Builder::new().spawn_scoped(scope, answer).ok()?;
        let asked = cpus::run_on(first, || ask(&line));
        line.turn.store(OVER, Ordering::Release);
        asked.ok().flatten()
    })
    .map(|(round, offset_ticks)| Skew { cpu, offset_ticks, bound_ticks: round.div_ceil(2) })
}

/// Answers each odd turn with the counter's value.
fn echo(line: &Line) {
    for round in 0..ROUNDS as u64 {
        if !line.wait(2 * round + 1) {
            return;
        }
        line.value.store(counter::ordered(), Ordering::Relaxed);
        line.turn.store(2 * round + 2, Ordering::Release);
    }
}

/// Returns the shortest round trip and the offset measured in it, both in ticks.
fn ask(line: &Line) -> Option<(u64, i64)> {
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
