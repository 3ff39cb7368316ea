//! Tests the executed time of `anechoic record` against the kernel's own account, `wait4`, which this program did not write.

use crate::tool::group::Group;
use crate::tool::{self, Done, anechoic, arg, command, may_be_real_time, may_trace, summary};
use anechoic_lab::note;
use anechoic_system::cpus;
use serde_json::Value;
use std::process::Command;

/// Programs in Python that use CPUs in different ways, each for about half a second. `end` is when.
const PROGRAMS: &[(&str, &str)] = &[
    ("a spin", "while time.monotonic() < end: pass"),
    (
        "datagrams to itself",
        "
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('127.0.0.1', 0))
while time.monotonic() < end:
    s.sendto(b'x' * 100, s.getsockname())
    s.recv(200)",
    ),
    (
        "two processes over TCP",
        "
l = socket.create_server(('127.0.0.1', 0))
if os.fork() == 0:
    c = socket.create_connection(l.getsockname())
    while d := c.recv(1000): c.sendall(d)
    os._exit(0)
c, _ = l.accept()
while time.monotonic() < end:
    c.sendall(b'y' * 100)
    c.recv(1000)
c.close()
os.wait()",
    ),
    (
        "a pipe between two processes",
        "
(a, b), (c, d) = os.pipe(), os.pipe()
if os.fork() == 0:
    os.close(b)
    while x := os.read(a, 1): os.write(d, x)
    os._exit(0)
while time.monotonic() < end:
    os.write(b, b'z')
    os.read(c, 1)
os.close(b)
os.wait()",
    ),
    (
        "processes one after the other",
        "
while time.monotonic() < end:
    if os.fork() == 0: os._exit(0)
    os.wait()",
    ),
    (
        "processes at the same time",
        "
while time.monotonic() < end:
    n = 8
    for _ in range(n):
        if os.fork() == 0:
            sum(range(20000))
            os._exit(0)
    for _ in range(n): os.wait()",
    ),
    (
        "files that are synchronised",
        "
with tempfile.TemporaryFile() as f:
    while time.monotonic() < end:
        f.write(b'w' * 4096)
        f.flush()
        os.fsync(f.fileno())",
    ),
    (
        "page faults",
        "
while time.monotonic() < end:
    m = mmap.mmap(-1, 4 << 20)
    for at in range(0, 4 << 20, 4096): m[at] = 1
    m.close()",
    ),
    ("a timer at 1 kHz", "while time.monotonic() < end: time.sleep(0.001)"),
    ("a timer at 10 kHz", "while time.monotonic() < end: time.sleep(0.0001)"),
    (
        "signals",
        "
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
while time.monotonic() < end: signal.pause()
signal.setitimer(signal.ITIMER_REAL, 0)",
    ),
    (
        "16 threads that wait for each other",
        "
locks = [threading.Semaphore(0) for _ in range(16)]
def turn(n):
    while True:
        locks[n].acquire()
        over = time.monotonic() > end
        locks[(n + 1) % 16].release()
        if over: return
threads = [threading.Thread(target=turn, args=(n,)) for n in range(16)]
for t in threads: t.start()
locks[0].release()
for t in threads: t.join()",
    ),
    (
        "a real-time process",
        "
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
while time.monotonic() < end:
    sum(range(10000))
    time.sleep(0.001)",
    ),
    (
        "one that changes its policy and its CPU",
        "
cpus = list(os.sched_getaffinity(0))
n = 0
while time.monotonic() < end:
    n += 1
    os.sched_setscheduler(0, os.SCHED_BATCH if n % 2 else os.SCHED_OTHER, os.sched_param(0))
    os.sched_setaffinity(0, {cpus[n % len(cpus)]})
    sum(range(20000))",
    ),
];

/// What all of them need. At the end each prints the CPU time that it and its children used, in s.
const HEAD: &str = "import atexit, mmap, os, resource, signal, socket, tempfile, threading, time
used = lambda who: sum(resource.getrusage(who)[:2])
atexit.register(lambda: print(used(resource.RUSAGE_SELF) + used(resource.RUSAGE_CHILDREN)))
end = time.monotonic() + 0.5
";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

