//! The threads of processes and of their descendants.

use super::same_numbers;
use crate::machine::Root;
use crate::stat;
use anechoic_recording::{Problem, ProblemKind};
use std::collections::{BTreeMap, BTreeSet};

/// Number of processes that are named.
const NAMED: usize = 3;

/// Processes that run already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The names of their main threads.
    pub name: String,
    /// Their threads and those of their descendants, but for those of this process.
    pub threads: Vec<i32>,
}

/// Reads processes and their descendants from /proc.
///
/// # Errors
/// Fails if there is no such process, or if kernel events number threads differently, as they do for a PID namespace.
pub fn tree(pids: &[i32]) -> Result<Tree, Problem> {
    same_numbers()?;
    let own = rustix::process::getpid().as_raw_nonzero().get();
    tree_in(&Root::live(), pids, own).map_err(|pid| {
        let why = format!("there is no process {pid}");
        ProblemKind::NoInput.problem(why, "`pgrep -a NAME` lists processes with their numbers")
    })
}

/// Returns the number of a process that does not exist as an error.
fn tree_in(root: &Root, pids: &[i32], own: i32) -> Result<Tree, i32> {
    let mut names = vec![];
    for &pid in pids {
        names.push(root.read(&format!("/proc/{pid}/comm")).ok_or(pid)?);
    }
    let threads = |process: &i32| numbers(root, &format!("/proc/{process}/task"));
    let processes = processes(root, pids).into_iter().filter(|&process| process != own);
    let threads = processes.flat_map(|process| threads(&process)).collect();
    Ok(Tree { name: together(&names), threads })
}

fn together(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() && names.len() <= NAMED => {
            format!("{} and {last}", first.join(", "))
        }
        names if names.len() > NAMED => {
            let more = names.len() - (NAMED - 1);
            format!("{} and {more} more processes", names[..NAMED - 1].join(", "))
        }
        names => names.concat(),
    }
}

/// Returns the numbers of processes and of their descendants.
pub(crate) fn processes(root: &Root, pids: &[i32]) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in numbers(root, "/proc") {
        let stat = root.read(&format!("/proc/{process}/stat")).unwrap_or_default();
        if let Some(parent) = stat::field(&stat, stat::PARENT) {
            children.entry(parent).or_default().push(process);
        }
    }
    let (mut processes, mut new) = (BTreeSet::new(), pids.to_vec());
    while let Some(process) = new.pop() {
        if processes.insert(process) {
            new.extend(children.get(&process).into_iter().flatten());
        }
    }
    processes
}

pub(super) fn numbers(root: &Root, path: &str) -> Vec<i32> {
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
            ("proc/20/comm", "other"),
            ("proc/20/task/20/comm", ""),
        ]);
        let found = tree_in(&root, &[10], 14).expect("it runs");
        assert_eq!(found, Tree { name: "shell".into(), threads: vec![10, 11, 12, 13] });
        let found = tree_in(&root, &[20, 10], 14).expect("they run");
        let threads = vec![10, 11, 12, 13, 20];
        assert_eq!(found, Tree { name: "other and shell".into(), threads });
        assert_eq!(tree_in(&root, &[10, 15], 14), Err(15));
    }

    #[test]
    fn some_processes_are_named() {
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        let all: Vec<String> = (1..5).map(|count| together(&names[..count])).collect();
        assert_eq!(all, ["a", "a and b", "a, b and c", "a, b and 2 more processes"]);
    }
}
