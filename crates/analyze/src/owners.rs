//! Whose the lost time is: that of the run itself, of others on this machine, of the kernel, or of the host.

use crate::coverage::CounterReadings;
use crate::sources::{SourceTime, SourcesBuilder};
use anechoic_recording::sources;
use anechoic_recording::who::{CpuLimits, SeenThread};
use anechoic_recording::{Clock, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Number of neighbours with a row of their own; the smallest of more are added up.
const MOST_NEIGHBOURS: usize = 8;

/// Kinds of owners.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// Limits of the run itself: the CPU quota of its cgroup, throttling of its real-time threads.
    OwnQuota,
    /// The run: anechoic, injected noise, threads of the same cgroup, faults and signals of the loops.
    OwnThreads,
    /// Threads of another cgroup, or of none.
    Neighbour,
    /// The kernel: ticks, interrupts, softirqs, and its threads.
    Kernel,
    /// The hypervisor, by the steal that it reports.
    Hypervisor,
    /// Nothing in the kernel ran: the hardware, the firmware or a hypervisor that reports no steal.
    Hardware,
    /// Not known: events were lost or switched off, or a thread had ended before /proc was read.
    Unknown,
}

/// An owner of lost time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// Its kind.
    pub kind: OwnerKind,
    /// Unit, pod, container or job of a neighbour; empty for the other kinds, and for threads of no unit.
    pub name: String,
    /// Its time in nanoseconds, including entry and exit gaps.
    pub lost_ns: u64,
    /// Share of the wall time of all measured CPUs.
    pub noise: f64,
    /// Share of the time of all owners.
    pub share: f64,
    /// Whether this is an upper limit: the kernel counted more time than the trace shows for the quota, and the
    /// difference was taken from neighbours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_most: bool,
}

/// Sorts the time of all sources by its owners, the largest first. `wall` is that of all measured CPUs in ticks.
pub(crate) fn owners(
    found: &SourcesBuilder,
    run: &Run,
    wall: u64,
    readings: &CounterReadings,
) -> Vec<Owner> {
    let mut ledger = Ledger::new(run);
    found.times().for_each(|time| ledger.add(&time));
    if !run.steal_readings {
        ledger.steal_of_stat(readings, run);
    }
    ledger.quota(run);
    ledger.finish(run.clock.ns(wall))
}

/// Time in nanoseconds by owner.
struct Ledger<'a> {
    clock: &'a Clock,
    own_cgroup: &'a str,
    threads: BTreeMap<i32, &'a SeenThread>,
    lost_ns: BTreeMap<(OwnerKind, String), u64>,
    /// Whether time of neighbours was moved to the quota.
    moved: bool,
}

impl<'a> Ledger<'a> {
    fn new(run: &'a Run) -> Self {
        Self {
            clock: &run.clock,
            own_cgroup: run.limits.as_ref().map_or("/", |limits| &limits.cgroup),
            threads: run.threads.iter().map(|seen| (seen.tid, seen)).collect(),
            lost_ns: BTreeMap::new(),
            moved: false,
        }
    }

    fn put(&mut self, kind: OwnerKind, name: &str, ns: u64) {
        if ns > 0 {
            let lost_ns = self.lost_ns.entry((kind, name.to_owned())).or_default();
            *lost_ns = lost_ns.saturating_add(ns);
        }
    }

    /// Adds the time of a source: what was stolen in it is the hypervisor's. That of threads is split by their time, with
    /// the gaps around them in proportion.
    fn add(&mut self, time: &SourceTime<'_>) {
        let all_ns = self.clock.ns(time.ticks);
        let stolen_ns = time.steal_ns.min(all_ns);
        self.put(OwnerKind::Hypervisor, "", stolen_ns);
        let rest_ns = all_ns - stolen_ns;
        let is = |known: &[&sources::Source]| known.iter().any(|known| known.is(time.source));
        let kind = match () {
            () if is(&[&sources::CPU_QUOTA, &sources::RT_THROTTLING]) => OwnerKind::OwnQuota,
            () if is(&[&sources::ANECHOIC, &sources::STOPPED, &sources::BLOCKED]) => {
                OwnerKind::OwnThreads
            }
            () if is(&[&sources::PAGE_FAULT, &sources::VICTIM_KERNEL]) => OwnerKind::OwnThreads,
            () if is(&[&sources::VM_OR_HARDWARE, &sources::SLOWER]) => OwnerKind::Hardware,
            () if is(&[&sources::NOT_ATTRIBUTABLE]) => OwnerKind::Unknown,
            () if is(&[&sources::THREAD, &sources::FAIR_SERVER]) => {
                return self.split(time, rest_ns);
            }
            () => OwnerKind::Kernel,
        };
        self.put(kind, "", rest_ns);
    }

