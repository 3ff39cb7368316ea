//! Control groups of programs: where they are, which threads they have, and their CPU time.

mod find;

pub use find::{container, named, unit};

use crate::cpus;
use crate::machine::Root;
use crate::who;
use anechoic_recording::{Problem, ProblemKind};
use std::path::PathBuf;

/// A control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    /// Its directory.
    directory: String,
    hierarchy: Hierarchy,
}

/// A hierarchy of control groups that is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    mount: String,
    /// Its number in `/proc/PID/cgroup`: 0 for that of version 2.
    number: u32,
    /// Its controllers, if it is of version 1.
    controllers: Option<Vec<String>>,
}

impl Hierarchy {
    /// Returns a lower number if it is more likely to count CPU time.
    fn rank(&self) -> u32 {
        match &self.controllers {
            None => 0,
            Some(all) if all.iter().any(|one| one == "cpuacct") => 1,
            Some(_) => 2,
        }
    }

    /// Returns whether a directory is in it.
    fn contains(&self, directory: &str) -> bool {
        let below = directory.strip_prefix(&*self.mount);
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Returns the hierarchies that are mounted, those first that count CPU time: version 2, then that of `cpuacct`.
pub(crate) fn hierarchies(root: &Root) -> Vec<Hierarchy> {
    let mounts = root.read("/proc/self/mounts").unwrap_or_default();
    let own = root.read("/proc/self/cgroup").unwrap_or_default();
    let found = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (mount, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        let mount = mount.to_owned();
        match kind {
            "cgroup2" => Some(Hierarchy { mount, number: 0, controllers: None }),
            "cgroup" => {
                let (number, controllers) = legacy(&own, options)?;
                Some(Hierarchy { mount, number, controllers: Some(controllers) })
            }
            _ => None,
        }
    });
    let mut found: Vec<Hierarchy> = found.collect();
    found.sort_by_key(Hierarchy::rank);
    found
}

/// Returns number and controllers of the hierarchy of version 1 that is mounted with these options. The lines of
/// `/proc/self/cgroup` are `NUMBER:CONTROLLERS:PATH`.
fn legacy(own: &str, options: &str) -> Option<(u32, Vec<String>)> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers) = (fields.next()?, fields.next()?);
        let all: Vec<String> = controllers.split(',').map(str::to_owned).collect();
        let is_it = !controllers.is_empty()
            && all.iter().all(|name| options.split(',').any(|option| option == name));
        Some((number.parse().ok()?, all)).filter(|_| is_it)
    })
}

impl Cgroup {
    /// Returns its directory.
    #[must_use]
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Returns its directories, its own first: under version 1 each controller has a hierarchy, in which a group of the same path
    /// belongs to it.
    pub(crate) fn directories(&self) -> Vec<String> {
        let mut all = vec![self.directory.clone()];
        if self.hierarchy.controllers.is_some() {
            let root = Root::live();
            let others = hierarchies(&root).into_iter().filter(|it| it.controllers.is_some());
            let same = others.map(|it| format!("{}{}", it.mount, self.path()));
            all.extend(same.filter(|it| *it != self.directory && root.exists(it)));
        }
        all
    }

    /// Returns its path in its hierarchy, as `/proc/PID/cgroup` shows it.
    #[must_use]
    pub fn path(&self) -> &str {
        match self.directory.strip_prefix(&self.hierarchy.mount) {
            None | Some("") => "/",
            Some(path) => path,
        }
    }

    /// Returns the number of its hierarchy in `/proc/PID/cgroup`: 0 for version 2.
    #[must_use]
    pub fn hierarchy(&self) -> u32 {
        self.hierarchy.number
    }

    /// Returns the threads in it and in the groups below it, without those of this process.
    ///
    /// # Errors
    /// Fails if there are none, if they may not be read, or if kernel events number threads differently, as they do for a PID
    /// namespace.
    pub fn threads(&self) -> Result<Vec<i32>, Problem> {
        who::same_numbers()?;
        let root = Root::live();
        let own = root.names("/proc/self/task");
        let all = self.read_threads(&root)?;
        let threads: Vec<i32> =
            all.into_iter().filter(|tid| !own.contains(&tid.to_string())).collect();
        if threads.is_empty() {
            let why = format!("no process is in the control group {}", self.directory);
            let remedy =
                "start the program first; `systemd-cgls` shows which groups have processes";
            return Err(ProblemKind::NoInput.problem(why, remedy));
        }
        Ok(threads)
    }

    /// Returns the processes in it and in the groups below it, as far as they may be read.
    #[must_use]
    pub fn processes(&self) -> Vec<i32> {
        let root = Root::live();
        let read = |directory: String| root.read(&format!("{directory}/cgroup.procs"));
        let lists: Vec<String> = below(&root, &self.directory).filter_map(read).collect();
        lists.iter().flat_map(|list| list.lines()).filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Returns the number of CPUs on which its threads may run now: that of the threads that do not sleep.
    pub(crate) fn running(&self) -> usize {
        let root = Root::live();
        let threads = self.read_threads(&root).unwrap_or_default();
        threads.iter().filter(|tid| runs(&root, **tid)).count().min(cpus::online().len())
    }

    /// Returns whether this process is in it or below it.
    pub(crate) fn has_this_process(&self) -> bool {
        let threads = self.read_threads(&Root::live()).unwrap_or_default();
        threads.contains(&rustix::process::getpid().as_raw_nonzero().get())
    }

    /// Returns whether no process is left in it and below it, also if it was removed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let root = Root::live();
        match root.read(&self.events_file()) {
            Some(events) => events.lines().any(|line| line == "populated 0"),
            None => self.each_threads(&root).all(|one| one.is_ok_and(|threads| threads.is_empty())),
        }
    }

