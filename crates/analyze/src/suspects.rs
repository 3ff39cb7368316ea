//! What the kernel's own counters suggest if no events could be recorded: suspects instead of proof.

use crate::coverage::CounterReadings;
use anechoic_recording::Clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A counter that increased while the loops ran.
///
/// It shows that something happened on a CPU, not that it took the time of a detour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suspect {
    /// Identifier of the counter: `interrupts/LOC`, `stat/steal_ns`.
    pub counter: String,
    /// Description of the counter: `local timer interrupts`.
    pub what: String,
    /// Increase over all measured CPUs; in nanoseconds if it counts time.
    pub total: u64,
    /// Increase per second and CPU, the mean over the CPUs on which it increased; absent if it counts time.
    pub rate_per_s: Option<f64>,
    /// Counted time as a share of the time between its readings; absent if it counts occurrences.
    pub time_share: Option<f64>,
    /// The CPUs on which it increased.
    pub cpus: Vec<u32>,
}

/// Returns the counters that increased, the most likely causes first: those that count time, then by rate.
pub(crate) fn suspects(
    readings: &CounterReadings,
    measured: &[u32],
    clock: &Clock,
) -> Vec<Suspect> {
    let mut moved: BTreeMap<&str, Vec<(u32, u64, u64)>> = BTreeMap::new();
    for (name, cpu, [first, last]) in readings.all() {
        let delta = last.value.saturating_sub(first.value);
        if delta > 0 && measured.contains(&cpu) {
            let between = last.ticks.saturating_sub(first.ticks);
            moved.entry(name).or_default().push((cpu, delta, between));
        }
    }
    let mut suspects: Vec<Suspect> = moved
        .into_iter()
        .map(|(name, cpus)| {
            let total = cpus.iter().map(|&(_, delta, _)| delta).fold(0, u64::saturating_add);
            let between = cpus.iter().map(|&(_, _, between)| between).fold(0, u64::saturating_add);
            let is_time = name.ends_with("_ns");
            Suspect {
                counter: name.into(),
                what: in_words(name),
                total,
                rate_per_s: (!is_time).then(|| crate::per_second(total, between, clock)),
                time_share: is_time.then(|| crate::share(total, clock.ns(between))),
                cpus: cpus.iter().map(|&(cpu, _, _)| cpu).collect(),
            }
        })
        .collect();
    let millionths = |value: Option<f64>| Reverse(value.map(|v| (v * 1e6) as u64));
    suspects.sort_by_key(|s| (millionths(s.time_share), millionths(s.rate_per_s)));
    suspects
}

/// Descriptions of architecture interrupts, softirqs and other counters.
const WORDS: &[(&str, &str)] = &[
    ("interrupts/LOC", "local timer interrupts"),
    ("interrupts/arch_timer", "local timer interrupts"),
    ("interrupts/RES", "rescheduling interrupts"),
    ("interrupts/CAL", "function call interrupts"),
    ("interrupts/TLB", "TLB shootdowns"),
    ("interrupts/NMI", "non-maskable interrupts"),
    ("interrupts/SMI", "system management interrupts"),
    ("interrupts/PMI", "performance counter interrupts"),
    ("interrupts/IWI", "deferred interrupt work"),
    ("interrupts/RTR", "APIC timer read retries"),
    ("interrupts/TRM", "thermal interrupts"),
    ("interrupts/THR", "threshold interrupts"),
    ("interrupts/DFR", "deferred machine check interrupts"),
    ("interrupts/MCE", "machine check exceptions"),
    ("interrupts/MCP", "machine check polls"),
    ("interrupts/HYP", "hypervisor callbacks"),
    ("interrupts/HVS", "Hyper-V timer interrupts"),
    ("interrupts/HRE", "Hyper-V reenlightenment interrupts"),
    ("interrupts/PIN", "posted interrupts"),
    ("interrupts/SPU", "spurious interrupts"),
    ("softirqs/HI", "high-priority tasklets (softirq)"),
    ("softirqs/TIMER", "kernel timers (softirq)"),
    ("softirqs/NET_TX", "network sending (softirq)"),
    ("softirqs/NET_RX", "network receiving (softirq)"),
    ("softirqs/BLOCK", "block device completions (softirq)"),
    ("softirqs/IRQ_POLL", "interrupt polling (softirq)"),
    ("softirqs/TASKLET", "tasklets (softirq)"),
    ("softirqs/SCHED", "scheduler balancing (softirq)"),
    ("softirqs/HRTIMER", "high-resolution timers (softirq)"),
    ("softirqs/RCU", "RCU callbacks (softirq)"),
    ("victim/run_delay_ns", "another thread ran, or the quota was used up"),
    ("schedstat/run_delay_ns", "threads that waited for the CPU, added up"),
    ("stat/steal_ns", "time stolen by the hypervisor"),
    ("steal_ns", "time stolen by the hypervisor, read at ticks"),
    ("switches/involuntary", "switches to another thread"),
    ("faults/minor", "page faults"),
    ("faults/major", "page faults that read a disk"),
];

fn in_words(counter: &str) -> String {
    if let Some((_, words)) = WORDS.iter().find(|(name, _)| *name == counter) {
        return (*words).into();
    }
    match counter.split_once('/') {
        Some(("interrupts", key)) => format!("interrupts of IRQ {key}"),
        Some(("softirqs", key)) => format!("softirq {key}"),
        _ => counter.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;
    use anechoic_recording::Counter;

    #[test]
    fn time_first_then_rates_and_only_what_moved() {
        let mut readings = CounterReadings::default();
        let second = 1_000_000_000;
        for (name, cpu, delta) in [
            ("interrupts/LOC", 0, 250),
            ("interrupts/LOC", 1, 252),
            ("interrupts/24", 1, 900),
            ("interrupts/RES", 0, 0),
            ("interrupts/TLB", 7, 1_000), // a CPU that was not measured
            ("stat/steal_ns", 0, 20_000_000),
            ("softirqs/NEW", 0, 1),
        ] {
            for (ticks, value) in [(5, 1_000), (5 + second, 1_000 + delta)] {
                readings.add(&Counter { name: name.into(), cpu, ticks, value });
            }
        }
        let found = suspects(&readings, &[0, 1], &clock_ns());
        let got: Vec<_> = found
            .iter()
            .map(|s| (s.what.as_str(), s.total, s.rate_per_s, s.time_share, s.cpus.len()))
            .collect();
        let expected = [
            ("time stolen by the hypervisor", 20_000_000, None, Some(0.02), 1),
            ("interrupts of IRQ 24", 900, Some(900.0), None, 1),
            ("local timer interrupts", 502, Some(251.0), None, 2),
            ("softirq NEW", 1, Some(1.0), None, 1),
        ];
        assert_eq!(got, expected);
    }
}
