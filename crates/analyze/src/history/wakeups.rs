//! The earlier runs of wake-ups on a host: the series of their latencies and of the share of late ones.

use super::{Kind, LeftOut, Valued, Variation, changed};
use crate::cluster::settings;
use crate::known::{Doubt, known_doubts};
use crate::stats::Interval;
use crate::wakeup::{self, Latencies, Wakeup};
use anechoic_recording::Run;
use anechoic_recording::stop::StopCondition;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The earlier runs of wake-ups on a host that were measured alike.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeupHistory {
    /// How they were measured.
    pub kind: Kind,
    /// A wake-up that took longer counts as late, in nanoseconds.
    pub late_ns: u64,
    /// The runs, in order of time.
    pub runs: Vec<PastWakeups>,
    /// How much they vary, for each kind of wake-ups that all have.
    pub series: Vec<WakeupSeries>,
    /// Number of runs of this kind that are left out because they are not whole.
    pub not_whole: u64,
    /// Number of older runs of this kind that are left out.
    pub older: u64,
    /// Number of runs that were measured in other ways, or on other hosts.
    pub others: u64,
    /// Settings of the machine that are not the same in all runs.
    pub changed: Vec<String>,
}

/// An earlier run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PastWakeups {
    /// Directory of the recording.
    pub path: String,
    /// Start of the run, RFC 3339 in UTC.
    pub start_utc: String,
    /// Its latencies, of all CPUs together, by kind.
    pub latencies: Vec<PastLatencies>,
    /// What the run knew that makes it doubtful.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// The condition that ended the run because a wake-up was late; absent if it ended otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<StopCondition>,
    #[serde(skip)]
    late_ns: u64,
    /// What affects latency and may differ between runs.
    #[serde(skip)]
    settings: BTreeMap<String, String>,
}

/// The wake-ups of one kind in an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PastLatencies {
    /// How the threads slept.
    pub kind: wakeup::Kind,
    /// Number of wake-ups.
    pub samples: u64,
    /// Number of further expiries that passed before a thread could sleep again.
    pub overruns: u64,
    /// The median in nanoseconds; absent without wake-ups.
    pub p50_ns: Option<f64>,
    /// The 99th percentile in nanoseconds; absent for fewer than 1,000 wake-ups.
    pub p99_ns: Option<f64>,
    /// The 99.9th percentile in nanoseconds; absent for fewer than 10,000 wake-ups.
    pub p999_ns: Option<f64>,
    /// The longest in nanoseconds; absent without wake-ups.
    pub max_ns: Option<f64>,
    /// Number of late wake-ups.
    pub late: u64,
    /// Their share: the smallest and the largest that agree with their number, each with a probability of 95 %; absent without
    /// wake-ups.
    pub late_share: Option<Interval>,
}

/// How much the wake-ups of one kind vary from run to run. Values are nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeupSeries {
    /// How the threads slept.
    pub kind: wakeup::Kind,
    /// The median of a run.
    pub p50: Variation,
    /// Its 99th percentile; absent if a run has none.
    pub p99: Option<Variation>,
    /// The longest wake-up of a run; absent if a run ended because a wake-up was late.
    pub max: Option<Variation>,
    /// The share of late ones; absent if a run has none, or ended because one was late.
    pub late: Option<Variation>,
}

impl PastWakeups {
    /// Returns what a history keeps of a run.
    #[must_use]
    pub fn new(path: String, run: &Run, found: &Wakeup) -> Self {
        Self {
            path,
            start_utc: run.start_utc.clone(),
            latencies: found.whole().map(PastLatencies::new).collect(),
            doubts: known_doubts(run, None),
            ended_at: run.ended_at(),
            late_ns: found.late_ns,
            settings: settings(run),
        }
    }

    fn measured(&self, kind: wakeup::Kind) -> Option<&PastLatencies> {
        self.latencies.iter().find(|row| row.kind == kind && row.samples > 0)
    }
}

impl PastLatencies {
    fn new(row: &Latencies) -> Self {
        Self {
            kind: row.kind(),
            samples: row.samples,
            overruns: row.overruns,
            p50_ns: row.p50_ns,
            p99_ns: row.p99_ns,
            p999_ns: row.p999_ns,
            max_ns: row.max_ns,
            late: row.late,
            late_share: row.late_share,
        }
    }

    fn share(&self) -> Option<f64> {
        (self.late > 0).then(|| crate::share(self.late, self.samples))
    }
}

impl WakeupHistory {
    /// Returns the history of runs of this kind. Those with another limit of late wake-ups than the newest count as others.
    #[must_use]
    pub fn new(kind: Kind, mut runs: Vec<PastWakeups>, left_out: LeftOut) -> Self {
        runs.sort_by(|a, b| (&a.start_utc, &a.path).cmp(&(&b.start_utc, &b.path)));
        let late_ns = runs.last().map_or(0, |newest| newest.late_ns);
        let all = runs.len();
        runs.retain(|run| run.late_ns == late_ns);
        let others = left_out.others + (all - runs.len()) as u64;
        let kinds = |run: &PastWakeups| -> BTreeSet<wakeup::Kind> {
            run.latencies.iter().filter(|row| row.samples > 0).map(|row| row.kind).collect()
        };
        let first = runs.first().map(kinds).unwrap_or_default();
        let shared = runs.iter().fold(first, |shared, run| &shared & &kinds(run));
        Self {
            series: shared.into_iter().map(|kind| WakeupSeries::new(kind, &runs)).collect(),
            changed: changed(runs.iter().map(|run| &run.settings)),
            late_ns,
            not_whole: left_out.not_whole,
            older: left_out.older,
            others,
            kind,
            runs,
        }
    }
}

