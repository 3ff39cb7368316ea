//! The thread of one loop: it comes to each round that has a job for it, starts with the others,
//! and keeps its CPU busy until all of them are done.

use super::job::{Done, Job, Lanes, Seen, Sinks};
use super::place::Place;
use super::round::{Hub, Round};
use super::sorting::Array;
use anechoic_kernels::counter;
use anechoic_recording::{Counter, Loss};
use anechoic_system::{counters, cpus};
use std::hint::spin_loop;
use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Priority of the loops under `--fifo`: above every fair thread, below the kernel's own.
pub(super) const FIFO_PRIORITY: i32 = 1;
/// How long a loop that is done waits for others that should end at the same time.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a loop did not start.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// No thread could be had for it.
    #[error(
        "no thread for the loop of {loop_of}: {error}; raise the limit on processes (ulimit -u, pids.max) or measure fewer CPUs with --cpus"
    )]
    Spawn {
        /// The CPU, in words.
        loop_of: String,
        /// The system's reason.
        error: io::Error,
    },
    /// It could not be pinned.
    #[error(transparent)]
    Pin(#[from] cpus::CpuError),
    /// It may not use the real-time policy.
    #[error(
        "{loop_of}: SCHED_FIFO is refused ({error}); run as root, with CAP_SYS_NICE, or raise RLIMIT_RTPRIO"
    )]
    Fifo {
        /// The CPU, in words.
        loop_of: String,
        /// The kernel's reason.
        error: io::Error,
    },
}

/// One loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Worker<'r> {
    /// Its number among the lanes.
    pub(super) lane: usize,
    pub(super) place: Place,
    /// The CPUs that it may run on: one, or all where the scheduler chooses.
    pub(super) cpus: &'r [u32],
    pub(super) hub: &'r Hub,
    pub(super) rounds: &'r [Round],
}

/// What one loop saw in all its rounds.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) seen: Vec<Seen>,
    pub(super) losses: Vec<Loss>,
}

impl Worker<'_> {
    /// Takes part in every round that has a job for this loop.
    pub(super) fn run(self, lanes: &Lanes<'_>) -> Result<Report, WorkerError> {
        let prepared = self.prepare();
        let cpu = self.place.cpu().unwrap_or(0);
        let numbers = self.jobs().map(|(_, job)| job.numbers()).max();
        let mut sinks = Sinks {
            gaps: super::buffers::Sink::new(&lanes.gaps, cpu),
            samples: lanes.samples.as_ref().map(|lane| super::buffers::Sink::new(lane, cpu)),
            array: Array::of(numbers.unwrap_or(0)),
        };
        self.jobs().for_each(|(_, job)| job.warm_up());
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let mut seen = Vec::with_capacity(self.rounds.len());
        self.hub.prepared(self.lane, tid, prepared.is_err());
        prepared?;
        for (round, job) in self.jobs() {
            while !round.open.load(Ordering::Acquire) {
                thread::park(); // other CPUs' rounds are not disturbed
            }
            seen.extend(self.take_part(round, job, &mut sinks));
        }
        let mut losses = sinks.gaps.finish();
        losses.extend(sinks.samples.into_iter().flat_map(super::buffers::Sink::finish));
        Ok(Report { seen, losses })
    }

    fn jobs(&self) -> impl Iterator<Item = (&Round, &Job)> {
        self.rounds.iter().filter_map(|round| Some((round, round.job_of(self.lane)?)))
    }

    /// Blocks every signal that can be blocked (the housekeeper takes them), pins the thread and
    /// finds out whether it may use the policies that it was asked for.
    fn prepare(&self) -> Result<(), WorkerError> {
        block_signals();
        cpus::pin(self.cpus)?;
        if self.jobs().any(|(_, job)| job.fifo()) {
            let loop_of = self.place.name();
            set_policy(libc::SCHED_FIFO, FIFO_PRIORITY)
                .and_then(|()| set_policy(libc::SCHED_OTHER, 0))
                .map_err(|error| WorkerError::Fifo { loop_of, error })?;
        }
        Ok(())
    }

    /// One round; `None` where it was called off.
    fn take_part(&self, round: &Round, job: &Job, sinks: &mut Sinks<'_, '_>) -> Option<Seen> {
        let tag = job.series().unwrap_or(0);
        sinks.gaps.begin(tag);
        if let Some(samples) = &mut sinks.samples {
            samples.begin(tag);
        }
        round.ready.fetch_add(1, Ordering::AcqRel);
        let Before { ticks: read_ticks, usage: before, delay_ns: delay } =
            wait_for_start(round, job.fifo());
        if round.is_called_off() {
            return None;
        }
        let Done { first_ticks, last_ticks, watch, series, jumped_back } = job.run(round, sinks);
        let mut usage = Usage::now().since(before);
        let last_cpu = rustix::thread::sched_getcpu() as u32;
        usage.run_delay_ns = counters::own_run_delay_ns().zip(delay).map(|(now, then)| now - then);
        usage.read = Some((read_ticks, counter::now()));
        let gaps = (sinks.gaps.stored, sinks.gaps.lost);
        round.done.fetch_add(1, Ordering::AcqRel);
        // Elsewhere it would only disturb another CPU's loop.
        if self.place.cpu() == Some(last_cpu) && job.keeps_busy() {
            keep_busy(round, job);
        }
        if job.fifo() {
            let _ = set_policy(libc::SCHED_OTHER, 0); // what may be raised may be lowered
        }
        sinks.gaps.flush();
        if let Some(samples) = &mut sinks.samples {
            samples.flush();
        }
        let Worker { lane, place, .. } = *self;
        Some(Seen {
            lane,
            place,
            first_ticks,
            last_ticks,
            gaps,
            watch,
            series,
            usage,
            last_cpu,
            jumped_back,
        })
    }
}

