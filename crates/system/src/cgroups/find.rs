//! Finds the control group that a user means: by its path, as a unit of systemd, as a container.

use super::{Cgroup, Hierarchy, below, hierarchies};
use crate::machine::Root;
use crate::who::{container_id, container_name};
use anechoic_recording::{Problem, ProblemKind};
use std::process::Command;

/// Number of hexadecimal digits of a container's ID that are enough.
const SHORTEST_ID: usize = 6;
/// Number of matches that an error lists.
const LISTED: usize = 4;
/// Suffixes of units; a name without one is that of a service.
const SUFFIXES: [&str; 3] = [".service", ".scope", ".slice"];

/// Finds a control group by its path: a directory, or the path in its hierarchy that `/proc/PID/cgroup` shows.
///
/// # Errors
/// Fails if there is none.
pub fn named(path: &str) -> Result<Cgroup, Problem> {
    named_in(&Root::live(), path)
}

fn named_in(root: &Root, path: &str) -> Result<Cgroup, Problem> {
    let meant = meant(&some_hierarchies(root)?, path);
    let exists = |group: &&Cgroup| root.exists(&format!("{}/cgroup.procs", group.directory));
    // A path may be that of a group in several hierarchies, and the processes in one of them.
    let has_threads = |group: &&Cgroup| {
        group.each_threads(root).any(|one| one.is_ok_and(|threads| !threads.is_empty()))
    };
    let existing = || meant.iter().filter(exists);
    if let Some(group) = existing().find(has_threads).or_else(|| existing().next()) {
        return Ok(group.clone());
    }
    let mut tried: Vec<String> = meant.into_iter().map(|group| group.directory).collect();
    tried.dedup();
    let why = format!("there is no control group {}", list(&tried));
    let remedy = "`systemd-cgls` shows them, and /proc/PID/cgroup that of a process";
    Err(ProblemKind::NoInput.problem(why, remedy))
}

/// Returns the groups that a path may mean: a directory, or the path below /sys/fs/cgroup or in any hierarchy.
fn meant(hierarchies: &[Hierarchy], path: &str) -> Vec<Cgroup> {
    let path = match path.trim_matches('/') {
        "" => String::new(),
        path => format!("/{path}"),
    };
    if let Some(group) = in_a_mount(hierarchies, path.clone()) {
        return vec![group];
    }
    let below = in_a_mount(hierarchies, format!("/sys/fs/cgroup{path}"));
    let anywhere = hierarchies
        .iter()
        .map(|one| Cgroup { directory: format!("{}{path}", one.mount), hierarchy: one.clone() });
    below.into_iter().chain(anywhere).collect()
}

fn in_a_mount(hierarchies: &[Hierarchy], directory: String) -> Option<Cgroup> {
    let hierarchy = hierarchies.iter().find(|one| one.contains(&directory))?.clone();
    Some(Cgroup { directory, hierarchy })
}

/// Finds the control group of a systemd unit.
///
/// # Errors
/// Fails if none has its name, or several have.
pub fn unit(name: &str) -> Result<Cgroup, Problem> {
    let root = Root::live();
    let full = match SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
        true => name.to_owned(),
        false => format!("{name}.service"),
    };
    if let Some(found) = search(&root, &|part| part == full, &format!("unit {full}"))? {
        return Ok(found);
    }
    // It may be another name of the unit.
    let shown = ask(&["systemctl", "show", "--property=ControlGroup", "--value", &full]);
    match shown.filter(|path| path.starts_with('/')) {
        Some(path) => named_in(&root, &path),
        None => {
            let places = places(&root)?;
            let why = format!("no control group {full} is below {places}: the unit does not run");
            let remedy = "`systemctl list-units --state=running` shows those that do";
            Err(ProblemKind::NoInput.problem(why, remedy))
        }
    }
}

/// Finds the control group of a container by the beginning of its ID, six digits or more, or by its name.
///
/// # Errors
/// Fails if there is none, or several.
pub fn container(name: &str) -> Result<Cgroup, Problem> {
    container_in(&Root::live(), name)
}