    fn split(&mut self, time: &SourceTime<'_>, ns: u64) {
        let all: u128 = time.threads.iter().map(|&(_, ticks)| u128::from(ticks)).sum();
        let mut left_ns = ns;
        for &(tid, ticks) in &time.threads {
            let part = u128::from(ns) * u128::from(ticks) / all.max(1);
            let part = u64::try_from(part).unwrap_or(left_ns).min(left_ns);
            left_ns -= part;
            let (kind, name) = self.owner(tid, time.name);
            self.put(kind, &name, part);
        }
        // What rounding leaves goes to the thread with the most time.
        let most = time.threads.iter().max_by_key(|(_, ticks)| *ticks).map_or(0, |(tid, _)| *tid);
        let (kind, name) = self.owner(most, time.name);
        self.put(kind, &name, left_ns);
    }

    fn owner(&self, tid: i32, name: &str) -> (OwnerKind, String) {
        match self.threads.get(&tid).filter(|seen| seen.is_named(name)) {
            None => (OwnerKind::Unknown, String::new()),
            Some(seen) if seen.is_of_kernel() => (OwnerKind::Kernel, String::new()),
            Some(seen) if seen.cgroup == self.own_cgroup && seen.unit.is_some() => {
                (OwnerKind::OwnThreads, String::new())
            }
            Some(seen) => (OwnerKind::Neighbour, seen.unit.clone().unwrap_or_default()),
        }
    }

    /// Moves time of one owner to another, as far as it has so much.
    fn shift(&mut self, from: (OwnerKind, String), to: OwnerKind, ns: u64) -> u64 {
        let has = self.lost_ns.get_mut(&from);
        let moved = has.map_or(0, |has| {
            let moved = ns.min(*has);
            *has -= moved;
            moved
        });
        self.put(to, "", moved);
        moved
    }

    /// Where steal was not read at each tick, /proc/stat has its sum: it lies where nothing in the kernel ran.
    fn steal_of_stat(&mut self, readings: &CounterReadings, run: &Run) {
        let measured = |cpu: u32| run.cpus.iter().any(|known| known.cpu == cpu);
        let steal =
            readings.all().filter(|(name, cpu, _)| *name == "stat/steal_ns" && measured(*cpu));
        let stolen = steal.map(|(.., [first, last])| last.value.saturating_sub(first.value));
        let stolen = stolen.fold(0, u64::saturating_add);
        self.shift((OwnerKind::Hardware, String::new()), OwnerKind::Hypervisor, stolen);
    }

    /// While the quota holds the loops back, neighbours may run: that time is the quota's too. The kernel counts all of
    /// it, and the trace shows only what was idle.
    fn quota(&mut self, run: &Run) {
        let throttled = run.limits.as_ref().map_or(0, CpuLimits::held_ns);
        let known = self.lost_ns.get(&(OwnerKind::OwnQuota, String::new())).copied().unwrap_or(0);
        let mut missing = throttled.saturating_sub(known);
        let mut others: Vec<((OwnerKind, String), u64)> = self
            .lost_ns
            .iter()
            .filter(|((kind, _), _)| matches!(kind, OwnerKind::Neighbour | OwnerKind::Unknown))
            .map(|(owner, &ns)| (owner.clone(), ns))
            .collect();
        others.sort_by_key(|(_, ns)| Reverse(*ns));
        for (owner, _) in others {
            let moved = self.shift(owner, OwnerKind::OwnQuota, missing);
            self.moved |= moved > 0;
            missing -= moved;
        }
    }

