//! Turns: a test that measures runs while no other test loads the machine.
//!
//! The lock is on the machine's directory of CPUs, so that it holds for all test programs of all users, whatever their
//! directories for temporary files, needs no file of its own, and ends with the process that has it.

use crate::note;
use std::cell::Cell;
use std::fs::File;
use std::io::ErrorKind;
use std::time::Instant;

/// A directory that every machine has once and every user may read.
const CPUS: &str = "/sys/devices/system/cpu";

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// A turn, which ends when it is dropped.
pub struct Turn {
    alone: bool,
    since: Instant,
    _lock: File,
}

impl Turn {
    fn wait(alone: bool) -> Turn {
        let lock = File::open(CPUS).unwrap_or_else(|error| panic!("{CPUS}: {error}"));
        while let Err(error) = if alone { lock.lock() } else { lock.lock_shared() } {
            assert_eq!(error.kind(), ErrorKind::Interrupted, "{CPUS}: {error}");
        }
        Turn { alone, since: Instant::now(), _lock: lock }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.alone {
            ALONE.set(false);
            note::alone(self.since.elapsed().as_secs_f64());
        }
    }
}

/// Waits until no other test has a turn, and keeps all others waiting: for tests that measure.
///
/// # Panics
/// The directory of CPUs cannot be locked.
#[must_use]
pub fn alone() -> Turn {
    let turn = Turn::wait(true);
    ALONE.set(true);
    turn
}

/// Waits until no test is alone, and keeps those waiting that want to be: for tests that load the machine.
/// There is nothing to wait for, and no turn, where the test on this thread is the one that is alone.
///
/// # Panics
/// The directory of CPUs cannot be locked.
#[must_use]
pub fn among_others() -> Option<Turn> {
    (!ALONE.get()).then(|| Turn::wait(false))
}
