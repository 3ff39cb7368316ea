//! Distributes work over all CPUs of this machine; results do not depend on their number.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Returns the number of threads to use: one for each CPU.
#[must_use]
pub fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Returns what `work` returns for each number below `count`, in order.
///
/// # Panics
/// Panics if `work` does.
pub fn in_order<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    in_order_at_most(usize::MAX, count, work)
}

/// Does the same in `most` threads at most, for work that needs memory.
///
/// # Panics
/// Panics if `work` does.
pub fn in_order_at_most<T: Send>(
    most: usize,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let threads = threads().min(most).min(count);
    if threads <= 1 {
        return (0..count).map(work).collect();
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    let turn = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let result = work(number);
            done.lock().expect("no holder panics").push((number, result));
        }
    };
    thread::scope(|scope| {
        // Where the system allows no more threads, this one does the work.
        (1..threads)
            .take_while(|_| thread::Builder::new().spawn_scoped(scope, turn).is_ok())
            .count();
        turn();
    });
    let mut done = done.into_inner().expect("no holder panics");
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}
