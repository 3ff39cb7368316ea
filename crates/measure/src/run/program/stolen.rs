//! What the hypervisor takes from the CPUs while a program is recorded. The kernel leaves it out of its account of CPU time, and
//! no event shows it.

use anechoic_recording::run::CpuTime;
use anechoic_system::counters::Snapshot;
use anechoic_system::steal::StealReader;

/// The step in which `/proc/stat` shows steal, in ns.
const STEP_NS: u64 = 10_000_000;

/// Adds up steal, in ns where the kernel lets it be read, otherwise in steps.
pub(super) struct Stolen {
    reader: Option<StealReader>,
    /// By how much it may be wrong without the reader, in ns.
    steps_ns: u64,
    ns: u64,
}

impl Stolen {
    pub(super) fn begin(cpus: &[u32], is_guest: bool) -> Self {
        let steps_ns = if is_guest { cpus.len() as u64 * STEP_NS } else { 0 };
        Self { reader: StealReader::start(cpus).ok(), steps_ns, ns: 0 }
    }

    /// Adds what came since the last call, which must not be longer ago than the buffer lasts: 20 s.
    pub(super) fn read(&mut self) {
        let readings = self.reader.iter_mut().flat_map(StealReader::drain);
        let ns: u64 =
            readings.map(|read| read.steal_ns.saturating_sub(read.previous_steal_ns)).sum();
        self.ns = self.ns.saturating_add(ns);
    }

    /// Returns the CPU time with the steal beside it, given the counters at the start and the end.
    pub(super) fn beside(&mut self, time: CpuTime, [start, end]: [&Snapshot; 2]) -> CpuTime {
        self.read();
        let steal_ns = steal_ns(end).saturating_sub(steal_ns(start));
        if self.reader.is_some() {
            // Nothing is read while the tick of a CPU is stopped.
            return CpuTime { steal_ns: steal_ns.max(self.ns), ..time };
        }
        CpuTime {
            steal_ns,
            resolution_ns: time.resolution_ns.saturating_add(self.steps_ns),
            ..time
        }
    }
}

/// Returns the steal of all CPUs since the machine began; 0 if it is not known.
fn steal_ns(snapshot: &Snapshot) -> u64 {
    let steal = snapshot.counters.iter().filter(|counter| counter.name == "steal_ns");
    steal.map(|counter| counter.value).fold(0, u64::saturating_add)
}
