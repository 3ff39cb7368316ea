//! Sources whose events come at even intervals: known from the kernel's events alone, where a series is too short for a
//! spectrum (Radojković 2008 takes 1,000 repetitions of 100 µs, which hold 25 ticks).

use super::carriers::SourceEvents;
use schemars::JsonSchema;
use serde::Serialize;

/// Fewest intervals.
const FEWEST: usize = 8;
/// Largest deviation of an interval from the median, as a share of it.
const NEAR: f64 = 0.1;
/// Smallest share of the intervals that are near the median. Of events at random times fewer than a tenth are.
const MOST: f64 = 0.8;

/// A source whose events come at even intervals.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Regular {
    /// Identifier of the source, from the table of sources.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Its rate in Hz: the inverse of the mean of the even intervals.
    pub hz: f64,
    /// Number of its events.
    pub events: u64,
}

/// Returns the sources whose events come at even intervals.
pub(crate) fn regular(sources: &[SourceEvents<'_>]) -> Vec<Regular> {
    sources.iter().filter_map(regular_source).collect()
}

fn regular_source(events: &SourceEvents<'_>) -> Option<Regular> {
    let mut intervals: Vec<f64> =
        events.starts_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if intervals.len() < FEWEST {
        return None;
    }
    let median = crate::stats::median(&mut intervals);
    let even: Vec<f64> = intervals
        .iter()
        .copied()
        .filter(|interval| (interval / median - 1.0).abs() <= NEAR)
        .collect();
    let hz = even.len() as f64 / even.iter().sum::<f64>();
    let is_regular = even.len() as f64 >= MOST * intervals.len() as f64 && hz.is_finite();
    is_regular.then(|| Regular {
        source: events.source.to_owned(),
        name: events.name.to_owned(),
        hz,
        events: events.starts_s.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::trains::{exponential, random, unit};

    fn found(starts_s: &[f64]) -> Option<f64> {
        let (source, name, function) = ("timer-tick", "", None);
        let all = [SourceEvents { source, name, function, starts_s, lengths_s: &[] }];
        regular(&all).first().map(|found| found.hz)
    }

    #[test]
    fn even_intervals_are_found_and_random_ones_are_not() {
        let mut random = random(1);
        let even: Vec<f64> =
            (0..25).map(|at| 0.004 * f64::from(at) + 20e-6 * unit(&mut random)).collect();
        assert!(found(&even).is_some_and(|hz| (hz - 250.0).abs() < 0.5), "{:?}", found(&even));
        let mut missed = even.clone();
        missed.remove(7);
        missed.remove(15);
        assert!(found(&missed).is_some_and(|hz| (hz - 250.0).abs() < 0.5), "{:?}", found(&missed));
        assert_eq!(found(&even[..8]), None, "seven intervals");
        assert_eq!(found(&[0.0; 20]), None, "all at once");
        for _ in 0..10_000 {
            let mut at = 0.0;
            let mut next = || {
                at += exponential(0.004, &mut random);
                at
            };
            let starts: Vec<f64> = (0..12).map(|_| next()).collect();
            assert_eq!(found(&starts), None, "{starts:?}");
        }
    }
}
