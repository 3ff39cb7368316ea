//! The CPU quota of the cgroup of a process, and how long its threads and those of the machine waited for CPUs.

use super::tree::numbers;
use crate::machine::{Root, cgroup};
use anechoic_recording::who::{CpuLimits, HeldBack};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

/// What the kernel had counted at one time.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    cgroup: String,
    /// The cgroups that may limit the CPU time.
    own: Vec<cgroup::Place>,
    /// The cgroups with a quota, from the own one upwards.
    limited: Vec<Limited>,
    waited_ns: Option<u64>,
    machine_waited_ns: Option<u64>,
}

/// Number of files that a look at the descendants of processes reads at most.
const LOOKED_AT: usize = 256;

/// A cgroup with a quota.
#[derive(Debug, Clone)]
struct Limited {
    directory: String,
    quota_us: (u64, u64),
    throttled_ns: u64,
}

impl Limited {
    /// Reads it once more; a group that is gone, or whose quota was lifted, stays as it was.
    fn again(&self, root: &Root) -> Self {
        limited(root, &self.directory).unwrap_or_else(|| self.clone())
    }
}

impl Limits {
    /// Reads the counts of this process's cgroup and those above it.
    #[must_use]
    pub fn read() -> Self {
        Self::read_in(&Root::live())
    }

    /// Reads the counts of the cgroup of another process and of those above it.
    #[must_use]
    pub fn read_of_process(pid: i32) -> Self {
        Self::read_of(&Root::live(), &pid.to_string())
    }

    /// Reads the counts of the same cgroups again, also if the process has ended. Of a cgroup that was removed meanwhile they stay
    /// as they were.
    #[must_use]
    pub fn read_again(&self) -> Self {
        self.read_again_in(&Root::live())
    }

    fn read_again_in(&self, root: &Root) -> Self {
        let now = Self::read_at(root, self.cgroup.clone(), self.own.clone());
        let has = |known: &&Limited| now.limited.iter().any(|it| it.directory == known.directory);
        // They come first, because groups below others are.
        let others = self.limited.iter().filter(|known| !has(known)).map(|known| known.again(root));
        let limited = others.chain(now.limited.iter().cloned()).collect();
        let waited_ns = now.waited_ns.or(self.waited_ns);
        Self { limited, waited_ns, ..now }
    }

    /// Adds the cgroups with a quota in which these processes or their descendants are now. Those that are new count from now
    /// on: `before` gets them, too.
    pub fn join(&mut self, processes: &[i32], before: &mut Self) {
        self.join_in(&Root::live(), processes, before);
    }

    fn join_in(&mut self, root: &Root, processes: &[i32], before: &mut Self) {
        for group in &self.limited {
            if !before.limited.iter().any(|known| known.directory == group.directory) {
                before.limited.push(group.clone()); // it was given a quota meanwhile
            }
        }
        let mut seen = HashSet::new();
        for process in with_descendants(root, processes) {
            let Some(groups) = root.read(&format!("/proc/{process}/cgroup")) else { continue };
            if !seen.insert(groups) {
                continue;
            }
            for group in Self::read_of(root, &process.to_string()).limited {
                if !self.limited.iter().any(|known| known.directory == group.directory) {
                    before.limited.push(group.clone());
                    self.limited.push(group);
                }
            }
        }
    }

    fn read_in(root: &Root) -> Self {
        Self::read_of(root, "self")
    }

    fn read_of(root: &Root, process: &str) -> Self {
        let path = root.read(&format!("/proc/{process}/cgroup")).unwrap_or_default();
        Self::read_at(root, super::path(&path), cgroup::limiting_cpu(root, process))
    }

    fn read_at(root: &Root, cgroup: String, own: Vec<cgroup::Place>) -> Self {
        let mut found = own.iter().map(|place| limited_above(root, place));
        let limited = found.find(|found| !found.is_empty()).unwrap_or_default();
        let waited = |directory: &str| some_ns(&root.read(&format!("{directory}/cpu.pressure"))?);
        Self {
            cgroup,
            limited,
            waited_ns: own.iter().find_map(|place| waited(&place.directory())),
            own,
            machine_waited_ns: root.read("/proc/pressure/cpu").and_then(|text| some_ns(&text)),
        }
    }

