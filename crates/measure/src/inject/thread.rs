//! Noise by threads: SCHED_FIFO, absolute timers, and a spin that reads the counter.

use super::lateness::Lateness;
use super::timing::Events;
use super::{Delivered, InjectError, Injection, last_multiple_ns, monotonic_ns, wall_ahead_ns};
use crate::scheduling::block_signals;
use anechoic_kernels::counter;
use anechoic_recording::Clock;
use anechoic_recording::injection::{Starts, WallClock};
use anechoic_system::clock::wall;
use anechoic_system::tracefs::Marker;
use anechoic_system::{cpus, rights};
use rustix::thread::{futex, sched_getcpu};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The priority is above that of loops under `--fifo`, so that those are disturbed too.
const PRIORITY: i32 = 2;

/// The states of the gate of the threads.
const OFF: u32 = 0;
const ON: u32 = 1;
const END: u32 = 2;

/// A thread for each CPU.
#[derive(Debug)]
pub(super) struct Threads {
    threads: Vec<CpuThread>,
    /// The period at whose multiples on the wall clock they start, if they do.
    coordinated: Option<Duration>,
    /// How far the wall clock was ahead of the monotonic one at the last start, in ns.
    wall_ahead_ns: i64,
    /// The largest change of that during a spell.
    moved_ns: i64,
}

#[derive(Debug)]
struct CpuThread {
    shared: Arc<Shared>,
    handle: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    gate: AtomicU32,
    /// Whether the thread sleeps at the closed gate.
    idle: AtomicU32,
    tid: AtomicI32,
    /// The start on `CLOCK_MONOTONIC`, in ns.
    start_ns: AtomicU64,
    count: AtomicU64,
    overruns: AtomicU64,
    cut_short: AtomicU64,
    late: Lateness,
}

impl Threads {
    pub(super) fn prepare(
        injection: &Injection,
        clock: &Clock,
        marker: &Marker,
    ) -> Result<Self, InjectError> {
        // If dropped after an error, it ends the threads that exist.
        let coordinated = injection.timing.coordinated();
        let mut threads =
            Threads { threads: Vec::new(), coordinated, wall_ahead_ns: 0, moved_ns: 0 };
        for (place, &cpu) in injection.cpus.iter().enumerate() {
            let events = injection.timing.on(place, injection.duration);
            threads.threads.push(CpuThread::spawn(cpu, events, clock.clone(), marker.clone())?);
        }
        Ok(threads)
    }

    pub(super) fn tids(&self) -> Vec<i32> {
        self.threads.iter().map(|thread| thread.shared.tid.load(Ordering::Acquire)).collect()
    }

    pub(super) fn start(&mut self) {
        let now = self.coordinated.map_or_else(monotonic_ns, last_multiple_ns);
        self.wall_ahead_ns = wall_ahead_ns();
        for CpuThread { shared, .. } in &self.threads {
            shared.count.store(0, Ordering::Release);
            shared.overruns.store(0, Ordering::Release);
            shared.cut_short.store(0, Ordering::Release);
            shared.start_ns.store(now, Ordering::Release);
            shared.turn(ON);
        }
    }

    /// Stops the noise; returns when all threads are asleep again.
    pub(super) fn stop(&mut self) -> Vec<Delivered> {
        self.threads.iter().for_each(|thread| thread.shared.turn(OFF));
        let moved_ns = wall_ahead_ns() - self.wall_ahead_ns;
        if moved_ns.unsigned_abs() > self.moved_ns.unsigned_abs() {
            self.moved_ns = moved_ns;
        }
        let delivered = self.threads.iter().map(|CpuThread { shared, .. }| {
            while shared.idle.load(Ordering::Acquire) == 0 {
                thread::sleep(Duration::from_micros(100));
            }
            Delivered {
                count: Some(shared.count.load(Ordering::Acquire)),
                cut_short: shared.cut_short.load(Ordering::Acquire),
                overruns: Some(shared.overruns.load(Ordering::Acquire)),
            }
        });
        delivered.collect()
    }

    /// Returns how late all threads started in all spells; absent if none did.
    pub(super) fn starts(&self) -> Option<Starts> {
        let all = Lateness::default();
        self.threads.iter().for_each(|thread| all.merge(&thread.shared.late));
        let wall_clock = self.coordinated.map(|_| WallClock {
            within_ns: wall::error_bound().map(|bound| bound.as_nanos() as u64),
            moved_ns: self.moved_ns,
        });
        Some(Starts { wall_clock, ..all.starts()? })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.threads.iter().for_each(|thread| thread.shared.turn(END));
        for handle in self.threads.iter_mut().filter_map(|thread| thread.handle.take()) {
            let _ = handle.join();
        }
    }
}

