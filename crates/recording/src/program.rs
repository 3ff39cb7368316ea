//! The user's program of a recording without loops, and which threads belong to it.

mod lifetime;
mod marked;

pub use lifetime::Lifetime;
pub use marked::{MarkKind, Marked};

use crate::event::EventKind;
use crate::rows::KernelEvent;
use crate::who::SeenThread;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The flag of clone(2) for a thread of the same process.
pub const CLONE_THREAD: u64 = 0x0001_0000;
/// The flag of clone3(2) for a process that begins in another control group than its parent.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// The states of `sched_switch` in which a thread has ended: X and Z.
const ENDED: u64 = 0x30;
/// The lowest priority, as the kernel numbers them, of threads that are not real-time.
const ORDINARY: i32 = 100;

/// The usual limit of the latency of a release.
const LATE_NS: u64 = 100_000;

/// A recorded program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// Its name: the file of the command, the names of the processes that already ran, or what the user called the control
    /// group.
    pub name: String,
    /// The thread of the tool that started it: each process that this thread began in the run belongs to the program. Absent
    /// for a process that already ran.
    pub started_by: Option<i32>,
    /// The process that the tool started, as events number it; absent for a program that already ran, or if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<i32>,
    /// Its threads at the start of the run, by number; empty if the tool started it.
    pub threads: Vec<i32>,
    /// What it returned, as a shell shows it (128 and more for a signal); absent if it went on, or if the tool did not start
    /// it.
    pub exit_code: Option<u8>,
    /// The CPUs whose lost time counts; empty if those do that it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted_cpus: Vec<u32>,
    /// Number of its threads that events showed or that it had at the start.
    pub threads_seen: u64,
    /// For how long its threads executed on each CPU that it used.
    pub ran: Vec<RanOn>,
    /// When the process that the tool started began and ended, as events show it, in ticks; absent if it was not started, if
    /// it went on, or if events are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lived_ticks: Option<[u64; 2]>,
    /// The CPU time of all its threads in the run, as the kernel counted it: of a command with the processes for which it
    /// waited, of a control group with all processes that were in it. Absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<CpuTime>,
    /// What recording an event cost, measured before it was recorded; absent if that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_cost: Option<EventCost>,
    /// What a call stack cost beside its event, likewise; absent without stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_cost: Option<EventCost>,
    /// The control group that is the program; absent for a command and for processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<ProgramCgroup>,
    /// What marks its iterations, if something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<Marked>,
    /// A thread that a timer released has come late after more than this time, in ns; absent for the usual limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ns: Option<u64>,
    /// Whether its detours were derived after the recording was killed, up to its last save.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived_after_kill: bool,
}

impl Program {
    /// Returns after which time a released thread has come late, in ns: 100 µs if nothing else was asked for.
    #[must_use]
    pub fn late_after_ns(&self) -> u64 {
        self.late_ns.unwrap_or(LATE_NS)
    }
}

/// A control group, whose threads and those of the groups below it are a recorded program while they are in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramCgroup {
    /// Its path, as `/proc/PID/cgroup` shows it.
    pub path: String,
    /// The number of its hierarchy there: 0 for that of version 2.
    pub hierarchy: u32,
    /// The kernel's numbers of those of these groups into which threads were moved in the run.
    pub moved_into: Vec<u64>,
}

impl ProgramCgroup {
    /// Returns whether the group with this path is it, or lies below it.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.path.trim_end_matches('/'));
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Notes that a thread was moved into the group with this number, if that is it or lies below it. `place` is the number of
    /// its hierarchy, a colon and its path: the same number may be that of another group in another hierarchy.
    pub fn note_move(&mut self, number: u64, place: &str) {
        let Some((hierarchy, path)) = place.split_once(':') else { return };
        let is_own = hierarchy.parse() == Ok(self.hierarchy) && self.contains(path);
        if is_own && !self.moved_into.contains(&number) {
            self.moved_into.push(number);
        }
    }
}

