//! A thread that wakes the one of a loop by a system call, at each expiry.

use super::expiry::{Instant, next_expiry, sleep_until};
use crate::scheduling::block_signals;
use anechoic_kernels::counter;
use anechoic_recording::run::OwnThread;
use anechoic_recording::wakeup::WakingCall;
use anechoic_recording::{Policy, Problem, ProblemKind};
use anechoic_system::cpus;
use anechoic_system::tracefs::Marker;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::futex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long the thread may take to get its CPU, and to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often the thread looks whether the other one sleeps, at the end.
const LOOK_NS: u64 = 100_000;
/// The expiry that ends a task.
const OVER: u64 = u64::MAX;
/// The request to end the thread.
const END: u32 = u32::MAX;

/// What the waking thread does in a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub(super) call: WakingCall,
    /// The real-time priority of the thread that it wakes, if it has one.
    pub(super) priority: Option<i32>,
    /// Time of the first expiry, on `CLOCK_MONOTONIC`.
    pub(super) first_ns: u64,
    pub(super) interval_ns: u64,
    pub(super) expiries: u64,
}

impl Task {
    /// Returns the waking thread's own priority: below that of the other, which so runs at once on the same CPU.
    fn own_priority(&self) -> Option<i32> {
        self.priority.map(|priority| (priority - 1).max(1))
    }
}

/// What both threads share. Each sleep ends by exactly one call.
#[derive(Debug)]
pub(crate) struct Calls {
    /// The CPU of the waking thread.
    cpu: u32,
    pipe: (OwnedFd, OwnedFd),
    eventfd: OwnedFd,
    /// Changes with each call of futex.
    word: AtomicU32,
    task: Mutex<Option<Task>>,
    /// Number of the task that is asked for; [`END`] to end.
    request: AtomicU32,
    /// Whether the task is to end before its last expiry.
    stop: AtomicBool,
    /// Number of sleeps that were begun in this task.
    sleeps: AtomicU64,
    called: Called,
}

/// The last call, on its own pair of cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Called {
    /// The counter just before it.
    ticks: AtomicU64,
    /// The number of its expiry; [`OVER`] at the end.
    expiry: AtomicU64,
}

impl Calls {
    /// Prepares what a thread on `cpu` needs to wake another one.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub(crate) fn new(cpu: u32) -> Result<Self, Problem> {
        Ok(Calls {
            cpu,
            pipe: pipe_with(PipeFlags::CLOEXEC).map_err(no_descriptors)?,
            eventfd: eventfd(0, EventfdFlags::CLOEXEC).map_err(no_descriptors)?,
            word: AtomicU32::new(0),
            task: Mutex::default(),
            request: AtomicU32::new(0),
            stop: AtomicBool::new(false),
            sleeps: AtomicU64::new(0),
            called: Called::default(),
        })
    }

    /// Has the waking thread begin a task, when the last one is over.
    pub(super) fn begin(&self, task: Task) {
        self.stop.store(false, Ordering::Relaxed);
        self.sleeps.store(0, Ordering::Relaxed);
        self.called.expiry.store(0, Ordering::Relaxed);
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        self.ask(self.request.load(Ordering::Relaxed).wrapping_add(1) % END);
    }

    fn ask(&self, request: u32) {
        self.request.store(request, Ordering::Release);
        let _ = futex::wake(&self.request, futex::Flags::PRIVATE, 1);
    }

    /// Sleeps until the next call.
    #[inline(always)]
    pub(super) fn sleep(&self, call: WakingCall) {
        let value = self.word.load(Ordering::Acquire);
        self.sleeps.fetch_add(1, Ordering::Release);
        // A debugger that stops and continues the thread ends a call early.
        match call {
            WakingCall::Futex => {
                while futex::wait(&self.word, futex::Flags::PRIVATE, value, None)
                    == Err(Errno::INTR)
                {}
            }
            WakingCall::Pipe => while read(&self.pipe.0, &mut [0_u8]) == Err(Errno::INTR) {},
            WakingCall::Eventfd => while read(&self.eventfd, &mut [0_u8; 8]) == Err(Errno::INTR) {},
        }
    }

    /// Returns the counter just before the call that ended the last sleep, and the number of its expiry; none if the task is over.
    #[inline(always)]
    pub(super) fn last(&self) -> Option<(u64, u64)> {
        let expiry = self.called.expiry.load(Ordering::Acquire);
        (expiry != OVER).then(|| (self.called.ticks.load(Ordering::Relaxed), expiry))
    }

    /// Ends the task early; returns when it is over.
    pub(super) fn end(&self, call: WakingCall) {
        self.stop.store(true, Ordering::Release);
        while self.last().is_some() {
            self.sleep(call);
        }
    }

    /// Makes the call for this expiry.
    #[inline(always)]
    fn wake(&self, call: WakingCall, expiry: u64) {
        self.called.expiry.store(expiry, Ordering::Release);
        self.called.ticks.store(counter::ordered(), Ordering::Release);
        match call {
            WakingCall::Futex => {
                self.word.fetch_add(1, Ordering::Release);
                let _ = futex::wake(&self.word, futex::Flags::PRIVATE, 1);
            }
            WakingCall::Pipe => drop(write(&self.pipe.1, &[0_u8])),
            WakingCall::Eventfd => drop(write(&self.eventfd, &1_u64.to_ne_bytes())),
        }
    }

    /// Wakes the other thread at each expiry at which it sleeps, and once more at the end.
    fn work(&self, task: &Task) {
        let sleeps = || self.sleeps.load(Ordering::Acquire);
        let (mut expiry, mut woken) = (0, 0);
        while expiry < task.expiries && !self.stop.load(Ordering::Acquire) {
            sleep_until(task.first_ns + expiry * task.interval_ns);
            if sleeps() > woken {
                woken += 1;
                self.wake(task.call, expiry);
            }
            let next = next_expiry(task.first_ns, task.interval_ns, Instant::now().ns);
            expiry = next.max(expiry + 1);
        }
        while sleeps() <= woken {
            sleep_until(Instant::now().ns + LOOK_NS);
        }
        self.wake(task.call, OVER);
    }

    /// Does one task after the other.
    fn serve(&self) {
        let mut served = 0;
        loop {
            let request = self.request.load(Ordering::Acquire);
            if request == END {
                return;
            }
            let task = *self.task.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(task) = task.filter(|_| request != served) else {
                let _ = futex::wait(&self.request, futex::Flags::PRIVATE, request, None);
                continue;
            };
            served = request;
            if let Some(priority) = task.own_priority() {
                let _ = cpus::set_policy(libc::SCHED_FIFO, priority); // the loop may have a higher one
            }
            self.work(&task);
            let _ = cpus::set_policy(libc::SCHED_OTHER, 0);
        }
    }
}

