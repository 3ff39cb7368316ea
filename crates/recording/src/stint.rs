//! Which loop ran on a CPU and when, and what part of its gaps is the loop itself.

use crate::clock::Clock;
use crate::methods;
use crate::problem::Problem;
use crate::recording::Recording;
use crate::rows::{Sample, Series};
use crate::run::{CpuRun, Ended, Outcome, Run};
use std::collections::BTreeMap;

/// An interval in which one loop ran on one CPU: the whole run for detours, one series for the other methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stint {
    /// The loop's first counter value.
    pub first_ticks: u64,
    /// The loop's last counter value.
    pub last_ticks: u64,
    /// The time subtracted from every gap: one iteration of the loop ([`CpuRun::iteration_ticks`]), or one
    /// step of the work.
    pub shortest_gap_ticks: u64,
    /// A longer gap is a detour.
    pub threshold_ticks: u64,
    /// Whether the loop ran under SCHED_FIFO.
    pub fifo: bool,
    /// The series; absent for detours.
    pub series: Option<u32>,
    /// Whether gaps were recorded. If not, only whole samples show when the loop was interrupted.
    pub watched: bool,
    /// Whether its thread slept between samples, each of which is a wake-up.
    pub sleeps: bool,
    /// The CPU of the thread that wakes it, if its own timer does not.
    pub waker_cpu: Option<u32>,
}

impl Stint {
    /// Returns the index of the stint, among `stints` in time order, that contains a detour or sample; `None`
    /// if no stint does.
    ///
    /// The loop of a detours recording ran all the time, because one that was cut off does not know its end.
    /// The last unit of a fixed-time series may end after its last window.
    #[must_use]
    pub fn around(stints: &[Self], start_ticks: u64, end_ticks: u64) -> Option<usize> {
        if matches!(stints, [Self { series: None, .. }]) {
            return Some(0);
        }
        let begun = stints.partition_point(|stint| stint.first_ticks < end_ticks);
        let last = begun.checked_sub(1)?;
        (start_ticks < stints[last].last_ticks).then_some(last)
    }

    /// Returns the time that the loop lost in a gap: its length less the loop's own iteration or step.
    #[must_use]
    pub fn lost_ticks(&self, start_ticks: u64, end_ticks: u64) -> u64 {
        end_ticks.saturating_sub(start_ticks).saturating_sub(self.shortest_gap_ticks)
    }
}

impl Stint {
    /// Returns the only stint of a CPU in a run of detours, which lasts until `last_ticks`.
    #[must_use]
    pub fn from_run(run: &Run, cpu: &CpuRun, last_ticks: u64) -> Self {
        Stint {
            first_ticks: cpu.first_ticks,
            last_ticks,
            shortest_gap_ticks: cpu.iteration_ticks(run),
            threshold_ticks: run.threshold_ticks,
            fifo: run.policy.is_fifo(),
            series: None,
            watched: true,
            sleeps: false,
            waker_cpu: None,
        }
    }
}

impl CpuRun {
    /// Returns the time subtracted from every gap of this CPU's loop in a run of detours: the shortest gap.
    ///
    /// A run that was cut off immediately may not know it yet (none, or more than the threshold); the
    /// shortest of two plain counter reads is used instead. Where a program was recorded there is no loop, and nothing is
    /// subtracted.
    #[must_use]
    pub fn iteration_ticks(&self, run: &Run) -> u64 {
        if run.program.is_some() {
            return 0;
        }
        iteration(self.shortest_gap_ticks, run.threshold_ticks, &run.clock)
    }
}

fn iteration(shortest_gap_ticks: u64, threshold_ticks: u64, clock: &Clock) -> u64 {
    let known = (1..=threshold_ticks).contains(&shortest_gap_ticks);
    if known { shortest_gap_ticks } else { clock.read_min_ticks }
}

impl Recording {
    /// Returns all series with their outcomes, by number. For a run that was cut off, outcomes are computed
    /// from the samples. The duration of a step is that of the series itself, where it is known.
    ///
    /// # Errors
    /// Fails if a table is damaged.
    pub fn series(&self) -> Result<Vec<(Series, Outcome)>, Problem> {
        let mut series = Vec::new();
        for rows in self.rows::<Series>() {
            series.extend(rows?);
        }
        series.sort_by_key(|series| series.series);
        let mut outcomes: BTreeMap<u32, Outcome> =
            self.run.outcomes.iter().map(|outcome| (outcome.series, outcome.clone())).collect();
        if outcomes.is_empty() && !series.is_empty() {
            outcomes = self.outcomes_of_samples()?;
        }
        let ended = series.into_iter().filter_map(|mut series| {
            let outcome = outcomes.remove(&series.series)?;
            if let (Some(step), Some(seen)) =
                (&mut series.parameters.step_ticks, outcome.step_ticks)
            {
                *step = seen;
            }
            Some((series, outcome))
        });
        Ok(ended.collect())
    }

