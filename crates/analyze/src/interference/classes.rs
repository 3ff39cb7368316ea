//! The matrix in few rows: the mean over all pairs that are equally near to each other.

use super::Pair;
use super::cost::Cost;
use crate::stats::Interval;
use crate::stats::POWER;
use anechoic_recording::topology::Proximity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an interrupt costs one kernel at one distance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassCost {
    /// How near the pairs are.
    pub place: Proximity,
    /// The kernel.
    pub kernel: String,
    /// Pairs whose cost is known: with an interrupt alone, and an interval.
    pub pairs: u64,
    /// Those that feel it: whose interval lies over 0.
    pub felt: u64,
    /// Mean over the pairs of what an interrupt alone costs.
    pub mean_ns: f64,
    /// Its 95 % interval, of these pairs; absent where no pair has one.
    pub interval: Option<Interval>,
    /// The smallest mean that would have been found; absent as above.
    pub smallest_effect_ns: Option<f64>,
    /// The pair that costs least,
    pub lowest_ns: f64,
    /// and most.
    pub highest_ns: f64,
}

/// A row for each distance and kernel of which a pair has a cost, nearest first, kernels as given.
pub(super) fn classes(pairs: &[Pair], kernels: &[String]) -> Vec<ClassCost> {
    let rows =
        Proximity::ALL.iter().flat_map(|place| kernels.iter().map(move |kernel| (*place, kernel)));
    let row = |(place, kernel): (Proximity, &String)| {
        let of = pairs.iter().filter(|pair| pair.place == place && pair.kernel == *kernel);
        let costs: Vec<&Cost> = of.filter_map(|pair| pair.alone.as_ref()).collect();
        class(place, kernel, &costs)
    };
    rows.filter_map(row).collect()
}

/// Of these pairs; of those alone that have an interval, where one has.
fn class(place: Proximity, kernel: &str, costs: &[&Cost]) -> Option<ClassCost> {
    let sure: Vec<&Cost> =
        costs.iter().copied().filter(|cost| cost.standard_error_ns.is_some()).collect();
    let costs = if sure.is_empty() { costs } else { &sure };
    let values = || costs.iter().map(|cost| cost.per_interrupt_ns);
    let number = costs.len() as f64;
    let mean = values().sum::<f64>() / number;
    let squares: f64 = sure.iter().filter_map(|cost| cost.standard_error_ns).map(|e| e * e).sum();
    let widest = sure.iter().filter_map(|cost| cost.reach()).reduce(f64::max);
    let error = widest.map(|reach| (squares.sqrt() / number, reach));
    (!costs.is_empty()).then(|| ClassCost {
        place,
        kernel: kernel.to_owned(),
        pairs: costs.len() as u64,
        felt: costs.iter().filter(|cost| cost.is_felt()).count() as u64,
        mean_ns: rounded(mean),
        interval: error.map(|(error, reach)| Interval {
            low: rounded(mean - reach * error),
            high: rounded(mean + reach * error),
        }),
        smallest_effect_ns: error.map(|(error, _)| rounded(POWER * error)),
        lowest_ns: values().fold(f64::INFINITY, f64::min),
        highest_ns: values().fold(f64::NEG_INFINITY, f64::max),
    })
}

/// To a thousandth.
fn rounded(ns: f64) -> f64 {
    (ns * 1e3).round() / 1e3
}

impl ClassCost {
    /// Whether the interval of the mean leaves out 0.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0)
    }
}
