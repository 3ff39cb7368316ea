//! Threads that work on memory of the other CPUs while a loop is measured.

use super::preemptor::{sleep_while, wake};
use crate::experiment::{Experiment, Pages};
use crate::kernel::{AnyBody, Body, Kernel, Memory};
use crate::scheduling::block_signals;
use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::cpus;
use std::hint::black_box;
use std::iter;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the end of a pass is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a co-runner may take to get its CPU and prepare its memory.
const LATEST: Duration = Duration::from_secs(60);

/// The states of the gate.
const OFF: u32 = 0;
const ON: u32 = 1;
const END: u32 = 2;

/// The co-runners of an experiment, one on each CPU that has one in any cell.
#[derive(Debug, Default)]
pub(crate) struct CoRunners(Vec<CoRunner>);

#[derive(Debug)]
struct CoRunner {
    cpu: u32,
    shared: Arc<Shared>,
    handle: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    gate: AtomicU32,
    /// Whether the thread sleeps at the closed gate.
    idle: AtomicBool,
    tid: AtomicI32,
}

impl CoRunners {
    /// Starts the threads, which sleep until the first round that needs them.
    ///
    /// # Errors
    /// Fails if there is no thread or no memory for one of them.
    pub(crate) fn spawn(experiment: &Experiment) -> Result<Self, Problem> {
        let mut all = CoRunners::default(); // if dropped after an error, ends the threads that exist
        for (cpu, kernel) in experiment.co_runners() {
            all.0.push(CoRunner::spawn(cpu, kernel, experiment.pages)?);
        }
        Ok(all)
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = i32> {
        self.0.iter().map(|runner| runner.shared.tid.load(Ordering::Acquire))
    }

    /// Starts those on these CPUs.
    pub(crate) fn start(&self, cpus: &[u32]) {
        self.0
            .iter()
            .filter(|runner| cpus.contains(&runner.cpu))
            .for_each(|runner| runner.shared.turn(ON));
    }

    /// Stops all; returns when they sleep again.
    pub(crate) fn stop(&self) {
        self.0.iter().for_each(|runner| runner.shared.turn(OFF));
        let until = Instant::now() + PATIENCE;
        let busy = |runner: &CoRunner| !runner.shared.idle.load(Ordering::Acquire);
        while self.0.iter().any(busy) && Instant::now() < until {
            thread::sleep(Duration::from_micros(100));
        }
    }
}

impl Drop for CoRunners {
    fn drop(&mut self) {
        self.0.iter().for_each(|runner| runner.shared.turn(END));
        for handle in self.0.iter_mut().filter_map(|runner| runner.handle.take()) {
            let _ = handle.join();
        }
    }
}

impl CoRunner {
    fn spawn(cpu: u32, kernel: Kernel, pages: Pages) -> Result<Self, Problem> {
        let shared = Arc::new(Shared::default());
        let (ready, prepared) = mpsc::channel();
        let of_thread = Arc::clone(&shared);
        let body = move || of_thread.serve(cpu, kernel, pages, &ready);
        let spawned = thread::Builder::new().name(format!("beside {cpu}")).spawn(body);
        let refused = |error| {
            let why = format!("no thread for the co-runner of CPU {cpu}: {error}");
            ProblemKind::Unavailable
                .problem(why, "raise the limit on processes (ulimit -u, pids.max)")
        };
        let mut runner = CoRunner { cpu, shared, handle: Some(spawned.map_err(refused)?) };
        match prepared.recv_timeout(LATEST) {
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // It would be waited for without end.
                runner.handle = None;
                let why = format!("the co-runner of CPU {cpu} did not get its CPU in {LATEST:?}");
                Err(ProblemKind::Unavailable.problem(
                    why,
                    "another thread holds the CPU, probably one with real-time policy",
                ))
            }
            done => done.unwrap_or(Ok(())).map(|()| runner),
        }
    }
}

impl Shared {
    fn turn(&self, to: u32) {
        if to == ON {
            self.idle.store(false, Ordering::Release);
        }
        self.gate.store(to, Ordering::Release);
        wake(&self.gate);
    }

    /// Prepares the thread, then passes over its memory while the gate is open.
    fn serve(
        &self,
        cpu: u32,
        kernel: Kernel,
        pages: Pages,
        ready: &mpsc::Sender<Result<(), Problem>>,
    ) {
        block_signals();
        self.tid.store(cpus::thread_id(), Ordering::Release);
        let memory =
            cpus::pin(&[cpu]).and_then(|()| Memory::for_largest(iter::once(kernel), pages));
        let mut memory = match memory {
            Ok(memory) => memory,
            Err(error) => return drop(ready.send(Err(error))),
        };
        let mut body = AnyBody::prepare(kernel, &mut memory);
        self.idle.store(true, Ordering::Release);
        let _ = ready.send(Ok(()));
        loop {
            match self.gate.load(Ordering::Acquire) {
                ON => drop(black_box(body.run(kernel.pass()))),
                END => return,
                _ => {
                    self.idle.store(true, Ordering::Release);
                    sleep_while(&self.gate, OFF, None);
                }
            }
        }
    }
}
