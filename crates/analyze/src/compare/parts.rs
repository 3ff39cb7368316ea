//! Where the change is: sources, CPUs and lengths.

use super::contrast::{Contrast, Design, LEVEL};
use super::{CpuChange, Difference, JobChange, LengthChange, SourceChange, Values, is_beneath};
use crate::stats::mean;
use std::collections::BTreeSet;

/// Returns the differences of several values of each run, and which of them are significant among all.
pub(super) fn differences(rows: &[[Vec<f64>; 2]], design: &Design) -> Vec<Difference> {
    let contrasts: Vec<Option<Contrast>> =
        rows.iter().map(|row| Contrast::new(row, design)).collect();
    let probability =
        |contrast: &Option<Contrast>| contrast.as_ref().map_or(1.0, Contrast::probability);
    let clear = clear_of(&contrasts.iter().map(probability).collect::<Vec<f64>>());
    let difference = |(at, row): (usize, &[Vec<f64>; 2])| Difference {
        before: mean(&row[0]).unwrap_or_default(),
        after: mean(&row[1]).unwrap_or_default(),
        interval: contrasts[at].as_ref().map(Contrast::interval),
        clear: clear.contains(&at),
    };
    rows.iter().enumerate().map(difference).collect()
}

/// Returns the places of the tests with these probabilities that are significant among all.
pub(super) fn clear_of(probabilities: &[f64]) -> BTreeSet<usize> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    // Holm 1979: the smallest probability times the number of all, the next times one less, until one fails.
    let tests = order.iter().zip((1..=probabilities.len()).rev());
    tests
        .take_while(|(at, tests)| probabilities[**at] * *tests as f64 <= LEVEL)
        .map(|(at, _)| *at)
        .collect()
}

/// Returns one value of each run.
pub(super) fn each(sides: &[Vec<Values>; 2], value: impl Fn(&Values) -> f64) -> [Vec<f64>; 2] {
    sides.each_ref().map(|side| side.iter().map(&value).collect())
}

/// Returns the noise of each source on both sides, the largest difference first.
pub(super) fn sources(sides: &[Vec<Values>; 2], design: &Design) -> Vec<SourceChange> {
    let known: Option<Vec<_>> = sides.iter().flatten().map(|run| run.sources.as_ref()).collect();
    let names: BTreeSet<_> = known.into_iter().flatten().flat_map(|noise| noise.keys()).collect();
    let value =
        |run: &Values, name| run.sources.as_ref().and_then(|noise| noise.get(name)).copied();
    let rows: Vec<_> =
        names.iter().map(|name| each(sides, |run| value(run, name).unwrap_or(0.0))).collect();
    let guest = sides.iter().flatten().all(|run| run.guest);
    // Controls are tested among themselves, so that many sources do not hide that one moved.
    let (mut controls, mut others) = (vec![], vec![]);
    for (name, row) in names.into_iter().zip(rows) {
        let control = guest && is_beneath(&name.0);
        if control { controls.push((name, row)) } else { others.push((name, row)) }
    }
    let mut found = vec![];
    for (control, group) in [(true, controls), (false, others)] {
        let (names, rows): (Vec<_>, Vec<_>) = group.into_iter().unzip();
        let with_name = names.into_iter().zip(differences(&rows, design));
        found.extend(with_name.map(|((source, name), difference)| SourceChange {
            source: source.clone(),
            name: name.clone(),
            control,
            difference,
        }));
    }
    let size = |change: &SourceChange| (change.difference.after - change.difference.before).abs();
    found.sort_by(|a, b| size(b).total_cmp(&size(a)));
    found
}

/// Returns the noise of each CPU that every run measured.
pub(super) fn cpus(sides: &[Vec<Values>; 2], design: &Design) -> Vec<CpuChange> {
    let cpus: Vec<u32> = in_all(sides, |run| run.cpus.keys().copied().collect());
    let rows: Vec<_> = cpus
        .iter()
        .map(|cpu| each(sides, |run| run.cpus.get(cpu).copied().unwrap_or(0.0)))
        .collect();
    let found = cpus.into_iter().zip(differences(&rows, design));
    found.map(|(cpu, difference)| CpuChange { cpu, difference }).collect()
}

/// Returns the rate of detours over each threshold that every run can judge.
pub(super) fn lengths(sides: &[Vec<Values>; 2], design: &Design) -> Vec<LengthChange> {
    let thresholds = thresholds(sides);
    let rows: Vec<_> = thresholds.iter().map(|at| each(sides, |run| rate(run, *at))).collect();
    let found = thresholds.into_iter().zip(differences(&rows, design));
    found.map(|(threshold_ns, difference)| LengthChange { threshold_ns, difference }).collect()
}

/// Returns what the noise costs the requested job; absent if a run has no cost.
pub(super) fn job(sides: &[Vec<Values>; 2], design: &Design) -> Option<JobChange> {
    let known = sides.iter().flatten().all(|run| run.job.is_some());
    let rows = [each(sides, |run| run.job.unwrap_or_default())];
    let difference = differences(&rows, design).pop().filter(|_| known)?;
    Some(JobChange { ranks: 0, grain_ns: 0, difference })
}

/// Returns the largest difference between the shares of detours that exceed each threshold; absent without detours.
pub(super) fn length_distance(sides: &[Vec<Values>; 2]) -> Option<f64> {
    let thresholds = thresholds(sides);
    let rates = |at: u64| each(sides, |run| rate(run, at)).map(|side| mean(&side).unwrap_or(0.0));
    let all = rates(*thresholds.first()?);
    let share = |at: u64| {
        let over = rates(at);
        (over[1] / all[1] - over[0] / all[0]).abs()
    };
    let known = all.iter().all(|rate| *rate > 0.0);
    known.then(|| thresholds.into_iter().map(share).fold(0.0, f64::max))
}

/// Returns the thresholds of round numbers that are not below that of any run, up to the longest detour of any.
fn thresholds(sides: &[Vec<Values>; 2]) -> Vec<u64> {
    let runs = || sides.iter().flatten();
    let lowest = runs().map(|run| run.threshold_ns).max().unwrap_or(0);
    let same = runs().all(|run| run.threshold_ns == lowest);
    let all: BTreeSet<u64> = runs().flat_map(|run| &run.curve).map(|at| at.threshold_ns).collect();
    all.into_iter().filter(|at| *at > lowest || same && *at == lowest).collect()
}

/// Returns the rate of detours over a threshold; beyond the end of its curve a run has none.
fn rate(run: &Values, threshold_ns: u64) -> f64 {
    let point = run.curve.iter().find(|point| point.threshold_ns == threshold_ns);
    point.map_or(0.0, |point| point.rate_per_s)
}

/// Returns what every run has.
pub(super) fn in_all<T: Ord + Clone>(
    sides: &[Vec<Values>; 2],
    keys: impl Fn(&Values) -> BTreeSet<T>,
) -> Vec<T> {
    let mut runs = sides.iter().flatten().map(keys);
    let first = runs.next().unwrap_or_default();
    runs.fold(first, |kept, next| kept.intersection(&next).cloned().collect()).into_iter().collect()
}