#[test]
fn the_kernel_counts_the_same_cpu_time() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let mut unlike = vec![];
    for (name, code) in PROGRAMS {
        if code.contains("SCHED_FIFO") && !may_be_real_time() {
            continue;
        }
        let program = format!("{HEAD}{code}");
        let (done, account) = recorded(name, &["python3", "-c", &program], &mut unlike);
        counted_itself(name, &done, &account, &mut unlike);
    }
    assert_eq!(unlike, Vec::<String>::new());
}

/// Records a command; returns what it printed, and the account, which must agree.
fn recorded(name: &str, command: &[&str], unlike: &mut Vec<String>) -> (Done, Value) {
    let (done, account, _) = recorded_with_limits(name, command, unlike);
    (done, account)
}

/// The same, with the quota.
fn recorded_with_limits(
    name: &str,
    command: &[&str],
    unlike: &mut Vec<String>,
) -> (Done, Value, Value) {
    let dir = tempfile::tempdir().expect("a directory");
    let done = anechoic(&[&["record", "-q", "-o", arg(dir.path()), "--"], command].concat());
    assert!(matches!(done.code, Some(0 | 3)), "case: {name}: {done:?}");
    let mut run = summary(dir.path())["run"].take();
    let (account, limits) = (run["program"]["account"].take(), run["limits"].take());
    let ms = |key: &str| number(&account[key]) / 1e6;
    let (kernel, waking) = (ms("kernel_ns"), ms("waking_ns"));
    let current = ms("executed_ns") + ms("interrupted_ns");
    let tolerance = (kernel / 100.0).max(5.0);
    let least = kernel - waking - tolerance;
    let most = kernel + ms("unseen_ns") + ms("steal_ns") + tolerance;
    if !(least..=most).contains(&current) {
        unlike.push(format!("{name}: {account:#}"));
    }
    (done, account, limits)
}

/// Compares the kernel's account with what the program read itself just before its end.
fn counted_itself(name: &str, done: &Done, account: &Value, unlike: &mut Vec<String>) {
    let own: f64 = done.out.trim().parse().unwrap_or_else(|_| panic!("{name}: {done:?}"));
    let kernel = number(&account["kernel_ns"]) / 1e6;
    if !(own * 1e3 - 1.0..own * 1e3 + 40.0).contains(&kernel) {
        unlike.push(format!("{name}: it counted {own} s itself: {account:#}"));
    }
}

/// A program that lets threads of the kernel write to a file by io_uring; with an argument one of them polls for work.
const IO_URING: &str = include_str!("io_uring.c");

#[test]
fn threads_that_the_kernel_adds_to_a_program_are_its_own() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (source, program) = (dir.path().join("io_uring.c"), dir.path().join("io_uring"));
    std::fs::write(&source, IO_URING).expect("a file");
    if command("cc", &["-O2", "-o", arg(&program), arg(&source)]).code != Some(0) {
        return note::skipped("there is no C compiler with the kernel's headers");
    }
    if command(arg(&program), &[]).code != Some(0) {
        return note::skipped("io_uring is not permitted");
    }
    let mut unlike = vec![];
    for asked in [&[arg(&program)][..], &[arg(&program), "poll"]] {
        let name = format!("{asked:?}");
        let (done, account) = recorded(&name, asked, &mut unlike);
        counted_itself(&name, &done, &account, &mut unlike);
    }
    assert_eq!(unlike, Vec::<String>::new());
}

/// The tracer waits for the program and the program for the tracer, at each of its system calls.
#[test]
fn a_program_under_strace_is_accounted_for_with_it() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    if command("strace", &["-o", "/dev/null", "true"]).code != Some(0) {
        return note::skipped("no strace, or it may not trace");
    }
    let program = format!("{HEAD}while time.monotonic() < end: os.getppid()");
    let mut unlike = vec![];
    recorded(
        "strace",
        &["strace", "-f", "-o", "/dev/null", "python3", "-c", &program],
        &mut unlike,
    );
    assert_eq!(unlike, Vec::<String>::new());
}