/// CPU time by the kernel's own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// The time in ns.
    pub ns: u64,
    /// By how much it may be wrong because the kernel shows a part of it in steps of its clock, in ns.
    pub resolution_ns: u64,
    /// What the hypervisor reports to have taken from the CPUs of the machine meanwhile, in ns. A kernel that knows it does
    /// not count it.
    pub steal_ns: u64,
}

/// What recording events cost, where two threads woke each other on one CPU. In a program whose caches the kernel's writing
/// displaces, an event costs more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventCost {
    /// Number of events.
    pub events: u64,
    /// How much longer the same took than without events, in ns.
    pub ns: u64,
}

/// For how long a program executed on one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RanOn {
    /// The CPU.
    pub cpu: u32,
    /// The time in which one of its threads executed there and no interrupt did, in ticks.
    pub ticks: u64,
    /// The part of it that may have been before the thread had the CPU, in ticks: the switch to it was not reported.
    #[serde(default)]
    pub unseen_ticks: u64,
    /// The time in which interrupts ran on top of one of its threads, in ticks.
    #[serde(default)]
    pub interrupted_ticks: u64,
    /// The time from the waking of its threads to the switch to them, where no other switch came between, in ticks. The
    /// kernel counts at least a part of it as CPU time of the thread.
    #[serde(default)]
    pub waking_ticks: u64,
    /// Number of events that were recorded while a thread of the program was current, or became it.
    #[serde(default)]
    pub events: u64,
    /// Number of switches among them.
    #[serde(default)]
    pub switches: u64,
}

impl Program {
    /// Returns for how long it executed on `cpu`, in ticks.
    #[must_use]
    pub fn ran_ticks(&self, cpu: u32) -> u64 {
        let there = self.ran.iter().filter(|ran| ran.cpu == cpu);
        there.map(|ran| ran.ticks).fold(0, u64::saturating_add)
    }
}

/// The threads that belong to a program, as kernel events in time order show them.
#[derive(Debug, Clone, Default)]
pub struct Members {
    threads: HashSet<i32>,
    /// Those that were real-time when they were switched in last.
    real_time: HashSet<i32>,
    started_by: Option<i32>,
    /// Those that have belonged to the program, until another thread gets the number.
    counted: HashSet<i32>,
    seen: u64,
    group: Option<Group>,
    /// The process that was started.
    process: Option<i32>,
    /// The process of each thread of the machine that is known.
    processes: HashMap<i32, i32>,
    /// Whether events were lost, and the beginning of threads with them.
    lost_some: bool,
}

/// A control group whose threads are a program, and what is known of the threads of the machine.
#[derive(Debug, Clone, Default)]
struct Group {
    cgroup: ProgramCgroup,
    /// The process of each thread.
    processes: HashMap<i32, i32>,
    /// The threads of each process.
    threads: HashMap<i32, BTreeSet<i32>>,
    /// Threads that /proc showed in the group.
    shown: HashSet<i32>,
}

