//! How long the waits of a pool were, in little memory: there may be thousands of pools.

use std::collections::BTreeMap;

/// Number of buckets in which lengths double.
const PER_DOUBLING: u64 = 32;

/// Lengths in ticks, in buckets that are less than 4 % wide.
#[derive(Debug, Clone, Default)]
pub(super) struct WaitLengths {
    buckets: BTreeMap<u64, u64>,
    count: u64,
    longest: u64,
}

impl WaitLengths {
    pub(super) fn add(&mut self, ticks: u64) {
        *self.buckets.entry(bucket(ticks)).or_default() += 1;
        self.count += 1;
        self.longest = self.longest.max(ticks);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the length that this share of all does not exceed; absent if there are none.
    pub(super) fn quantile(&self, share: f64) -> Option<u64> {
        let rank = (share * self.count as f64).ceil() as u64;
        if rank >= self.count {
            return (self.count > 0).then_some(self.longest);
        }
        let mut below = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            below += **count;
            below >= rank
        });
        found.map(|(bucket, _)| middle(*bucket).min(self.longest))
    }
}

/// Returns the number of the bucket of a length: up to 63 its own, then 32 for each doubling.
fn bucket(ticks: u64) -> u64 {
    let doublings = ticks.max(1).ilog2().saturating_sub(PER_DOUBLING.ilog2());
    u64::from(doublings) * PER_DOUBLING + (ticks >> doublings)
}

/// Returns the middle of a bucket.
fn middle(bucket: u64) -> u64 {
    let doublings = (bucket / PER_DOUBLING).saturating_sub(1);
    let first = (bucket - doublings * PER_DOUBLING) << doublings;
    first + (1_u64 << doublings) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quantile_is_within_two_percent(lengths in prop::collection::vec(0_u64..1 << 40, 1..300)) {
            let mut found = WaitLengths::default();
            lengths.iter().for_each(|&length| found.add(length));
            let mut sorted = lengths;
            sorted.sort_unstable();
            for share in [0.5, 0.99, 1.0] {
                let rank = (share * sorted.len() as f64).ceil() as usize;
                let (expected, found) = (sorted[rank - 1] as f64, found.quantile(share).unwrap_or(0) as f64);
                prop_assert!((found - expected).abs() <= 0.02 * expected, "{share}: {found} for {expected}");
            }
        }
    }

    #[test]
    fn few_are_exact() {
        assert_eq!(WaitLengths::default().quantile(0.99), None);
        let mut found = WaitLengths::default();
        found.add(123_456_789);
        assert_eq!((found.quantile(0.99), found.count()), (Some(123_456_789), 1));
    }
}
