//! The number of system calls of a thread.

use super::open;
use crate::tracefs::Tracefs;
use anechoic_recording::run::NotAvailable;
use perf_event_open_sys::bindings::{PERF_TYPE_TRACEPOINT, perf_event_attr};
use rustix::io::read;
use std::os::fd::OwnedFd;

/// Counts the system calls of the calling thread.
#[derive(Debug)]
pub struct SystemCalls(OwnedFd);

fn missing(why: String, remedy: &str) -> NotAvailable {
    NotAvailable::new("system calls", why, remedy)
}

impl SystemCalls {
    /// Begins to count.
    ///
    /// # Errors
    /// Returns why system calls cannot be counted, and what would help.
    pub fn open() -> Result<Self, NotAvailable> {
        let tracefs = Tracefs::open().map_err(|error| missing(error.to_string(), "run as root"))?;
        let id = tracefs.root().join("events/raw_syscalls/sys_enter/id");
        let id = std::fs::read_to_string(id).ok().and_then(|id| id.trim().parse().ok());
        let id = id.ok_or_else(|| {
            let remedy = "use a kernel built with CONFIG_FTRACE_SYSCALLS";
            missing("this kernel has no event for them".to_owned(), remedy)
        })?;
        let mut attributes = perf_event_attr::default();
        attributes.type_ = PERF_TYPE_TRACEPOINT;
        attributes.config = id;
        open(&mut attributes, 0, -1).map(Self).map_err(|error| {
            missing(format!("the kernel refuses to count them ({error})"), "run as root")
        })
    }

    /// Returns the number of calls so far, with the one that reads it.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        let mut count = [0; 8];
        (read(&self.0, &mut count) == Ok(count.len())).then(|| u64::from_ne_bytes(count))
    }

    /// Returns the number of calls since this count, without those that read it.
    #[must_use]
    pub fn since(&self, count: u64) -> Option<u64> {
        Some(self.count()?.saturating_sub(count + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_the_thread_is_counted_and_no_other() {
        let calls = match SystemCalls::open() {
            Ok(calls) => calls,
            Err(missing) => return anechoic_lab::note::skipped(missing.why),
        };
        for expected in [0, 1, 5, 1_000] {
            let before = calls.count().expect("open");
            let other = std::thread::spawn(|| {
                (0..100).for_each(|_| {
                    let _ = rustix::process::getppid();
                });
            });
            let spawned = calls.since(before).expect("open");
            let before = calls.count().expect("open");
            (0..expected).for_each(|_| {
                let _ = rustix::process::getppid();
            });
            assert_eq!(calls.since(before), Some(expected));
            assert!(spawned > 0, "a thread is started by system calls");
            other.join().expect("it only counts");
        }
    }
}