    /// Returns what was counted from `before` until now. Of several cgroups with a quota, the one that held its threads back for
    /// longest is named first.
    #[must_use]
    pub fn since(&self, before: &Self) -> Option<CpuLimits> {
        let minus = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let held = |limited: &Limited| {
            let then = before.limited.iter().find(|then| then.directory == limited.directory);
            limited
                .throttled_ns
                .saturating_sub(then.map_or(limited.throttled_ns, |then| then.throttled_ns))
        };
        let mut groups: Vec<HeldBack> = self
            .limited
            .iter()
            .map(|group| HeldBack {
                cgroup: group.directory.clone(),
                quota_us: group.quota_us,
                throttled_ns: held(group),
            })
            .collect();
        // Of equals the nearest, which comes first.
        groups.sort_by_key(|group| Reverse(group.throttled_ns));
        let mut groups = groups.into_iter();
        let limited = groups.next();
        let found = CpuLimits {
            cgroup: self.cgroup.clone(),
            limited: limited.as_ref().map(|group| group.cgroup.clone()),
            quota_us: limited.as_ref().map(|group| group.quota_us),
            throttled_ns: limited.map(|group| group.throttled_ns),
            also_limited: groups.filter(|group| group.throttled_ns > 0).collect(),
            waited_ns: minus(self.waited_ns, before.waited_ns),
            machine_waited_ns: minus(self.machine_waited_ns, before.machine_waited_ns),
        };
        let any = !matches!(&*found.cgroup, "/" | "")
            || found.quota_us.is_some()
            || found.waited_ns.is_some()
            || found.machine_waited_ns.is_some();
        any.then_some(found)
    }
}

/// Returns processes and their descendants, as far as a bounded number of files shows them.
fn with_descendants(root: &Root, processes: &[i32]) -> Vec<i32> {
    let (mut found, mut left, mut at) = (processes.to_vec(), LOOKED_AT, 0);
    while let Some(&process) = found.get(at) {
        at += 1;
        for task in numbers(root, &format!("/proc/{process}/task")) {
            if left == 0 {
                return found;
            }
            left -= 1;
            let children = root.read(&format!("/proc/{process}/task/{task}/children"));
            let children = children.unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|child| child.parse::<i32>().ok()));
        }
    }
    found
}

/// Returns the cgroups with a quota from that place up, the nearest first.
fn limited_above(root: &Root, place: &cgroup::Place) -> Vec<Limited> {
    let directory = place.directory();
    let up = Path::new(&directory).ancestors().take_while(|up| up.starts_with(&place.mount));
    up.filter_map(|up| limited(root, &up.to_string_lossy())).collect()
}

/// Reads the quota of a cgroup and for how long it held threads back; `None` without a quota. Both versions of the files
/// are understood: `cpu.max` and `throttled_usec`, `cpu.cfs_quota_us` and `throttled_time` in nanoseconds.
fn limited(root: &Root, directory: &str) -> Option<Limited> {
    let read = |file: &str| root.read(&format!("{directory}/{file}"));
    let unified = || {
        let text = read("cpu.max")?;
        let (quota, period) = text.split_once(' ')?;
        Some((quota.parse().ok()?, period.parse().ok()?))
    };
    let legacy = || {
        let quota = read("cpu.cfs_quota_us")?.parse().ok()?; // -1 without one
        Some((quota, read("cpu.cfs_period_us")?.parse().ok()?))
    };
    let quota_us = unified().or_else(legacy)?;
    let stat = read("cpu.stat").unwrap_or_default();
    let value = |key: &str| {
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == key)?.1.parse::<u64>().ok()
    };
    let throttled_ns = value("throttled_usec").and_then(|us| us.checked_mul(1_000));
    let throttled_ns = throttled_ns.or_else(|| value("throttled_time"))?;
    Some(Limited { directory: directory.to_owned(), quota_us, throttled_ns })
}