/// Spins until all loops of the round are done. Samples end when they are done, not at one time,
/// so those are waited for as long as it takes.
fn keep_busy(round: &Round, job: &Job) {
    let patience = job.ends_on_time().then(|| Instant::now() + PATIENCE);
    while !round.all_over() && patience.is_none_or(|until| Instant::now() < until) {
        spin_loop();
    }
}

/// What the kernel had counted for a loop's thread shortly before the start.
struct Before {
    /// Before it was read.
    ticks: u64,
    usage: Usage,
    /// The time that it had waited in run queues.
    delay_ns: Option<u64>,
}

/// Returns at the common start.
fn wait_for_start(round: &Round, fifo: bool) -> Before {
    let mut start = 0;
    while start == 0 {
        start = round.start.load(Ordering::Acquire);
        spin_loop();
    }
    if fifo {
        // Only now: a FIFO loop that waits would starve whoever sets the start.
        // That it is allowed was found out before.
        let _ = set_policy(libc::SCHED_FIFO, FIFO_PRIORITY);
    }
    let _ = counters::own_run_delay_ns(); // touches what the reading will touch
    let count_from = round.count_from.load(Ordering::Acquire);
    while counter::now() < count_from {
        spin_loop();
    }
    let ticks = counter::now();
    let delay_ns = counters::own_run_delay_ns();
    let usage = Usage::now();
    while counter::now() < start {
        spin_loop();
    }
    Before { ticks, usage, delay_ns }
}

/// Blocks every signal that can be blocked in the calling thread.
pub(crate) fn block_signals() {
    // SAFETY: an initialised set for the calling thread.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}

/// Scheduling policy of the calling thread.
pub(crate) fn set_policy(policy: i32, sched_priority: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority };
    // SAFETY: a valid parameter for the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What the kernel counted for one thread.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    minor_faults: u64,
    major_faults: u64,
    involuntary_switches: u64,
    run_delay_ns: Option<u64>,
    /// Counter values before the first reading and after the last: all that was counted lies between.
    read: Option<(u64, u64)>,
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
            ..Usage::default()
        }
    }

    fn since(self, before: Usage) -> Self {
        Usage {
            minor_faults: self.minor_faults - before.minor_faults,
            major_faults: self.major_faults - before.major_faults,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
            ..Usage::default()
        }
    }

    /// Of several rounds together.
    pub(super) fn and(self, other: Usage) -> Self {
        let delays = [self.run_delay_ns, other.run_delay_ns];
        let reads = [self.read, other.read].into_iter().flatten();
        Usage {
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            run_delay_ns: delays.iter().any(Option::is_some).then(|| delays.iter().flatten().sum()),
            read: reads.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
        }
    }

    pub(super) fn page_faults(self) -> u64 {
        self.minor_faults + self.major_faults
    }

    /// As rows: 0 where the loop read the counts first, and what they gained where it did so last. None of
    /// a loop that did not run.
    pub(super) fn counters(self, cpu: u32) -> Vec<Counter> {
        let Some((first_ticks, last_ticks)) = self.read else { return Vec::new() };
        let counts = [
            ("faults/minor", self.minor_faults),
            ("faults/major", self.major_faults),
            ("switches/involuntary", self.involuntary_switches),
        ];
        let delay = self.run_delay_ns.map(|delay_ns| ("victim/run_delay_ns", delay_ns));
        let row = |name: &str, ticks, value| Counter { name: name.to_owned(), cpu, ticks, value };
        let rows = |(name, count)| [row(name, first_ticks, 0), row(name, last_ticks, count)];
        counts.into_iter().chain(delay).flat_map(rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that waited before the start too has not waited for longer than between the readings.
    #[test]
    fn counts_stand_at_the_times_of_their_readings() {
        let of = |read, run_delay_ns| Usage { read, run_delay_ns, ..Usage::default() };
        let both = of(Some((900, 2_100)), Some(600)).and(of(Some((2_900, 4_100)), Some(500)));
        let all = Usage::default().and(both).counters(3);
        let delay: Vec<_> = all.iter().filter(|row| row.name == "victim/run_delay_ns").collect();
        assert_eq!(delay.len(), 2);
        assert_eq!((delay[0].ticks, delay[0].value), (900, 0));
        assert_eq!((delay[1].ticks, delay[1].value), (4_100, 1_100));
        assert!(Usage::default().counters(3).is_empty(), "a loop that did not run");
    }
}
