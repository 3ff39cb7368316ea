//! What is short where some probes are slow and others are not.

use anechoic_recording::probes::{
    ADDITIONS, CHAIN, CODE, FIRST_LEVEL, LAST_LEVEL, MEMORY, Probe, SECOND_LEVEL, STREAM,
};
use schemars::JsonSchema;
use serde::Serialize;

/// What can be short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shortage {
    /// The clock rate of the core: all work in it is slower alike.
    Clock,
    /// The units or the caches of the core, which another thread uses: independent additions, loads from the second level or
    /// much code are slower than the chain.
    Core,
    /// The cache that CPUs share: lines that were left alone are gone, also those that memory's probe would find there.
    Cache,
    /// The bandwidth of memory.
    Bandwidth,
    /// Something is, and the probes do not tell what: loads from memory alone are slower.
    Unclear,
}

/// All of them.
pub(super) const SHORTAGES: [Shortage; 5] =
    [Shortage::Clock, Shortage::Core, Shortage::Cache, Shortage::Bandwidth, Shortage::Unclear];

/// Work in the core that is slower by this is slow; of calm windows of 0.1 s 95 % are within 3 % in a guest on a shared host.
const SLOW: f64 = 1.05;
/// Much code that takes longer than the chain by this; of calm windows 95 % are within 4 %.
const CODE_SLOW: f64 = 1.15;
/// Where samples vary more, work in the core must be slower by this many standard errors of a window.
const ERRORS: f64 = 6.0;
/// All work in the core is slower by at least this part of what the chain is, if it is the clock.
const ALIKE: f64 = 0.5;
/// A stream that takes this much longer lacks bandwidth: beside a thread that streams, it took 1.6 to 2.3 times as long, and
/// beside one that uses the shared cache alone 1.1 to 1.35.
const STREAM_SLOW: f64 = 1.4;
/// Loads of lines that were left alone: beside a thread that uses the shared cache 1.65 times as long or more.
const CACHE_SLOW: f64 = 1.5;
/// Loads from memory: beside such a thread 1.4 to 1.5 times as long, without one up to 1.3.
const MEMORY_SLOW: f64 = 1.35;
/// The same where nothing else is slow.
const MEMORY_ALONE_SLOW: f64 = 1.5;

impl Shortage {
    /// Returns the probes of which one shows it best.
    pub(super) fn telling_probes(self) -> &'static [&'static str] {
        match self {
            Self::Clock => &[CHAIN],
            Self::Core => &[ADDITIONS, SECOND_LEVEL, CODE],
            Self::Cache => &[LAST_LEVEL],
            Self::Bandwidth => &[STREAM],
            Self::Unclear => &[MEMORY],
        }
    }
}

/// How much longer the work of each probe took in a window than when it was calm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slowdowns {
    chain: f64,
    additions: f64,
    code: f64,
    first_level: f64,
    second_level: f64,
    last_level: f64,
    memory: f64,
    stream: f64,
    /// Work in the core that is slower by this is slow.
    slow: f64,
}

impl Slowdowns {
    /// Takes them from the times of these probes relative to the calm ones, and from the usual standard error of a window of
    /// each, as a share. A probe that is missing was not slow.
    pub(super) fn new(probes: &[Probe], slower: &[f64], errors: &[f64]) -> Self {
        let slowdown = |name: &str| value_of(name, probes, slower).unwrap_or(1.0);
        let in_core = [CHAIN, ADDITIONS, FIRST_LEVEL, SECOND_LEVEL].into_iter();
        let error = in_core.filter_map(|name| value_of(name, probes, errors)).fold(0.0, f64::max);
        Self {
            chain: slowdown(CHAIN),
            additions: slowdown(ADDITIONS),
            code: slowdown(CODE),
            first_level: slowdown(FIRST_LEVEL),
            second_level: slowdown(SECOND_LEVEL),
            last_level: slowdown(LAST_LEVEL),
            memory: slowdown(MEMORY),
            stream: slowdown(STREAM),
            slow: SLOW.max(1.0 + ERRORS * error),
        }
    }