/// What the quota takes is lost, and no thread took it.
#[test]
fn a_program_with_a_quota_is_held_up_by_it() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(group) = Group::with_quota() else { return };
    let enter = format!("open({:?}, 'w').write(str(os.getpid()))", group.processes());
    // Where the kernel hides the switches of an idle CPU (on this guest all but the first), a tick is the first event after the
    // quota has new time.
    let last = cpus::allowed().pop().expect("a CPU");
    let enter = format!("{enter}; os.sched_setaffinity(0, {{{last}}})");
    let program = format!("{HEAD}{enter}\nend += 2.7\nwhile time.monotonic() < end: pass");
    let mut unlike = vec![];
    let (done, account, limits) =
        recorded_with_limits("a quota", &["python3", "-c", &program], &mut unlike);
    counted_itself("a quota", &done, &account, &mut unlike);
    assert_eq!(unlike, Vec::<String>::new());
    let kernel = number(&account["kernel_ns"]) / 1e9;
    assert!((0.15..0.9).contains(&kernel), "a fifth of 3.2 s, and what it used before: {kernel} s");
    assert_eq!(limits["limited"], arg(group.path()), "it entered that group itself");
    let (held, truth) = (number(&limits["throttled_ns"]), group.throttled_ns());
    assert!(truth > 0.5e9, "{limits:#}");
    // What was held back before the first look at the group is not in it, which a busy host delays.
    assert!((truth - 2.5e8..truth + 1.0).contains(&held), "{held} of {truth} ns");
}

/// A neighbour runs while the quota holds the program back. The quota is charged with as much as the kernel counts. `record` is
/// outside of that group.
#[test]
fn the_quota_of_a_recorded_process_is_named_beside_its_neighbour() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(group) = Group::with_quota() else { return };
    let cpu = cpus::allowed().last().copied().expect("a CPU").to_string();
    let spin = || {
        let args = ["20", "taskset", "-c", &cpu, "sh", "-c", "while :; do :; done"];
        tool::spawn(Command::new("timeout").args(args))
    };
    let (program, neighbour) = (spin(), spin());
    let pid = program.id();
    let tree = command("pgrep", &["-P", &pid.to_string()]).out;
    for process in [&*pid.to_string()].into_iter().chain(tree.lines()) {
        std::fs::write(group.processes(), process).expect("into the group");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let done = anechoic(&["record", "-o", arg(dir.path()), "--pid", &pid.to_string(), "-d", "2s"]);
    for process in [program, neighbour] {
        tool::signal(&process, "TERM");
        tool::wait(process);
    }
    assert_eq!(done.code, Some(0), "{}", done.err);
    let held = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(held.contains("The CPU quota of /sys/fs/cgroup/"), "{held}");
    let (_, advice) = held.split_once("what would help").expect("advice");
    assert!(advice.contains("· CPU quota takes"), "{held}");
    let limits = &summary(dir.path())["run"]["limits"];
    let held_s = number(&limits["throttled_ns"]) / 1e9;
    // It may use 0.4 of 2 s. With other programs there it takes longer to use that up; the kernel counts what has ended.
    assert!((0.2..2.0).contains(&held_s), "{limits:#}");
    let summary = summary(dir.path());
    let rows = summary["sources"]["rows"].as_array().expect("sources");
    let quota =
        rows.iter().find(|row| row["source"] == "cpu-quota").expect("the quota is a source");
    let charged_s = number(&quota["noise"]) * 2.0;
    assert!((0.75 * held_s..1.02 * held_s).contains(&charged_s), "{charged_s} of {held_s}");
}

/// The command sees the CPU time that it used, and so does who records it while it runs.
#[test]
fn a_process_that_runs_already_has_an_account_too() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let program = format!("{HEAD}end += 20\n{}", PROGRAMS[1].1);
    let python = tool::spawn(Command::new("timeout").args(["20", "python3", "-c", &program]));
    std::thread::sleep(std::time::Duration::from_millis(500));
    let pid = python.id().to_string();
    let dir = tempfile::tempdir().expect("a directory");
    let done = anechoic(&["record", "-q", "-o", arg(dir.path()), "--pid", &pid, "-d", "1s"]);
    tool::signal(&python, "TERM");
    tool::wait(python);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let summary = summary(dir.path());
    let account = &summary["run"]["program"]["account"];
    assert_eq!(account["outside_ns"], 0, "{account:#}");
    if number(&account["kernel_ns"]) < 2e8 {
        note::not_judged("it hardly got a CPU");
    }
}
