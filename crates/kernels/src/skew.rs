//! The offset between the counters of two CPUs, measured by ping-pong through one cache line.

use crate::counter;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicU64, Ordering};

/// Number of round trips.
const ROUNDS: u64 = 2_000;
/// Turn after the last one, also if there was none.
const OVER: u64 = u64::MAX;

/// A cache line through which two CPUs pass a turn number and a counter value.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Line {
    turn: AtomicU64,
    value: AtomicU64,
}

/// When to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Number of looks at the line after which a partner that does not answer is given up.
    pub looks: u64,
    /// Time after which no further round trip begins, in ticks. Under an emulator each may take milliseconds.
    pub ticks: u64,
}

/// The offset of the answering CPU's counter from the asking one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// Answering CPU's counter minus the asking one's, in ticks.
    pub ticks: i64,
    /// Half of the shortest round trip, in ticks: the error of the offset is at most this.
    pub bound_ticks: u64,
}

impl Line {
    /// Asks the CPU that [answers](Line::answer), and takes the offset from the round trip with the narrowest bracket,
    /// within which the other CPU read its counter. Returns `None` if it never answered.
    #[must_use]
    pub fn ask(&self, patience: Patience) -> Option<Offset> {
        let (mut best, begin) = (None, counter::now());
        for round in 0..ROUNDS {
            let before = counter::ordered();
            self.turn.store(2 * round + 1, Ordering::Release);
            if !self.wait(2 * round + 2, patience.looks) {
                break;
            }
            let after = counter::ordered();
            let there = self.value.load(Ordering::Relaxed);
            let bound_ticks = after.saturating_sub(before).div_ceil(2);
            if best.is_none_or(|best: Offset| bound_ticks < best.bound_ticks) {
                let ticks = there.wrapping_sub(before.midpoint(after)) as i64;
                best = Some(Offset { ticks, bound_ticks });
            }
            if after.saturating_sub(begin) > patience.ticks {
                break;
            }
        }
        self.end();
        best
    }

    /// Answers each question with the counter's value, until the last or until nobody asks any more.
    pub fn answer(&self, patience: Patience) {
        for round in 0..ROUNDS {
            if !self.wait(2 * round + 1, patience.looks) {
                return;
            }
            self.value.store(counter::ordered(), Ordering::Relaxed);
            self.turn.store(2 * round + 2, Ordering::Release);
        }
    }

    /// Tells the one that answers that nobody will ask any more.
    pub fn end(&self) {
        self.turn.store(OVER, Ordering::Release);
    }

    /// Waits for `turn`; returns false if it does not come.
    fn wait(&self, turn: u64, looks: u64) -> bool {
        for _ in 0..looks {
            match self.turn.load(Ordering::Acquire) {
                now if now == turn => return true,
                OVER => return false,
                _ => spin_loop(),
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    const PATIENCE: Patience = Patience { looks: 20_000_000, ticks: u64::MAX };

    #[test]
    fn two_threads_that_read_one_counter_have_no_offset() {
        let line = Line::default();
        let offset = std::thread::scope(|scope| {
            scope.spawn(|| line.answer(PATIENCE));
            line.ask(PATIENCE)
        });
        let offset = offset.expect("it answers");
        assert!(offset.ticks.unsigned_abs() <= offset.bound_ticks, "{offset:?}");
    }

    #[test]
    fn who_does_not_answer_is_given_up() {
        let line = Line::default();
        assert_eq!(line.ask(Patience { looks: 10, ticks: u64::MAX }), None);
        // It is over: nobody waits for a question.
        line.answer(Patience { looks: u64::MAX, ticks: u64::MAX });
    }
}
