//! The CPU time of processes, as the kernel counts it.
//!
//! Its scheduler adds up for each thread how long it was current, in ns. That includes interrupts on top of the thread, unless
//! the kernel counts these apart (`CONFIG_IRQ_TIME_ACCOUNTING`), and not what a hypervisor is known to have taken.

use crate::cgroups::Cgroup;
use crate::machine::Root;
use crate::stat;
use crate::who;
use anechoic_recording::run::CpuTime;
use std::mem::MaybeUninit;
use std::time::Duration;

/// The fields of `/proc/PID/stat` with the CPU time of the children that ended and were waited for, in user mode and in the
/// kernel.
const CHILDREN: [usize; 2] = [16, 17];

/// Returns the CPU time of all children of this process that have ended and were waited for, and of theirs.
#[must_use]
pub fn ended_children() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call writes to the structure, of which all bit patterns are valid.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    duration(usage.ru_utime) + duration(usage.ru_stime)
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_micros(time.tv_usec.unsigned_abs())
}

/// The CPU time of processes that run, and of their descendants.
#[derive(Debug)]
pub struct TreeTime {
    pids: Vec<i32>,
    start: Sum,
}

/// CPU time of processes that live, and of those that they waited for, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    living: u64,
    ended: u64,
    /// Number of the processes, each of which shows two times in steps.
    processes: u64,
}

impl TreeTime {
    /// Begins to count; `None` if one of the processes does not exist.
    #[must_use]
    pub fn begin(pids: &[i32]) -> Option<Self> {
        Some(Self { pids: pids.to_vec(), start: sum(pids)? })
    }

    /// Counts from the start of a process on, with its descendants.
    #[must_use]
    pub fn whole(pid: i32) -> Self {
        Self { pids: vec![pid], start: Sum::default() }
    }

    /// Returns the CPU time since the beginning, without what is stolen meanwhile. That of descendants which ended meanwhile is
    /// known only in steps of the kernel's clock. `None` if one of the processes themselves has ended.
    #[must_use]
    pub fn so_far(&self) -> Option<CpuTime> {
        let now = sum(&self.pids)?;
        let total = |sum: Sum| sum.living + sum.ended;
        let resolution_ns = 2 * step_ns() * now.processes.max(self.start.processes);
        let ns = total(now).saturating_sub(total(self.start));
        Some(CpuTime { ns, resolution_ns, steal_ns: 0 })
    }
}

fn sum(pids: &[i32]) -> Option<Sum> {
    let root = Root::live();
    pids.iter().map(|&pid| clock_ns(pid)).collect::<Option<Vec<_>>>()?;
    let mut sum = Sum::default();
    let own = own_pid();
    for process in who::processes(&root, pids).into_iter().filter(|&process| process != own) {
        sum.processes += 1;
        sum.living += clock_ns(process).unwrap_or(0);
        let stat = root.read(&format!("/proc/{process}/stat")).unwrap_or_default();
        let ended = CHILDREN.iter().filter_map(|&field| stat::field::<u64>(&stat, field));
        sum.ended += ended.sum::<u64>() * step_ns();
    }
    Some(sum)
}

/// The CPU time of a control group.
#[derive(Debug)]
pub struct GroupTime {
    cgroup: Cgroup,
    ns: u64,
    /// That of this process, if it is in the group; 0 otherwise.
    own_ns: u64,
    is_own: bool,
    running: usize,
}

impl GroupTime {
    /// Begins to count; `None` if the kernel does not count the CPU time of this group.
    #[must_use]
    pub fn begin(cgroup: &Cgroup) -> Option<Self> {
        let is_own = cgroup.has_this_process();
        let running = cgroup.running();
        Some(Self {
            ns: cgroup.cpu_time_ns()?,
            own_ns: if is_own { clock_ns(own_pid())? } else { 0 },
            is_own,
            running,
            cgroup: cgroup.clone(),
        })
    }

    /// Returns the CPU time since the beginning, also that of processes that have ended or left. A thread that runs is counted
    /// at ticks of its CPU. `None` if the group was removed.
    #[must_use]
    pub fn so_far(&self) -> Option<CpuTime> {
        let now = self.cgroup.cpu_time_ns()?;
        let own_ns = if self.is_own { clock_ns(own_pid())? } else { 0 };
        let ns = now.saturating_sub(self.ns).saturating_sub(own_ns - self.own_ns);
        let running = self.running.max(self.cgroup.running()) as u64;
        Some(CpuTime { ns, resolution_ns: step_ns() * running, steal_ns: 0 })
    }
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Returns a step of the clock in which `/proc` shows times, in ns.
fn step_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// Returns the CPU time of all threads that a process has or had, in ns.
fn clock_ns(pid: i32) -> Option<u64> {
    let (mut clock, mut time) = (0, MaybeUninit::<libc::timespec>::zeroed());
    // SAFETY: both calls only write to the variables that they are given.
    let time = unsafe {
        if libc::clock_getcpuclockid(pid, &raw mut clock) != 0
            || libc::clock_gettime(clock, time.as_mut_ptr()) != 0
        {
            return None;
        }
        time.assume_init()
    };
    Some(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    /// Uses CPU time itself and in a child, and prints both in ns.
    const SPIN: &str = "
import os, resource, sys, time
def spin():
    end = time.process_time() + 0.1
    while time.process_time() < end: pass
child = os.fork()
spin()
if child == 0: os._exit(0)
os.wait()
time = lambda who: sum(resource.getrusage(who)[:2])
print(round(1e9 * (time(resource.RUSAGE_SELF) + time(resource.RUSAGE_CHILDREN))), flush=True)
sys.stdin.read()
";

    #[test]
    fn a_process_counts_with_its_child_that_has_ended() {
        let mut python = Command::new("python3");
        let python = python.args(["-c", SPIN]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().expect("python3");
        let pid = child.id().cast_signed();
        let begun = TreeTime::begin(&[pid]).expect("it runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let own: u64 = line.trim().parse().expect("a time");
        let found = begun.so_far().expect("it runs");
        drop(child.stdin.take());
        let before = ended_children();
        child.wait().expect("it ends");
        // What it used before and after is small.
        let near = own.saturating_sub(found.resolution_ns + 30_000_000)..own + 30_000_000;
        assert!(near.contains(&found.ns) && found.resolution_ns > 0, "{found:?}, not {own} ns");
        let ended = (ended_children() - before).as_nanos() as u64;
        assert!(ended >= own, "{ended}, not {own} ns: other children may have ended meanwhile");
        assert!(begun.so_far().is_none(), "it has ended");
    }
}
