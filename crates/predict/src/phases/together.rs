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
}
