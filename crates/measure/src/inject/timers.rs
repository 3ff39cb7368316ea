//! Noise by self-rearming timers of BPF programs, at random times or at those of a recording.
//!
//! The kernel runs them after the timer interrupt, in its HRTIMER softirq, with interrupts enabled. Arming
//! the next timer is part of that; no thread runs on the disturbed CPU except the one that arms the first.
//! Everything ends with the map that the timers lie in, and so with this process. Who injects for an unknown time moves
//! the end ahead again and again, so that a process that is stopped stops injecting.
//!
//! Alternatives that were rejected: Perf events armed one by one by a thread on that CPU take 3.3 to 5.7 µs
//! of it per interrupt (batches of 128 to 8), because the kernel stops and restarts the timers of all events
//! of a CPU when it enables a group. Arming from another CPU, by a new period (`PERF_EVENT_IOC_PERIOD`) or by
//! enabling, costs an interrupt each time to notify the CPU. The event's own program has no function for it.
//! A `timerfd` expires on the CPU of the thread that sets it.

use super::sampled::{refused, when};
use super::timer_program::{
    self, ARM, CANCEL, COUNT, CUT_SHORT, DUE, END, ENDED, ENTRY_WORDS, FIRST, FUNCTIONS, NEXT,
    OVERRUNS, Order, RANDOM, RANDOM_BITS, STATE_WORDS, UNTIL,
};
use super::{Delivered, InjectError, Injection, Replay, Timing, monotonic_ns};
use crate::scheduling::block_signals;
use anechoic_recording::ProblemKind;
use anechoic_recording::injection::InjectionKind;
use anechoic_system::bpf::{self, Array, LoadError, ProgramKind, TIMER_WORDS, Types};
use anechoic_system::cpus;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

/// The name that `bpftool` shows.
const NAME: &str = "anechoic_timers";
/// Priority of the thread that arms the first timer: above loops under `--fifo`, like injecting threads.
const PRIORITY: i32 = 2;
/// Time from the start to the first event, in which all CPUs must become ready.
const AHEAD: Duration = Duration::from_millis(1);

/// The error on kernels without such timers.
const OLDER: &str = "random and replayed interrupts need BPF timers that stay on their CPU, which this kernel does not have: Linux 6.7 is the oldest";
const NEEDS: &str = "Linux 6.7 with CONFIG_BPF_SYSCALL and the BPF JIT enabled";

/// One program, and a timer for each CPU.
#[derive(Debug)]
pub(super) struct Timers {
    /// The states, by CPU number.
    states: Array<STATE_WORDS>,
    program: OwnedFd,
    cpus: Vec<CpuTimer>,
    /// The longest time that the noise lasts.
    time: Duration,
}

/// A CPU and its initial state; [`DUE`] counts from the start.
#[derive(Debug)]
struct CpuTimer {
    cpu: u32,
    first: [u64; STATE_WORDS],
}

impl Timers {
    pub(super) fn prepare(injection: &Injection) -> Result<Self, InjectError> {
        let words = (STATE_WORDS - TIMER_WORDS) as u32;
        let types =
            Types::load(words, &FUNCTIONS).map_err(when("load the types of a BPF program"))?;
        let possible = cpus::system("possible").last().map_or(1, |last| last + 1);
        let states = Array::with_types(NAME, possible, &types.map())
            .map_err(when("make a BPF map with timers"))?;
        let Plan { entries, order, cpus } = Plan::new(injection);
        let table = Array::<ENTRY_WORDS>::new(NAME, entries.len() as u32)
            .map_err(when("make a BPF map"))?;
        table.fill(&entries).map_err(when("fill a BPF map"))?;
        // The program keeps the table alive.
        let (code, starts) = timer_program::program(states.fd(), table.fd(), order);
        let typed = Some((&types, &starts[..]));
        let program =
            bpf::load(NAME, ProgramKind::SystemCall, &code, typed).map_err(unknown_or_refused)?;
        let timers = Timers { states, program, cpus, time: Duration::MAX };
        timers.probe()?;
        Ok(timers)
    }

    /// Checks that the kernel supports such timers, by arming one an hour ahead and cancelling it.
    fn probe(&self) -> Result<(), InjectError> {
        let Some(CpuTimer { cpu, first }) = self.cpus.first() else { return Ok(()) };
        let mut state = *first;
        state[DUE] = monotonic_ns() + 3_600_000_000_000;
        self.states.write(*cpu, state).map_err(when("fill a BPF map"))?;
        let set = self.set(*cpu);
        let _ = bpf::run(&self.program, [u64::from(*cpu), CANCEL]);
        set
    }

