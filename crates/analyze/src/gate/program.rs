//! Judges rules on a recorded program by its runs. Equal parts of one run are not alike, so only several runs show how much
//! what happens to it varies.

use super::tally::Tally;
use super::{Doubt, Finding, Outcome};
use crate::stats::{Interval, highest_mean, lowest_mean, mean, standard_error, student_t};
use anechoic_recording::Clock;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Fewest runs of a program that show how much they differ: two that are alike by chance hide it.
const FEWEST_RUNS: usize = 3;

/// Source and name.
pub(super) type Named = (Arc<str>, Arc<str>);

/// What one run of a program shows for each rule.
#[derive(Debug, Clone)]
pub(super) struct ProgramRun {
    /// Name of the program.
    pub(super) name: String,
    /// Its host, and the CPUs that count, if not all do: runs that differ in these are not runs of one program.
    pub(super) place: (String, Vec<u32>),
    /// For how long it was recorded, in ns.
    pub(super) elapsed_ns: u64,
    /// What each rule counts.
    pub(super) rules: Vec<Counted>,
}

/// What a rule counts in one run of a program, over all CPUs.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    /// What certainly counts.
    pub(super) seen: Sums,
    /// The same, and detours whose source is unknown.
    pub(super) possible: Sums,
    /// The time in which the program executed or wanted to, in ns.
    pub(super) wanted_ns: f64,
    /// Longest detour of any source, in ns.
    pub(super) longest_ns: f64,
    /// What each source took of what counts, in ticks.
    pub(super) taken_ticks: BTreeMap<Named, u64>,
}

/// Sums over detours.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    /// Their number.
    pub(super) events: u64,
    /// Their time in ns.
    pub(super) sum_ns: f64,
    /// The sum of the squares of their times.
    pub(super) squares: f64,
    /// The longest time in ns.
    pub(super) longest_ns: f64,
}

impl Sums {
    /// Adds the detours of one CPU.
    pub(super) fn add(&mut self, tally: &Tally, clock: &Clock) {
        let ns = clock.seconds(1) * 1e9;
        self.add_sums(&Self {
            events: tally.events,
            sum_ns: tally.sum_ticks as f64 * ns,
            squares: tally.squares * ns * ns,
            longest_ns: tally.longest_ticks as f64 * ns,
        });
    }

    fn add_sums(&mut self, other: &Self) {
        self.events = self.events.saturating_add(other.events);
        self.sum_ns += other.sum_ns;
        self.squares += other.squares;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// All runs of one program, as a rule sees them.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    pub(super) runs: Vec<(&'a Counted, u64)>,
    /// Longest detour that other rules of the gate allow; absent if none limits it.
    pub(super) longest_allowed_ns: Option<u64>,
    /// What certainly counts, and what may, in all runs.
    pub(super) seen: Sums,
    pub(super) possible: Sums,
}

impl<'a> Runs<'a> {
    pub(super) fn new(runs: Vec<(&'a Counted, u64)>, longest_allowed_ns: Option<u64>) -> Self {
        let (mut seen, mut possible) = (Sums::default(), Sums::default());
        for (run, _) in &runs {
            seen.add_sums(&run.seen);
            possible.add_sums(&run.possible);
        }
        Self { runs, longest_allowed_ns, seen, possible }
    }

    /// Returns the time in which the program wanted a CPU in all runs, in ns.
    pub(super) fn wanted_ns(&self) -> f64 {
        self.runs.iter().map(|(run, _)| run.wanted_ns).sum()
    }

    /// Returns the time from start to end of all runs, in ns.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.runs.iter().map(|(_, elapsed_ns)| *elapsed_ns).fold(0, u64::saturating_add)
    }

    /// Returns the longest detour of any source, in ns; absent without detours.
    pub(super) fn longest_ns(&self) -> Option<f64> {
        let longest = self.runs.iter().map(|(run, _)| run.longest_ns).fold(0.0, f64::max);
        Some(longest).filter(|ns| *ns > 0.0)
    }

