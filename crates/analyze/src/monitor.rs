//! Rates of the kernel's counters, second by second: which leave their usual range, and how they differ over days.
//!
//! [`Watch`] decides while a machine is monitored what is unusual. The same rules, over the stored rows, give the same answer
//! later ([`monitored`]), so a recording needs no list of what was found.

mod found;
mod moments;
mod saved;
mod steps;
mod usual;

pub use found::{Missing, Monitored, RateRow, RateSpan, Unusual, monitored};
pub use saved::{InterruptRate, NamedShare, Saved};
pub use steps::LevelStep;

use anechoic_recording::Clock;
use anechoic_recording::rates::{RateLimit, RateSpec, RateUnit, find_rate};
use anechoic_recording::rows::Growth;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;
use usual::UsualRange;

/// A second above a limit is reported if none of this many seconds before it was.
const CALM_S: u32 = 10;

/// Why a rate is worth a look.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It exceeded a limit that the user gave.
    Limit {
        /// The limit.
        most: f64,
    },
    /// It left the range of the last hour.
    Range {
        /// The highest that it had been then, over as many seconds.
        usual_most: f64,
        /// Number of seconds in which it was higher.
        seconds: u32,
    },
}

/// A rate that is worth a look: what ran then?
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Name of the rate, with its control group.
    pub name: Arc<str>,
    /// Start of the first second in which it was so.
    pub start_ticks: u64,
    /// End of the last one.
    pub end_ticks: u64,
    /// How high it was: a share of the time, or a number per second.
    pub value: f64,
    /// Why it is worth a look.
    pub why: Why,
}

/// Watches rates for what is unusual.
pub struct Watch {
    limits: Vec<RateLimit>,
    /// Whether a rate that leaves its usual range is reported.
    reports_ranges: bool,
    rates: HashMap<Arc<str>, Watched>,
}

struct Watched {
    spec: &'static RateSpec,
    range: UsualRange,
    /// For each limit of this rate: the limit, and for how many more seconds it must be below it before it counts again.
    limits: Vec<(f64, u32)>,
}

/// Returns the rate that a row is of, by its name with its control group.
#[must_use]
pub fn rate_by_row(name: &str) -> Option<&'static RateSpec> {
    find_rate(name.split_once(' ').map_or(name, |(rate, _)| rate))
}

/// Returns how fast a counter grew: a share of the time, or a number per second. `None` without time.
pub(crate) fn per_time(row: &Growth, unit: RateUnit, clock: &Clock) -> Option<f64> {
    let ns = clock.ns(row.end_ticks.checked_sub(row.start_ticks)?) as f64;
    let rate = match unit {
        RateUnit::CpuTime | RateUnit::Time => row.value as f64 / ns,
        RateUnit::Number => row.value as f64 / (ns / 1e9),
    };
    rate.is_finite().then_some(rate)
}

/// Returns what is worth a look in the second of this row, and since when it is so.
fn found_in(row: &Growth, start_ticks: u64, value: f64, why: Why) -> Found {
    Found { name: Arc::clone(&row.name), start_ticks, end_ticks: row.end_ticks, value, why }
}

/// Returns how much more than usual a rate of this unit is worth a look at least: a share of the time, or a number per second.
fn least(unit: RateUnit) -> f64 {
    match unit {
        RateUnit::CpuTime | RateUnit::Time => 0.03,
        RateUnit::Number => 300.0,
    }
}

impl Watch {
    /// Begins to watch for these limits, and with `reports_ranges` for rates that leave their usual range.
    #[must_use]
    pub fn new(limits: Vec<RateLimit>, reports_ranges: bool) -> Self {
        Self { limits, reports_ranges, rates: HashMap::new() }
    }

    /// Takes the rows of one reading; returns what is worth a look.
    pub fn take(&mut self, rows: &[Growth], clock: &Clock) -> Vec<Found> {
        let mut found = vec![];
        let reports_ranges = self.reports_ranges;
        for row in rows {
            let Some(watched) = self.watched(&row.name) else { continue };
            let Some(value) = per_time(row, watched.spec.unit, clock) else { continue };
            for (most, calm_in) in &mut watched.limits {
                if value <= *most {
                    *calm_in = calm_in.saturating_sub(1);
                    continue;
                }
                if *calm_in == 0 {
                    found.push(found_in(row, row.start_ticks, value, Why::Limit { most: *most }));
                }
                *calm_in = CALM_S;
            }
            let left = watched.range.take(value, row.start_ticks);
            let left = left.filter(|_| reports_ranges && watched.spec.is_watched);
            found.extend(left.map(|left| {
                let (usual_most, seconds) = (left.usual_most, left.seconds);
                found_in(row, left.start_ticks, left.value, Why::Range { usual_most, seconds })
            }));
        }
        found
    }

    /// Returns what is known of the rate of a row; `None` for one that this version does not know.
    fn watched(&mut self, name: &Arc<str>) -> Option<&mut Watched> {
        if !self.rates.contains_key(name) {
            let spec = rate_by_row(name)?;
            let limits = self.limits.iter().filter(|limit| limit.rate == spec);
            let limits = limits.map(|limit| (limit.most, 0)).collect();
            let watched = Watched { spec, range: UsualRange::new(spec.unit), limits };
            self.rates.insert(Arc::clone(name), watched);
        }
        self.rates.get_mut(name)
    }
}
