//! The counter that timestamps everything, and its conversion to nanoseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the counter of a run was read, what its rate is, and how well that is known.
///
/// Tables store ticks of this counter; nanoseconds are computed from them by [`Clock::ns`] in integers, so
/// that every reader gets the same values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// The counter: `tsc`, `cntvct` or `rdtime`.
    pub counter: String,
    /// Ticks per second, in thousandths of a hertz.
    #[serde(alias = "frequency_mhz")] // its name in version 1
    pub frequency_millihertz: u64,
    /// The origin of the frequency: `perf mmap page`, `CPUID 15h`, `regression`, `cntfrq`.
    pub frequency_source: String,
    /// Measured rate relative to `CLOCK_MONOTONIC_RAW`, minus [`Clock::frequency_millihertz`], in parts per
    /// million.
    pub residual_ppm: Option<f64>,
    /// Whether the counter runs at one rate in all power states, as the CPU reports.
    pub invariant: bool,
    /// Mean cost of one back-to-back read, in ticks.
    pub read_mean_ticks: f64,
    /// Mean cost of one back-to-back read as samples begin and end with it, after all earlier and before all later
    /// instructions, in ticks; absent in recordings that did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_read_mean_ticks: Option<f64>,
    /// Smallest difference of two back-to-back reads, in ticks.
    pub read_min_ticks: u64,
    /// The distinct small differences of back-to-back reads (ticks), each with its count.
    pub read_deltas: Vec<(u64, u64)>,
    /// Mean cost of the usual clock calls, in nanoseconds: `clock_gettime`, `gettimeofday`.
    pub call_costs_ns: Vec<(String, f64)>,
    /// Offset of each measured CPU's counter against the first, with its bound.
    pub skew: Vec<Skew>,
}

/// Counter offset of one CPU against the first measured CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Skew {
    /// The CPU.
    pub cpu: u32,
    /// Its counter minus the first CPU's, in ticks.
    pub offset_ticks: i64,
    /// Half of the shortest round trip, in ticks: the error of the offset is at most this.
    pub bound_ticks: u64,
}

impl Clock {
    /// Returns the clock of what was stamped in nanoseconds, by this counter, from this source.
    #[must_use]
    pub fn in_nanoseconds(counter: &str, source: &str) -> Self {
        Self {
            counter: counter.into(),
            frequency_millihertz: 1_000_000_000_000,
            frequency_source: source.into(),
            residual_ppm: None,
            invariant: true,
            read_mean_ticks: 0.0,
            sample_read_mean_ticks: None,
            read_min_ticks: 0,
            read_deltas: vec![],
            call_costs_ns: vec![],
            skew: vec![],
        }
    }