    fn are_few(&self) -> bool {
        self.runs.len() < FEWEST_RUNS
    }

    /// Returns a finding without bounds.
    pub(super) fn finding(&self, value: f64) -> Finding {
        Finding {
            recording: None,
            cpu: None,
            program: None,
            runs: Some(self.runs.len() as u64),
            outcome: Outcome::Undecided,
            value,
            at_least: 0.0,
            at_most: None,
            events: self.seen.events,
            uncertain: self.possible.events.saturating_sub(self.seen.events),
            wall_ns: self.elapsed_ns(),
            wakeups: None,
            needed_ns: None,
            doubt: self
                .are_few()
                .then_some(Doubt::FewRunsOfProgram { runs: self.runs.len() as u64 }),
            largest_source: None,
        }
    }

    /// Returns the finding for a mean over runs that lies between these bounds of few events and those of the variation
    /// between the runs; without an upper bound if that of few events is not known.
    pub(super) fn judged(
        &self,
        limit: f64,
        [seen, possible]: [&[f64]; 2],
        (fewest, most): (f64, Option<f64>),
    ) -> Finding {
        let value = mean(seen).unwrap_or_default();
        let found = self.finding(value);
        if self.are_few() {
            return found;
        }
        let low = between_runs(seen).map_or(value, |bounds| bounds.low);
        let high = between_runs(possible).map_or(0.0, |bounds| bounds.high);
        let (at_least, at_most) = (low.min(fewest), most.map(|most| most.max(high)));
        let outcome = Outcome::from_bounds(limit, at_least, at_most);
        Finding { outcome, at_least, at_most, ..found }
    }
}

/// Returns the bounds of the mean over runs, each with a confidence of 97.5 %, from the variation between them: Student's t,
/// symmetric in the logarithm, because runs are skewed where few of them were disturbed. Each run counts as one event, so
/// that one disturbed run of many does not look like a rate that is known. Absent where all runs lost nothing.
fn between_runs(values: &[f64]) -> Option<Interval> {
    let middle = mean(values).filter(|mean| *mean > 0.0)?;
    let error = standard_error(values)?;
    let factor = (student_t(values.len() as u64 - 1) * error / middle).exp();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let one = (largest - least) / values.len() as f64;
    let low = lowest_mean(middle, error * error).min(middle / factor);
    let high = highest_mean(middle, error * error, one).max(middle * factor);
    Some(Interval { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of 1 and 3 is 2 with an error of 1; with one degree of freedom it reaches 12.7062 errors.
    #[test]
    fn two_runs_leave_one_degree_of_freedom() {
        let found = between_runs(&[1.0, 3.0]).expect("both lost something");
        assert!((found.high / (2.0 * f64::exp(12.7062 / 2.0)) - 1.0).abs() < 1e-4, "{found:?}");
        assert!((found.low * f64::exp(12.7062 / 2.0) / 2.0 - 1.0).abs() < 1e-4, "{found:?}");
        assert_eq!((between_runs(&[5.0]), between_runs(&[0.0, 0.0])), (None, None));
    }

    /// A tick of half a nanosecond.
    #[test]
    fn sums_of_a_cpu_are_in_nanoseconds() {
        let clock = anechoic_lab::builders::clock(2_000_000_000);
        let mut tally = Tally::new(0, 1_000_000, 0, &clock);
        [(500, 100), (900, 40)].into_iter().for_each(|(end, taken)| {
            tally.add(end, taken);
        });
        let mut sums = Sums { events: 1, sum_ns: 5.0, squares: 25.0, longest_ns: 5.0 };
        sums.add(&tally, &clock);
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        assert_eq!(sums.events, 3);
        assert!(close(sums.sum_ns, 5.0 + 50.0 + 20.0) && close(sums.longest_ns, 50.0), "{sums:?}");
        assert!(close(sums.squares, 25.0 + 2_500.0 + 400.0), "{sums:?}");
    }
}
