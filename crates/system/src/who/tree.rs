//! The threads of a process and of its descendants.

use super::shows_all;
use crate::machine::Root;
use crate::stat;
use anechoic_recording::{Problem, ProblemKind};
use std::collections::{BTreeMap, BTreeSet};

/// A process that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The name of its main thread.
    pub name: String,
    /// Its threads and those of its descendants, but for those of this process.
    pub threads: Vec<i32>,
}

/// Reads a process and its descendants from /proc.
///
/// # Errors
/// Fails if there is no such process, or if kernel events number threads differently, as they do for a PID namespace.
pub fn tree(pid: i32) -> Result<Tree, Problem> {
    if !shows_all() {
        let why = "in this PID namespace kernel events have other numbers for processes";
        let remedy =
            "record outside the container, or start the command with it: record -- COMMAND";
        return Err(ProblemKind::Unavailable.problem(why, remedy));
    }
    let own = rustix::process::getpid().as_raw_nonzero().get();
    tree_in(&Root::live(), pid, own).ok_or_else(|| {
        let why = format!("there is no process {pid}");
        ProblemKind::NoInput.problem(why, "`pgrep -a NAME` lists processes with their numbers")
    })
}

fn tree_in(root: &Root, pid: i32, own: i32) -> Option<Tree> {
    let name = root.read(&format!("/proc/{pid}/comm"))?.trim_end().to_owned();
    let threads = |process: &i32| numbers(root, &format!("/proc/{process}/task"));
    let processes = processes(root, pid).into_iter().filter(|&process| process != own);
    let threads = processes.flat_map(|process| threads(&process)).collect();
    Some(Tree { name, threads })
}

/// Returns the numbers of a process and of its descendants.
pub(crate) fn processes(root: &Root, pid: i32) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in numbers(root, "/proc") {
        let stat = root.read(&format!("/proc/{process}/stat")).unwrap_or_default();
        if let Some(parent) = stat::field(&stat, stat::PARENT) {
            children.entry(parent).or_default().push(process);
        }
    }
    let (mut processes, mut new) = (BTreeSet::new(), vec![pid]);
    while let Some(process) = new.pop() {
        if processes.insert(process) {
            new.extend(children.get(&process).into_iter().flatten());
        }
    }
    processes
}

fn numbers(root: &Root, path: &str) -> Vec<i32> {
    root.names(path).into_iter().filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_all_threads_of_all_descendants_but_our_own() {
        let (_directory, root) = Root::tree(&[
            ("proc/10/stat", "10 (a) b) S 1 10 10"),
            ("proc/10/comm", "shell\n"),
            ("proc/10/task/10/comm", ""),
            ("proc/11/stat", "11 (job) S 10 10 10"),
            ("proc/11/task/11/comm", ""),
            ("proc/11/task/12/comm", ""),
            ("proc/13/stat", "13 (grandchild) S 11 10 10"),
            ("proc/13/task/13/comm", ""),
            ("proc/14/stat", "14 (anechoic) S 10 10 10"),
            ("proc/14/task/14/comm", ""),
            ("proc/20/stat", "20 (other) S 1 20 20"),
            ("proc/20/task/20/comm", ""),
        ]);
        let found = tree_in(&root, 10, 14).expect("it runs");
        assert_eq!(found, Tree { name: "shell".into(), threads: vec![10, 11, 12, 13] });
        assert_eq!(tree_in(&root, 15, 14), None);
    }
}
