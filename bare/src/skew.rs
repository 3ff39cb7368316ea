//! The offset between the counters of two CPUs, measured by ping-pong through one cache line. The same method as the
//! command's, `crates/system/src/clock/skew.rs`.

use crate::clock::Clock;
use crate::crew::Crew;
use anechoic_kernels::counter;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicU64, Ordering};

/// Round trips, or fewer if they take longer than this: under an emulator each may take milliseconds.
const ROUNDS: u64 = 2_000;
const MOST_NS: u64 = 50_000_000;
/// The turn after the last.
const END: u64 = u64::MAX;

/// A cache line through which two CPUs pass a turn number and a counter value.
#[repr(align(128))]
#[derive(Default)]
struct Line {
    turn: AtomicU64,
    value: AtomicU64,
}

impl Line {
    /// Waits for this turn, or for the end; returns whether it was the turn.
    fn wait(&self, turn: u64) -> bool {
        loop {
            match self.turn.load(Ordering::Acquire) {
                found if found == turn => return true,
                END => return false,
                _ => spin_loop(),
            }
        }
    }
}

/// The offset of a CPU's counter from the first CPU's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skew {
    /// Its counter minus the first CPU's, in ticks.
    pub offset_ticks: i64,
    /// Half of the shortest round trip, in ticks: the error of the offset is at most this.
    pub bound_ticks: u64,
}

/// Measures the offset of a CPU's counter, from the round trip with the narrowest bracket.
#[must_use]
pub fn measure(crew: &Crew, clock: &Clock, cpu: usize) -> Skew {
    let most_ticks = clock.ticks(MOST_NS);
    let line = Line::default();
    // The first seat is that of CPU 0, which asks; the second CPU answers.
    let mut seats = [Some((u64::MAX, 0)), None];
    crew.each(&[0, cpu], &mut seats, |seat| match seat {
        Some(best) => *best = ask(&line, most_ticks),
        None => echo(&line),
    });
    let (round, offset_ticks) = seats[0].unwrap_or_default();
    Skew { offset_ticks, bound_ticks: round.div_ceil(2) }
}

/// Answers each odd turn with the counter's value.
fn echo(line: &Line) {
    for turn in (1..).step_by(2) {
        if !line.wait(turn) {
            break;
        }
        line.value.store(counter::ordered(), Ordering::Relaxed);
        line.turn.store(turn + 1, Ordering::Release);
    }
}

/// Returns the shortest round trip and the offset measured in it, both in ticks.
fn ask(line: &Line, most_ticks: u64) -> (u64, i64) {
    let (mut best, begin) = ((u64::MAX, 0), counter::now());
    for round in 0..ROUNDS {
        let before = counter::ordered();
        line.turn.store(2 * round + 1, Ordering::Release);
        line.wait(2 * round + 2);
        let after = counter::ordered();
        let there = line.value.load(Ordering::Relaxed);
        let offset = there.wrapping_sub(before.midpoint(after)) as i64;
        let seen = (after.saturating_sub(before), offset);
        best = if seen.0 < best.0 { seen } else { best };
        if after.saturating_sub(begin) > most_ticks {
            break;
        }
    }
    line.turn.store(END, Ordering::Release);
    best
}