    /// Returns which loop ran on `cpu` and when, in time order. Series whose copies shared the CPU are left
    /// out, because no loop had it for itself.
    ///
    /// # Errors
    /// Fails if a table is damaged.
    pub fn stints(&self, cpu: &CpuRun) -> Result<Vec<Stint>, Problem> {
        let series =
            if methods::WHOLE.contains(&&*self.run.method) { vec![] } else { self.series()? };
        Ok(self.stints_among(cpu, &series))
    }

    /// Computes the stints from series that are already read.
    pub(crate) fn stints_among(&self, cpu: &CpuRun, series: &[(Series, Outcome)]) -> Vec<Stint> {
        let run = &self.run;
        if methods::WHOLE.contains(&&*run.method) {
            return vec![Stint::from_run(run, cpu, cpu.last_ticks)];
        }
        let is_of_cpu = |(series, _): &(Series, Outcome)| {
            series.cpu == Some(cpu.cpu) && series.parameters.copies <= 1
        };
        let mut stints: Vec<Stint> = series
            .iter()
            .filter(|series| is_of_cpu(series))
            .map(|(series, outcome)| Stint {
                first_ticks: outcome.first_ticks,
                last_ticks: outcome.last_ticks,
                shortest_gap_ticks: series.parameters.step_ticks.unwrap_or(0),
                threshold_ticks: series.parameters.threshold_ticks.unwrap_or(0),
                fifo: series.policy.is_fifo(),
                series: Some(series.series),
                watched: series.parameters.step_ticks.is_some(),
                sleeps: series.parameters.sleep.is_some(),
                waker_cpu: series.parameters.sleep.and_then(|sleep| Some(sleep.waker?.cpu)),
            })
            .collect();
        stints.sort_by_key(|stint| (stint.first_ticks, stint.last_ticks));
        stints
    }

    fn outcomes_of_samples(&self) -> Result<BTreeMap<u32, Outcome>, Problem> {
        let mut outcomes: BTreeMap<u32, Outcome> = BTreeMap::new();
        for rows in self.rows::<Sample>() {
            for sample in rows? {
                let outcome = outcomes.entry(sample.series).or_insert(Outcome {
                    series: sample.series,
                    first_ticks: sample.start_ticks,
                    last_ticks: sample.end_ticks,
                    samples: 0,
                    lost: 0,
                    wrong: 0,
                    ended: Ended::CutOff,
                    ..Outcome::default()
                });
                outcome.first_ticks = outcome.first_ticks.min(sample.start_ticks);
                outcome.last_ticks = outcome.last_ticks.max(sample.end_ticks);
                outcome.samples += 1;
            }
        }
        Ok(outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stint(first_ticks: u64, last_ticks: u64, series: Option<u32>) -> Stint {
        let (shortest_gap_ticks, threshold_ticks) = (10, 15);
        let (fifo, watched) = (false, true);
        Stint {
            first_ticks,
            last_ticks,
            shortest_gap_ticks,
            threshold_ticks,
            fifo,
            series,
            watched,
            sleeps: false,
            waker_cpu: None,
        }
    }

    #[test]
    fn an_iteration_that_is_not_known_is_a_plain_read() {
        let clock = Clock { read_min_ticks: 24, ..crate::clock::tests::clock(&[]) };
        // Each case has a name, the shortest gap of the class, and what is subtracted with a threshold of 60.
        let cases = [("known", 26, 26), ("the threshold itself", 60, 60), ("none", 0, 24)];
        let more_than_the_threshold = [("cut off at once", 61, 24)];
        for (name, shortest, expected) in cases.into_iter().chain(more_than_the_threshold) {
            assert_eq!(iteration(shortest, 60, &clock), expected, "case: {name}");
        }
        assert_eq!(stint(0, 0, None).lost_ticks(100, 150), 40);
        assert_eq!(stint(0, 0, None).lost_ticks(100, 105), 0, "shorter than an iteration");
    }

    #[test]
    fn a_detour_lies_in_the_stint_that_it_began_in() {
        let series = [stint(100, 200, Some(0)), stint(200, 300, Some(1)), stint(400, 500, Some(2))];
        let cases = [
            ("before all", 50, 90, None),
            ("up to the first", 50, 100, None),
            ("inside", 120, 130, Some(0)),
            ("up to where two meet", 190, 200, Some(0)),
            ("from there on", 200, 210, Some(1)),
            ("the last unit ends late", 290, 350, Some(1)),
            ("in a pause", 300, 400, None),
            ("begun in a pause", 390, 410, Some(2)),
            ("after all", 500, 600, None),
        ];
        for (name, start, end, expected) in cases {
            assert_eq!(Stint::around(&series, start, end), expected, "case: {name}");
        }
        assert_eq!(Stint::around(&[], 1, 2), None);
        let cut_off = [stint(100, 0, None)];
        assert_eq!(Stint::around(&cut_off, 900, 950), Some(0), "its end is not known");
    }
}
