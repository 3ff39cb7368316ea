//! What a change does to a recorded program: its time from start to end, its CPU time, and what it lost.

use super::contrast::Design;
use super::parts::{differences, each, in_all};
use super::{ComparedRun, Difference, Values};
use crate::waits::{ReleaseRow, Releases};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What is compared of one run of a program, in ns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ProgramTimes {
    name: String,
    /// From start to end; absent if it ran already, or went on.
    wall_ns: Option<f64>,
    cpu_ns: f64,
    is_account: bool,
    lost_ns: f64,
    /// A release that took longer counted as late; absent if the recording has no releases.
    late_ns: Option<u64>,
    releases: BTreeMap<String, ReleaseTimes>,
}

/// How late timers released a thread, or a pool of them, in one run: in ns, and the share of late ones.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ReleaseTimes {
    p50_ns: f64,
    p99_ns: Option<f64>,
    late_share: f64,
}

impl ReleaseTimes {
    fn new(row: &ReleaseRow) -> Self {
        Self {
            p50_ns: row.p50_ns as f64,
            p99_ns: row.p99_ns.map(|ns| ns as f64),
            late_share: crate::share(row.late, row.releases),
        }
    }
}

/// A thread with fewer releases in a run has no median worth comparing.
const FEWEST: u64 = 10;

impl ProgramTimes {
    pub(super) fn from_run(compared: &ComparedRun<'_>) -> Option<Self> {
        let facts = compared.summary.run.program.as_ref()?;
        let total = &compared.summary.total;
        Some(Self {
            name: facts.name.clone(),
            wall_ns: facts.wall_ns(compared.summary.run.wall_ns).map(|ns| ns as f64),
            cpu_ns: facts.account.map_or(facts.ran_ns, |account| account.kernel_ns) as f64,
            is_account: facts.account.is_some(),
            lost_ns: total.noise * total.wall_ns as f64,
            late_ns: compared.summary.releases.as_ref().map(|found| found.late_ns),
            releases: releases_of(compared.summary.releases.as_ref()),
        })
    }
}

/// Returns how late timers released each thread that has enough releases, by name.
fn releases_of(found: Option<&Releases>) -> BTreeMap<String, ReleaseTimes> {
    let rows = found.into_iter().flat_map(|found| &found.rows);
    let many = rows.filter(|row| row.releases >= FEWEST);
    many.map(|row| (row.name.clone(), ReleaseTimes::new(row))).collect()
}

/// Recorded programs on both sides. Times are means over runs, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProgramChange {
    /// The names of the programs of each side.
    pub names: [Vec<String>; 2],
    /// From the start of the program to its end; absent if it went on after a recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<Difference>,
    /// Its CPU time on all CPUs.
    pub cpu_ns: Difference,
    /// Whether that is the kernel's account in all runs; otherwise it is for how long events show it executing.
    pub is_account: bool,
    /// For how long it wanted a CPU and did not execute, added up over CPUs.
    pub lost_ns: Difference,
    /// How late timers released the threads that all runs have, by name; those with fewer than ten releases in a run are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<ReleaseChange>,
    /// The threads that only some runs have, which are not compared.
    #[serde(skip_serializing_if = "LeftOutThreads::is_empty")]
    pub releases_left_out: LeftOutThreads,
    /// A release that took longer counted as late, in ns; absent if that was not the same in all runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_ns: Option<u64>,
}

/// The names of threads, or of pools of them, whose releases are not compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct LeftOutThreads {
    /// Those of which only runs before the change, or only runs after it, have ten releases or more.
    pub only: [Vec<String>; 2],
    /// Those of which some runs of both sides have ten releases or more.
    pub some_runs: Vec<String>,
}