fn container_in(root: &Root, name: &str) -> Result<Cgroup, Problem> {
    let is_id = name.len() >= SHORTEST_ID && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = is_id.then(|| name.to_ascii_lowercase());
    let what = format!("container {name}");
    let found = search(
        root,
        &|part| {
            workload_id(part).is_some_and(|known| {
                id.as_ref().is_some_and(|id| known.starts_with(id))
                    || container_name(root, known).as_deref() == Some(name)
            })
        },
        &what,
    )?;
    if let Some(found) = found {
        return Ok(found);
    }
    let inspect = ["inspect", "--type", "container", "--format", "{{.Id}}", name];
    let known =
        ["docker", "podman"].iter().find_map(|tool| ask(&[&[*tool], &inspect[..]].concat()));
    if let Some(id) = known.filter(|id| id.len() == 64) {
        let found = search(root, &|part| workload_id(part) == Some(&*id), &what)?;
        if let Some(found) = found {
            return Ok(found);
        }
    }
    let why = format!(
        "no container {name} runs: below {} no control group has an ID that begins so, no file of Docker or Podman has the \
         name, and `docker inspect` and `podman inspect` do not know it",
        places(root)?
    );
    let remedy = "give at least six digits of the ID, as `docker ps` or `crictl ps` shows it";
    Err(ProblemKind::NoInput.problem(why, remedy))
}

/// Returns the ID of the container whose processes are in a group with this name, not of what watches it.
fn workload_id(part: &str) -> Option<&str> {
    container_id(part).filter(|_| !part.contains("conmon"))
}

/// Finds the group whose name matches, in the first hierarchy that has one. Of groups below each other it is the upper one.
fn search(
    root: &Root,
    is_it: &dyn Fn(&str) -> bool,
    what: &str,
) -> Result<Option<Cgroup>, Problem> {
    for hierarchy in some_hierarchies(root)? {
        let all = below(root, &hierarchy.mount);
        let is_named = |directory: &String| directory.rsplit('/').next().is_some_and(is_it);
        let mut found: Vec<String> = all.filter(is_named).collect();
        found.sort();
        let mut upper: Vec<String> = vec![];
        for directory in found {
            if !upper.last().is_some_and(|above| directory.starts_with(&format!("{above}/"))) {
                upper.push(directory);
            }
        }
        match &upper[..] {
            [] => {}
            [directory] => return Ok(Some(Cgroup { directory: directory.clone(), hierarchy })),
            several => {
                let why = format!("{what} is not unique: {}", list(several));
                let remedy = "name one with --cgroup, or give more digits of an ID";
                return Err(ProblemKind::Usage.problem(why, remedy));
            }
        }
    }
    Ok(None)
}

