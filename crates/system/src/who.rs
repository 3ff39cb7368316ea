//! Who took the time of a CPU: the process, the command line and the unit of a thread, while it lives.

mod births;
mod limits;
mod tree;
mod units;

pub use limits::Limits;
pub(crate) use tree::processes;
pub use tree::{Tree, tree};
pub use units::unit;
pub(crate) use units::{container_id, container_name};

use births::Births;

use crate::machine::Root;
use crate::stat;
use crate::tracefs::{self, Batch};
use anechoic_recording::who::SeenThread;
use anechoic_recording::{NameKind, Problem, ProblemKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;

/// Number of threads that are found in one run. A lookup takes some tens of microseconds.
const MOST: usize = 2_000;
/// Number of threads of which a census reads the times.
const MOST_COUNTED: usize = 20_000;
/// Number of threads that a census reports: those that ran longest.
const REPORTED: usize = 20;
/// The thread whose children are the threads of the kernel.
const KTHREADD: i32 = 2;
/// A longer command line is cut.
const COMMAND_CHARS: usize = 200;

/// Returns whether /proc shows the threads of kernel events by the same numbers: not in a PID namespace.
#[must_use]
pub fn shows_all() -> bool {
    tracefs::numbers_are_global()
}

/// Verifies that kernel events number threads as /proc does.
///
/// # Errors
/// Fails in a PID namespace, where they do not.
pub(crate) fn same_numbers() -> Result<(), Problem> {
    if shows_all() {
        return Ok(());
    }
    let why = "in this PID namespace kernel events have other numbers for processes";
    let remedy = "record outside the container, or start the command with it: record -- COMMAND";
    Err(ProblemKind::Unavailable.problem(why, remedy))
}

/// Looks threads up once each.
#[derive(Debug, Default)]
pub struct Threads {
    known: BTreeSet<i32>,
    /// Those of `found` that have executed another program since.
    again: BTreeSet<i32>,
    found: Vec<SeenThread>,
    units: Units,
    births: Births,
}

impl Threads {
    /// Notes which threads there are before the loops start, for [`Threads::look`] once they have ended.
    pub fn begin(&mut self) {
        if shows_all() {
            self.births.census(&Root::live(), &mut self.units);
        }
    }

    /// Notes which threads the events show to begin, for [`Threads::look`] once they have ended. Removes from `batch`
    /// what a recording does not store. A thread that has executed a program is looked up once more.
    pub fn note(&mut self, batch: &mut Batch) {
        let programs = batch.names.iter().filter(|name| name.kind == NameKind::Program);
        self.again
            .extend(programs.map(|name| name.key as i32).filter(|tid| self.known.remove(tid)));
        self.births.note(batch);
    }

    /// Looks up the threads that are new; their numbers are those of kernel events. In a PID namespace these say nothing
    /// about the files in /proc, so nothing is found. Returns whether there are new ones.
    pub fn look(&mut self, threads: impl Iterator<Item = i32>) -> bool {
        let before = self.found.len();
        if shows_all() {
            self.look_in(&Root::live(), threads);
        }
        self.found.len() > before
    }

    fn look_in(&mut self, root: &Root, threads: impl Iterator<Item = i32>) {
        for tid in threads.filter(|&tid| tid > 0) {
            if self.is_full() {
                return;
            }
            if self.known.insert(tid) {
                let lives = thread(root, tid, &mut self.units);
                let seen = lives.or_else(|| self.births.ended(root, tid, &mut self.units));
                if self.again.remove(&tid) && seen.is_some() {
                    self.found.retain(|before| before.tid != tid);
                }
                self.found.extend(seen.map(|seen| self.births.with_names(seen)));
            }
        }
    }

    /// Forgets what was found so far: a thread that goes on is looked up again.
    pub fn forget(&mut self) {
        self.known.clear();
        self.again.clear();
        self.found.clear();
        self.births.make_room();
    }

    /// Returns whether the limit on the number of threads is reached, so that no others are read.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.found.len() >= MOST
    }

    /// Returns what was found so far, with the names of containers and pods.
    #[must_use]
    pub fn found(&self) -> &[SeenThread] {
        &self.found
    }
}

/// Units by cgroup: names of containers and pods are searched for once each.
type Units = BTreeMap<String, Option<String>>;

/// Reads what /proc shows of a thread; `None` if it has ended.
fn thread(root: &Root, tid: i32, units: &mut Units) -> Option<SeenThread> {
    let status = root.read(&format!("/proc/{tid}/status"))?;
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    let pid = field("Tgid:")?.parse().ok()?;
    let name = field("Name:")?;
    let mut command = command(root, tid);
    // Zombies and processes that cleared their arguments have none either.
    let of_kernel = match field("Kthread:") {
        Some(flag) => flag == "1",
        None => {
            pid == KTHREADD
                || field("PPid:").and_then(|parent| parent.parse().ok()) == Some(KTHREADD)
        }
    };
    if command.is_empty() && !of_kernel {
        command = format!("[{name}]");
    }
    let cgroup = path(&root.read(&format!("/proc/{tid}/cgroup")).unwrap_or_default());
    let unit = units.entry(cgroup.clone()).or_insert_with(|| unit(root, &cgroup)).clone();
    Some(SeenThread { tid, pid, name, command, unit, cgroup, ..SeenThread::default() })
}

