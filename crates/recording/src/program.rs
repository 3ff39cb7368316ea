//! The user's program of a recording without loops, and which threads belong to it.

use crate::event::EventKind;
use crate::rows::KernelEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The flag of clone(2) for a thread of the same process.
pub const CLONE_THREAD: u64 = 0x0001_0000;

/// The lowest priority, as the kernel numbers them, of threads that are not real-time.
const ORDINARY: i32 = 100;

/// A recorded program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// Its name: the file of the command, or the name of the process that already ran.
    pub name: String,
    /// The thread of the tool that started it: each process that this thread began in the run belongs to the program. Absent
    /// for a process that already ran.
    pub started_by: Option<i32>,
    /// Its threads at the start of the run, by number; empty if the tool started it.
    pub threads: Vec<i32>,
    /// What it returned, as a shell shows it (128 and more for a signal); absent if it went on, or if the tool did not start
    /// it.
    pub exit_code: Option<u8>,
    /// Number of its threads that events showed or that it had at the start.
    pub threads_seen: u64,
    /// For how long its threads executed on each CPU that it used.
    pub ran: Vec<RanOn>,
    /// The CPU time of all its threads in the run, as the kernel counted it: of a command with the processes for which it
    /// waited. Absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<CpuTime>,
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
    seen: u64,
}

impl Members {
    /// Returns the threads of a program at the start.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        Self {
            threads: program.threads.iter().copied().collect(),
            real_time: HashSet::new(),
            started_by: program.started_by,
            seen: program.threads.len() as u64,
        }
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
    /// has the number of a thread that has ended.
    pub fn event(&mut self, event: &KernelEvent) {
        let child = event.args[0] as i32;
        match event.kind {
            EventKind::NewTask => {
                let own = self.started_by == Some(event.pid) && event.args[1] & CLONE_THREAD == 0;
                if own || self.has(event.pid) {
                    self.seen += u64::from(self.threads.insert(child));
                } else {
                    self.threads.remove(&child);
                }
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
}
