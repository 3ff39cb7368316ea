//! Other anechoic processes that measure the same CPUs.

use super::Root;
use anechoic_recording::notes::BESIDE_ANOTHER;

/// How the names of our processes begin.
const PROCESS: &str = "anechoic";
/// How the names of the threads begin that measure a CPU; its number follows.
const LOOP: &str = "loop ";

/// Returns a note for each other process that measures some of `cpus` now.
#[must_use]
pub fn measured_by_others(cpus: &[u32]) -> Vec<String> {
    notes(&Root::live(), std::process::id(), cpus)
}

fn notes(root: &Root, own: u32, cpus: &[u32]) -> Vec<String> {
    let mut processes: Vec<u32> =
        root.names("/proc").iter().filter_map(|name| name.parse().ok()).collect();
    processes.retain(|&process| process != own);
    processes.sort_unstable();
    processes.into_iter().filter_map(|process| note(root, process, cpus)).collect()
}

/// Returns a note if that process measures one of `cpus` too.
fn note(root: &Root, process: u32, cpus: &[u32]) -> Option<String> {
    let comm = |path: String| root.read(&format!("/proc/{process}{path}/comm"));
    comm(String::new()).filter(|name| name.starts_with(PROCESS))?;
    let tasks = root.names(&format!("/proc/{process}/task")).into_iter();
    let measured = tasks.filter_map(|task| comm(format!("/task/{task}")));
    let measured = measured.filter_map(|name| name.strip_prefix(LOOP)?.parse().ok());
    let mut both: Vec<u32> = measured.filter(|cpu| cpus.contains(cpu)).collect();
    both.sort_unstable();
    both.dedup();
    let list = crate::cpus::list(&both);
    let cpus = if both.len() == 1 { "CPU" } else { "CPUs" };
    (!both.is_empty()).then(|| {
        format!("{BESIDE_ANOTHER} {process}) measured {cpus} {list} at the same time, and each disturbed the other")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_processes_on_the_same_cpus_are_noted() {
        let (_dir, root) = Root::tree(&[
            ("proc/10/comm", "anechoic"),
            ("proc/10/task/11/comm", "loop 1"),
            ("proc/20/comm", "anechoic"),
            ("proc/20/task/20/comm", "anechoic"),
            ("proc/20/task/21/comm", "loop 2"),
            ("proc/20/task/22/comm", "loop 1"),
            ("proc/20/task/23/comm", "loop any"),
            ("proc/30/comm", "bash"),
            ("proc/30/task/31/comm", "loop 1"),
            ("proc/40/comm", "anechoic-mpi"),
            ("proc/40/task/41/comm", "loop 7"),
        ]);
        let found = notes(&root, 10, &[0, 1, 2]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("(process 20) measured CPUs 1-2 at the same time"), "{found:?}");
        assert!(notes(&root, 10, &[0]).is_empty());
    }
}
