//! How many windows of a host are independent, if its CPUs are delayed together.

use super::longest_detours::KEPT;
use super::span::Span;
use super::timeline::Host;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The independent windows of one grain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Independent {
    /// Number of windows of all CPUs, less what those of a host had together.
    pub windows: u64,
    /// Number of CPUs with delays at times of their own that have as many.
    pub cpus: f64,
}

impl Independent {
    /// Counts the windows of all hosts.
    pub(super) fn find(hosts: &[Host], grain_ns: u64) -> Self {
        let mut sum = Self { windows: 0, cpus: 0.0 };
        for host in hosts {
            let cpus = host.cpus().len() as f64 * independent_part(host, grain_ns);
            sum.cpus += cpus;
            sum.windows += ((host.length_ns() / grain_ns) as f64 * cpus).round() as u64;
        }
        sum
    }
}

/// Returns which part of the windows of one grain of a host are independent: 1 if its CPUs are delayed at times of their
/// own, 1 divided by their number if all of them are always delayed together.
///
/// The longest detours of its CPUs lie in a number of different windows, between that of the CPU that has most of them and
/// that of the same detours at times of their own.
fn independent_part(host: &Host, grain_ns: u64) -> f64 {
    let cpus = host.cpus();
    let mut all: Vec<(usize, Span)> = (0..)
        .zip(cpus)
        .flat_map(|(at, (_, cpu))| cpu.longest().into_iter().map(move |detour| (at, detour)))
        .collect();
    // Of equal lengths the earliest, on whichever CPU: the first CPU may not have all of them.
    all.sort_unstable_by_key(|(cpu, detour)| (Reverse(detour.length_ns()), detour.start_ns, *cpu));
    all.truncate(KEPT);
    let Some((_, usual)) = all.get(all.len() / 2) else { return 1.0 };
    // Detours that begin one after the other while the first one lasts delay one phase of the job.
    let window_ns = grain_ns.max(usual.length_ns());
    let windows = host.length_ns().div_ceil(window_ns).max(1) as f64;
    let each: BTreeSet<(usize, u64)> =
        all.iter().map(|(cpu, detour)| (*cpu, detour.start_ns / window_ns)).collect();
    let different: BTreeSet<u64> = each.iter().map(|(_, window)| *window).collect();
    let hit: Vec<f64> = (0..cpus.len())
        .map(|cpu| each.iter().filter(|(at, _)| *at == cpu).count() as f64)
        .filter(|hit| *hit > 0.0)
        .collect();
    let apart = windows * (1.0 - hit.iter().map(|hit| 1.0 - hit / windows).product::<f64>());
    let together = hit.iter().copied().fold(0.0, f64::max);
    if hit.len() < 2 {
        return 1.0; // one CPU alone is delayed for long
    }
    // Where every window is hit on one CPU, nothing shows that the others are delayed at other times.
    let share = match apart - together {
        range if range > 0.0 => ((apart - different.len() as f64) / range).clamp(0.0, 1.0),
        _ => 1.0,
    };
    1.0 - share * (1.0 - 1.0 / cpus.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::timeline::Timeline;

    /// In one window as long as the recording every CPU is delayed: nothing shows that they are at times of their own.
    #[test]
    fn in_one_window_nothing_shows_that_cpus_are_delayed_apart() {
        let cpu =
            |start_ns| Timeline::new(1_000_000, vec![Span { start_ns, end_ns: start_ns + 10 }]);
        let host = |starts_ns: [u64; 2]| {
            Host::new("host".into(), (0..).zip(starts_ns.map(cpu)).collect()).expect("one window")
        };
        let found = |host: Host, grain_ns| Independent::find(&[host], grain_ns);
        let one = Independent { windows: 1, cpus: 1.0 };
        assert_eq!(found(host([100, 900_000]), 1_000_000), one);
        assert_eq!(found(host([100, 100]), 1_000_000), one);
        // In two windows there is something to see.
        assert_eq!(found(host([100, 100]), 500_000), Independent { windows: 2, cpus: 1.0 });
        assert_eq!(found(host([100, 900_000]), 500_000), Independent { windows: 4, cpus: 2.0 });
    }

    /// Windows of 1,000 ns, of which a CPU has these hit for 10 ns each.
    fn cpu(windows: &[u64]) -> Timeline {
        let detour = |&window: &u64| Span { start_ns: 1_000 * window, end_ns: 1_000 * window + 10 };
        Timeline::new(100_000, windows.iter().map(detour).collect())
    }

    /// Of 100 windows two CPUs hit 10 each: 19 at times of their own, 10 at the same times.
    #[test]
    fn what_is_hit_together_is_not_independent() {
        let first: Vec<u64> = (0..10).collect();
        let from = |start: u64| (start..start + 10).collect::<Vec<u64>>();
        let cases: [(&str, Vec<Vec<u64>>, f64); 7] = [
            ("together", vec![from(0), from(0)], 0.5),
            ("apart", vec![from(0), from(50)], 1.0),
            ("half of them", vec![from(0), from(5)], 1.0 - 4.0 / 9.0 * 0.5),
            ("one CPU alone", vec![first, vec![]], 1.0),
            ("none", vec![vec![], vec![]], 1.0),
            // Three at times of their own hit 27.1 windows.
            ("three", vec![from(0), from(0), from(0)], 1.0 / 3.0),
            ("one of three", vec![from(0), from(0), from(50)], 1.0 - 7.1 / 17.1 * 2.0 / 3.0),
        ];
        for (name, windows, part) in cases {
            let cpus: Vec<(u32, Timeline)> =
                (0..).zip(windows.iter().map(|hit| cpu(hit))).collect();
            let count = cpus.len() as f64;
            let host = Host::new("host".into(), cpus).expect("one window");
            let found = Independent::find(&[host.clone(), host], 1_000);
            assert!((found.cpus - 2.0 * count * part).abs() < 1e-9, "case: {name}: {found:?}");
            let windows = 2 * (100.0 * count * part).round() as u64;
            assert_eq!(found.windows, windows, "case: {name}");
        }
    }

    /// Detours of 400 ns that begin 200 ns apart fall into one window of 400 ns, and into two of 200 ns.
    #[test]
    fn a_window_is_at_least_as_long_as_the_usual_detour() {
        let cpu = |late: u64| {
            let detour =
                |at: u64| Span { start_ns: 4_000 * at + late, end_ns: 4_000 * at + late + 400 };
            Timeline::new(100_000, (0..25).map(detour).collect())
        };
        let host = Host::new("host".into(), vec![(0, cpu(0)), (1, cpu(200))]).expect("one window");
        let part = |grain_ns: u64| Independent::find(std::slice::from_ref(&host), grain_ns).cpus;
        assert_eq!((part(10), part(400)), (1.0, 1.0));
        assert_eq!(Independent::find(std::slice::from_ref(&host), 10).windows, 10_000);
    }
}
