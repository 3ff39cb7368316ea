//! Messages of one rank to another, which do not overtake each other.

use super::costs::{Costs, Model};
use std::collections::HashMap;

/// When the last message of each sender to each receiver arrives, in ps, where their latencies differ.
#[derive(Debug, Default)]
pub(super) struct InOrder(HashMap<(u32, u32), u64>);

impl InOrder {
    /// Returns when a message arrives that would arrive at `arrival_ps` alone: not before those that were sent before it.
    /// In the other simulators, it may overtake them.
    #[inline]
    pub(super) fn arrival(
        &mut self,
        costs: Costs<'_>,
        from_to: (u32, u32),
        arrival_ps: u64,
    ) -> u64 {
        if costs.network.is_none() || costs.model != Model::Anechoic {
            return arrival_ps;
        }
        let last_ps = self.0.entry(from_to).or_insert(0);
        *last_ps = arrival_ps.max(*last_ps);
        *last_ps
    }
}
