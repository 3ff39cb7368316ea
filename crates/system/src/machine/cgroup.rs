//! This process's own cgroup, and the CPUs of its cpuset.

use super::Root;
use std::path::{Path, PathBuf};

/// Returns the directory of this process's cgroup in the unified (v2) hierarchy.
pub(crate) fn unified(root: &Root) -> Option<String> {
    place(root, |kind, _| kind == "cgroup2", str::is_empty).map(|place| place.directory())
}

/// Returns the CPUs that the cpuset of this process allows, and the file that lists them.
///
/// A cgroup without its own cpuset uses that of its nearest ancestor.
pub(crate) fn cpuset(root: &Root) -> Option<(String, Vec<u32>)> {
    let legacy = |name: &str| name.split(',').any(|word| word == "cpuset");
    let v1 = place(root, |kind, options| kind == "cgroup" && legacy(options), legacy);
    let v1 = v1.and_then(|place| nearest(root, &place.directory(), "cpuset.effective_cpus"));
    v1.or_else(|| nearest(root, &unified(root)?, "cpuset.cpus.effective"))
}

/// Returns the directory of the cgroup that limits the memory of this process in the hierarchy of the memory controller
/// (v1), if there is one.
pub(crate) fn legacy_memory(root: &Root) -> Option<String> {
    let legacy = |name: &str| name.split(',').any(|word| word == "memory");
    place(root, |kind, options| kind == "cgroup" && legacy(options), legacy)
        .map(|place| place.directory())
}

/// Where a cgroup lies: the mount point of its hierarchy, and its path in that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) mount: String,
    pub(crate) path: String,
}

impl Place {
    /// Returns its directory.
    pub(crate) fn directory(&self) -> String {
        format!("{}{}", self.mount, self.path.trim_end_matches('/'))
    }
}

/// Returns the cgroups of a process that may limit its CPU time: that of the CPU controller (v1), and that of the
/// unified hierarchy (v2); none if it has ended. `process` is its directory in /proc: a number, or `self`.
///
/// A container that shows the path on its host has its cgroup at the mount point itself.
pub(crate) fn limiting_cpu(root: &Root, process: &str) -> Vec<Place> {
    let legacy = |name: &str| name.split(',').any(|word| word == "cpu");
    let is_v1 = |kind: &str, options: &str| kind == "cgroup" && legacy(options);
    let v1 = place_of_process(root, process, is_v1, legacy);
    let v2 = place_of_process(root, process, |kind, _| kind == "cgroup2", str::is_empty);
    let here = |place: Place| match root.exists(&place.directory()) {
        true => place,
        false => Place { path: "/".to_owned(), ..place },
    };
    v1.into_iter().chain(v2).map(here).collect()
}

/// Finds a hierarchy's mount point and this process's path in it.
fn place(
    root: &Root,
    is_mount: impl Fn(&str, &str) -> bool,
    is_place: impl Fn(&str) -> bool,
) -> Option<Place> {
    place_of_process(root, "self", is_mount, is_place)
}

/// Finds a hierarchy's mount point and a process's path in it.
fn place_of_process(
    root: &Root,
    process: &str,
    is_mount: impl Fn(&str, &str) -> bool,
    is_place: impl Fn(&str) -> bool,
) -> Option<Place> {
    let mounts = root.read("/proc/self/mounts")?;
    let mount = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        is_mount(kind, options).then(|| point.to_owned())
    })?;
    // Lines are `ID:CONTROLLERS:PATH`; a path may contain colons.
    let places = root.read(&format!("/proc/{process}/cgroup"))?;
    let path = places.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        is_place(controllers).then(|| path.to_owned())
    })?;
    Some(Place { mount, path })
}

fn nearest(root: &Root, directory: &str, file: &str) -> Option<(String, Vec<u32>)> {
    Path::new(directory).ancestors().find_map(|directory| {
        let path: PathBuf = directory.join(file);
        let path = path.to_string_lossy().into_owned();
        let cpus = root.cpus(&path)?;
        Some((path, cpus))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str =
        "cgroup /cg/cpuset cgroup rw,relatime,cpuset 0 0\ncgroup2 /cg/unified cgroup2 rw 0 0\n";
    const V2: &str = "proc /proc proc rw 0 0\ncgroup2 /cg cgroup2 rw 0 0\n";

    #[test]
    fn the_cpuset_that_counts_is_found() {
        type Case<'a> =
            (&'a str, &'a str, &'a str, &'a [(&'a str, &'a str)], Option<(&'a str, &'a str)>);
        let cases: &[Case] = &[
            (
                "v2, own",
                V2,
                "0::/job/a\n",
                &[("cg/job/a/cpuset.cpus.effective", "2-3")],
                Some(("/cg/job/a/cpuset.cpus.effective", "2-3")),
            ),
            (
                "v2, from above",
                V2,
                "0::/job/a\n",
                &[("cg/cpuset.cpus.effective", "0-7")],
                Some(("/cg/cpuset.cpus.effective", "0-7")),
            ),
            (
                "v1",
                V1,
                "3:cpuset:/b\n0::/\n",
                &[("cg/cpuset/b/cpuset.effective_cpus", "1")],
                Some(("/cg/cpuset/b/cpuset.effective_cpus", "1")),
            ),
            (
                "colon in path",
                V2,
                "0::/a:b\n",
                &[("cg/a:b/cpuset.cpus.effective", "1")],
                Some(("/cg/a:b/cpuset.cpus.effective", "1")),
            ),
            ("no cpuset", V2, "0::/\n", &[], None),
            ("no mounts", "", "0::/\n", &[], None),
            ("hostile", "x\n y\n", "::\n:\n\n", &[], None),
        ];
        for (case, mounts, places, files, expected) in cases {
            let own = [("proc/self/mounts", *mounts), ("proc/self/cgroup", *places)];
            let (_directory, root) = Root::tree(&[&own, *files].concat());
            let got = cpuset(&root).map(|(f, c)| (f, crate::cpus::list(&c)));
            let expected = expected.map(|(f, c)| (f.to_owned(), c.to_owned()));
            assert_eq!(got, expected, "case: {case}");
        }
    }
}
