//! CPU lists, the CPUs that this process may use, and pinning.

pub use anechoic_recording::topology::list;

use crate::holder::{Holder, holders};
use anechoic_recording::machine::MOST_CPUS;
use anechoic_recording::{Problem, ProblemKind, options};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// Parses a list of CPUs, `0-3,8` or `0-15:2`. Empty text is an empty list.
///
/// # Errors
/// Refuses anything else, including a reversed range and a number over 65535.
pub fn parse(text: &str) -> Result<Vec<u32>, Problem> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    options::cpu_list(text).map_err(|_| {
        let why = format!("'{text}' is not a CPU list");
        ProblemKind::Usage.problem(why, "write one, for example 0-3,8")
    })
}

/// Parses what a user typed: lists of CPUs and names of sets of this machine, separated by commas. The names are
/// `all`, `isolated`, `nohz_full` and `node:N`.
///
/// # Errors
/// Returns what is wrong with the text, or that the set is empty on this machine.
pub fn select(text: &str) -> Result<Vec<u32>, String> {
    let mut cpus = BTreeSet::new();
    for part in text.split(',') {
        cpus.extend(named(part.trim()).unwrap_or_else(|| options::cpu_list(part))?);
    }
    Ok(cpus.into_iter().collect())
}

/// Returns the CPUs of a set of this machine; `None` if this is not the name of one.
fn named(name: &str) -> Option<Result<Vec<u32>, String>> {
    let some = |cpus: Vec<u32>, why: &str| {
        if cpus.is_empty() { Err(format!("'{name}': {why}")) } else { Ok(cpus) }
    };
    Some(match name {
        "all" => some(usable(online()), "this process may not use any CPU"),
        "isolated" => some(system(name), "no CPU is isolated (isolcpus)"),
        "nohz_full" => some(system(name), "no CPU runs without ticks (nohz_full)"),
        _ => {
            let node: u32 = name.strip_prefix("node:")?.parse().ok()?;
            let file = format!("/sys/devices/system/node/node{node}/cpulist");
            let cpus = parse(&fs::read_to_string(file).unwrap_or_default()).unwrap_or_default();
            some(cpus, "this machine has no such memory node with CPUs")
        }
    })
}

/// Returns the CPUs in a list of `/sys/devices/system/cpu`: `present`, `online`, `isolated`, `nohz_full`.
///
/// The result is empty if the file does not exist.
#[must_use]
pub fn system(which: &str) -> Vec<u32> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/{which}")).unwrap_or_default();
    parse(&text).unwrap_or_default()
}

/// Returns the CPUs that are online, also where `/sys` is not mounted.
#[must_use]
pub fn online() -> Vec<u32> {
    let listed = system("online");
    if !listed.is_empty() {
        return listed;
    }
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let number = |line: &str| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok();
    let counted: Vec<u32> = stat.lines().filter_map(number).collect();
    if counted.is_empty() { allowed() } else { counted }
}

/// One bit for each CPU that Linux may have.
type Mask = [libc::c_ulong; MOST_CPUS as usize / BITS];
const BITS: usize = libc::c_ulong::BITS as usize;

