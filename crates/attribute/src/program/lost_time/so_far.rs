//! What is known of the lost time of a program while it is followed.

use super::{LostTime, Thread};
use crate::program::cpu_state::CpuState;
use crate::program::threads::Threads;
use anechoic_recording::Detour;
use anechoic_recording::run::RanOn;

impl LostTime {
    /// Returns when the first detour, or wait of a thread that is followed, began that is not over, among those that may have begun at `least_ticks` or later.
    pub(crate) fn going_on_since(&self, least_ticks: u64) -> Option<u64> {
        let on_cpus = self.cpus.values().filter_map(CpuState::lost_since);
        let woken = self.threads.values().filter_map(|thread| match thread {
            Thread::Woken { since } => Some(*since),
            _ => None,
        });
        let waits = self.by_thread.iter().flat_map(Threads::waiting_since);
        on_cpus.chain(woken).chain(waits).filter(|&since| since >= least_ticks).min()
    }

    /// Returns the CPUs on which a thread of the program waits while it does not have them, with the time since when.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u32, u64)> {
        self.cpus.iter().filter_map(|(&cpu, state)| Some((cpu, state.going_on()?)))
    }

    /// Returns the last detour of each CPU, if it has ended and is not found yet: what follows may extend it.
    pub fn held(&self) -> impl Iterator<Item = Detour> {
        self.cpus.iter().filter(|_| self.has_begun).filter_map(|(&cpu, state)| {
            let (start_ticks, end_ticks) = state.held()?;
            Some(Detour { cpu, start_ticks, end_ticks })
        })
    }

    /// Returns for how long the program has executed on these CPUs up to `ticks`, which is not before the last event.
    pub(crate) fn executed_until(&self, ticks: u64, counts: impl Fn(u32) -> bool) -> u64 {
        let cpus = self.cpus.iter().filter(|(cpu, _)| counts(**cpu));
        cpus.map(|(_, state)| state.executed_until(ticks)).fold(0, u64::saturating_add)
    }

    /// Returns for how long the program has executed on each CPU that it used or wanted, by number.
    pub fn ran(&self) -> impl Iterator<Item = RanOn> {
        let used = self.cpus.iter().filter(|(_, state)| state.used);
        used.map(|(&cpu, state)| state.executed.on(cpu))
    }
}
