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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::CurvePoint;

    #[test]
    fn the_smallest_probabilities_count_until_one_fails() {
        let cases: [(&str, &[f64], &[usize]); 7] = [
            ("none", &[], &[]),
            ("at the level", &[0.05], &[0]),
            ("over it", &[0.0501], &[]),
            ("three times, twice and once", &[0.05, 0.016, 0.025], &[0, 1, 2]),
            ("the second fails", &[0.03, 0.016, 0.026], &[1]),
            ("the first fails", &[0.017, 0.02, 0.9], &[]),
            ("equal ones", &[0.025, 0.025], &[0, 1]),
        ];
        for (name, probabilities, expected) in cases {
            assert_eq!(clear_of(probabilities), expected.iter().copied().collect(), "case: {name}");
        }
    }

    /// Returns a run with this threshold and these rates over lengths.
    fn run(threshold_ns: u64, rates: &[(u64, f64)]) -> Values {
        let point = |&(threshold_ns, rate_per_s): &(u64, f64)| CurvePoint {
            threshold_ns,
            detours: 1,
            rate_per_s,
            noise: 0.0,
        };
        Values { threshold_ns, curve: rates.iter().map(point).collect(), ..Values::default() }
    }

    #[test]
    fn lengths_that_some_run_cannot_judge_are_left_out() {
        let all = [(100, 9.0), (200, 6.0), (500, 3.0)];
        let cases: [(&str, Values, Values, &[u64]); 4] = [
            ("alike", run(100, &all), run(100, &all), &[100, 200, 500]),
            ("one begins at 200", run(100, &all), run(200, &all[1..]), &[500]),
            ("one ends at 200", run(100, &all[..2]), run(100, &all), &[100, 200, 500]),
            ("thresholds over the curve", run(700, &all), run(600, &all), &[]),
        ];
        for (name, before, after, expected) in cases {
            let sides = [vec![before], vec![after]];
            let found = lengths(&sides, &Design::Apart);
            let at: Vec<u64> = found.iter().map(|change| change.threshold_ns).collect();
            assert_eq!(at, expected, "case: {name}");
        }
        let sides = [vec![run(100, &all), run(100, &all[..2])], vec![run(100, &all)]];
        let rates = lengths(&sides, &Design::Apart);
        let pairs: Vec<[f64; 2]> = rates
            .iter()
            .map(|change| [change.difference.before, change.difference.after])
            .collect();
        assert_eq!(pairs, [[9.0, 9.0], [6.0, 6.0], [1.5, 3.0]], "beyond its curve a run has none");
    }

    /// Of 9 a second 6 and 3 are longer before, of 4 a second 3 and 0 after: 2/3 and 1/3 against 3/4 and 0.
    #[test]
    fn distributions_of_lengths_differ_by_their_largest_distance() {
        let before = run(100, &[(100, 9.0), (200, 6.0), (500, 3.0)]);
        let after = run(100, &[(100, 4.0), (200, 3.0)]);
        let distance = |before: &Values, after: &Values| {
            length_distance(&[vec![before.clone()], vec![after.clone()]])
        };
        assert_eq!(distance(&before, &after), Some(3.0 / 9.0));
        assert_eq!(distance(&after, &before), Some(3.0 / 9.0));
        assert_eq!(distance(&before, &before), Some(0.0));
        let none = run(100, &[(100, 0.0)]);
        assert_eq!((distance(&before, &none), distance(&none, &before)), (None, None));
        assert_eq!(distance(&run(100, &[]), &run(100, &[])), None);
    }

    #[test]
    fn what_only_some_runs_have_is_not_compared() {
        let run = |cpus: &[(u32, f64)], job: Option<f64>| Values {
            cpus: cpus.iter().copied().collect(),
            job,
            ..Values::default()
        };
        let sides = [
            vec![
                run(&[(0, 0.1), (1, 0.2), (7, 0.9)], Some(1.5)),
                run(&[(0, 0.3), (1, 0.2)], Some(0.5)),
            ],
            vec![run(&[(1, 0.4), (0, 0.8), (3, 0.5)], Some(4.0))],
        ];
        let found: Vec<(u32, f64, f64)> = cpus(&sides, &Design::Apart)
            .into_iter()
            .map(|row| (row.cpu, row.difference.before, row.difference.after))
            .collect();
        assert_eq!(found, [(0, 0.2, 0.8), (1, 0.2, 0.4)]);
        let difference = job(&sides, &Design::Apart).expect("each has a cost").difference;
        assert_eq!((difference.before, difference.after), (1.0, 4.0));
        let [before, _] = sides;
        assert_eq!(job(&[before, vec![run(&[], None)]], &Design::Apart), None);
    }

    /// The hypervisor's time is tested alone: among the four others its probability would not be enough.
    #[test]
    fn sources_are_sorted_by_their_difference_and_controls_judged_apart() {
        let source = |source: &str, name: &str| (source.to_owned(), name.to_owned());
        let run = |guest: bool, noise: [f64; 3]| Values {
            guest,
            sources: Some(
                [
                    (source("vm-or-hardware", ""), noise[0]),
                    (source("irq", "1 a"), noise[1]),
                    (source("thread", "b"), noise[2]),
                ]
                .into(),
            ),
            ..Values::default()
        };
        let quiet = |guest| {
            vec![
                run(guest, [1.0, 2.0, 5.0]),
                run(guest, [1.1, 2.0, 5.5]),
                run(guest, [0.9, 2.0, 4.5]),
            ]
        };
        let loud = |guest| {
            vec![
                run(guest, [2.0, 2.0, 9.0]),
                run(guest, [2.1, 2.0, 9.5]),
                run(guest, [1.9, 2.0, 8.5]),
            ]
        };
        for guest in [true, false] {
            let found = sources(&[quiet(guest), loud(guest)], &Design::Mixed);
            let names: Vec<(&str, bool, bool)> =
                found.iter().map(|row| (&*row.source, row.control, row.difference.clear)).collect();
            let expected =
                [("thread", false, true), ("vm-or-hardware", guest, true), ("irq", false, false)];
            assert_eq!(names, expected, "guest: {guest}");
            let (before, after) = (found[0].difference.before, found[0].difference.after);
            assert_eq!((before, after), (5.0, 9.0));
        }
        let unknown = Values::default();
        assert_eq!(sources(&[quiet(true), vec![unknown]], &Design::Mixed), []);
    }
}