    /// Returns what is short; several things may be.
    pub(super) fn short(&self) -> Vec<Shortage> {
        // What another thread of the core hardly slows.
        let clock = self.chain.min(self.first_level).max(1.0);
        let least = self.additions.min(self.second_level);
        let is_clock = clock >= self.slow && least - 1.0 >= ALIKE * (clock - 1.0);
        let is_core = (self.additions / clock).max(self.second_level / clock) >= self.slow
            || self.code / clock >= CODE_SLOW.max(self.slow);
        let is_bandwidth = self.stream / clock >= STREAM_SLOW;
        let memory = self.memory / clock;
        let is_cache =
            !is_bandwidth && self.last_level / clock >= CACHE_SLOW && memory >= MEMORY_SLOW;
        let is_unclear = !is_bandwidth && !is_cache && memory >= MEMORY_ALONE_SLOW;
        let all = [
            (is_clock, Shortage::Clock),
            (is_core, Shortage::Core),
            (is_cache, Shortage::Cache),
            (is_bandwidth, Shortage::Bandwidth),
            (is_unclear, Shortage::Unclear),
        ];
        all.into_iter().filter(|(is_short, _)| *is_short).map(|(_, what)| what).collect()
    }
}

/// Returns the value of the probe with this name; absent if there is none.
fn value_of(name: &str, probes: &[Probe], values: &[f64]) -> Option<f64> {
    let place = probes.iter().position(|probe| probe.name == name)?;
    values.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::Shortage::{Bandwidth, Cache, Clock, Core, Unclear};
    use super::*;

    /// The rows with figures were measured in a guest whose two CPUs share their last-level cache, beside a thread on the other
    /// one (medians of 80 windows each); those of a lower clock and of the core's other thread follow from what the work does.
    #[test]
    fn which_probes_are_slow_tells_what_is_short() {
        type Case = (&'static str, [f64; 7], &'static [Shortage]);
        let cases: [Case; 13] = [
            ("calm", [1.01, 1.01, 1.01, 1.01, 1.59, 1.15, 1.03], &[]),
            ("additions on another core", [1.02, 1.02, 1.02, 1.02, 1.61, 1.16, 1.11], &[]),
            ("a stream", [1.01, 1.01, 1.01, 1.01, 1.86, 1.59, 1.63], &[Bandwidth]),
            ("a stream of writes", [1.01, 1.01, 1.01, 1.01, 2.71, 1.67, 2.26], &[Bandwidth]),
            ("the shared cache", [1.01, 1.01, 1.01, 1.01, 1.72, 1.47, 1.21], &[Cache]),
            ("a clock of 4/5", [1.25, 1.25, 1.25, 1.25, 1.1, 1.05, 1.05], &[Clock]),
            ("a clock lower by 5 %", [1.05, 1.05, 1.05, 1.05, 1.0, 1.0, 1.0], &[Clock]),
            ("the core's other thread adds", [1.02, 1.6, 1.1, 1.2, 1.3, 1.2, 1.2], &[Core]),
            ("it loads", [1.0, 1.02, 1.15, 1.3, 1.3, 1.2, 1.2], &[Core]),
            ("a lower clock, and it adds", [1.25, 2.0, 1.3, 1.3, 1.1, 1.1, 1.1], &[Clock, Core]),
            (
                "a lower clock, and a stream",
                [1.25, 1.25, 1.25, 1.25, 2.0, 2.0, 2.0],
                &[Clock, Bandwidth],
            ),
            ("memory alone", [1.0, 1.0, 1.0, 1.0, 1.0, 1.6, 1.1], &[Unclear]),
            ("the chain alone, which nothing slows so", [1.3, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], &[]),
        ];
        for (
            name,
            [chain, additions, first_level, second_level, last_level, memory, stream],
            expected,
        ) in cases
        {
            let slowdowns = Slowdowns {
                code: 1.0,
                slow: SLOW,
                chain,
                additions,
                first_level,
                second_level,
                last_level,
                memory,
                stream,
            };
            assert_eq!(slowdowns.short(), expected, "case: {name}");
        }
        let calm = Slowdowns {
            chain: 1.0,
            additions: 1.0,
            code: 1.0,
            first_level: 1.0,
            second_level: 1.0,
            last_level: 1.0,
            memory: 1.0,
            stream: 1.0,
            slow: SLOW,
        };
        assert_eq!(Slowdowns { code: 1.2, ..calm }.short(), [Core]);
        let varied = Slowdowns { additions: 1.08, slow: 1.1, ..calm };
        assert_eq!(varied.short(), [], "samples that vary more");
    }
}
