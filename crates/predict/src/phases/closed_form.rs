//! Tsafrir's closed form, with one delay of one length.

use super::law::Law;
use schemars::JsonSchema;
use serde::Serialize;

/// The closed form of Tsafrir et al. (ICS 2005): a phase of a rank is delayed by `delay_ns` with probability `p`.
///
/// It knows one delay. A recording has many, so those over some length count as the delay, and shorter ones are left
/// out: of all such classes, the one that comes nearest to the free-start law over the requested numbers of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ClosedForm {
    /// Shortest delay of a phase in the class, in ns; absent without delays.
    #[serde(default)]
    pub from_ns: Option<f64>,
    /// Probability that one rank's phase has a delay of the class.
    pub p: f64,
    /// Length of the delay in ns: the mean of the class.
    pub delay_ns: f64,
    /// Limit of the slowdown for many ranks: 1 + delay / grain.
    pub limit: f64,
}

impl ClosedForm {
    /// Returns the closed form that fits this law best for these numbers of ranks.
    #[must_use]
    pub fn fit(law: &Law, grain_ns: u64, ranks: &[u64]) -> Self {
        let grain = grain_ns.max(1) as f64;
        let slowest = ranks.iter().map(|&ranks| (ranks, law.mean_of_slowest_ns(ranks)));
        let slowest: Vec<(u64, f64)> = slowest.filter(|(_, slowest)| *slowest > 0.0).collect();
        let miss = |form: &Self| form.miss(&slowest, grain);
        let classes = law.classes();
        let classes = classes.map(|(from, p, delay)| Self::new(Some(from), p, delay, grain));
        let best = classes.min_by(|a, b| miss(a).total_cmp(&miss(b)));
        best.unwrap_or_else(|| Self::new(None, 0.0, 0.0, grain))
    }

    fn new(from_ns: Option<f64>, p: f64, delay_ns: f64, grain_ns: f64) -> Self {
        Self { from_ns, p, delay_ns, limit: 1.0 + delay_ns / grain_ns }
    }

    /// Returns the sum of the squared logarithms of its ratios to these mean delays of the slowest of some ranks.
    fn miss(&self, slowest: &[(u64, f64)], grain_ns: f64) -> f64 {
        let ratios = slowest.iter().map(|(ranks, ns)| self.added(*ranks) * grain_ns / ns);
        ratios.map(|ratio| ratio.ln().powi(2)).sum()
    }

    /// Returns the slowdown of `ranks`: 1 + (1 - (1 - p)^ranks) delay / grain.
    #[must_use]
    pub fn slowdown(&self, ranks: u64) -> f64 {
        1.0 + self.added(ranks)
    }

    /// Returns the probability that a phase of `ranks` is delayed: 1 - (1 - p)^ranks.
    #[must_use]
    pub fn probability(&self, ranks: u64) -> f64 {
        if ranks == 0 {
            return 0.0; // also avoids 0 * ln(0) = NaN when p = 1
        }
        -f64::exp_m1(ranks as f64 * f64::ln_1p(-self.p))
    }

    fn added(&self, ranks: u64) -> f64 {
        self.probability(ranks) * (self.limit - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each phase is delayed by 100 ns: the squared logarithm of 1 where that is found, of e where it is e times as long.
    #[test]
    fn a_miss_is_the_squared_logarithm_of_what_is_found_over_what_is_said() {
        let form = ClosedForm::new(Some(100.0), 1.0, 100.0, 1_000.0);
        let e = std::f64::consts::E;
        let cases: [(&[(u64, f64)], f64); 4] = [
            (&[], 0.0),
            (&[(1, 100.0)], 0.0),
            (&[(1, 100.0 * e)], 1.0),
            (&[(1, 100.0 * e), (7, 100.0 / e / e)], 5.0),
        ];
        for (slowest, expected) in cases {
            let found = form.miss(slowest, 1_000.0);
            assert!((found - expected).abs() < 1e-9, "{slowest:?}: {found}");
        }
    }

    /// Of two delays, the rare long one decides about many ranks and the frequent short one about few.
    #[test]
    fn the_class_that_misses_least_is_chosen() {
        use crate::phases::{Span, Timeline};
        let rare = (0..10).map(|at| (100_000 * at, 100_000 * at + 5_000));
        let often = (0..900).map(|at| (1_000 * at + 20_000, 1_000 * at + 20_010));
        let spans = rare.chain(often).map(|(start_ns, end_ns)| Span { start_ns, end_ns });
        let timeline = Timeline::new(1_000_000, spans.collect());
        let laws = crate::phases::laws([&timeline], 100);
        let cases: [(&[u64], bool); 3] =
            [(&[1, 2, 4], false), (&[10_000, 100_000], true), (&[0], true)];
        for (ranks, is_long) in cases {
            let found = ClosedForm::fit(&laws.free, 100, ranks);
            assert_eq!(found.delay_ns > 4_000.0, is_long, "{ranks:?}: {found:?}");
            assert_eq!(found.limit, 1.0 + found.delay_ns / 100.0);
            let miss = |p: f64, delay: f64| -> f64 {
                let ratio = |&ranks: &u64| {
                    let slowest = laws.free.mean_of_slowest_ns(ranks);
                    let stated = (1.0 - (1.0 - p).powf(ranks as f64)) * delay;
                    if slowest > 0.0 { (stated / slowest).ln().powi(2) } else { 0.0 }
                };
                ranks.iter().map(ratio).sum()
            };
            let own = miss(found.p, found.delay_ns);
            for (from, p, delay) in laws.free.classes() {
                assert!(own <= miss(p, delay) + 1e-9, "{ranks:?}: {found:?}, not {from} ns");
            }
            for count in [1, 7, 1_000] {
                let any = 1.0 - (1.0 - found.p).powi(count);
                let count = count as u64;
                assert!((found.probability(count) - any).abs() < 1e-9, "{count}: {found:?}");
                let slowdown = 1.0 + any * found.delay_ns / 100.0;
                assert!((found.slowdown(count) - slowdown).abs() < 1e-9, "{count}: {found:?}");
            }
            assert_eq!((found.probability(0), found.slowdown(0)), (0.0, 1.0));
        }
        let none =
            ClosedForm::fit(&crate::phases::laws([&Timeline::new(10, vec![])], 1).free, 1, &[5]);
        assert_eq!(none, ClosedForm { from_ns: None, p: 0.0, delay_ns: 0.0, limit: 1.0 });
    }
}