fn list(directories: &[String]) -> String {
    let shown = directories[..directories.len().min(LISTED)].join(", ");
    let more = directories.len().saturating_sub(LISTED);
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn some_hierarchies(root: &Root) -> Result<Vec<Hierarchy>, Problem> {
    let found = hierarchies(root);
    if found.is_empty() {
        let why = "no control groups are mounted here (/proc/self/mounts)";
        let remedy = "record processes with --pid, or a command";
        return Err(ProblemKind::Unavailable.problem(why, remedy));
    }
    Ok(found)
}

/// Returns where control groups are mounted.
fn places(root: &Root) -> Result<String, Problem> {
    let mounts: Vec<String> = some_hierarchies(root)?.into_iter().map(|one| one.mount).collect();
    Ok(list(&mounts))
}

/// Returns the line that a command prints, if it is installed and succeeds.
fn ask(words: &[&str]) -> Option<String> {
    let done = Command::new(words.first()?).args(words.get(1..)?).output().ok()?;
    let line = String::from_utf8(done.stdout).ok()?.trim().to_owned();
    (done.status.success() && !line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const OTHER: &str = "0123450000000000000000000000000000000000000000000000000000000000";

    fn tree() -> (TempDir, Root) {
        let group = |path: &str| (format!("{path}/cgroup.procs"), "1\n");
        let mut files = vec![
            (
                "proc/self/mounts".to_owned(),
                "cgroup /cg/cpuacct cgroup rw,cpuacct 0 0\ncgroup2 /cg/unified cgroup2 rw 0 0\n",
            ),
            ("proc/self/cgroup".to_owned(), "2:cpuacct:/\n0::/\n"),
            (format!("var/lib/docker/containers/{ID}/config.v2.json"), "{\"Name\":\"/db\"}"),
        ];
        let groups = [
            "cg/unified".to_owned(),
            "cg/cpuacct".to_owned(),
            "cg/unified/jobs".to_owned(),
            "cg/unified/both".to_owned(),
            "cg/cpuacct/both".to_owned(),
            "cg/unified/user.slice/a/x.service".to_owned(),
            "cg/unified/user.slice/b/x.service".to_owned(),
            "cg/unified/system.slice/cron.service".to_owned(),
            format!("cg/unified/machine.slice/libpod-{OTHER}.scope"),
            format!("cg/unified/machine.slice/libpod-{OTHER}.scope/container"),
            format!("cg/unified/machine.slice/libpod-conmon-{OTHER}.scope"),
            format!("cg/cpuacct/docker/{ID}"),
        ];
        files.push(("cg/unified/cgroup.threads".to_owned(), "1\n"));
        files.push(("cg/cpuacct/both/tasks".to_owned(), "7\n"));
        files.extend(groups.iter().map(|path| group(path)));
        Root::tree(&files)
    }

    #[test]
    fn paths_are_found_as_users_write_them() {
        let (_directory, root) = tree();
        for (name, path, directory, shown) in [
            ("a directory", "/cg/unified/jobs", "/cg/unified/jobs", "/jobs"),
            ("with a slash at its end", "/cg/unified/jobs/", "/cg/unified/jobs", "/jobs"),
            ("in its hierarchy", "/jobs", "/cg/unified/jobs", "/jobs"),
            ("relative", "jobs", "/cg/unified/jobs", "/jobs"),
            ("all", "/", "/cg/unified", "/"),
            ("in two, with threads in one", "both", "/cg/cpuacct/both", "/both"),
            ("version 1", "/cg/cpuacct/docker", "", ""),
        ] {
            match named_in(&root, path) {
                Ok(found) => {
                    let found = (found.directory(), found.path());
                    assert_eq!(found, (directory, shown), "case: {name}");
                }
                Err(problem) => {
                    assert_eq!(directory, "", "case: {name}: {problem}");
                    assert!(problem.why.contains("/cg/cpuacct/docker"), "{problem}");
                }
            }
        }
        let docker = named_in(&root, &format!("docker/{ID}")).expect("in version 1");
        assert_eq!((docker.hierarchy(), docker.path()), (2, &*format!("/docker/{ID}")));
    }

    #[test]
    fn containers_are_found_by_id_and_name() {
        let (_directory, root) = tree();
        let directory = |name: &str| container_in(&root, name).map(|found| found.directory);
        let docker = format!("/cg/cpuacct/docker/{ID}");
        let podman = format!("/cg/unified/machine.slice/libpod-{OTHER}.scope");
        assert_eq!(directory("0123456").ok(), Some(docker.clone()));
        assert_eq!(directory("DB").ok(), None);
        assert_eq!(directory("db").ok(), Some(docker));
        assert_eq!(directory("01234500").ok(), Some(podman), "not its monitor");
        let few = directory("01234").expect_err("five digits");
        assert!(few.to_string().contains("six digits"), "{few}");
    }

    #[test]
    fn a_name_that_several_groups_have_is_refused() {
        let (_directory, root) = tree();
        let find = |name: &'static str| search(&root, &move |part| part == name, name);
        assert_eq!(find("none.service").ok(), Some(None));
        assert!(find("cron.service").is_ok_and(|found| found.is_some()));
        let several = find("x.service").expect_err("two have it").to_string();
        assert!(several.starts_with("x.service is not unique"), "{several}");
        assert!(several.contains("/a/x.service, /cg/unified/user.slice/b/"), "{several}");
    }
}