    /// Returns the file that is modified when the group becomes empty, if it has one (version 2).
    #[must_use]
    pub fn events(&self) -> Option<PathBuf> {
        let root = Root::live();
        let file = self.events_file();
        root.exists(&file).then(|| root.path(&file))
    }

    fn events_file(&self) -> String {
        format!("{}/cgroup.events", self.directory)
    }

    /// Returns the CPU time of all threads that are or were in it and below it, in ns; `None` if the kernel does not count it:
    /// in hierarchies of version 1 without `cpuacct`, and in a group that was removed.
    pub(crate) fn cpu_time_ns(&self) -> Option<u64> {
        self.read_cpu_time(&Root::live())
    }

    fn read_cpu_time(&self, root: &Root) -> Option<u64> {
        if self.hierarchy.controllers.is_some() {
            return root.number(&format!("{}/cpuacct.usage", self.directory));
        }
        let stat = root.read(&format!("{}/cpu.stat", self.directory))?;
        let usage = stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        usage.parse::<u64>().ok()?.checked_mul(1_000)
    }

    /// Reads the threads of it and of all groups below it; none if it was removed.
    fn read_threads(&self, root: &Root) -> Result<Vec<i32>, Problem> {
        let mut threads = vec![];
        for one in self.each_threads(root) {
            threads.extend(one?);
        }
        Ok(threads)
    }

    /// Reads the threads of it and of each group below it.
    fn each_threads(&self, root: &Root) -> impl Iterator<Item = Result<Vec<i32>, Problem>> {
        let file = if self.hierarchy.controllers.is_some() { "tasks" } else { "cgroup.threads" };
        below(root, &self.directory).map(move |directory| {
            let path = root.path(&format!("{directory}/{file}"));
            match std::fs::read_to_string(&path) {
                Ok(text) => Ok(text.lines().filter_map(|tid| tid.parse().ok()).collect()),
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    let why = format!("{}: {error}", path.display());
                    Err(ProblemKind::Unavailable.problem(why, "use sudo"))
                }
                Err(_) => Ok(vec![]), // it was removed
            }
        })
    }
}

/// Returns whether a thread executes or waits for a CPU.
fn runs(root: &Root, tid: i32) -> bool {
    let stat = root.read(&format!("/proc/{tid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" R"))
}

/// Returns a directory and all those below it, which are read as they are asked for.
fn below(root: &Root, directory: &str) -> impl Iterator<Item = String> {
    let mut next = vec![directory.to_owned()];
    std::iter::from_fn(move || {
        let directory = next.pop()?;
        let names = root.names(&directory).into_iter();
        let paths = names.map(|name| format!("{}/{name}", directory.trim_end_matches('/')));
        // A link could lead around in circles; these file systems have none.
        let is_dir =
            |path: &std::path::Path| path.symlink_metadata().is_ok_and(|about| about.is_dir());
        next.extend(paths.filter(|path| is_dir(&root.path(path))));
        Some(directory)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "proc /proc proc rw 0 0
cgroup /cg/pids cgroup rw,pids 0 0
cgroup /cg/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0
cgroup /cg/systemd cgroup rw,name=systemd 0 0
cgroup2 /cg/unified cgroup2 rw 0 0";
    const OWN: &str = "12:pids:/\n4:cpu,cpuacct:/x\n1:name=systemd:/\n0::/\n";

    #[test]
    fn hierarchies_that_count_cpu_time_come_first() {
        let (_directory, root) =
            Root::tree(&[("proc/self/mounts", MOUNTS), ("proc/self/cgroup", OWN)]);
        let found: Vec<(String, u32)> =
            hierarchies(&root).into_iter().map(|one| (one.mount, one.number)).collect();
        let expected =
            [("/cg/unified", 0), ("/cg/cpu,cpuacct", 4), ("/cg/pids", 12), ("/cg/systemd", 1)];
        assert_eq!(found, expected.map(|(mount, number)| (mount.to_owned(), number)));
    }

    #[test]
    fn a_group_has_the_threads_and_the_time_of_both_versions() {
        let (_directory, root) = Root::tree(&[
            ("cg/v2/a/cgroup.threads", "7\n8\n"),
            ("cg/v2/a/b/c/cgroup.threads", "9\n"),
            ("cg/v2/ab/cgroup.threads", "99\n"),
            ("cg/v2/a/cpu.stat", "usage_usec 1500\nuser_usec 9\n"),
            ("cg/v1/a/tasks", "17\n"),
            ("cg/v1/a/cpuacct.usage", "1234\n"),
        ]);
        let group = |mount: &str, controllers| Cgroup {
            directory: format!("{mount}/a"),
            hierarchy: Hierarchy { mount: mount.into(), number: 0, controllers },
        };
        let unified = group("/cg/v2", None);
        assert_eq!(unified.read_threads(&root).expect("readable"), [7, 8, 9]);
        assert_eq!((unified.read_cpu_time(&root), unified.path()), (Some(1_500_000), "/a"));
        let legacy = group("/cg/v1", Some(vec!["cpuacct".into()]));
        assert_eq!(legacy.read_threads(&root).expect("readable"), [17]);
        assert_eq!(legacy.read_cpu_time(&root), Some(1_234));
        let gone = group("/cg/none", None);
        assert_eq!(gone.read_threads(&root).expect("it was removed"), [0; 0]);
        assert_eq!(gone.read_cpu_time(&root), None);
    }
}
