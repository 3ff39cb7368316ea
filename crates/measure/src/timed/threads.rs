//! Ranks that are threads of one process and meet by spinning.

use crate::ensemble::Meetings;
use anechoic_recording::parallel::Meeting;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// State shared by the ranks of a process: each adds itself and waits until the count covers all.
#[derive(Debug)]
pub(crate) struct Threads {
    ranks: u64,
    /// Number of arrivals, in all meetings so far.
    come: Padded,
    /// Sum over all ranks and meetings, the result of an allreduce.
    sum: Padded,
    /// Whether a rank left a meeting before all had come, after which the count identifies no meeting.
    left: AtomicBool,
}

/// A number in its own pair of cache lines, because CPUs prefetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

impl Threads {
    pub(crate) fn new(ranks: usize) -> Self {
        let (come, sum, left) = (Padded::default(), Padded::default(), AtomicBool::new(false));
        Threads { ranks: ranks as u64, come, sum, left }
    }
}

impl Meetings for Threads {
    fn meet(&self, meeting: Meeting, look: &mut dyn FnMut() -> bool) -> bool {
        if self.left.load(Ordering::Relaxed) {
            return false;
        }
        if meeting == Meeting::Allreduce {
            self.sum.0.fetch_add(1, Ordering::Relaxed);
        }
        let before = self.come.0.fetch_add(1, Ordering::AcqRel);
        // Nobody comes to the next meeting before this one is over, so the count identifies the meeting.
        let all = (before / self.ranks + 1) * self.ranks;
        while self.come.0.load(Ordering::Acquire) < all {
            if !look() || self.left.load(Ordering::Relaxed) {
                self.left.store(true, Ordering::Relaxed);
                return false;
            }
            spin_loop();
        }
        meeting != Meeting::Allreduce || self.sum.0.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn nobody_leaves_before_all_have_come() {
        const RANKS: usize = 3;
        const MEETINGS: u64 = 200;
        let threads = Threads::new(RANKS);
        let reached = [const { AtomicU64::new(0) }; RANKS];
        thread::scope(|scope| {
            for rank in 0..RANKS {
                let (threads, reached) = (&threads, &reached);
                scope.spawn(move || {
                    for meeting in 1..=MEETINGS {
                        reached[rank].store(meeting, Ordering::Release);
                        let mut look = || {
                            thread::yield_now();
                            true
                        };
                        assert!(threads.meet(Meeting::Allreduce, &mut look));
                        for other in reached {
                            assert!(other.load(Ordering::Acquire) >= meeting);
                        }
                    }
                });
            }
        });
    }

    /// The ranks of the next round would otherwise wait for each other for ever: the second that comes to a meeting is
    /// taken for the first of the one after.
    #[test]
    fn who_waits_in_vain_can_leave_and_nobody_waits_afterwards() {
        let threads = Threads::new(2);
        assert!(!threads.meet(Meeting::Barrier, &mut || false));
        thread::scope(|scope| {
            let rank = || while threads.meet(Meeting::Barrier, &mut || true) {};
            scope.spawn(rank);
            scope.spawn(rank);
        });
    }
}