/// Returns the CPUs that the calling thread may run on.
#[must_use]
pub fn allowed() -> Vec<u32> {
    let mut mask: Mask = [0; _];
    // SAFETY: the kernel writes at most as many bytes as the mask has.
    unsafe { libc::sched_getaffinity(0, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    let is_set = |cpu: &u32| mask[*cpu as usize / BITS] >> (*cpu as usize % BITS) & 1 == 1;
    (0..MOST_CPUS).filter(is_set).collect()
}

/// How long a thread may take to get its CPU. An ordinary thread gets it in milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns those of `cpus` that this process may use: those that its cpuset has. The affinity that a process inherits is
/// no limit: the kernel keeps isolated CPUs out of it, and `taskset` any others. Nothing runs on the CPUs: the kernel is
/// asked for a thread that sleeps.
#[must_use]
pub(crate) fn usable(mut cpus: Vec<u32>) -> Vec<u32> {
    let (home, (begun, tid), (end, ended)) = (allowed(), mpsc::channel(), mpsc::channel::<()>());
    let sleep = move || {
        let _ = begun.send(thread_id());
        let _ = ended.recv();
    };
    let asked = thread::Builder::new().name("asks for CPUs".to_owned()).spawn(sleep);
    let (Ok(sleeper), Ok(tid)) = (asked, tid.recv()) else {
        cpus.retain(|cpu| home.contains(cpu));
        return cpus;
    };
    thread::sleep(Duration::from_millis(1)); // until it sleeps
    let refused = |error: io::Error| error.raw_os_error() == Some(libc::EINVAL);
    cpus.retain(|&cpu| !set_affinity(tid, &[cpu]).is_err_and(refused));
    let _ = set_affinity(tid, &home);
    drop(end);
    let _ = sleeper.join();
    cpus
}

/// Runs `work` on a thread that is pinned to `cpu`, and waits for its result.
///
/// # Errors
/// Fails if it may not run there, if it does not get the CPU because a real-time thread has it, or if the system allows
/// no more threads.
pub fn run_on<T: Send>(cpu: u32, work: impl FnOnce() -> T + Send) -> Result<T, Problem> {
    try_on(cpu, work)?.map_err(|error| not_pinned(cpu, &error))
}

/// Runs `work` like [`run_on`]; the inner error is that of pinning the thread.
fn try_on<T: Send>(
    cpu: u32,
    work: impl FnOnce() -> T + Send,
) -> Result<Result<T, io::Error>, Problem> {
    let (home, tid, state) = (allowed(), AtomicI32::new(0), AtomicU32::new(WAITS));
    let holder: OnceLock<Option<Holder>> = OnceLock::new();
    let thread = || {
        tid.store(thread_id(), Ordering::Release);
        if let Err(error) = set_affinity(0, &[cpu]) {
            return Ok(Err(error));
        }
        match state.compare_exchange(WAITS, RUNS, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(Ok(work())),
            Err(_) => Err(kept_busy(cpu, holder.get().and_then(Option::as_ref))),
        }
    };
    thread::scope(|scope| {
        let spawned =
            thread::Builder::new().name(format!("on CPU {cpu}")).spawn_scoped(scope, thread);
        let handle = spawned.map_err(|error| no_thread(cpu, &error))?;
        let until = Instant::now() + PATIENCE;
        while state.load(Ordering::Acquire) == WAITS && !handle.is_finished() {
            let is_late = Instant::now() > until;
            if is_late {
                holder.get_or_init(|| holders(&[cpu]).pop()); // it may be gone once the thread goes on
            }
            if is_late
                && state.compare_exchange(WAITS, LATE, Ordering::AcqRel, Ordering::Acquire).is_ok()
            {
                let _ = set_affinity(tid.load(Ordering::Acquire), &elsewhere(cpu, &home));
            }
            thread::sleep(Duration::from_micros(50));
        }
        handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Returns the problem that a real-time thread has the CPU.
fn kept_busy(cpu: u32, holder: Option<&Holder>) -> Problem {
    let named = holder.map_or(String::new(), |holder| format!(": {holder}"));
    let why = format!(
        "a real-time thread keeps CPU {cpu} busy: no other thread got it for {PATIENCE:?}{named}"
    );
    let which = match holder {
        Some(_) => "stop that thread",
        None => "find that thread: ps -eLo tid,rtprio,psr,comm",
    };
    let remedy = format!("leave it out with --cpus, or {which}");
    ProblemKind::Unavailable.problem(why, remedy)
}

/// Returns the problem that the system allows no thread for the CPU.
#[must_use]
pub fn no_thread(cpu: u32, error: &io::Error) -> Problem {
    let why = format!("no thread for CPU {cpu}: {error}");
    ProblemKind::Unavailable.problem(why, "raise the limit on processes (ulimit -u, pids.max)")
}

/// The states of a thread that is to run on a CPU: it waits for the CPU, it has it, or nobody waits for it any more.
const WAITS: u32 = 0;
const RUNS: u32 = 1;
const LATE: u32 = 2;

/// Returns where a thread can go that waits for `cpu` in vain.
#[must_use]
pub fn elsewhere(cpu: u32, home: &[u32]) -> Vec<u32> {
    let without =
        |cpus: &[u32]| cpus.iter().copied().filter(|&other| other != cpu).collect::<Vec<_>>();
    let near = without(home);
    if near.is_empty() { without(&online()) } else { near }
}

/// Returns the online CPUs that the calling thread did not inherit but may use.
#[must_use]
pub fn not_inherited() -> Vec<u32> {
    let home = allowed();
    usable(online().into_iter().filter(|cpu| !home.contains(cpu)).collect())
}

/// Checks that this process may measure on each of `cpus`, and that a thread gets to run there.
///
/// # Errors
/// Returns the first CPU that is absent, offline, not allowed, or held by a real-time thread.
pub fn verify(cpus: &[u32]) -> Result<(), Problem> {
    let unusable = |why: String, remedy: String| Err(ProblemKind::Usage.problem(why, remedy));
    let (present, online) = (system("present"), system("online"));
    for &cpu in cpus {
        if !present.is_empty() && !present.contains(&cpu) {
            let remedy = format!("this machine has CPUs {}", list(&present));
            return unusable(format!("CPU {cpu} does not exist"), remedy);
        }
        if !online.is_empty() && !online.contains(&cpu) {
            let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
            return unusable(
                format!("CPU {cpu} is offline"),
                format!("bring it up with: echo 1 > {file}"),
            );
        }
        match try_on(cpu, || ())? {
            Ok(()) => {}
            // A filter of system calls refuses with another error than a cpuset.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(not_pinned(cpu, &error));
            }
            Err(_) => {
                let why = format!("CPU {cpu} is not allowed for this process (cpuset)");
                return unusable(why, format!("allowed CPUs: {}", list(&usable(online))));
            }
        }
    }
    Ok(())
}

/// Pins the calling thread to `cpus`.
///
/// # Errors
/// Returns the kernel's error.
pub fn pin(cpus: &[u32]) -> Result<(), Problem> {
    pin_thread(0, cpus)
}

/// Pins a thread to `cpus`; 0 is the calling thread.
///
/// # Errors
/// Returns the kernel's error.
pub fn pin_thread(tid: i32, cpus: &[u32]) -> Result<(), Problem> {
    set_affinity(tid, cpus).map_err(|error| not_pinned(cpus.first().copied().unwrap_or(0), &error))
}

fn not_pinned(cpu: u32, error: &io::Error) -> Problem {
    let why = format!("cannot pin a thread to CPU {cpu}: {error}");
    let remedy = "choose other CPUs with --cpus, or check the cpuset of this process";
    ProblemKind::Unavailable.problem(why, remedy)
}

fn set_affinity(tid: i32, cpus: &[u32]) -> io::Result<()> {
    let mut mask: Mask = [0; _];
    for &cpu in cpus.iter().filter(|&&cpu| cpu < MOST_CPUS) {
        mask[cpu as usize / BITS] |= 1 << (cpu as usize % BITS);
    }
    // SAFETY: the kernel reads at most as many bytes as the mask has.
    match unsafe { libc::sched_setaffinity(tid, size_of::<Mask>(), mask.as_ptr().cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the CPU that the calling thread runs on, from the kernel itself: the C library reads a register for it that a
/// hypervisor may not keep.
#[must_use]
pub fn current() -> u32 {
    let mut cpu = 0_u32;
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the kernel writes one number; the other arguments may be null.
    unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, none, none) };
    cpu
}

/// Returns the kernel's number of the calling thread.
#[must_use]
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Sets the scheduling policy of the calling thread.
///
/// # Errors
/// Returns the kernel's error.
pub fn set_policy(policy: i32, sched_priority: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority };
    // SAFETY: the parameter is valid and changes only the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives the calling thread the policy SCHED_DEADLINE: so much of its CPU in each period, in ns, which is its deadline, too.
///
/// # Errors
/// Returns the kernel's error: it refuses threads that are pinned to fewer CPUs than a scheduling domain has.
pub fn set_deadline(runtime_ns: u64, period_ns: u64) -> io::Result<()> {
    // SAFETY: a zeroed attribute is valid.
    let zeroed: libc::sched_attr = unsafe { std::mem::zeroed() };
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_DEADLINE as u32,
        sched_runtime: runtime_ns,
        sched_deadline: period_ns,
        sched_period: period_ns,
        ..zeroed
    };
    // SAFETY: the attribute is valid and changes only the calling thread.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_parsed_and_written() {
        let cases: &[(&str, &str, Option<&str>)] = &[
            ("one", "3", Some("3")),
            ("range and one", "0-3,8\n", Some("0-3,8")),
            ("out of order, twice", "8,0-3,2", Some("0-3,8")),
            ("neighbours join", "0,1,2", Some("0-2")),
            ("empty", "\n", Some("")),
            ("backwards", "3-0", None),
            ("words", "all", None),
            ("negative", "-1", None),
            ("empty part", "0,,1", None),
            ("too large", "70000", None),
            ("every second", "0-7:2", Some("0,2,4,6")),
        ];
        for (name, text, expected) in cases {
            let got = parse(text).ok().map(|cpus| list(&cpus));
            assert_eq!(got.as_deref(), *expected, "case: {name}");
        }
    }

    #[test]
    fn sets_have_names() {
        let all = list(&usable(online())); // a cpuset may have fewer than are online
        let zero = list(&parse(&format!("{all},0")).expect("a list"));
        let cases: &[(&str, &str, Option<&str>)] = &[
            ("all", "all", Some(&all)),
            ("list", "3,0-1", Some("0-1,3")),
            ("both", "all,0", Some(&zero)),
            ("no such node", "node:4096", None),
            ("node without a number", "node:", None),
            ("no such set", "some", None),
            ("nothing", "", None),
        ];
        for (name, text, expected) in cases {
            assert_eq!(
                select(text).map(|cpus| list(&cpus)).ok().as_deref(),
                *expected,
                "case: {name}"
            );
        }
    }

    #[test]
    fn an_inherited_affinity_is_no_limit() {
        let home = allowed();
        let [first, .., last] = home[..] else { return };
        pin(&[first]).expect("it is allowed");
        assert_eq!(usable(vec![first, last, MOST_CPUS - 1]), [first, last]);
        assert!(verify(&[first, last]).is_ok());
        assert_eq!(allowed(), [first], "only asked");
        pin(&home).expect("it was allowed");
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let error = verify(&[60000]).unwrap_err().to_string();
        assert!(error.contains("60000") && error.contains("has CPUs"), "{error}");
    }
}