    /// Converts ticks to nanoseconds, rounded to the nearest.
    ///
    /// Exact integer arithmetic: the same ticks give the same nanoseconds everywhere.
    #[must_use]
    pub fn ns(&self, ticks: u64) -> u64 {
        let millihertz = u128::from(self.frequency_millihertz.max(1));
        let ns = (u128::from(ticks) * 1_000_000_000_000 + millihertz / 2) / millihertz;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Converts a duration to ticks, rounded to the nearest; a duration that is too long gives `u64::MAX`.
    #[must_use]
    pub fn ticks_of(&self, time: std::time::Duration) -> u64 {
        self.ticks(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Converts nanoseconds to ticks, rounded to the nearest.
    #[must_use]
    pub fn ticks(&self, ns: u64) -> u64 {
        let ticks = (u128::from(ns) * u128::from(self.frequency_millihertz) + 500_000_000_000)
            / 1_000_000_000_000;
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// Returns the step in which the counter advances, in ticks: the smallest distance over one tick between
    /// two distinct differences of back-to-back reads (a coarse counter is sometimes one tick off). Returns 1
    /// if there is no coarser step.
    #[must_use]
    pub fn step_ticks(&self) -> u64 {
        let mut deltas: Vec<u64> = self.read_deltas.iter().map(|&(delta, _)| delta).collect();
        deltas.sort_unstable();
        let distances = deltas.windows(2).map(|pair| pair[1] - pair[0]);
        distances.filter(|&distance| distance > 1).min().unwrap_or(1)
    }

    /// Returns what the counter reads add to a sample, rounded to ticks. Recordings that do not state it have the cost of a
    /// read that waits for nothing, which is less.
    #[must_use]
    pub fn sample_read_ticks(&self) -> u64 {
        self.sample_read_mean_ticks.unwrap_or(self.read_mean_ticks).round() as u64
    }

    /// Returns whether the measured rate contradicts [`Clock::frequency_millihertz`] by more than 0.1 %, so that no
    /// time of the recording is right.
    #[must_use]
    pub fn rate_is_wrong(&self) -> bool {
        const WRONG_PPM: f64 = 1_000.0;
        self.residual_ppm.is_some_and(|ppm| ppm.is_nan() || ppm.abs() > WRONG_PPM)
    }

    /// Returns a note if the measured rate is off by more than 100 millionths.
    #[must_use]
    pub fn rate_note(&self) -> Option<String> {
        const NOTED_PPM: f64 = 100.0;
        let ppm = self.residual_ppm.filter(|ppm| ppm.is_nan() || ppm.abs() > NOTED_PPM)?;
        let what = match self.rate_is_wrong() {
            true => "all times and shares are wrong by that much",
            false => "all times are off by that much",
        };
        let source = &self.frequency_source;
        Some(format!(
            "the counter's rate ({source}) is {ppm:+.0} ppm off the kernel's clock (CLOCK_MONOTONIC_RAW): {what}"
        ))
    }

    /// Converts ticks to seconds.
    #[must_use]
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 * 1000.0 / self.frequency_millihertz.max(1) as f64
    }
}

/// Says how far the trials of a calibration disagreed: the interquartile range as a share of their median.
#[must_use]
pub fn note_on_calibration(doubt: f64) -> String {
    format!(
        "the core's speed changed during calibration: samples may be {:.1} % longer or shorter than requested",
        doubt * 100.0
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Creates a clock of which only the differences of back-to-back reads are known.
    pub(crate) fn clock(deltas: &[u64]) -> Clock {
        Clock {
            counter: "tsc".to_owned(),
            frequency_millihertz: 1,
            frequency_source: String::new(),
            residual_ppm: None,
            invariant: true,
            read_mean_ticks: 0.0,
            sample_read_mean_ticks: None,
            read_min_ticks: 0,
            read_deltas: deltas.iter().map(|&delta| (delta, 1)).collect(),
            call_costs_ns: Vec::new(),
            skew: Vec::new(),
        }
    }

    #[test]
    fn old_recordings_have_only_the_cost_of_a_read_that_waits_for_nothing() {
        let cases = [(None, 25), (Some(61.4), 61)];
        for (sample_read_mean_ticks, expected) in cases {
            let clock = Clock { read_mean_ticks: 24.6, sample_read_mean_ticks, ..clock(&[]) };
            assert_eq!(clock.sample_read_ticks(), expected);
        }
    }

    #[test]
    fn the_step_of_a_coarse_counter() {
        let cases: &[(&str, &[u64], u64)] = &[
            ("steps of 24 or 25 ticks", &[24, 49, 25, 73], 24),
            ("two reads within one step", &[1, 25, 26, 51], 24),
            ("every tick counts", &[20, 21, 22], 1),
            ("one difference only", &[24], 1),
            ("none", &[], 1),
        ];
        for (name, deltas, expected) in cases {
            assert_eq!(clock(deltas).step_ticks(), *expected, "case: {name}");
        }
    }

    #[test]
    fn a_rate_that_is_off_is_noted() {
        let note = |ppm| Clock { residual_ppm: ppm, ..clock(&[]) }.rate_note();
        assert_eq!((note(None), note(Some(-99.0))), (None, None));
        assert!(note(Some(-250.0)).is_some_and(|note| note.contains("-250 ppm")));
        assert!(note(Some(4e6)).is_some_and(|note| note.contains("wrong")));
    }
}
