//! Which recording each CPU has, and where it begins in it.

use super::trace::Trace;
use rand::RngExt;
use rand_mt::Mt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::Serialize;

/// Which CPUs begin at the same place of their recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Each CPU at a place of its own.
    Independent,
    /// The CPUs of a host at the same time, as they were recorded.
    Host,
    /// All CPUs at the same time: noise that is scheduled together.
    Common,
}

/// Returns the recording of each CPU of all ranks and where it begins in it. `hosts` has the number of CPUs of each
/// recorded host, whose traces stand one after the other: simulated hosts are recorded ones in turn.
pub(crate) fn places(
    traces: &[Trace],
    hosts: &[usize],
    cpus: usize,
    phase: Phase,
    seed: u64,
) -> Vec<(u32, u64)> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut share: f64 = random.random();
    let mut places = Vec::with_capacity(cpus);
    loop {
        let mut first = 0;
        for &count in hosts {
            if phase == Phase::Host {
                share = random.random();
            }
            for (trace, number) in traces[first..][..count].iter().zip(first as u32..) {
                if places.len() == cpus {
                    return places;
                }
                if phase == Phase::Independent {
                    share = random.random();
                }
                let length_ps = trace.length_ps();
                places.push((number, (share * length_ps as f64) as u64 % length_ps));
            }
            first += count;
        }
    }
}

/// Returns what LogGOPSim draws when it starts at this second: the Mersenne Twister seeded with it, over the time up to
/// the start of the last detour, in whole ns.
pub(crate) fn as_loggopsim(
    traces: &[Trace],
    cpus: usize,
    phase: Phase,
    seed: u64,
) -> Vec<(u32, u64)> {
    let mut random = Mt::new(seed as u32);
    let mut draw = |trace: &Trace| {
        let share = f64::from(random.next_u32()) / f64::from(u32::MAX);
        let last_ns = trace.too_long_for_loggopsim_ps() / crate::parameters::PS;
        (share * last_ns as f64) as u64 * crate::parameters::PS
    };
    let common = draw(&traces[0]);
    let place = |cpu: usize| {
        let number = cpu % traces.len();
        let phase_ps = match phase {
            Phase::Common => common,
            Phase::Independent | Phase::Host => draw(&traces[number]),
        };
        (number as u32, phase_ps)
    };
    (0..cpus).map(place).collect()
}