    /// Arms the first timer of a CPU, on the CPU of this thread.
    fn set(&self, cpu: u32) -> Result<(), InjectError> {
        let doing = "arm a timer in a BPF program";
        let error = match bpf::run(&self.program, [u64::from(cpu), ARM]).map_err(when(doing))? {
            0 => return Ok(()),
            error => io::Error::from_raw_os_error(error.saturating_neg()),
        };
        match error.raw_os_error() {
            // The kernel does not know the flags.
            Some(libc::EINVAL) => Err(too_old()),
            _ => Err(InjectError::cannot(doing, &error)),
        }
    }

    /// Makes the noise end by itself this long after the start and each renewal, whatever happens to this process.
    pub(super) fn end_after(&mut self, time: Duration) {
        self.time = time;
    }

    pub(super) fn start(&mut self) -> Result<(), InjectError> {
        let base = monotonic_ns() + AHEAD.as_nanos() as u64;
        let until = self.until(base);
        for CpuTimer { cpu, first } in &self.cpus {
            let mut state = *first;
            state[DUE] = base.wrapping_add(state[DUE]);
            state[UNTIL] = until;
            self.states.write(*cpu, state).map_err(when("fill a BPF map"))?;
        }
        let cpus: Vec<u32> = self.cpus.iter().map(|timer| timer.cpu).collect();
        self.arm_all(&cpus)
    }

    /// Returns the time until which events come that begin or go on at `now_ns`.
    fn until(&self, now_ns: u64) -> u64 {
        u64::try_from(self.time.as_nanos()).map_or(u64::MAX, |ns| now_ns.saturating_add(ns))
    }

    /// Lets the noise go on for the whole time from now. Where it had ended, because this process was stopped, it begins
    /// again; what was due meanwhile is left out and counted.
    pub(super) fn renew(&mut self) -> Result<(), InjectError> {
        let until = self.until(monotonic_ns());
        let mut ended = Vec::new();
        for CpuTimer { cpu, .. } in &self.cpus {
            bpf::run(&self.program, [u64::from(*cpu), until])
                .map_err(when("renew a timer in a BPF program"))?;
            // What ends from now on has seen the new time, or is found the next time.
            let state = self.states.read(*cpu).map_err(when("read a BPF map"))?;
            if state[ENDED] != 0 {
                ended.push(*cpu);
            }
        }
        self.arm_all(&ended)
    }

    /// Arms the timers of these CPUs, with a thread for each, all at once, because events are due soon.
    fn arm_all(&self, cpus: &[u32]) -> Result<(), InjectError> {
        thread::scope(|scope| {
            let arm = |&cpu: &u32| {
                let spawned = thread::Builder::new().spawn_scoped(scope, move || self.arm(cpu));
                spawned.map_err(|error| InjectError::Cpu(cpus::no_thread(cpu, &error)))
            };
            let threads = cpus.iter().map(arm).collect::<Result<Vec<_>, _>>()?;
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
        })
    }

    /// Arms the first timer of a CPU from a thread on it; the kernel keeps the timer there.
    fn arm(&self, cpu: u32) -> Result<(), InjectError> {
        block_signals();
        cpus::pin(&[cpu]).map_err(InjectError::Cpu)?;
        // Without permission for SCHED_FIFO, the thread waits for its turn.
        let _ = cpus::set_policy(libc::SCHED_FIFO, PRIORITY);
        self.set(cpu)
    }

    pub(super) fn stop(&mut self) -> Vec<Delivered> {
        for timer in &self.cpus {
            // Uses the program that armed it, so it cannot fail. It waits for a timer that is just running.
            let _ = bpf::run(&self.program, [u64::from(timer.cpu), CANCEL]);
        }
        self.cpus.iter().map(|timer| self.delivered(timer.cpu)).collect()
    }

    fn delivered(&self, cpu: u32) -> Delivered {
        self.states.read(cpu).map_or_else(
            |_| Delivered::default(),
            |state| Delivered {
                count: Some(state[COUNT]),
                cut_short: state[CUT_SHORT],
                overruns: Some(state[OVERRUNS]),
            },
        )
    }
}

/// The input of the programs.
struct Plan {
    entries: Vec<[u64; ENTRY_WORDS]>,
    order: Order,
    cpus: Vec<CpuTimer>,
}

impl Plan {
    fn new(injection: &Injection) -> Plan {
        let bare = injection.kind == InjectionKind::Interrupt;
        let duration_ns = if bare { 0 } else { injection.duration.as_nanos() as u64 };
        match &injection.timing {
            Timing::Replay(replay) => Plan::replay(replay, bare, &injection.cpus),
            Timing::Poisson { period, seed } => {
                let gaps = exponential_gaps(*period);
                let entries = gaps.map(|gap_ns| [gap_ns, duration_ns]).collect();
                Plan { entries, order: Order::Random, cpus: seeded(&injection.cpus, *seed) }
            }
            Timing::Periodic { period } | Timing::Phased { period, .. } => {
                let entries = vec![[period.as_nanos() as u64, duration_ns]];
                Plan::by_turns(entries, &[[0, 1, 0]], &injection.cpus)
            }
        }
    }

