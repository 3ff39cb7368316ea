//! How many windows of a host are independent, if its CPUs are delayed together.

use super::longest_detours::KEPT;
use super::span::Span;
use super::timeline::Host;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Returns which part of the windows of one grain a host adds that are independent: 1 if its CPUs are delayed at times of
/// their own, 1 divided by their number if all of them are always delayed together.
///
/// The longest detours of its CPUs lie in fewer different windows than the same detours at times of their own would.
pub(super) fn independent_part(host: &Host, grain_ns: u64) -> f64 {
    let cpus = host.cpus();
    let mut all: Vec<(usize, Span)> = (0..)
        .zip(cpus)
        .flat_map(|(at, (_, cpu))| cpu.longest().into_iter().map(move |detour| (at, detour)))
        .collect();
    all.sort_unstable_by_key(|(cpu, detour)| (Reverse(detour.length_ns()), *cpu, detour.start_ns));
    all.truncate(KEPT);
    let Some((_, usual)) = all.get(all.len() / 2) else { return 1.0 };
    // Detours that begin one after the other while the first one lasts delay one phase of the job.
    let window_ns = grain_ns.max(usual.length_ns());
    let windows = host.length_ns().div_ceil(window_ns).max(1) as f64;
    let each: BTreeSet<(usize, u64)> =
        all.iter().map(|(cpu, detour)| (*cpu, detour.start_ns / window_ns)).collect();
    let different: BTreeSet<u64> = each.iter().map(|(_, window)| *window).collect();
    let hit = |cpu| each.iter().filter(|(at, _)| *at == cpu).count() as f64;
    let free: f64 = (0..cpus.len()).map(|cpu| 1.0 - hit(cpu) / windows).product();
    let expected = windows * (1.0 - free);
    (different.len() as f64 / expected).clamp(1.0 / cpus.len() as f64, 1.0)
}
