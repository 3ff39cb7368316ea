//! One measured CPU: a pinned thread that does nothing but watch the counter.

use super::buffers::{Lane, Sink};
use crate::{counters, cpus};
use anechoic_kernels::counter;
use anechoic_kernels::detour::Watch;
use anechoic_recording::{Counter, Loss};
use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Priority of the loops under `--fifo`: above every fair thread, below the kernel's own.
pub(super) const FIFO_PRIORITY: i32 = 1;
/// How long a loop that is done waits for the others.
const PATIENCE: Duration = Duration::from_secs(2);
/// Gaps of the warm-up, all of which are thrown away.
const WARM_UP: usize = 1_000;

/// What all loops share.
#[derive(Debug, Default)]
pub(super) struct Rendezvous {
    /// Loops that are ready to start, the failed ones included.
    pub(super) ready: AtomicUsize,
    /// Loops that could not be prepared.
    pub(super) failed: AtomicUsize,
    /// Thread of each loop, by CPU.
    pub(super) threads: Mutex<Vec<(u32, i32)>>,
    /// Counter value at which all start; 0 while it is not yet known.
    pub(super) start: AtomicU64,
    /// Counter value at which all end; an early end moves it.
    pub(super) end: AtomicU64,
    /// Loops that are done.
    pub(super) done: AtomicUsize,
}

impl Rendezvous {
    /// Thread of the loop on `cpu`; 0 before it is ready.
    pub(super) fn thread_of(&self, cpu: u32) -> i32 {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().find(|(of, _)| *of == cpu).map_or(0, |(_, tid)| *tid)
    }

    /// Lets all loops go at once, with an end that is already past.
    pub(super) fn call_off(&self) {
        self.end.store(0, Ordering::Release);
        self.start.store(1, Ordering::Release);
    }
}

/// How one loop is to run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Orders {
    pub(super) cpu: u32,
    /// Loops in all.
    pub(super) loops: usize,
    pub(super) threshold_ticks: u64,
    /// Longest time without a look at the common end, in ticks.
    pub(super) slice_ticks: u64,
    pub(super) fifo: bool,
}

/// What one loop saw.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) cpu: u32,
    pub(super) watch: Watch,
    pub(super) first_ticks: u64,
    pub(super) stored: u64,
    pub(super) losses: Vec<Loss>,
    pub(super) usage: Usage,
    /// CPU at the end; another than the asked one if that was taken offline.
    pub(super) last_cpu: u32,
    /// The counter was seen to jump back.
    pub(super) jumped_back: bool,
}

/// Why a loop did not start.
#[derive(Debug, thiserror::Error)]
pub enum VictimError {
    /// No thread could be had for it.
    #[error(
        "no thread for the loop of CPU {cpu}: {error}; raise the limit on processes (ulimit -u, pids.max) or measure fewer CPUs with --cpus"
    )]
    Spawn {
        /// The CPU.
        cpu: u32,
        /// The system's reason.
        error: io::Error,
    },
    /// It could not be pinned.
    #[error(transparent)]
    Pin(#[from] cpus::CpuError),
    /// It may not use the real-time policy.
    #[error(
        "CPU {cpu}: SCHED_FIFO is refused ({error}); run as root, with CAP_SYS_NICE, or raise RLIMIT_RTPRIO"
    )]
    Fifo {
        /// The CPU.
        cpu: u32,
        /// The kernel's reason.
        error: io::Error,
    },
}

/// Pins the calling thread, waits for the common start, watches until the common end, and keeps
/// its CPU busy until all loops are done, so that no CPU idles while others still measure.
pub(super) fn run(orders: Orders, meet: &Rendezvous, lane: &Lane<'_>) -> Result<Seen, VictimError> {
    let prepared = prepare(orders);
    let mut sink = Sink::new(lane);
    let mut warm = Watch::begin();
    for _ in 0..WARM_UP {
        std::hint::black_box(warm.next_gap(0, u64::MAX));
    }
    sink.warm_up();
    meet.failed.fetch_add(usize::from(prepared.is_err()), Ordering::AcqRel);
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    meet.threads.lock().unwrap_or_else(PoisonError::into_inner).push((orders.cpu, tid));
    meet.ready.fetch_add(1, Ordering::AcqRel); // also after a failure: nobody waits in vain
    prepared?;
    let delay = wait_for_start(orders, meet);
    let before = Usage::now();
    let (watch, first_ticks, jumped_back) = watch(orders, meet, &mut sink);
    let mut usage = Usage::now().since(before);
    let last_cpu = rustix::thread::sched_getcpu() as u32;
    usage.run_delay_ns = counters::own_run_delay_ns().zip(delay).map(|(now, then)| now - then);
    meet.done.fetch_add(1, Ordering::AcqRel);
    let patience = Instant::now() + PATIENCE;
    let stayed = last_cpu == orders.cpu; // else it would only disturb another CPU's loop
    while stayed && meet.done.load(Ordering::Acquire) < orders.loops && Instant::now() < patience {
        spin_loop();
    }
    let stored = sink.stored;
    let losses = sink.finish();
    Ok(Seen { cpu: orders.cpu, watch, first_ticks, stored, losses, usage, last_cpu, jumped_back })
}

