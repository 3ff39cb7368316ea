//! Threads that began during a run: what is known of those that have ended.

use super::{Units, thread};
use crate::machine::Root;
use crate::tracefs::Batch;
use anechoic_recording::who::SeenThread;
use anechoic_recording::{CLONE_THREAD, EventKind, Name, NameKind};
use std::collections::HashMap;

/// Number of threads of which each of the maps below knows something.
const MOST: usize = 65_536;
/// Number of processes that are read before the run. Each takes some tens of microseconds.
const MOST_PROCESSES: usize = 5_000;
/// Number of ancestors among which one that lives is searched for.
const MOST_ANCESTORS: usize = 100;
/// Number of names of a thread that are remembered.
const MOST_NAMES: usize = 5;

/// Texts with the time from which each holds, in the order of these times: batches of several CPUs are not in order.
type Since = Vec<(u64, String)>;

/// What kernel events show of threads: who began them, and what they are.
#[derive(Debug, Default)]
pub(super) struct Births {
    /// The thread that began each, and whether both are of the same process.
    parents: HashMap<i32, (i32, bool)>,
    programs: HashMap<i32, Since>,
    names: HashMap<i32, Since>,
    /// The processes before the run.
    before: HashMap<i32, SeenThread>,
}

impl Births {
    /// Notes what a batch of events shows. Removes the names that no recording stores.
    pub(super) fn note(&mut self, batch: &mut Batch) {
        for event in batch.events.iter().filter(|event| event.kind == EventKind::NewTask) {
            let [child, flags, _] = event.args;
            let child = child as i32;
            insert(&mut self.parents, child, (event.pid, flags & CLONE_THREAD != 0));
            // Another thread may have had its number.
            for known in [&mut self.names, &mut self.programs] {
                known.entry(child).and_modify(|texts| texts.retain(|text| text.0 >= event.ticks));
            }
            self.before.remove(&child);
        }
        for name in &batch.names {
            match name.kind {
                NameKind::Task => add(&mut self.names, name),
                NameKind::Program => add(&mut self.programs, name),
                NameKind::Symbol | NameKind::Irq | NameKind::Cgroup | NameKind::Stack => {}
            }
        }
        batch.names.retain(|name| !matches!(name.kind, NameKind::Program | NameKind::Cgroup));
    }

    /// Adds the other names that a thread had.
    pub(super) fn with_names(&self, seen: SeenThread) -> SeenThread {
        let names = self.names.get(&seen.tid).into_iter().flatten().map(|(_, name)| name);
        let other_names = names.filter(|name| **name != seen.name).cloned().collect();
        SeenThread { other_names, ..seen }
    }

    /// Notes which threads there are, with the process of each.
    pub(super) fn census(&mut self, root: &Root, units: &mut Units) {
        let numbers =
            |path: &str| root.names(path).into_iter().filter_map(|name| name.parse::<i32>().ok());
        for pid in numbers("/proc").take(MOST_PROCESSES) {
            for tid in numbers(&format!("/proc/{pid}/task")).filter(|&tid| tid != pid) {
                insert(&mut self.parents, tid, (pid, true));
            }
            self.before.extend(thread(root, pid, units).map(|seen| (pid, seen)));
        }
    }

    /// Forgets the threads that began so far where there is no room for many more.
    pub(super) fn make_room(&mut self) {
        if self.parents.len().max(self.names.len()).max(self.programs.len()) > MOST / 2 {
            let before = std::mem::take(&mut self.before);
            *self = Self { before, ..Self::default() };
        }
    }

    /// Returns what is known of a thread that has ended: its own name and program, and the cgroup of its nearest ancestor
    /// that lives or lived at the start. A program that it did not execute itself is that of its nearest ancestor.
    pub(super) fn ended(&self, root: &Root, tid: i32, units: &mut Units) -> Option<SeenThread> {
        let (mut process, mut at, mut program) = (tid, tid, None);
        for _ in 0..MOST_ANCESTORS {
            program = program.or_else(|| last(&self.programs, at));
            let known = thread(root, at, units).or_else(|| self.before.get(&at).cloned());
            if let Some(ancestor) = known {
                let pid = if process == at { ancestor.pid } else { process };
                let name = last(&self.names, tid).cloned().unwrap_or(ancestor.name);
                let command = program.cloned().unwrap_or(ancestor.command);
                return Some(SeenThread { tid, pid, name, command, ..ancestor });
            }
            let &(parent, same_process) = self.parents.get(&at)?;
            if process == at && same_process {
                process = parent;
            }
            at = parent;
        }
        None
    }
}

/// Adds a name or a program to those of its thread, of which the last ones are kept.
fn add(known: &mut HashMap<i32, Since>, name: &Name) {
    let tid = name.key as i32;
    if known.len() >= MOST && !known.contains_key(&tid) {
        return;
    }
    let texts = known.entry(tid).or_default();
    texts.retain(|(since, text)| *text != name.name || *since > name.ticks);
    if texts.iter().all(|(_, text)| *text != name.name) {
        texts.push((name.ticks, name.name.clone()));
    }
    texts.sort_by_key(|&(since, _)| since);
    if texts.len() > MOST_NAMES {
        texts.remove(0);
    }
}

/// Returns the last text of a thread.
fn last(known: &HashMap<i32, Since>, tid: i32) -> Option<&String> {
    known.get(&tid)?.last().map(|(_, text)| text)
}