/// The waking thread of a loop.
#[derive(Debug)]
pub(crate) struct Waker {
    calls: Arc<Calls>,
    tid: i32,
    handle: Option<JoinHandle<()>>,
}

impl Waker {
    /// Starts the thread.
    ///
    /// # Errors
    /// There is no thread, or it does not get its CPU.
    pub(crate) fn spawn(calls: &Arc<Calls>, marker: &Marker) -> Result<Self, Problem> {
        let (calls, cpu, marker) = (Arc::clone(calls), calls.cpu, marker.clone());
        let (begun, ready) = mpsc::channel();
        let shared = Arc::clone(&calls);
        let named = thread::Builder::new().name(format!("waker {cpu}"));
        let spawned = named.spawn(move || live(&shared, &marker, &begun));
        let handle = Some(spawned.map_err(|error| no_thread(cpu, &error))?);
        let tid = ready.recv_timeout(PATIENCE).map_err(|_| too_late(cpu))??;
        Ok(Waker { calls, tid, handle })
    }

    /// Describes the thread, which may have this priority at most.
    pub(crate) fn thread(&self, priority: Option<i32>) -> OwnThread {
        let policy = priority.map(|priority| Policy::fifo((priority - 1).max(1)));
        OwnThread { policy, ..OwnThread::new(self.tid, OwnThread::WAKING) }
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        self.calls.ask(END);
        // On a CPU that another thread holds it would never end.
        let _ = cpus::pin_thread(self.tid, &cpus::elsewhere(self.calls.cpu, &cpus::online()));
        let _ = self.handle.take().map(JoinHandle::join);
    }
}

/// Lives as the waking thread, and first sends which one it is.
fn live(calls: &Calls, marker: &Marker, begun: &mpsc::Sender<Result<i32, Problem>>) {
    block_signals();
    marker.mark();
    let pinned = cpus::pin(&[calls.cpu]);
    let is_pinned = pinned.is_ok();
    let _ = begun.send(pinned.map(|()| cpus::thread_id()));
    if is_pinned {
        calls.serve();
    }
}

fn no_descriptors(error: Errno) -> Problem {
    let why = format!("no pipe and no eventfd to wake a thread: {error}");
    ProblemKind::Unavailable.problem(why, "raise the limit on open files (ulimit -n)")
}

fn no_thread(cpu: u32, error: &std::io::Error) -> Problem {
    let why = format!("no thread to wake another from CPU {cpu}: {error}");
    ProblemKind::Unavailable.problem(why, "raise the limit on processes (ulimit -u, pids.max)")
}

fn too_late(cpu: u32) -> Problem {
    let why = format!("the waking thread does not get CPU {cpu}");
    let remedy =
        "end the real-time thread that holds this CPU, or choose another one with --waker-cpus";
    ProblemKind::Unavailable.problem(why, remedy)
}
