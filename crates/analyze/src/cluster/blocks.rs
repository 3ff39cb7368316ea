//! Lost time in equal blocks of a run, as few numbers for each CPU: what shows whether noise stands on several events.

use crate::blocks::{MOST_BLOCKS, SHORTEST_BLOCK_NS};
use crate::fold::{CpuLoops, Fold};
use crate::split::SplitDetour;
use anechoic_recording::{Loops, Run};

/// Adds up the lost time of each CPU in blocks of the whole run. A detour counts in the block in which it begins, so
/// that it is one event however long it is.
pub(super) struct LostByBlock {
    first_ticks: u64,
    length_ticks: u64,
    count: usize,
    /// Lost ticks in each block, CPU by CPU in the order of the run.
    pub(super) cpus: Vec<Vec<u64>>,
}

impl LostByBlock {
    pub(super) fn new(run: &Run, loops: &Loops) -> Self {
        let first_ticks = loops.stints().map(|stint| stint.first_ticks).min().unwrap_or(0);
        let last_ticks = loops.stints().map(|stint| stint.last_ticks).max().unwrap_or(0);
        let wall = last_ticks.saturating_sub(first_ticks);
        let shortest = run.clock.ticks(SHORTEST_BLOCK_NS).max(1);
        let count = (wall / shortest).clamp(1, MOST_BLOCKS);
        let length_ticks = (wall / count).max(1);
        Self { first_ticks, length_ticks, count: count as usize, cpus: vec![] }
    }
}

impl Fold for LostByBlock {
    fn begin_cpu(&mut self, _cpu: &CpuLoops<'_>) {
        self.cpus.push(vec![0; self.count]);
    }

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        let Some(blocks) = self.cpus.last_mut() else { return };
        let since = detour.view.start_ticks.saturating_sub(self.first_ticks);
        let block = (since / self.length_ticks).min(self.count as u64 - 1) as usize;
        blocks[block] = blocks[block].saturating_add(detour.view.lost_ticks);
    }
}
