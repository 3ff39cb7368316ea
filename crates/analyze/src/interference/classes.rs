//! The matrix by distance: the mean over all pairs at the same distance.

use super::Pair;
use super::cost::Cost;
use crate::rounded;
use crate::stats::Interval;
use crate::stats::detectable;
use anechoic_recording::topology::Proximity;
use schemars::JsonSchema;
use serde::Serialize;

/// Cost of an interrupt for one kernel at one distance.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClassCost {
    /// Distance of the pairs.
    pub place: Proximity,
    /// Name of the kernel.
    pub kernel: String,
    /// Number of pairs with a known cost: with single interrupts, and an interval.
    pub pairs: u64,
    /// Number of pairs with a cost significantly above 0.
    pub felt: u64,
    /// Mean over the pairs of the cost of a single interrupt.
    pub mean_ns: f64,
    /// Its 95 % interval over these pairs; absent if no pair has one.
    pub interval: Option<Interval>,
    /// Smallest mean that would have been detected; absent likewise.
    pub smallest_effect_ns: Option<f64>,
    /// Lowest cost of a pair.
    pub lowest_ns: f64,
    /// Highest cost of a pair.
    pub highest_ns: f64,
}

/// Returns one row for each distance and kernel with a known cost: nearest first, kernels in the given order.
pub(super) fn classes(pairs: &[Pair], kernels: &[String]) -> Vec<ClassCost> {
    let rows =
        Proximity::ALL.iter().flat_map(|place| kernels.iter().map(move |kernel| (*place, kernel)));
    let row = |(place, kernel): (Proximity, &String)| {
        let alike = pairs.iter().filter(|pair| pair.place == place && pair.kernel == *kernel);
        let costs: Vec<&Cost> = alike.filter_map(|pair| pair.alone.as_ref()).collect();
        class(place, kernel, &costs)
    };
    rows.filter_map(row).collect()
}

/// Combines these pairs, or only those with an interval if there are any.
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
        smallest_effect_ns: error.map(|(error, reach)| rounded(detectable(reach * error, error))),
        lowest_ns: values().fold(f64::INFINITY, f64::min),
        highest_ns: values().fold(f64::NEG_INFINITY, f64::max),
    })
}

impl ClassCost {
    /// Returns whether the interval of the mean excludes 0.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.interval.is_some_and(Interval::excludes_zero)
    }
}
