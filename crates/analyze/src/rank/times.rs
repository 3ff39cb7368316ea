//! How long the same work takes in each configuration, compared with the first: what an operating system adds to a run
//! without one (Radojković 2008, Figures 8 and 9; the thesis, Figure 6.7).

use super::noise::{Estimate, log_median};
use super::points::Point;
use crate::stats::{Interval, median};
use schemars::JsonSchema;
use serde::Serialize;

/// Cycles of cores at one speed differ by less than this share, from one calibration to the next.
const EQUAL_SPEED: f64 = 0.01;

/// What the times of the configurations are compared in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds: the cores ran at one speed.
    Time,
    /// Core cycles: the cores ran at different speeds.
    CoreCycles,
    /// Nothing: for a recording the speed of its cores is unknown, so a difference could be the core's.
    Unknown,
    /// Nothing: the processor of a recording was emulated in software, where durations mean nothing.
    Emulated,
}

/// How long the work of an experiment takes in a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct IterationTime {
    /// Mean time of one iteration of the kernel in ns, of one access in experiments with memory: the median over CPUs and
    /// working sets, over runs the geometric mean.
    pub mean_ns: f64,
    /// The shortest, likewise.
    pub shortest_ns: f64,
    /// Ratio of the mean to that of the first configuration, in the unit of comparison; absent if that has not measured
    /// the experiment or the unit is unknown.
    pub over_first: Option<f64>,
    /// Its 95 % interval; absent if the variation of one of both is not known.
    pub interval: Option<Interval>,
}

/// How much longer a configuration takes than the first, over all experiments that both have measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TimesOverFirst {
    /// Median of the ratios of mean times.
    pub median: f64,
    /// The lowest ratio.
    pub lowest: f64,
    /// The highest ratio.
    pub highest: f64,
    /// Number of experiments in which the 95 % interval of the ratio does not contain 1.
    pub clear: u64,
}

/// The time of an experiment in a recording, or over the runs of a configuration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    /// Mean time of an iteration.
    mean: Estimate,
    log_shortest: f64,
    /// Logarithm of the length of a core cycle in ns.
    log_cycle: Option<f64>,
}

impl Time {
    /// Returns the time of the series of an experiment; nothing if it is not known.
    pub(super) fn from_points(points: &[&Point]) -> Option<Self> {
        let cycles: Option<Vec<f64>> = points.iter().map(|point| point.work.cycle_ns).collect();
        Some(Self {
            mean: Estimate::from_points(points, Point::time)?,
            log_shortest: log_median(points.iter().filter_map(|point| point.shortest()))?,
            log_cycle: cycles.and_then(|cycles| log_median(cycles.into_iter())),
        })
    }

    /// Returns the time over repeated runs, at least one.
    pub(super) fn over_runs(runs: &[Self]) -> Self {
        let mean =
            |value: &dyn Fn(&Self) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
        let known = runs.iter().all(|run| run.log_cycle.is_some());
        Self {
            mean: Estimate::over_runs(&runs.iter().map(|run| run.mean).collect::<Vec<_>>()),
            log_shortest: mean(&|run| run.log_shortest),
            log_cycle: known.then(|| mean(&|run| run.log_cycle.unwrap_or_default())),
        }
    }
}

/// Returns what the times of all experiments are compared in.
pub(super) fn unit(rows: &[Vec<Option<Time>>]) -> Unit {
    let mut unit = Unit::Time;
    for row in rows {
        let cycles: Option<Vec<f64>> = row.iter().flatten().map(|time| time.log_cycle).collect();
        let Some(cycles) = cycles else { return Unit::Unknown };
        let least = cycles.iter().copied().fold(f64::INFINITY, f64::min);
        if cycles.iter().any(|cycle| cycle - least > EQUAL_SPEED) {
            unit = Unit::CoreCycles;
        }
    }
    unit
}

/// Returns the times of the configurations in an experiment.
pub(super) fn compared(row: &[Option<Time>], unit: Unit) -> Vec<Option<IterationTime>> {
    let first = row.first().copied().flatten();
    let row = row.iter().enumerate();
    row.map(|(at, time)| {
        let time = time.as_ref()?;
        let first = first.as_ref().filter(|_| at > 0);
        let over = first.and_then(|first| over(time, first, unit));
        let interval = over.and_then(|(log, reach)| {
            reach.map(|reach| Interval { low: (log - reach).exp(), high: (log + reach).exp() })
        });
        Some(IterationTime {
            mean_ns: time.mean.log.exp(),
            shortest_ns: time.log_shortest.exp(),
            over_first: over.map(|(log, _)| log.exp()),
            interval,
        })
    })
    .collect()
}

/// Returns the logarithm of the ratio of a time to the first, and its reach if that is known; absent in an unknown unit.
fn over(time: &Time, first: &Time, unit: Unit) -> Option<(f64, Option<f64>)> {
    let longer = time.mean.log - first.mean.log;
    let log = match unit {
        Unit::Unknown | Unit::Emulated => return None,
        Unit::Time => longer,
        Unit::CoreCycles => longer - (time.log_cycle? - first.log_cycle?),
    };
    let reach = time.mean.reach.zip(first.mean.reach).map(|(a, b)| a.hypot(b));
    Some((log, reach))
}