/// Blocks every signal that can be blocked (the housekeeper takes them), pins the thread and
/// finds out whether it may use the policy that it was asked for.
fn prepare(orders: Orders) -> Result<(), VictimError> {
    // SAFETY: an initialised set for the calling thread.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
    cpus::pin(&[orders.cpu])?;
    if orders.fifo {
        let refused = |error| VictimError::Fifo { cpu: orders.cpu, error };
        set_policy(libc::SCHED_FIFO, FIFO_PRIORITY).map_err(refused)?;
        set_policy(libc::SCHED_OTHER, 0).map_err(refused)?;
    }
    Ok(())
}

/// Returns at the common start, with the time that this thread had waited in run queues shortly
/// before it.
fn wait_for_start(orders: Orders, meet: &Rendezvous) -> Option<u64> {
    let mut start = 0;
    while start == 0 {
        start = meet.start.load(Ordering::Acquire);
        spin_loop();
    }
    if orders.fifo {
        // Only now: a FIFO loop that waits would starve whoever sets the start.
        // That it is allowed was found out before; the policy ends with the thread.
        let _ = set_policy(libc::SCHED_FIFO, FIFO_PRIORITY);
    }
    let delay = counters::own_run_delay_ns();
    while counter::now() < start {
        spin_loop();
    }
    delay
}

/// Scheduling policy of the calling thread.
fn set_policy(policy: i32, sched_priority: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority };
    // SAFETY: a valid parameter for the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The measurement itself. Returns the loop's state, its first counter value, and whether the
/// counter jumped back.
#[inline(never)]
fn watch(orders: Orders, meet: &Rendezvous, sink: &mut Sink<'_, '_>) -> (Watch, u64, bool) {
    let mut watch = Watch::begin();
    let first = watch.last;
    let mut jumped_back = false;
    loop {
        let end = meet.end.load(Ordering::Relaxed);
        let until = end.min(watch.last + orders.slice_ticks);
        let gap = watch.next_gap(orders.threshold_ticks, until);
        if gap.end < gap.start {
            jumped_back = true;
            break; // nothing after it can be put in order
        } else if gap.end - gap.start > orders.threshold_ticks {
            sink.store(gap);
            if counter::current_cpu().is_some_and(|cpu| cpu != orders.cpu & 0xfff) {
                break; // taken offline and moved: from here on another CPU is measured
            }
        }
        if gap.end >= end {
            break;
        }
    }
    (watch, first, jumped_back)
}

/// What the kernel counted for one thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    minor_faults: u64,
    major_faults: u64,
    involuntary_switches: u64,
    run_delay_ns: Option<u64>,
}

impl Usage {
    /// Of the calling thread so far.
    fn now() -> Self {
        // SAFETY: a zeroed rusage is valid and is filled in.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            usage
        };
        let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
        Usage {
            minor_faults: count(usage.ru_minflt),
            major_faults: count(usage.ru_majflt),
            involuntary_switches: count(usage.ru_nivcsw),
            run_delay_ns: None,
        }
    }

    fn since(self, before: Usage) -> Self {
        Usage {
            minor_faults: self.minor_faults - before.minor_faults,
            major_faults: self.major_faults - before.major_faults,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
            run_delay_ns: None,
        }
    }

    pub(super) fn page_faults(self) -> u64 {
        self.minor_faults + self.major_faults
    }

    /// As rows: 0 at the loop's start and the count at its end.
    pub(super) fn counters(self, seen: &Seen) -> Vec<Counter> {
        let counts = [
            ("faults/minor", self.minor_faults),
            ("faults/major", self.major_faults),
            ("switches/involuntary", self.involuntary_switches),
        ];
        let delay = self.run_delay_ns.map(|delay_ns| ("victim/run_delay_ns", delay_ns));
        let row = |name: &str, ticks, value| Counter {
            name: name.to_owned(),
            cpu: seen.cpu,
            ticks,
            value,
        };
        let rows =
            |(name, count)| [row(name, seen.first_ticks, 0), row(name, seen.watch.last, count)];
        counts.into_iter().chain(delay).flat_map(rows).collect()
    }
}