impl CpuThread {
    fn spawn(cpu: u32, events: Events, clock: Clock, marker: Marker) -> Result<Self, InjectError> {
        let shared = Arc::new(Shared {
            gate: AtomicU32::new(OFF),
            idle: AtomicU32::new(1),
            tid: AtomicI32::new(0),
            start_ns: AtomicU64::new(0),
            count: AtomicU64::new(0),
            overruns: AtomicU64::new(0),
            cut_short: AtomicU64::new(0),
            late: Lateness::default(),
        });
        let of_thread = Arc::clone(&shared);
        let (ready, prepared) = mpsc::channel();
        let work = move || {
            let tid = cpus::thread_id();
            of_thread.tid.store(tid, Ordering::Release);
            marker.mark();
            let done = prepare(cpu);
            let failed = done.is_err();
            let _ = ready.send(done);
            if !failed {
                of_thread.serve(cpu, &events, &clock);
            }
        };
        let spawned = thread::Builder::new().name(format!("inject {cpu}")).spawn(work);
        let spawned = spawned
            .map_err(|error| InjectError::cannot("start a thread that injects noise", &error))?;
        prepared.recv().unwrap_or(Ok(()))?;
        Ok(CpuThread { shared, handle: Some(spawned) })
    }
}

/// Blocks signals, pins the calling thread and raises its priority.
fn prepare(cpu: u32) -> Result<(), InjectError> {
    block_signals();
    cpus::pin(&[cpu]).map_err(InjectError::Cpu)?;
    cpus::set_policy(libc::SCHED_FIFO, PRIORITY).map_err(|error| {
        let remedy = rights::fifo_remedy();
        InjectError::not_permitted("run a thread under SCHED_FIFO", &error, &remedy)
    })
}

impl Shared {
    fn turn(&self, to: u32) {
        if to == ON {
            self.idle.store(0, Ordering::Release);
        }
        self.gate.store(to, Ordering::Release);
        let _ = futex::wake(&self.gate, futex::Flags::PRIVATE, 1);
    }

    /// Runs the thread: sleeps at the closed gate, otherwise makes one event after the other.
    fn serve(&self, cpu: u32, events: &Events, clock: &Clock) {
        loop {
            match self.gate.load(Ordering::Acquire) {
                ON => {
                    self.idle.store(0, Ordering::Release); // may be left from a gate that was closed until now
                    self.make(cpu, events.clone(), clock);
                }
                END => return,
                _ => {
                    self.idle.store(1, Ordering::Release);
                    let _ = futex::wait(&self.gate, futex::Flags::PRIVATE, OFF, None);
                }
            }
        }
    }

    /// Makes noise until the gate closes. An event that would start before the last has ended is left out, and so is one
    /// whose CPU is offline: the kernel has moved the thread to another.
    fn make(&self, cpu: u32, events: Events, clock: &Clock) {
        let start_ns = self.start_ns.load(Ordering::Acquire);
        for event in events {
            let due_ns = start_ns.saturating_add(event.start_ns);
            if due_ns < monotonic_ns() {
                self.overruns.fetch_add(1, Ordering::AcqRel);
                if self.gate.load(Ordering::Acquire) != ON {
                    return;
                }
                continue;
            }
            while monotonic_ns() < due_ns {
                if self.gate.load(Ordering::Acquire) != ON {
                    return;
                }
                let until = timespec(due_ns);
                let _ = futex::wait_bitset(
                    &self.gate,
                    futex::Flags::PRIVATE,
                    ON,
                    Some(&until),
                    std::num::NonZeroU32::MAX,
                );
            }
            let late_ns = monotonic_ns().saturating_sub(due_ns);
            if !is_on(cpu) && cpus::pin(&[cpu]).is_err() {
                continue;
            }
            self.late.add(late_ns);
            let end = counter::now().saturating_add(clock.ticks(event.duration_ns));
            while counter::now() < end && self.gate.load(Ordering::Relaxed) == ON {
                spin_loop();
            }
            self.count.fetch_add(1, Ordering::AcqRel);
            if counter::now() < end || !is_on(cpu) {
                self.cut_short.fetch_add(1, Ordering::AcqRel);
            }
        }
    }
}

/// Returns whether the calling thread runs on this CPU.
fn is_on(cpu: u32) -> bool {
    sched_getcpu() as u32 == cpu
}

fn timespec(ns: u64) -> futex::Timespec {
    futex::Timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    }
}