    fn finish(self, wall_ns: u64) -> Vec<Owner> {
        let mut owners: Vec<((OwnerKind, String), u64)> =
            self.lost_ns.into_iter().filter(|(_, ns)| *ns > 0).collect();
        owners.sort_by_key(|(owner, ns)| (Reverse(*ns), owner.clone()));
        let (mut kept, mut others) = (vec![], 0_u64);
        let mut neighbours = 0;
        for ((kind, name), ns) in owners {
            neighbours += usize::from(kind == OwnerKind::Neighbour);
            match kind == OwnerKind::Neighbour && neighbours > MOST_NEIGHBOURS {
                true => others = others.saturating_add(ns),
                false => kept.push((kind, name, ns)),
            }
        }
        if others > 0 {
            let more = neighbours - MOST_NEIGHBOURS;
            kept.push((OwnerKind::Neighbour, format!("{more} others"), others));
        }
        let all = kept.iter().map(|(.., ns)| *ns).fold(0, u64::saturating_add);
        let owner = |(kind, name, lost_ns)| Owner {
            at_most: self.moved && kind == OwnerKind::OwnQuota,
            kind,
            name,
            lost_ns,
            noise: crate::share(lost_ns, wall_ns),
            share: crate::share(lost_ns, all),
        };
        kept.into_iter().map(owner).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{activity, show};
    use anechoic_lab::builders;
    use anechoic_recording::{Activity, ActivityKind};

    fn thread(tid: i32, command: &str, cgroup: &str) -> SeenThread {
        let unit = (cgroup != "/").then(|| cgroup.trim_start_matches('/').to_owned());
        let (name, command, cgroup) = (format!("t{tid}"), command.to_owned(), cgroup.to_owned());
        SeenThread { tid, pid: tid, name, command, cgroup, unit, ..SeenThread::default() }
    }

    fn run(throttled_ns: Option<u64>) -> Run {
        let limits = CpuLimits { cgroup: "/own".into(), throttled_ns, ..CpuLimits::default() };
        let threads = vec![
            thread(1, "own", "/own"),
            thread(2, "busy", "/busy"),
            thread(3, "", "/"),
            thread(4, "shell", "/"),
        ];
        let run = builders::run("detours", builders::clock(1_000_000_000), vec![]);
        Run { threads, limits: Some(limits), steal_readings: true, ..run }
    }

    fn lost_by_owner(rows: &[Activity], run: &Run) -> Vec<(OwnerKind, String, u64)> {
        let mut sources = SourcesBuilder::default();
        show(rows, &mut sources);
        let found = owners(&sources, run, 10_000, &CounterReadings::default());
        let share: f64 = found.iter().map(|owner| owner.share).sum();
        assert!((share - 1.0).abs() < 1e-9, "{found:?}");
        found.into_iter().map(|owner| (owner.kind, owner.name, owner.lost_ns)).collect()
    }

    fn ran(detour: u64, tid: i32, ticks: u64) -> Activity {
        let row = activity(detour, ActivityKind::OffCpu, "thread", &format!("t{tid}"), ticks);
        Activity { thread: Some(tid), ..row }
    }

    #[test]
    fn every_source_has_an_owner() {
        let stolen = activity(0, ActivityKind::Unexplained, "vm-or-hardware", "", 500);
        let rows = [
            Activity { steal_ns: Some(450), ..stolen },
            activity(1, ActivityKind::Activity, "timer-tick", "", 100),
            ran(2, 1, 30),
            ran(3, 2, 700),
            activity(3, ActivityKind::ExitGap, "thread", "t2", 70),
            ran(4, 3, 20),
            ran(5, 4, 60),
            ran(6, 99, 10),
            activity(7, ActivityKind::OffCpu, "cpu-quota", "", 200),
        ];
        let expected = [
            (OwnerKind::Neighbour, "busy", 770),
            (OwnerKind::Hypervisor, "", 450),
            (OwnerKind::OwnQuota, "", 200),
            (OwnerKind::Kernel, "", 120),
            (OwnerKind::Neighbour, "", 60),
            (OwnerKind::Hardware, "", 50),
            (OwnerKind::OwnThreads, "", 30),
            (OwnerKind::Unknown, "", 10),
        ];
        assert_eq!(
            lost_by_owner(&rows, &run(None)),
            expected.map(|(kind, name, ns)| (kind, name.to_owned(), ns))
        );
    }

    #[test]
    fn a_number_with_another_name_is_another_thread() {
        let other = |tid, name: &str| Activity { name: name.into(), ..ran(0, tid, 100) };
        let mut run = run(None);
        run.threads[2].name = "kworker/1:1-events".into();
        for (row, kind) in [
            (other(2, "t2"), OwnerKind::Neighbour),
            (other(2, "t"), OwnerKind::Unknown),
            (other(3, "kworker/1:1"), OwnerKind::Kernel),
            (other(3, "bash"), OwnerKind::Unknown),
            (other(3, "user-1"), OwnerKind::Kernel), // of a redacted recording
        ] {
            assert_eq!(lost_by_owner(&[row], &run)[0].0, kind);
        }
    }

    #[test]
    fn a_neighbour_that_runs_while_the_quota_holds_the_loops_back_is_not_to_blame() {
        let rows = [ran(0, 2, 800), activity(1, ActivityKind::OffCpu, "cpu-quota", "", 100)];
        for (throttled, quota, neighbour) in [(0, 100, 800), (400, 400, 500), (5_000, 900, 0)] {
            let found = lost_by_owner(&rows, &run(Some(throttled)));
            let time = |kind| {
                found.iter().filter(|owner| owner.0 == kind).map(|owner| owner.2).sum::<u64>()
            };
            assert_eq!((time(OwnerKind::OwnQuota), time(OwnerKind::Neighbour)), (quota, neighbour));
        }
    }
}