/// Returns the median and the range of the ratios to the first over experiments; nothing without any.
pub(super) fn over_first(times: impl Iterator<Item = IterationTime>) -> Option<TimesOverFirst> {
    let compared = times.filter_map(|time| Some((time.over_first?, time.interval)));
    let (mut ratios, intervals): (Vec<f64>, Vec<Option<Interval>>) = compared.unzip();
    let lowest = ratios.iter().copied().reduce(f64::min)?;
    let highest = ratios.iter().copied().reduce(f64::max)?;
    let clear = intervals
        .iter()
        .flatten()
        .filter(|interval| interval.low > 1.0 || interval.high < 1.0)
        .count() as u64;
    Some(TimesOverFirst { median: median(&mut ratios), lowest, highest, clear })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a time of this mean in ns on a core with cycles of this length, known to within a factor of e^0.3.
    fn time(mean_ns: f64, cycle_ns: Option<f64>) -> Time {
        Time {
            mean: Estimate { log: mean_ns.ln(), reach: Some(0.3), fine: false },
            log_shortest: (mean_ns / 2.0).ln(),
            log_cycle: cycle_ns.map(f64::ln),
        }
    }

    #[test]
    fn repeated_runs_have_geometric_means() {
        let found = Time::over_runs(&[time(10.0, Some(0.25)), time(40.0, Some(1.0))]);
        let near = |log: f64, value: f64| (log - value.ln()).abs() < 1e-12;
        assert!(near(found.mean.log, 20.0) && near(found.log_shortest, 10.0), "{found:?}");
        assert!(near(found.log_cycle.expect("both are known"), 0.5), "{found:?}");
        let unknown = Time::over_runs(&[time(10.0, Some(0.25)), time(40.0, None)]);
        assert_eq!(unknown.log_cycle, None);
    }

    #[test]
    fn times_are_compared_in_the_unit() {
        // Three times as long, on a core whose cycles are twice as long: 1.5 times as many cycles.
        let row = [Some(time(10.0, Some(0.25))), Some(time(30.0, Some(0.5))), None];
        for (unit, ratio) in
            [(Unit::Time, Some(3.0)), (Unit::CoreCycles, Some(1.5)), (Unit::Unknown, None)]
        {
            let found = compared(&row, unit);
            let [Some(first), Some(second), None] = &found[..] else { panic!("{found:?}") };
            assert!((first.mean_ns - 10.0).abs() < 1e-9 && first.over_first.is_none());
            assert!(
                (second.mean_ns - 30.0).abs() < 1e-9 && (second.shortest_ns - 15.0).abs() < 1e-9
            );
            assert_eq!(second.over_first.is_some(), ratio.is_some(), "{unit:?}");
            let Some(ratio) = ratio else { continue };
            let interval = second.interval.expect("both are known");
            // Both errors are independent: e to the root of 0.3² + 0.3².
            let factor = (0.3 * std::f64::consts::SQRT_2).exp();
            for (found, expected) in [
                (second.over_first.expect("the unit is known"), ratio),
                (interval.low, ratio / factor),
                (interval.high, ratio * factor),
            ] {
                assert!(
                    (found / expected - 1.0).abs() < 1e-12,
                    "{unit:?}: {found}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn cores_of_different_speeds_are_compared_in_their_cycles() {
        let row = |cycles: &[Option<f64>]| -> Vec<Option<Time>> {
            cycles.iter().map(|cycle| Some(time(10.0, *cycle))).collect()
        };
        let cases = [
            ("one speed", vec![row(&[Some(0.25), Some(0.25)])], Unit::Time),
            ("a calibration apart", vec![row(&[Some(0.25), Some(0.2524)])], Unit::Time),
            ("over a hundredth", vec![row(&[Some(0.2526), Some(0.25)])], Unit::CoreCycles),
            (
                "only in the second",
                vec![row(&[Some(0.25); 2]), row(&[Some(0.25), Some(0.3)])],
                Unit::CoreCycles,
            ),
            ("not known", vec![row(&[Some(0.25), None])], Unit::Unknown),
            (
                "not known in the second",
                vec![row(&[Some(0.25), Some(0.3)]), row(&[None])],
                Unit::Unknown,
            ),
            ("absent", vec![vec![Some(time(10.0, Some(0.25))), None]], Unit::Time),
            ("nothing", vec![], Unit::Time),
        ];
        for (name, rows, expected) in cases {
            assert_eq!(unit(&rows), expected, "case: {name}");
        }
    }

    #[test]
    fn ratios_over_experiments_have_a_median_and_a_range() {
        let ratio = |over_first: Option<f64>, interval: Option<(f64, f64)>| IterationTime {
            mean_ns: 1.0,
            shortest_ns: 1.0,
            over_first,
            interval: interval.map(|(low, high)| Interval { low, high }),
        };
        let times = [
            ratio(Some(1.5), Some((1.0, 2.0))),
            ratio(Some(0.5), Some((0.4, 0.9))),
            ratio(None, Some((3.0, 4.0))),
            ratio(Some(1.2), None),
            ratio(Some(2.0), Some((1.1, 3.0))),
            ratio(Some(0.9), Some((0.8, 1.0))),
        ];
        let found = over_first(times.into_iter()).expect("some are compared");
        let expected = TimesOverFirst { median: 1.2, lowest: 0.5, highest: 2.0, clear: 2 };
        assert_eq!(found, expected);
        assert_eq!(over_first([ratio(None, None)].into_iter()), None);
    }
}