impl Members {
    /// Returns the threads of a program at the start.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let threads: HashSet<i32> = program.threads.iter().copied().collect();
        Self {
            real_time: HashSet::new(),
            started_by: program.started_by,
            seen: threads.len() as u64,
            counted: threads.clone(),
            threads,
            group: program.cgroup.clone().map(|cgroup| Group { cgroup, ..Group::default() }),
            process: program.process,
            processes: HashMap::new(),
            lost_some: false,
        }
    }

    /// Notes that events were lost. From now on a thread whose beginning was not seen belongs to the program if its process does.
    pub fn lose_some(&mut self) {
        self.lost_some = true;
    }

    /// Returns the same, knowing these threads of the machine. Which threads a process has, and in which control group a
    /// process began that was begun in another one than its parent's, events do not show.
    #[must_use]
    pub fn knowing(mut self, threads: &[SeenThread]) -> Self {
        self.learn(threads);
        self
    }

    /// Lets more be known: these threads of the machine, and the groups into which threads of the program were moved so far.
    pub fn know(&mut self, program: &Program, threads: &[SeenThread]) {
        if let (Some(group), Some(cgroup)) = (&mut self.group, &program.cgroup) {
            group.cgroup.moved_into.clone_from(&cgroup.moved_into);
        }
        self.learn(threads);
    }

    fn learn(&mut self, threads: &[SeenThread]) {
        self.processes.extend(threads.iter().map(|seen| (seen.tid, seen.pid)));
        if let Some(group) = &mut self.group {
            threads.iter().for_each(|seen| group.belongs_to(seen.tid, seen.pid));
            let shown = threads.iter().filter(|seen| group.cgroup.contains(&seen.cgroup));
            group.shown.extend(shown.map(|seen| seen.tid));
        }
    }

    /// Forgets the thread that ended with this event, if it is one: no event of it follows.
    pub fn forget_ended(&mut self, event: &KernelEvent) {
        if event.kind == EventKind::Switch && event.args[1] & ENDED != 0 {
            self.threads.remove(&event.pid);
            self.real_time.remove(&event.pid);
        }
    }

    /// Returns the threads that belong to the program now, by number.
    #[must_use]
    pub fn threads(&self) -> Vec<i32> {
        let mut threads: Vec<i32> = self.threads.iter().copied().collect();
        threads.sort_unstable();
        threads
    }

    /// Returns whether thread `tid` belongs to the program now.
    #[must_use]
    pub fn has(&self, tid: i32) -> bool {
        self.threads.contains(&tid)
    }

    /// Returns whether thread `tid` belongs to the program and was real-time when it was switched in last.
    #[must_use]
    pub fn is_real_time(&self, tid: i32) -> bool {
        self.has(tid) && self.real_time.contains(&tid)
    }

    /// Returns the number of threads that have belonged to the program so far.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Processes the next event. A thread that the program begins belongs to it; one that another begins does not, also if it
    /// has the number of a thread that has ended. A process that is moved into the control group of the program belongs to it
    /// from then on, and one that is moved out does not.
    pub fn event(&mut self, event: &KernelEvent) {
        let child = event.args[0] as i32;
        if self.lost_some && event.kind.has_current_thread() {
            self.find(event.pid);
            if event.kind == EventKind::Switch {
                self.find(child);
            }
        }
        match event.kind {
            EventKind::NewTask => {
                self.processes.remove(&child); // what is known may be of another one with its number
                let own = self.started_by == Some(event.pid) && event.args[1] & CLONE_THREAD == 0;
                let inherits = own || self.has(event.pid);
                let belongs = self.group.as_mut().map(|group| group.begin(event, inherits));
                self.counted.remove(&child); // that was another thread
                self.set(child, belongs.unwrap_or(inherits));
            }
            EventKind::CgroupAttach => {
                let moved = self.group.as_ref().map(|group| group.moved(event));
                moved.into_iter().flatten().for_each(|(tid, belongs)| self.set(tid, belongs));
            }
            EventKind::Switch if self.has(child) => {
                if (event.args[2] as i32) < ORDINARY {
                    self.real_time.insert(child);
                } else {
                    self.real_time.remove(&child);
                }
            }
            // A thread that executes a program gets the number of its process.
            EventKind::Exec if self.has(event.args[1] as i32) => {
                self.threads.insert(child);
            }
            _ => {}
        }
    }

    /// Lets a thread that was not seen to begin belong to the program if its process does.
    fn find(&mut self, tid: i32) {
        if self.threads.contains(&tid) || self.counted.contains(&tid) {
            return;
        }
        let process = self.processes.get(&tid).copied();
        if process.is_some_and(|process| self.process == Some(process) || self.has(process)) {
            self.set(tid, true);
        }
    }

    fn set(&mut self, tid: i32, belongs: bool) {
        if belongs {
            self.threads.insert(tid);
            self.seen += u64::from(self.counted.insert(tid));
        } else {
            self.threads.remove(&tid);
        }
    }
}

impl Group {
    /// Notes that a thread begins; returns whether it is in the group. `inherits` is whether its parent is.
    fn begin(&mut self, event: &KernelEvent, inherits: bool) -> bool {
        let (child, flags) = (event.args[0] as i32, event.args[1]);
        let process = if flags & CLONE_THREAD == 0 { child } else { self.process(event.pid) };
        self.belongs_to(child, process);
        // Such a process begins elsewhere in the hierarchy of version 2, and with its parent in all others.
        let elsewhere = flags & CLONE_INTO_CGROUP != 0 && self.cgroup.hierarchy == 0;
        if elsewhere { self.shown.contains(&child) } else { inherits }
    }

