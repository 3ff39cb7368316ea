//! The offset between the counters of the CPUs.

use crate::cpus;
use anechoic_kernels::skew::{Line, Offset, Patience};
use anechoic_recording::clock::Skew;
use std::thread;

/// A partner that does not answer is given up after about a second.
const PATIENCE: Patience = Patience { looks: 20_000_000, ticks: u64::MAX };

/// Measures the offset of each CPU against the first of `cpus` that can be reached. Those that cannot are left out, also
/// where a real-time thread keeps a CPU from all others.
pub(super) fn against_first(cpus: &[u32]) -> Vec<Skew> {
    let reached = |&cpu: &u32| cpus.len() == 1 || cpus::run_on(cpu, || ()).is_ok();
    let Some(place) = cpus.iter().position(reached) else { return Vec::new() };
    let (first, others) = (cpus[place], &cpus[place + 1..]);
    let own = Skew { cpu: first, offset_ticks: 0, bound_ticks: 0 };
    std::iter::once(own).chain(others.iter().filter_map(|&cpu| pair(first, cpu))).collect()
}

fn pair(first: u32, cpu: u32) -> Option<Skew> {
    let line = Line::default();
    let Offset { ticks, bound_ticks } = thread::scope(|scope| {
        let answer = || cpus::run_on(cpu, || line.answer(PATIENCE));
        thread::Builder::new().spawn_scoped(scope, answer).ok()?;
        let asked = cpus::run_on(first, || line.ask(PATIENCE));
        line.end();
        asked.ok().flatten()
    })?;
    Some(Skew { cpu, offset_ticks: ticks, bound_ticks })
}