    fn replay(replay: &Replay, bare: bool, cpus: &[u32]) -> Plan {
        let (mut entries, mut parts) = (Vec::new(), Vec::new());
        for round in replay.rounds() {
            let start = entries.len() as u64;
            entries.extend(round.gaps().map(|(gap_ns, ns)| [gap_ns, if bare { 0 } else { ns }]));
            parts.push([start, entries.len() as u64, round.after_last_ns()]);
        }
        Plan::by_turns(entries, &parts, cpus)
    }

    /// Assigns each CPU a part of the table: its first entry, its end, and how long before the start the
    /// first gap begins.
    fn by_turns(entries: Vec<[u64; ENTRY_WORDS]>, parts: &[[u64; 3]], cpus: &[u32]) -> Plan {
        let timers =
            cpus.iter().zip(parts.iter().cycle()).map(|(&cpu, &[start, end, before_ns])| {
                let mut first = [0; STATE_WORDS];
                (first[FIRST], first[NEXT], first[END]) = (start, start, end);
                first[DUE] = before_ns.wrapping_neg();
                CpuTimer { cpu, first }
            });
        Plan { entries, order: Order::ByTurns, cpus: timers.collect() }
    }
}

/// Creates a random generator for each CPU.
fn seeded(cpus: &[u32], seed: u64) -> Vec<CpuTimer> {
    let timers = cpus.iter().enumerate().map(|(place, &cpu)| {
        let mut first = [0; STATE_WORDS];
        first[RANDOM] = Pcg64Mcg::seed_from_u64(seed.wrapping_add(place as u64)).random();
        CpuTimer { cpu, first }
    });
    timers.collect()
}

/// Returns equally likely gaps with that mean: an exponential distribution cut into parts of equal
/// probability, each represented by its mean.
fn exponential_gaps(mean: Duration) -> impl Iterator<Item = u64> {
    let (parts, mean_ns) = (f64::from(1 << RANDOM_BITS), mean.as_nanos() as f64);
    // The integral of the quantiles −ln(1 − u) is u + (1 − u) ln(1 − u).
    let integral = |left: f64| if left > 0.0 { (1.0 - left) + left * left.ln() } else { 1.0 };
    (0..1_u32 << RANDOM_BITS).scan(0.0, move |rest, part| {
        let left = |part: f64| 1.0 - part / parts;
        let (from, to) = (left(f64::from(part)), left(f64::from(part) + 1.0));
        let exact_ns = mean_ns * parts * (integral(to) - integral(from)) + *rest;
        let gap_ns = exact_ns.round();
        *rest = exact_ns - gap_ns; // makes their mean exact
        Some(gap_ns.max(0.0) as u64)
    })
}

/// Older kernels report which function called by the program they lack.
fn unknown_or_refused(error: LoadError) -> InjectError {
    let unknown = ["unknown func", "invalid func"].iter().any(|says| error.verdict.contains(says));
    if unknown { too_old() } else { refused(&error, NEEDS) }
}

fn too_old() -> InjectError {
    InjectError::NotOffered(ProblemKind::Usage.problem(OLDER, "use --kind thread"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaps_are_exponential_and_of_the_mean_asked_for() {
        for mean_us in [10, 1_000, 60_000_000] {
            let mean = Duration::from_micros(mean_us);
            let gaps: Vec<u64> = exponential_gaps(mean).collect();
            let (n, mean_ns) = (gaps.len() as f64, mean.as_nanos() as f64);
            assert_eq!(gaps.len(), 1 << RANDOM_BITS);
            let found = gaps.iter().sum::<u64>() as f64 / n;
            assert!((found - mean_ns).abs() < 0.01, "{found} of {mean_ns}");
            // Each part has its own mean, so the share of shorter ones is right to within one.
            for share in [0.001, 0.1, 0.5, 0.9, 0.999] {
                let quantile = -mean_ns * f64::ln_1p(-share);
                let shorter = gaps.iter().filter(|&&gap| (gap as f64) < quantile).count() as f64;
                assert!((shorter / n - share).abs() < 2e-4, "{share}: {}", shorter / n);
            }
        }
    }

    #[test]
    fn a_seed_gives_each_cpu_its_own_generator() {
        let randoms = |seed| -> Vec<u64> {
            seeded(&[3, 5], seed).iter().map(|timer| timer.first[RANDOM]).collect()
        };
        assert_eq!(randoms(1), randoms(1));
        assert!(randoms(1)[0] != randoms(1)[1] && randoms(1) != randoms(9));
    }
}