impl LeftOutThreads {
    /// Returns those that are in some runs and not in all.
    fn new(sides: &[Vec<Values>; 2], compared: &[ReleaseChange]) -> Self {
        let names = sides.each_ref().map(|side| {
            let programs = side.iter().filter_map(|run| run.program.as_ref());
            let names = programs.flat_map(|program| program.releases.keys());
            let is_compared = |name: &str| compared.iter().any(|row| row.name == name);
            names.filter(|name| !is_compared(name)).cloned().collect::<BTreeSet<String>>()
        });
        let [before, after] = &names;
        let only = [before - after, after - before].map(|names| names.into_iter().collect());
        Self { only, some_runs: (before & after).into_iter().collect() }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How late timers released a thread of the programs, or a pool of threads, on both sides: means over runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReleaseChange {
    /// Its name.
    pub name: String,
    /// The median latency of a run, in ns.
    pub p50_ns: Difference,
    /// The 99th percentile of a run, in ns; absent if a run has fewer than 1,000 releases of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<Difference>,
    /// The share of late releases of a run, from 0 to 1; absent if what is late differs between runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_share: Option<Difference>,
}

impl ProgramChange {
    /// Returns whether both sides recorded one program, of the same name.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.names[0].len() == 1 && self.names[0] == self.names[1]
    }
}

/// Returns what changed for the programs that the runs recorded; absent if a run recorded none.
pub(super) fn programs(sides: &[Vec<Values>; 2], design: &Design) -> Option<ProgramChange> {
    let times = |run: &Values| run.program.clone().unwrap_or_default();
    let all = || sides.iter().flatten();
    if all().any(|run| run.program.is_none()) {
        return None;
    }
    let is_whole = all().all(|run| times(run).wall_ns.is_some());
    let mut rows =
        vec![each(sides, |run| times(run).cpu_ns), each(sides, |run| times(run).lost_ns)];
    rows.extend(is_whole.then(|| each(sides, |run| times(run).wall_ns.unwrap_or_default())));
    let mut found = differences(&rows, design).into_iter();
    let names = sides.each_ref().map(|side| {
        let names: BTreeSet<String> = side.iter().map(|run| times(run).name).collect();
        names.into_iter().collect()
    });
    let releases = releases(sides, design);
    Some(ProgramChange {
        names,
        releases_left_out: LeftOutThreads::new(sides, &releases),
        cpu_ns: found.next()?,
        lost_ns: found.next()?,
        wall_ns: found.next(),
        is_account: all().all(|run| times(run).is_account),
        releases,
        late_ns: late_ns(sides),
    })
}

/// Returns what counted as late in all runs.
fn late_ns(sides: &[Vec<Values>; 2]) -> Option<u64> {
    let mut limits =
        sides.iter().flatten().map(|run| run.program.as_ref().and_then(|it| it.late_ns));
    let first = limits.next()??;
    limits.all(|limit| limit == Some(first)).then_some(first)
}

/// Returns what changed for the releases of the threads that every run has. What is clear is decided among all of them.
fn releases(sides: &[Vec<Values>; 2], design: &Design) -> Vec<ReleaseChange> {
    let names: Vec<String> = in_all(sides, |run| {
        run.program.iter().flat_map(|program| program.releases.keys().cloned()).collect()
    });
    let same_limit = late_ns(sides).is_some();
    let has_p99 =
        |name: &str| sides.iter().flatten().all(|run| release_times(run, name).p99_ns.is_some());
    let mut rows = vec![];
    for name in &names {
        rows.push(each(sides, |run| release_times(run, name).p50_ns));
        rows.extend(
            has_p99(name)
                .then(|| each(sides, |run| release_times(run, name).p99_ns.unwrap_or_default())),
        );
        rows.extend(same_limit.then(|| each(sides, |run| release_times(run, name).late_share)));
    }
    let mut found = differences(&rows, design).into_iter();
    let mut next = |is_there: bool| if is_there { found.next() } else { None };
    let changes = names.into_iter().filter_map(|name| {
        let (p50_ns, p99_ns) = (next(true)?, next(has_p99(&name)));
        Some(ReleaseChange { p50_ns, p99_ns, late_share: next(same_limit), name })
    });
    changes.collect()
}

/// Returns how late timers released threads with this name in a run.
fn release_times(run: &Values, name: &str) -> ReleaseTimes {
    let found = run.program.as_ref().and_then(|program| program.releases.get(name));
    found.copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run in which timers released threads with this median, 99th percentile and share of late ones.
    fn run(late_ns: u64, threads: &[(&str, f64, Option<f64>, f64)]) -> Values {
        let times = |&(name, p50_ns, p99_ns, late_share): &(&str, f64, Option<f64>, f64)| {
            (name.to_owned(), ReleaseTimes { p50_ns, p99_ns, late_share })
        };
        let releases = threads.iter().map(times).collect();
        let program = ProgramTimes { late_ns: Some(late_ns), releases, ..ProgramTimes::default() };
        Values { program: Some(program), ..Values::default() }
    }

    #[test]
    fn a_program_is_the_same_if_all_runs_have_one_name() {
        let named = |names: &[&str]| -> Vec<Values> {
            let program =
                |name: &&str| ProgramTimes { name: (*name).into(), ..ProgramTimes::default() };
            names
                .iter()
                .map(|name| Values { program: Some(program(name)), ..Values::default() })
                .collect()
        };
        for (before, after, same) in [
            (&["a", "a"][..], &["a", "a"][..], true),
            (&["a", "a"], &["b", "b"], false),
            (&["a", "b"], &["a", "b"], false),
        ] {
            let found = programs(&[named(before), named(after)], &Design::Mixed).expect("programs");
            assert_eq!(found.is_same(), same, "{before:?} and {after:?}");
        }
    }

    /// Medians of 10, 11, 12 and of 20, 21, 22: the difference is 10, its standard error √(2/3), its interval of 4 degrees of freedom
    /// 2.776 of these.
    #[test]
    fn releases_are_compared_by_thread() {
        let side = |from: f64, late_ns: u64, others: [Option<f64>; 3]| {
            let each = others.iter().zip([from, from + 1.0, from + 2.0]);
            let runs = each.map(|(p99, p50)| {
                let mut threads = vec![("control", p50, Some(9.0 * p50), p50 / 100.0)];
                threads.extend(p99.map(|_| ("logger", 5.0, None, 0.0)));
                run(late_ns, &threads)
            });
            runs.collect::<Vec<_>>()
        };
        let all = [Some(1.0); 3];
        let sides = [side(10.0, 100, all), side(20.0, 100, all)];
        let found = releases(&sides, &Design::Mixed);
        let [control, logger] = &found[..] else { panic!("{found:?}") };
        assert_eq!((control.name.as_str(), logger.name.as_str()), ("control", "logger"));
        let Difference { before, after, interval, clear } = control.p50_ns;
        assert_eq!((before, after, clear), (11.0, 21.0, true));
        let reach = 2.776 * (2.0_f64 / 3.0).sqrt();
        let ends = interval.map(|ends| [ends.low, ends.high]).expect("several runs");
        assert!((ends[0] - (10.0 - reach)).abs() < 0.01, "{ends:?}");
        assert!((ends[1] - (10.0 + reach)).abs() < 0.01, "{ends:?}");
        assert_eq!(control.p99_ns.map(|p99| [p99.before, p99.after]), Some([99.0, 189.0]));
        assert_eq!(control.late_share.map(|late| late.clear), Some(true));
        assert_eq!((logger.p99_ns, logger.p50_ns.clear), (None, false));
        assert_eq!(logger.late_share.map(|late| [late.before, late.after]), Some([0.0, 0.0]));

        let some = [Some(1.0), None, Some(1.0)];
        let other_limit = [side(10.0, 100, some), side(20.0, 200, all)];
        let found = releases(&other_limit, &Design::Mixed);
        let [control] = &found[..] else { panic!("{found:?}") };
        assert_eq!((control.p50_ns.clear, control.late_share), (true, None));
        let left_out = LeftOutThreads::new(&other_limit, &found);
        assert_eq!(
            (left_out.some_runs, left_out.only),
            (vec!["logger".to_owned()], [vec![], vec![]])
        );
        let one_side = [side(10.0, 100, all), side(20.0, 100, [None; 3])];
        let left_out = LeftOutThreads::new(&one_side, &releases(&one_side, &Design::Mixed));
        assert_eq!(
            (left_out.some_runs, left_out.only),
            (vec![], [vec!["logger".to_owned()], vec![]])
        );
        assert!(LeftOutThreads::new(&sides, &releases(&sides, &Design::Mixed)).is_empty());
        assert_eq!(late_ns(&other_limit), None);
        assert_eq!(late_ns(&sides), Some(100));
        assert!(releases(&[vec![run(1, &[])], vec![run(1, &[])]], &Design::Mixed).is_empty());
    }
}
