//! What the kernel counts for a loop's thread.

use anechoic_recording::Counter;
use anechoic_recording::paging::counts::{FAULTS, VOLUNTARY_SWITCHES};

/// The kernel's counts for one thread.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    minor_faults: u64,
    major_faults: u64,
    involuntary_switches: u64,
    /// How often it gave up its CPU.
    pub(super) voluntary_switches: u64,
    pub(super) run_delay_ns: Option<u64>,
    /// Counter values before the first reading and after the last; everything was counted between them.
    pub(super) read: Option<(u64, u64)>,
}

impl Usage {
    /// Reads the counts of the calling thread so far.
    pub(super) fn now() -> Self {
        // SAFETY: a zeroed rusage is valid, and the call fills it in.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            usage
        };
        let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
        Usage {
            minor_faults: count(usage.ru_minflt),
            major_faults: count(usage.ru_majflt),
            involuntary_switches: count(usage.ru_nivcsw),
            voluntary_switches: count(usage.ru_nvcsw),
            ..Usage::default()
        }
    }

    pub(super) fn since(self, before: Usage) -> Self {
        Usage {
            minor_faults: self.minor_faults - before.minor_faults,
            major_faults: self.major_faults - before.major_faults,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            ..Usage::default()
        }
    }

    /// Adds the counts of two rounds.
    pub(crate) fn and(self, other: Usage) -> Self {
        let delays = [self.run_delay_ns, other.run_delay_ns];
        let reads = [self.read, other.read].into_iter().flatten();
        Usage {
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            run_delay_ns: delays.iter().any(Option::is_some).then(|| delays.iter().flatten().sum()),
            read: reads.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
        }
    }

    /// Returns the counts that a user's function may be the reason for, by name.
    pub(super) fn counts(self) -> [(String, u64); 2] {
        let counts = [(FAULTS, self.page_faults()), (VOLUNTARY_SWITCHES, self.voluntary_switches)];
        counts.map(|(name, count)| (name.to_owned(), count))
    }

    pub(crate) fn page_faults(self) -> u64 {
        self.minor_faults + self.major_faults
    }

    /// Converts to rows: 0 when the loop first read the counts, and the increase when it last did. Returns no
    /// rows for a loop that did not run.
    pub(crate) fn counters(self, cpu: u32) -> Vec<Counter> {
        let Some((first_ticks, last_ticks)) = self.read else { return Vec::new() };
        let counts = [
            ("faults/minor", self.minor_faults),
            ("faults/major", self.major_faults),
            ("switches/involuntary", self.involuntary_switches),
        ];
        let delay = self.run_delay_ns.map(|delay_ns| ("victim/run_delay_ns", delay_ns));
        let row = |name: &str, ticks, value| Counter { name: name.to_owned(), cpu, ticks, value };
        let rows = |(name, count)| [row(name, first_ticks, 0), row(name, last_ticks, count)];
        counts.into_iter().chain(delay).flat_map(rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that also waited before the start has not waited for longer than the time between the
    /// readings.
    #[test]
    fn counts_stand_at_the_times_of_their_readings() {
        let usage = |read, run_delay_ns| Usage { read, run_delay_ns, ..Usage::default() };
        let both = usage(Some((900, 2_100)), Some(600)).and(usage(Some((2_900, 4_100)), Some(500)));
        let all = Usage::default().and(both).counters(3);
        let delay: Vec<_> = all.iter().filter(|row| row.name == "victim/run_delay_ns").collect();
        assert_eq!(delay.len(), 2);
        assert_eq!((delay[0].ticks, delay[0].value), (900, 0));
        assert_eq!((delay[1].ticks, delay[1].value), (4_100, 1_100));
        assert!(Usage::default().counters(3).is_empty(), "a loop that did not run");
    }
}