    /// Notes the process of a thread.
    fn belongs_to(&mut self, tid: i32, process: i32) {
        let before = self.processes.insert(tid, process);
        if let Some(threads) = before.and_then(|before| self.threads.get_mut(&before)) {
            threads.remove(&tid);
        }
        self.threads.entry(process).or_default().insert(tid);
    }

    /// Returns the threads that are moved with a thread, and whether they are in the group from then on. The main thread is
    /// moved with all threads of its process.
    fn moved(&self, event: &KernelEvent) -> Vec<(i32, bool)> {
        let [tid, to, hierarchy] = event.args;
        if hierarchy as u32 != self.cgroup.hierarchy {
            return vec![];
        }
        let (tid, belongs) = (tid as i32, self.cgroup.moved_into.contains(&to));
        let threads = self.threads.get(&tid).into_iter().flatten().copied();
        let others = threads.filter(|&other| other != tid);
        others.chain([tid]).map(|tid| (tid, belongs)).collect()
    }

    fn process(&self, tid: i32) -> i32 {
        self.processes.get(&tid).copied().unwrap_or(tid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_belong_to_a_program_and_others_do_not() {
        let program = Program { started_by: Some(10), ..Program::default() };
        let mut members = Members::new(&program);
        let born = |ticks, pid, child: u64, flags| KernelEvent {
            cpu: 0,
            ticks,
            kind: EventKind::NewTask,
            pid,
            args: [child, flags, 0],
        };
        let exec = KernelEvent { kind: EventKind::Exec, args: [20, 21, 0], ..born(5, 21, 0, 0) };
        let steps = [
            ("a thread of the tool", born(1, 10, 11, CLONE_THREAD), 11, false),
            ("the program", born(2, 10, 20, 0), 20, true),
            ("a thread of it", born(3, 20, 21, CLONE_THREAD), 21, true),
            ("a process of a stranger", born(4, 99, 30, 0), 30, false),
            ("the thread executes a program", exec, 20, true),
            ("a process of it", born(6, 20, 40, 0), 40, true),
            ("a stranger with a number of it", born(7, 99, 21, 0), 21, false),
        ];
        for (name, event, tid, expected) in steps {
            members.event(&event);
            assert_eq!(members.has(tid), expected, "step: {name}");
        }
        assert_eq!(members.seen(), 3);
    }

    /// The events in which the program, a thread and a process of it begin were lost; which process a thread has is known.
    #[test]
    fn threads_whose_beginning_was_lost_belong_to_their_process() {
        let program = Program { started_by: Some(10), process: Some(20), ..Program::default() };
        let known = [(20, 20), (21, 20), (22, 20), (30, 30), (31, 30)];
        let known = known.map(|(tid, pid)| SeenThread { tid, pid, ..SeenThread::default() });
        let switch = |pid, next: u64| KernelEvent {
            cpu: 0,
            ticks: 1,
            kind: EventKind::Switch,
            pid,
            args: [next, 0, 120],
        };
        let stranger = KernelEvent { kind: EventKind::NewTask, args: [22, 0, 0], ..switch(30, 0) };
        let events = [stranger, switch(31, 21), switch(21, 20), switch(20, 22), switch(22, 40)];
        for (lost, expected) in [(true, &[20, 21][..]), (false, &[])] {
            let mut members = Members::new(&program).knowing(&known);
            if lost {
                members.lose_some();
            }
            events.iter().for_each(|event| members.event(event));
            assert_eq!(members.threads(), expected, "lost: {lost}");
            assert_eq!(members.seen(), expected.len() as u64);
        }
    }

    #[test]
    fn threads_belong_to_a_control_group_while_they_are_in_it() {
        let cgroup = ProgramCgroup { path: "/jobs/a".into(), hierarchy: 0, moved_into: vec![7, 8] };
        let program = Program { threads: vec![20, 21], cgroup: Some(cgroup), ..Program::default() };
        let seen = |tid, pid, cgroup: &str| SeenThread {
            tid,
            pid,
            cgroup: cgroup.into(),
            ..SeenThread::default()
        };
        let known = [
            seen(20, 20, "/jobs/a"),
            seen(21, 20, "/jobs/a"),
            seen(30, 30, "/"),
            seen(31, 30, "/"),
            seen(50, 50, "/jobs/a/new"),
            seen(51, 51, "/jobs/ab"),
        ];
        let mut members = Members::new(&program).knowing(&known);
        let event = |kind, pid, args| KernelEvent { cpu: 0, ticks: 1, kind, pid, args };
        let born = |pid, child, flags| event(EventKind::NewTask, pid, [child, flags, 0]);
        let moved = |tid, to, root| event(EventKind::CgroupAttach, 1, [tid, to, root]);
        let steps: [(&str, KernelEvent, &[i32], &[i32]); 14] = [
            ("at the start", born(1, 900, 0), &[20, 21], &[30, 900]),
            ("a process moves in", moved(30, 7, 0), &[30, 31], &[]),
            ("a new thread of it", born(31, 32, CLONE_THREAD), &[32], &[]),
            ("a move in another hierarchy", moved(30, 99, 4), &[30, 31, 32], &[]),
            ("it moves to a group below", moved(30, 8, 0), &[30, 31, 32], &[]),
            ("it moves out, with its new thread", moved(30, 99, 0), &[20, 21], &[30, 31, 32]),
            ("one thread moves out", moved(21, 99, 0), &[20], &[21]),
            ("a child", born(20, 40, 0), &[40], &[]),
            ("a child of who left", born(30, 41, 0), &[], &[41]),
            ("begun in the group by another", born(1, 50, CLONE_INTO_CGROUP), &[50], &[]),
            ("begun elsewhere by a member", born(20, 51, CLONE_INTO_CGROUP), &[20], &[51]),
            ("who left comes back", moved(30, 7, 0), &[30, 31, 32], &[]),
            ("its thread is moved alone", moved(32, 99, 0), &[30, 31], &[32]),
            ("another thread with a number of before", born(20, 40, 0), &[40], &[]),
        ];
        for (name, event, inside, outside) in steps {
            members.event(&event);
            assert!(inside.iter().all(|&tid| members.has(tid)), "step: {name}");
            assert!(!outside.iter().any(|&tid| members.has(tid)), "step: {name}");
        }
        assert_eq!(members.seen(), 8, "20, 21, 30, 31, 32, 40, 50, and 40 again");
    }

    #[test]
    fn in_version_1_a_process_begins_with_its_parent_in_any_case() {
        for (hierarchy, belongs) in [(0, false), (4, true)] {
            let cgroup = ProgramCgroup { path: "/a".into(), hierarchy, moved_into: vec![] };
            let program = Program { threads: vec![20], cgroup: Some(cgroup), ..Program::default() };
            let mut members = Members::new(&program);
            let args = [30, CLONE_INTO_CGROUP, 0];
            let kind = EventKind::NewTask;
            members.event(&KernelEvent { cpu: 0, ticks: 1, kind, pid: 20, args });
            assert_eq!(members.has(30), belongs, "hierarchy {hierarchy}");
        }
    }

    #[test]
    fn a_number_of_another_hierarchy_is_that_of_another_group() {
        let mut group = ProgramCgroup { path: "/a".into(), hierarchy: 4, moved_into: vec![] };
        for (number, place) in
            [(7, "0:/a"), (8, "4:/b"), (9, "4:/a"), (10, "4:/a/b"), (9, "4:/a"), (7, "14:/a/b")]
        {
            group.note_move(number, place);
        }
        assert_eq!(group.moved_into, [9, 10]);
    }

    #[test]
    fn a_group_contains_those_below_it() {
        let group = |path: &str| ProgramCgroup { path: path.into(), ..ProgramCgroup::default() };
        for (path, other, expected) in [
            ("/a", "/a", true),
            ("/a", "/a/b", true),
            ("/a", "/ab", false),
            ("/a", "/", false),
            ("/", "/a", true),
            ("/", "/", true),
        ] {
            assert_eq!(group(path).contains(other), expected, "{other} in {path}");
        }
    }
}