/// Returns the words of a thread's command line, separated by blanks and cut. Only as much is read as can be kept.
fn command(root: &Root, tid: i32) -> String {
    let mut bytes = vec![];
    if let Ok(file) = File::open(root.path(&format!("/proc/{tid}/cmdline"))) {
        // What an error leaves unread is missing. A character has four bytes at most.
        let _ = file.take(4 * COMMAND_CHARS as u64 + 4).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let words = text.split('\0').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(COMMAND_CHARS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// Returns the cgroup of a thread: in the unified hierarchy, or where that has none, in those of systemd and of the CPU
/// controller. Lines are `ID:CONTROLLERS:PATH`.
fn path(cgroups: &str) -> String {
    let lines: Vec<(&str, &str)> = cgroups
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            Some((fields.next()?, fields.next()?))
        })
        .collect();
    // Without controllers, in the unified hierarchy, the only part is empty.
    let is_in = |kinds: &str, wanted: &str| kinds.split(',').any(|kind| kind == wanted);
    let found = ["", "name=systemd", "cpu"]
        .into_iter()
        .find_map(|wanted| lines.iter().find(|(kinds, path)| is_in(kinds, wanted) && *path != "/"));
    found.map_or_else(|| "/".to_owned(), |(_, path)| (*path).to_owned())
}

/// For how long all threads have run so far. Two of them show, without privileges, which threads ran in between.
#[derive(Debug, Clone, Default)]
pub struct Census(BTreeMap<i32, Ran>);

#[derive(Debug, Clone, Copy)]
struct Ran {
    ns: u64,
    /// The CPU that it ran on last.
    cpu: u32,
}

impl Census {
    /// Reads the times of all threads that /proc shows, but for those of this process.
    #[must_use]
    pub fn take() -> Self {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        Self::take_in(&Root::live(), own)
    }

    fn take_in(root: &Root, own: i32) -> Self {
        let numbers =
            |path: &str| root.names(path).into_iter().filter_map(|name| name.parse::<i32>().ok());
        let mut ran = BTreeMap::new();
        for pid in numbers("/proc").filter(|&pid| pid != own) {
            for tid in numbers(&format!("/proc/{pid}/task")) {
                if ran.len() >= MOST_COUNTED {
                    return Self(ran);
                }
                let read = |file: &str| root.read(&format!("/proc/{pid}/task/{tid}/{file}"));
                let ns = read("schedstat").and_then(|text| text.split(' ').next()?.parse().ok());
                let cpu = read("stat").and_then(|text| stat::field(&text, stat::LAST_CPU));
                if let (Some(ns), Some(cpu)) = (ns, cpu) {
                    ran.insert(tid, Ran { ns, cpu });
                }
            }
        }
        Self(ran)
    }

    /// Returns the threads that ran since `before`, and were on one of `cpus` at either end: those that ran longest.
    #[must_use]
    pub fn since(&self, before: &Self, cpus: &[u32]) -> Vec<SeenThread> {
        self.since_in(before, cpus, &Root::live())
    }

    fn since_in(&self, before: &Self, cpus: &[u32], root: &Root) -> Vec<SeenThread> {
        let moved = self.0.iter().filter_map(|(&tid, ran)| {
            let then = before.0.get(&tid);
            let there =
                cpus.contains(&ran.cpu) || then.is_some_and(|then| cpus.contains(&then.cpu));
            let ns = ran.ns.saturating_sub(then.map_or(0, |then| then.ns));
            (there && ns > 0).then_some((ns, tid))
        });
        let mut moved: Vec<(u64, i32)> = moved.collect();
        moved.sort_unstable_by_key(|&(ns, tid)| (std::cmp::Reverse(ns), tid));
        moved.truncate(REPORTED);
        let mut units = Units::new();
        let known =
            |(ns, tid)| Some(SeenThread { ran_ns: Some(ns), ..thread(root, tid, &mut units)? });
        moved.into_iter().filter_map(known).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_recording::{EventKind, KernelEvent, Name};

    fn stat(tid: i32, cpu: u32) -> String {
        let rest = vec!["0"; 35].join(" ");
        format!("{tid} (a) b) S {rest} {cpu} 0 0")
    }

    #[test]
    fn a_thread_has_its_process_command_and_unit() {
        let long = "x".repeat(300);
        let (_directory, root) = Root::tree(&[
            ("proc/7/status", "Name:\tworker\nUmask:\t0022\nTgid:\t5\nPid:\t7\n"),
            ("proc/7/cmdline", "/usr/bin/noisy\0--fast\0\0"),
            ("proc/7/cgroup", "3:cpu:/\n1:name=systemd:/\n0::/system.slice/noisy.service\n"),
            ("proc/2/status", "Name:\tkthreadd\nTgid:\t2\n"),
            ("proc/2/cmdline", ""),
            ("proc/2/cgroup", "0::/\n"),
            ("proc/9/status", "Name:\tlong\nTgid:\t9\n"),
            ("proc/9/cmdline", &long),
            ("proc/9/cgroup", "2:cpu,cpuacct:/batch\n0::/\n"),
        ]);
        let mut threads = Threads::default();
        threads.look_in(&root, [0, 7, 2, 9, 7, 11].into_iter());
        let [worker, kernel, long] = threads.found() else { panic!("three live") };
        assert_eq!((worker.tid, worker.pid, &*worker.name), (7, 5, "worker"));
        assert_eq!(
            (&*worker.command, worker.unit.as_deref()),
            ("/usr/bin/noisy --fast", Some("noisy.service"))
        );
        assert!(kernel.is_of_kernel() && kernel.unit.is_none() && kernel.cgroup == "/");
        assert_eq!((long.command.chars().count(), long.unit.as_deref()), (201, Some("/batch")));
    }

    #[test]
    fn a_thread_without_a_command_line_need_not_be_of_the_kernel() {
        let cases = [
            ("kthreadd of older kernels", "Tgid:\t2\nPPid:\t0\n", ""),
            ("its child", "Tgid:\t5\nPPid:\t2\n", ""),
            ("flag", "Tgid:\t5\nPPid:\t1\nKthread:\t1\n", ""),
            ("zombie", "Tgid:\t5\nPPid:\t1\nKthread:\t0\n", "[x]"),
            ("zombie in a PID namespace", "Tgid:\t5\nPPid:\t2\nKthread:\t0\n", "[x]"),
            ("without arguments, older kernel", "Tgid:\t5\nPPid:\t22\n", "[x]"),
        ];
        for (name, status, expected) in cases {
            let status = format!("Name:\tx\n{status}");
            let (_directory, root) =
                Root::tree(&[("proc/5/status", &*status), ("proc/5/cmdline", "")]);
            let seen = thread(&root, 5, &mut Units::new()).expect("it lives");
            assert_eq!(seen.command, expected, "case: {name}");
        }
    }

    #[test]
    fn a_thread_that_executes_a_program_is_looked_up_once_more() {
        let (_directory, forked) = Root::tree(&[
            ("proc/7/status", "Name:\tbash\nTgid:\t7\n"),
            ("proc/7/cmdline", "bash\0"),
        ]);
        let (_ended, now) = Root::tree(&[("proc/1/status", "Name:\tinit\nTgid:\t1\n")]);
        let mut threads = Threads::default();
        threads.look_in(&forked, [7].into_iter());
        let name = |kind, name: &str| Name { kind, key: 7, ticks: 1, name: name.into() };
        let names = vec![name(NameKind::Task, "cat"), name(NameKind::Program, "/usr/bin/cat")];
        let born =
            KernelEvent { cpu: 0, ticks: 0, kind: EventKind::NewTask, pid: 1, args: [7, 0, 0] };
        let mut batch = Batch { cpu: 0, events: vec![born], names, losses: vec![], marks: vec![] };
        threads.note(&mut batch);
        threads.look_in(&now, [7, 7].into_iter());
        let [seen] = threads.found() else { panic!("one thread") };
        assert_eq!((seen.tid, &*seen.name, &*seen.command), (7, "cat", "/usr/bin/cat"));
    }

    #[test]
    fn threads_that_ended_do_not_count_against_the_limit() {
        let (_directory, root) = Root::tree(&[("proc/9000/status", "Name:\tx\nTgid:\t9000\n")]);
        let mut threads = Threads::default();
        threads.look_in(&root, (1..).take(MOST).chain([9_000]));
        assert_eq!((threads.found().len(), threads.is_full()), (1, false));
    }

    #[test]
    fn a_census_names_who_ran_on_measured_cpus() {
        let files = |times: [(i32, u64, u32); 4]| {
            let mut files = vec![];
            for (tid, ns, cpu) in times {
                files.push((format!("proc/{tid}/task/{tid}/schedstat"), format!("{ns} 5 6")));
                files.push((format!("proc/{tid}/task/{tid}/stat"), stat(tid, cpu)));
                files
                    .push((format!("proc/{tid}/status"), format!("Name:\tn{tid}\nTgid:\t{tid}\n")));
                files.push((format!("proc/{tid}/cmdline"), "cmd".to_owned()));
            }
            files
        };
        let tree = |files: &[(String, String)]| {
            let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (&**p, &**t)).collect();
            Root::tree(&files)
        };
        // 4 is this process; 3 ran elsewhere; 2 left the measured CPU; 5 began in between.
        let before = files([(1, 100, 0), (2, 100, 0), (3, 100, 1), (4, 100, 0)]);
        let after = files([(1, 400, 0), (2, 900, 1), (3, 9_000, 1), (5, 50, 0)]);
        let (_one, before) = tree(&before);
        let (_two, root) = tree(&after);
        let found = Census::take_in(&root, 4).since_in(&Census::take_in(&before, 4), &[0], &root);
        let found: Vec<_> = found.iter().map(|thread| (thread.tid, thread.ran_ns)).collect();
        assert_eq!(found, [(2, Some(800)), (1, Some(300)), (5, Some(50))]);
    }
}