/// Adds to a map of limited size what it does not have yet, or replaces what it has.
fn insert<T>(map: &mut HashMap<i32, T>, tid: i32, value: T) {
    if map.len() < MOST || map.contains_key(&tid) {
        map.insert(tid, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_recording::KernelEvent;

    fn batch(births: &[(i32, u64, u64)], names: &[(NameKind, u64, &str)]) -> Batch {
        let events = births.iter().map(|&(parent, child, flags)| KernelEvent {
            cpu: 0,
            ticks: 0,
            kind: EventKind::NewTask,
            pid: parent,
            args: [child, flags, 0],
        });
        let names = (1..).zip(names).map(|(ticks, &(kind, key, name))| Name {
            kind,
            key,
            ticks,
            name: name.to_owned(),
        });
        Batch {
            cpu: 0,
            events: events.collect(),
            names: names.collect(),
            losses: vec![],
            marks: vec![],
        }
    }

    #[test]
    fn a_thread_that_ended_has_its_program_and_the_unit_of_an_ancestor_that_lives() {
        let (_directory, root) = Root::tree(&[
            ("proc/10/status", "Name:\tmake\nTgid:\t10\n"),
            ("proc/10/cmdline", "make\0-j2\0"),
            ("proc/10/cgroup", "0::/system.slice/build.service\n"),
            ("proc/2/status", "Name:\tkthreadd\nTgid:\t2\n"),
            ("proc/2/cgroup", "0::/\n"),
        ]);
        let mut births = Births::default();
        // make begins gcc, which begins cc1, which begins a thread; gcc and cc1 execute programs. 30 begins a child.
        let births_of_run = [
            (10, 11, 0),
            (11, 12, 0),
            (12, 13, CLONE_THREAD),
            (10, 14, 0),
            (2, 15, 0),
            (30, 31, 0),
        ];
        let mut events = batch(
            &births_of_run,
            &[
                (NameKind::Task, 12, "gcc"),
                (NameKind::Task, 12, "cc1"),
                (NameKind::Task, 13, "cc1 worker"),
                (NameKind::Program, 11, "/usr/bin/gcc"),
                (NameKind::Program, 12, "/usr/lib/cc1"),
            ],
        );
        births.note(&mut events);
        assert_eq!(events.names.len(), 3, "names of programs are not stored");
        let ended = |tid| births.ended(&root, tid, &mut Units::new());
        let cases = [
            (12, 12, "cc1", "/usr/lib/cc1"),
            (13, 12, "cc1 worker", "/usr/lib/cc1"),
            (14, 14, "make", "make -j2"),
        ];
        for (tid, pid, name, command) in cases {
            let found = ended(tid).expect("an ancestor lives");
            assert_eq!((found.tid, found.pid, &*found.name), (tid, pid, name));
            assert_eq!((&*found.command, found.unit.as_deref()), (command, Some("build.service")));
        }
        let cc1 = births.with_names(ended(12).expect("an ancestor lives"));
        assert_eq!(cc1.other_names, ["gcc"]);
        assert!(cc1.is_named("gcc") && cc1.is_named("cc1") && !cc1.is_named("make"));
        // What another CPU did before, read later, is not its last program.
        let mut early = batch(&[], &[(NameKind::Program, 12, "/usr/bin/sh")]);
        births.note(&mut early);
        let ended = |tid| births.ended(&root, tid, &mut Units::new());
        assert_eq!(ended(12).map(|found| found.command).as_deref(), Some("/usr/lib/cc1"));
        assert!(ended(15).is_some_and(|found| found.is_of_kernel()));
        assert_eq!(ended(31), None, "its ancestors have ended and began before the run");
        assert_eq!(ended(99), None, "it began before the run");
    }

    #[test]
    fn a_thread_that_began_before_the_run_is_of_its_process() {
        let (_directory, before) = Root::tree(&[
            ("proc/10/status", "Name:\trustc\nTgid:\t10\n"),
            ("proc/10/cmdline", "rustc\0--crate-name\0core\0"),
            ("proc/10/cgroup", "0::/system.slice/build.service\n"),
            ("proc/10/task/10/stat", ""),
            ("proc/10/task/11/stat", ""),
            ("proc/12/status", "Name:\tservice\nTgid:\t12\n"),
        ]);
        let (_empty, now) = Root::tree(&[("proc/1/status", "Name:\tinit\nTgid:\t1\n")]);
        let mut births = Births::default();
        births.census(&before, &mut Units::new());
        births.note(&mut batch(&[(20, 12, 0)], &[(NameKind::Task, 11, "opt cgu.1")]));
        let again = births.ended(&now, 12, &mut Units::new());
        assert_eq!(again, None, "its number was used again");
        for (tid, name) in [(10, "rustc"), (11, "opt cgu.1")] {
            let found = births.ended(&now, tid, &mut Units::new()).expect("seen before the run");
            assert_eq!((found.tid, found.pid, &*found.name), (tid, 10, name));
            assert_eq!(
                (&*found.command, found.unit.as_deref()),
                ("rustc --crate-name core", Some("build.service"))
            );
        }
    }

    #[test]
    fn parents_that_form_a_circle_end_the_search() {
        let (_directory, root) = Root::tree(&[("proc/1/status", "Name:\tinit\nTgid:\t1\n")]);
        let mut births = Births::default();
        births.note(&mut batch(&[(5, 6, 0), (6, 5, 0)], &[]));
        assert_eq!(births.ended(&root, 5, &mut Units::new()), None);
    }
}
