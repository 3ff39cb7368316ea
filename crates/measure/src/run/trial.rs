//! What recording an event costs here: two threads that wake each other on one CPU, without events and with them.

use anechoic_recording::run::EventCost;
use anechoic_recording::{EventKind, KernelEvent};
use anechoic_system::cpus;
use rustix::thread::futex;
use rustix::time::Timespec;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

/// Rounds of a block: in each, both threads wake the other one and wait for it.
const ROUNDS: u32 = 50;
/// Number of blocks, of which the shortest counts: what else goes on does not lengthen all of them.
const BLOCKS: u32 = 30;
/// Number of switches between the two threads.
pub(super) const SWITCHES: u64 = 2 * ROUNDS as u64 * BLOCKS as u64;
/// Longest time for which a thread waits for the other one.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// How long the rounds took, and who made them.
pub(super) struct Rounds {
    shortest_block_ns: u64,
    threads: [i32; 2],
}

/// Makes the rounds, some 10 ms long. Returns `None` where that is not possible, or was not within a second.
pub(super) fn make_rounds() -> Option<Rounds> {
    let cpu = *cpus::allowed().first()?;
    let turn = AtomicU32::new(0);
    thread::scope(|scope| {
        let turn = &turn;
        let started = [0, 1].map(|parity| {
            thread::Builder::new().spawn_scoped(scope, move || {
                cpus::pin(&[cpu]).ok()?;
                Some((blocks(turn, parity)?, cpus::thread_id()))
            })
        });
        let [first, second] = started.map(|started| started.ok()?.join().ok()?);
        let ((shortest_block_ns, first), (_, second)) = first.zip(second)?;
        Some(Rounds { shortest_block_ns, threads: [first, second] })
    })
}

/// Makes one thread's part of all blocks; returns the length of the shortest in ns.
fn blocks(turn: &AtomicU32, parity: u32) -> Option<u64> {
    let mut shortest = u64::MAX;
    for _ in 0..BLOCKS {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            loop {
                let now = turn.load(Ordering::Acquire);
                if now % 2 == parity {
                    break;
                }
                let waited = futex::wait(turn, futex::Flags::PRIVATE, now, Some(&PATIENCE));
                if waited == Err(rustix::io::Errno::TIMEDOUT) {
                    return None;
                }
            }
            turn.fetch_add(1, Ordering::Release);
            let _ = futex::wake(turn, futex::Flags::PRIVATE, 1);
        }
        shortest = shortest.min(start.elapsed().as_nanos() as u64);
    }
    Some(shortest)
}

impl Rounds {
    /// Returns the number of events that the rounds made, and removes those that show nothing of other threads.
    pub(super) fn take(&self, events: &mut Vec<KernelEvent>) -> u64 {
        let mut made = 0;
        events.retain(|event| {
            let is_own = |tid: i32| self.threads.contains(&tid);
            made += u64::from(is_own(event.pid));
            !is_own(event.pid) || event.kind == EventKind::Switch && !is_own(event.args[0] as i32)
        });
        made
    }

    /// Returns what `events` events cost that these rounds made, beside the same rounds `without` them; `None` if these were not
    /// longer, because something else disturbed the others.
    pub(super) fn cost(&self, without: &Rounds, events: u64) -> Option<EventCost> {
        let more_ns = self.shortest_block_ns.saturating_sub(without.shortest_block_ns);
        (events > 0 && more_ns > 0).then_some(EventCost { events, ns: more_ns * u64::from(BLOCKS) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_take_turns() {
        let rounds = make_rounds().expect("both threads run");
        let [first, second] = rounds.threads;
        assert_ne!(first, second);
        let least = u64::from(2 * ROUNDS) * 100; // no system call takes less than 100 ns
        assert!((least..1_000_000_000).contains(&rounds.shortest_block_ns));
        let event =
            |pid| KernelEvent { cpu: 0, ticks: 0, kind: EventKind::Switch, pid, args: [0; 3] };
        let switch = |pid, next: i32| KernelEvent { args: [next as u64, 0, 0], ..event(pid) };
        let other = [switch(-1, first), switch(second, -1), event(-2)];
        let mut events = vec![switch(first, second), switch(second, first)];
        events.extend(other);
        assert_eq!(rounds.take(&mut events), 3);
        assert_eq!(events, other);
        let longer = Rounds { shortest_block_ns: rounds.shortest_block_ns + 700, ..rounds };
        let cost = longer.cost(&rounds, 60).expect("there are events");
        assert_eq!((cost.events, cost.ns), (60, 700 * u64::from(BLOCKS)));
        assert_eq!(rounds.cost(&longer, 60), None);
        assert_eq!(longer.cost(&rounds, 0), None);
    }
}