/// Reads the total of the line `some` of a pressure file, which is in microseconds.
fn some_ns(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split(' ').find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: (&str, &str) = ("proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0\n");
    const V1: (&str, &str) = ("proc/self/mounts", "cgroup /cg/cpu cgroup rw,cpu,cpuacct 0 0\n");

    fn since(before: &[(&str, &str)], after: &[(&str, &str)]) -> Option<CpuLimits> {
        let (_one, before) = Root::tree(before);
        let (_two, after) = Root::tree(after);
        Limits::read_in(&after).since(&Limits::read_in(&before))
    }

    #[test]
    fn a_quota_holds_threads_back() {
        let own = ("proc/self/cgroup", "0::/a/b\n");
        let quota = ("cg/a/cpu.max", "20000 100000\n");
        let below = ("cg/a/b/cpu.max", "max 100000\n");
        let stat = |text| ("cg/a/cpu.stat", text);
        let (before, after) =
            ("usage_usec 5\nthrottled_usec 100\n", "usage_usec 9\nthrottled_usec 1100\n");
        let found =
            since(&[V2, own, below, quota, stat(before)], &[V2, own, below, quota, stat(after)])
                .expect("a quota");
        assert_eq!((found.limited.as_deref(), &*found.cgroup), (Some("/cg/a"), "/a/b"));
        assert_eq!(
            (found.quota_us, found.throttled_ns),
            (Some((20_000, 100_000)), Some(1_000_000))
        );
    }

    #[test]
    fn legacy_quotas_and_pressure() {
        let own = ("proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/\n");
        let quota =
            [("cg/cpu/a/cpu.cfs_quota_us", "50000"), ("cg/cpu/a/cpu.cfs_period_us", "100000")];
        let files = |throttled, pressure| {
            let stat = ("cg/cpu/a/cpu.stat", throttled);
            [&[V1, own, stat, ("proc/pressure/cpu", pressure)][..], &quota].concat()
        };
        let before = files(
            "nr_throttled 1\nthrottled_time 700",
            "some avg10=1.0 avg60=0 avg300=0 total=10\n",
        );
        let after = files(
            "nr_throttled 2\nthrottled_time 900",
            "some avg10=1.0 avg60=0 avg300=0 total=14\nfull total=0",
        );
        let found = since(&before, &after).expect("a quota");
        assert_eq!((found.quota_us, found.throttled_ns), (Some((50_000, 100_000)), Some(200)));
        assert_eq!((found.machine_waited_ns, found.waited_ns), (Some(4_000), None));
    }

    #[test]
    fn the_quota_of_another_process_is_that_of_its_cgroup_also_after_its_end() {
        let own = ("proc/self/cgroup", "0::/own\n");
        let other = ("proc/7/cgroup", "0::/a/b\n");
        let quota = ("cg/a/cpu.max", "20000 100000\n");
        let stat = |text| ("cg/a/cpu.stat", text);
        let below = ("cg/a/b/cpu.max", "max 100000\n");
        let (_one, before) =
            Root::tree(&[V2, own, other, below, quota, stat("throttled_usec 100\n")]);
        let (_two, after) = Root::tree(&[V2, own, below, quota, stat("throttled_usec 130\n")]);
        let then = Limits::read_of(&before, "7");
        let found = then.read_again_in(&after).since(&then).expect("a quota");
        assert_eq!((found.limited.as_deref(), &*found.cgroup), (Some("/cg/a"), "/a/b"));
        assert_eq!(found.throttled_ns, Some(30_000));
        let gone = Limits::read_of(&after, "7");
        assert_eq!(gone.since(&gone), None);
    }

    /// The program enters a group itself, or a child of it does.
    #[test]
    fn the_quota_of_another_cgroup_counts_from_when_a_process_is_found_there() {
        let own = ("proc/7/cgroup", "0::/own\n");
        let child = ("proc/7/task/7/children", "8 ");
        let task = ("proc/8/task/8/children", "");
        let inside = ("proc/8/cgroup", "0::/a\n");
        let quota = ("cg/a/cpu.max", "20000 100000\n");
        let stat = |text| ("cg/a/cpu.stat", text);
        let none = ("cg/own/cpu.max", "max 100000\n");
        let (_one, first) = Root::tree(&[V2, own, none, quota, stat("throttled_usec 100\n")]);
        let there = [V2, own, child, task, inside, none, quota];
        let (_two, second) = Root::tree(&[&there[..], &[stat("throttled_usec 130\n")]].concat());
        let (_three, third) = Root::tree(&[&there[..], &[stat("throttled_usec 180\n")]].concat());
        let mut before = Limits::read_of(&first, "7");
        let mut last = before.read_again_in(&first);
        last.join_in(&first, &[7], &mut before);
        assert_eq!(last.since(&before).and_then(|found| found.limited), None);
        last = last.read_again_in(&second);
        last.join_in(&second, &[7], &mut before);
        last = last.read_again_in(&third);
        last.join_in(&third, &[7], &mut before);
        let found = last.since(&before).expect("a quota");
        assert_eq!((found.limited.as_deref(), found.throttled_ns), (Some("/cg/a"), Some(50_000)));
    }

    #[test]
    fn a_quota_that_is_set_later_counts_from_then_on() {
        let own = ("proc/7/cgroup", "0::/a\n");
        let (none, quota) = (("cg/a/cpu.max", "max 100000\n"), ("cg/a/cpu.max", "20000 100000\n"));
        let stat = |text| ("cg/a/cpu.stat", text);
        let (_one, first) = Root::tree(&[V2, own, none, stat("throttled_usec 100\n")]);
        let (_two, second) = Root::tree(&[V2, own, quota, stat("throttled_usec 130\n")]);
        let (_three, third) = Root::tree(&[V2, own, quota, stat("throttled_usec 180\n")]);
        let mut before = Limits::read_of(&first, "7");
        let mut last = before.clone();
        for root in [&first, &second, &third] {
            last = last.read_again_in(root);
            last.join_in(root, &[7], &mut before);
        }
        let found = last.since(&before).expect("a quota");
        assert_eq!((found.limited.as_deref(), found.throttled_ns), (Some("/cg/a"), Some(50_000)));
    }

    /// The own group has a quota and the one above it, too; a child has entered a third.
    #[test]
    fn each_quota_that_held_threads_back_is_known() {
        let files = [V2, ("proc/7/cgroup", "0::/a/b\n"), ("proc/8/cgroup", "0::/c\n")];
        let quotas = [
            ("cg/a/cpu.max", "20000 100000\n"),
            ("cg/a/b/cpu.max", "10000 100000\n"),
            ("cg/c/cpu.max", "5000 50000\n"),
        ];
        let then = |above, below, third| {
            let counts = [("cg/a/cpu.stat", above), ("cg/a/b/cpu.stat", below)];
            Root::tree(&[&files[..], &quotas, &counts, &[("cg/c/cpu.stat", third)]].concat())
        };
        let none = "throttled_usec 0\n";
        let (_one, first) = then("throttled_usec 10\n", none, none);
        let (_two, second) =
            then("throttled_usec 40\n", "throttled_usec 7\n", "throttled_usec 90\n");
        let mut before = Limits::read_of(&first, "7");
        let mut last = before.read_again_in(&first);
        last.join_in(&first, &[7, 8], &mut before);
        let found = last.read_again_in(&second).since(&before).expect("a quota");
        assert_eq!((found.limited.as_deref(), found.throttled_ns), (Some("/cg/c"), Some(90_000)));
        let others: Vec<_> =
            found.also_limited.iter().map(|group| (&*group.cgroup, group.throttled_ns)).collect();
        assert_eq!(others, [("/cg/a", 30_000), ("/cg/a/b", 7_000)]);
        assert_eq!(found.held_ns(), 120_000, "/a/b is inside /a");
        let unchanged = last.since(&before).expect("a quota");
        assert_eq!((unchanged.throttled_ns, &*unchanged.also_limited), (Some(0), &[][..]));
    }

    #[test]
    fn a_cgroup_that_was_removed_keeps_its_last_counts() {
        let other = ("proc/7/cgroup", "0::/a/b\n");
        let above = [("cg/a/cpu.max", "90000 100000\n"), ("cg/a/cpu.stat", "throttled_usec 5\n")];
        let quota = ("cg/a/b/cpu.max", "20000 100000\n");
        let then = |stat, waited| {
            let counts = [("cg/a/b/cpu.stat", stat), ("cg/a/b/cpu.pressure", waited)];
            Root::tree(&[&[V2, other, quota][..], &above, &counts].concat())
        };
        let (_one, before) = then("throttled_usec 100\n", "some total=10\n");
        let (_two, later) = then("throttled_usec 130\n", "some total=30\n");
        let (_three, removed) = Root::tree(&[&[V2][..], &above].concat());
        let before = Limits::read_of(&before, "7");
        let last = before.read_again_in(&later).read_again_in(&removed).read_again_in(&removed);
        let found = last.since(&before).expect("a quota");
        assert_eq!((found.limited.as_deref(), &*found.cgroup), (Some("/cg/a/b"), "/a/b"));
        assert_eq!((found.quota_us, found.throttled_ns), (Some((20_000, 100_000)), Some(30_000)));
        assert_eq!(found.waited_ns, Some(20_000));
        let (_four, unlimited) = Root::tree(&[V2, ("cg/a/b/cpu.max", "max 100000\n")]);
        let last = before.read_again_in(&later);
        let found = last.read_again_in(&unlimited).since(&before).expect("a group");
        let held = (found.quota_us, found.throttled_ns);
        assert_eq!(held, (Some((20_000, 100_000)), Some(30_000)), "its quota was lifted");
    }

    #[test]
    fn without_a_quota_nothing_is_held_back() {
        let own = ("proc/self/cgroup", "0::/a\n");
        let none =
            [V2, own, ("cg/a/cpu.max", "max 100000\n"), ("cg/a/cpu.stat", "throttled_usec 0\n")];
        let own = CpuLimits { cgroup: "/a".into(), ..CpuLimits::default() };
        assert_eq!(since(&none, &none), Some(own));
        assert_eq!(since(&[], &[("proc/pressure/cpu", "nothing")]), None);
    }
}