impl WakeupSeries {
    fn new(kind: wakeup::Kind, runs: &[PastWakeups]) -> Self {
        let value = |value: fn(&PastLatencies) -> Option<f64>| -> Option<Vec<Valued<'_>>> {
            runs.iter().map(|run| Some((&*run.start_utc, value(run.measured(kind)?)?))).collect()
        };
        let of_all = |values: Option<Vec<Valued<'_>>>| Variation::new(&values.unwrap_or_default());
        let ended = runs.iter().any(|run| run.ended_at.is_some());
        let late = value(PastLatencies::share).filter(|_| !ended);
        Self {
            kind,
            p50: of_all(value(|row| row.p50_ns)),
            p99: value(|row| row.p99_ns).map(|values| Variation::new(&values)),
            max: (!ended).then(|| of_all(value(|row| row.max_ns))),
            late: late.map(|values| Variation::new(&values)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wakeup::wakeup;
    use anechoic_lab::wakeups::{Block, record};
    use anechoic_recording::Run;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;
    use std::path::Path;

    /// Returns a run of a day with these latencies.
    fn run(dir: &Path, day: u32, taken_ns: Vec<u64>) -> PastWakeups {
        let recording = record(&dir.join(day.to_string()), &[Block::new(0, taken_ns)]);
        let run = Run {
            start_utc: format!("2026-01-{day:02}T03:00:00.000000Z"),
            ..recording.run().clone()
        };
        PastWakeups::new(day.to_string(), &run, &wakeup(&recording).expect("a result"))
    }

    /// The truth is the list of latencies from which each run was made; from the 13th day on they are twice as long.
    #[test]
    fn the_series_are_those_of_the_runs_and_a_step_is_found() {
        let place = tempfile::tempdir().expect("a directory");
        let mut random = Pcg64Mcg::seed_from_u64(37);
        let (mut runs, mut medians) = (vec![], vec![]);
        for day in 1..=24 {
            let scale =
                if day < 13 { 10_000.0 } else { 20_000.0 } * random.random_range(0.97..1.03);
            let taken = || (scale * random.random_range(0.5..1.5_f64)) as u64;
            let mut taken: Vec<u64> = std::iter::repeat_with(taken).take(1_001).collect();
            taken[7] = 300_000;
            runs.push(run(place.path(), day, taken.clone()));
            taken.sort_unstable();
            medians.push(taken[500] as f64);
        }
        runs.reverse();
        let kind =
            Kind::from_run(record(&place.path().join("kind"), &[Block::new(0, vec![1])]).run());
        assert!(kind.has_history() && kind.is_of_wakeups());
        let found = WakeupHistory::new(kind, runs, LeftOut::default());
        let shown: Vec<Option<f64>> =
            found.runs.iter().map(|run| run.latencies[0].p50_ns).collect();
        assert_eq!(
            shown,
            medians.iter().copied().map(Some).collect::<Vec<_>>(),
            "in order of time"
        );
        assert!(found.runs.iter().all(|run| (run.latencies[0].late, run.latencies[0].max_ns) == (1, Some(300_000.0))));
        let [series] = &found.series[..] else { panic!("one kind") };
        let step = series.p50.step.as_ref().expect("a step");
        assert_eq!((step.runs_before, &*step.since_utc), (12, "2026-01-13T03:00:00.000000Z"));
        let middle = |half: &[f64]| crate::stats::median(&mut half.to_vec());
        assert_eq!((step.before, step.after), (middle(&medians[..12]), middle(&medians[12..])));
        assert!(
            series.max.as_ref().and_then(|max| max.between_runs).is_some_and(|part| part < 1e-9),
            "all have the same longest one"
        );
        assert!(
            series.p99.is_some() && series.late.as_ref().is_some_and(|late| late.step.is_none())
        );
    }

    /// The longest wake-up of a run that ended because of it is as long as the condition asks.
    #[test]
    fn what_a_condition_chose_is_no_part_of_a_series() {
        let place = tempfile::tempdir().expect("a directory");
        let days = 1..=24;
        let mut runs: Vec<PastWakeups> = days
            .map(|day| run(place.path(), day, vec![if day < 13 { 9_000 } else { 300_000 }; 99]))
            .collect();
        let kind =
            Kind::from_run(record(&place.path().join("kind"), &[Block::new(0, vec![1])]).run());
        let found = |runs: &[PastWakeups]| {
            WakeupHistory::new(kind.clone(), runs.to_vec(), LeftOut::default()).series.remove(0)
        };
        assert!(found(&runs).max.is_some_and(|max| max.step.is_some()));
        runs[23].ended_at = Some(StopCondition::Wakeup(200_000));
        let series = found(&runs);
        assert_eq!((series.max, series.late), (None, None));
        assert!(series.p50.step.is_some(), "it does not depend on when a run ends");
    }

    #[test]
    fn runs_with_another_limit_or_without_wake_ups_are_no_part_of_a_series() {
        let place = tempfile::tempdir().expect("a directory");
        let kind =
            Kind::from_run(record(&place.path().join("kind"), &[Block::new(0, vec![1])]).run());
        let mut runs: Vec<PastWakeups> =
            (1..4).map(|day| run(place.path(), day, vec![1_000; 9])).collect();
        runs[0].late_ns = 5;
        let found =
            WakeupHistory::new(kind.clone(), runs, LeftOut { others: 2, ..LeftOut::default() });
        assert_eq!((found.runs.len(), found.others), (2, 3));
        assert!(found.series[0].p99.is_none() && found.series[0].late.is_none());
        assert_eq!(found.series[0].p50.between_runs, Some(0.0));
        let none = WakeupHistory::new(kind, vec![run(place.path(), 9, vec![])], LeftOut::default());
        assert!(none.series.is_empty());
    }
}
