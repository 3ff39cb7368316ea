//! What the hypervisor takes from the CPUs while a program is recorded. The kernel leaves it out of its account of CPU time, and
//! no event shows it.

use anechoic_recording::run::CpuTime;
use anechoic_system::counters::Snapshot;
use anechoic_system::steal::{StealReader, StealReading};

/// The step in which `/proc/stat` shows steal, in ns.
const STEP_NS: u64 = 10_000_000;

/// Adds up steal, in ns where the kernel lets it be read, otherwise in steps.
pub(super) struct Stolen {
    /// Takes what was read since its last call; absent where the kernel does not let steal be read.
    drain: Option<Box<dyn FnMut() -> Vec<StealReading>>>,
    /// By how much it may be wrong without the reader, in ns.
    steps_ns: u64,
    ns: u64,
}

impl Stolen {
    pub(super) fn begin(cpus: &[u32], is_guest: bool) -> Self {
        let steps_ns = if is_guest { cpus.len() as u64 * STEP_NS } else { 0 };
        let mut drain: Option<Box<dyn FnMut() -> Vec<StealReading>>> = None;
        if let Ok(mut reader) = StealReader::start(cpus) {
            drain = Some(Box::new(move || reader.drain()));
        }
        Self { drain, steps_ns, ns: 0 }
    }

    /// Adds what came since the last call, which must not be longer ago than the buffer lasts: 20 s.
    pub(super) fn read(&mut self) {
        let readings = self.drain.iter_mut().flat_map(|drain| drain());
        let ns: u64 =
            readings.map(|read| read.steal_ns.saturating_sub(read.previous_steal_ns)).sum();
        self.ns = self.ns.saturating_add(ns);
    }

    /// Returns the CPU time with the steal beside it, given the counters at the start and the end.
    pub(super) fn beside(&mut self, time: CpuTime, [start, end]: [&Snapshot; 2]) -> CpuTime {
        self.read();
        let steal_ns = steal_ns(end).saturating_sub(steal_ns(start));
        if self.drain.is_some() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_recording::Counter;

    /// Counters that have grown by 5 ms, on two CPUs together.
    fn snapshots() -> [Snapshot; 2] {
        let counter = |cpu, value| Counter { name: "steal_ns".into(), cpu, ticks: 0, value };
        let at = |first, second| Snapshot {
            counters: vec![counter(0, first), counter(1, second)],
            ..Snapshot::default()
        };
        [at(1_000_000, 2_000_000), at(3_000_000, 5_000_000)]
    }

    fn beside(mut stolen: Stolen) -> (u64, u64) {
        let [start, end] = &snapshots();
        let time = stolen.beside(CpuTime { ns: 1, resolution_ns: 100, steal_ns: 0 }, [start, end]);
        (time.steal_ns, time.resolution_ns)
    }

    #[test]
    fn what_is_read_counts_where_it_is_more_than_the_counters_show() {
        let reading = |previous_steal_ns, steal_ns| StealReading {
            cpu: 0,
            previous_ns: 0,
            at_ns: 1,
            previous_steal_ns,
            steal_ns,
        };
        for (second_ns, expected) in [(9_000_000, 7_000_000), (5_500_000, 5_000_000)] {
            let mut left =
                vec![vec![reading(5_000_000, second_ns)], vec![reading(2_000_000, 5_000_000)]];
            let drain: Box<dyn FnMut() -> Vec<StealReading>> =
                Box::new(move || left.pop().unwrap_or_default());
            let mut stolen = Stolen { drain: Some(drain), steps_ns: 10_000_000, ns: 0 };
            stolen.read();
            assert_eq!(beside(stolen), (expected, 100), "the second reading is {second_ns}");
        }
    }

    #[test]
    fn without_readings_the_counters_are_wrong_by_their_steps() {
        let stolen = Stolen { drain: None, steps_ns: 20_000_000, ns: 0 };
        assert_eq!(beside(stolen), (5_000_000, 20_000_100));
    }
}
