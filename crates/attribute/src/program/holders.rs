//! Which thread had a CPU when.

use std::cmp::Reverse;
use std::collections::VecDeque;

/// Number of changes of a CPU that are remembered one by one: at least half of these.
const REMEMBERED: usize = 128;
/// Number of earlier changes, or of blocks, that become one block.
const BLOCK: usize = 16;
/// Number of blocks of each level that are remembered: at least half of these.
const BLOCKS: usize = 32;
/// Number of levels of blocks. Together they reach back by 65,536 changes or more.
const LEVELS: usize = 3;
/// Number of holders of a block that are remembered, those that had the CPU longest.
const HOLDERS: usize = 4;

/// What has a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// It is not known.
    #[default]
    Unknown,
    /// Interrupts: on top of a thread of the program, or of the idle task.
    Interrupts,
    /// A thread that does not belong to the program, or the idle task.
    Other(i32),
    /// A thread of the program with this id and number.
    Own(i32, u32),
}

/// From a time on a CPU has this holder.
#[derive(Debug, Clone, Copy)]
struct Change {
    ticks: u64,
    holder: Holder,
    /// For how long threads of the program had it before.
    own_ticks: u64,
}

impl Change {
    /// Returns for how long threads of the program have had the CPU up to `ticks`, before the next change.
    fn own_until(&self, ticks: u64) -> u64 {
        match self.holder {
            Holder::Own(..) => self.own_ticks + ticks.saturating_sub(self.ticks),
            _ => self.own_ticks,
        }
    }
}

/// A time with many changes.
#[derive(Debug)]
struct Block {
    ticks: u64,
    end_ticks: u64,
    own_ticks: u64,
    /// Who had the CPU longest in it, and for how long.
    most: Vec<(Holder, u64)>,
}

/// The last holders of one CPU: the latest changes, blocks of earlier ones, blocks of such blocks, and so on.
#[derive(Debug, Default)]
pub(super) struct Holders {
    changes: VecDeque<Change>,
    blocks: [VecDeque<Block>; LEVELS],
}

impl Holders {
    /// Begins to count now: what was before is forgotten, except who has the CPU.
    pub(super) fn begin(&mut self, ticks: u64) {
        let holder = self.changes.back().map_or(Holder::Unknown, |last| last.holder);
        *self = Self::default();
        self.changes.push_back(Change { ticks, holder, own_ticks: 0 });
    }

    /// Notes who has the CPU from now on.
    pub(super) fn note(&mut self, ticks: u64, holder: Holder) {
        if self.changes.back().is_some_and(|last| last.holder == holder) {
            return;
        }
        let own_ticks = self.own_until(ticks);
        self.changes.push_back(Change { ticks, holder, own_ticks });
        if self.changes.len() > REMEMBERED {
            (0..REMEMBERED / 2 / BLOCK).for_each(|_| self.make_block());
        }
    }

    /// Makes one block of the earliest changes, and one of the earliest blocks of a level where there are many.
    fn make_block(&mut self) {
        let pairs = self.changes.iter().zip(self.changes.iter().skip(1)).take(BLOCK);
        let parts =
            pairs.map(|(change, next)| (change.holder, next.ticks.saturating_sub(change.ticks)));
        let most = longest_of(parts.collect());
        let Change { ticks, own_ticks, .. } = self.changes[0];
        self.changes.drain(..BLOCK);
        let end_ticks = self.changes.front().map_or(ticks, |next| next.ticks);
        let mut block = Block { ticks, end_ticks, own_ticks, most };
        for blocks in &mut self.blocks {
            blocks.push_back(block);
            if blocks.len() <= BLOCKS {
                return;
            }
            let parts: Vec<Block> = blocks.drain(..BLOCK).collect();
            let (ticks, own_ticks) = (parts[0].ticks, parts[0].own_ticks);
            let end_ticks = parts[BLOCK - 1].end_ticks;
            let most = longest_of(parts.into_iter().flat_map(|part| part.most).collect());
            block = Block { ticks, end_ticks, own_ticks, most };
        }
    }

    /// Returns for how long threads of the program have had the CPU up to `ticks`: of a time before the changes that are
    /// remembered, up to the block that it lies in.
    pub(super) fn own_until(&self, ticks: u64) -> u64 {
        let after = self.changes.partition_point(|change| change.ticks <= ticks);
        if let Some(last) = after.checked_sub(1) {
            return self.changes[last].own_until(ticks);
        }
        let block = self.blocks.iter().find_map(|blocks| {
            let after = blocks.partition_point(|block| block.ticks <= ticks);
            Some(blocks[after.checked_sub(1)?].own_ticks)
        });
        block.unwrap_or_else(|| self.changes.front().map_or(0, |first| first.own_ticks))
    }

    /// Returns who had the CPU for most of this time, and for how long; of equal ones the smallest. That is exact where the
    /// changes are remembered one by one. Of a block of which only a part lies in this time, that part counts for the holder
    /// that had the CPU longest in the block, up to what it had there, then for the next.
    pub(super) fn longest(&self, from: u64, to: u64) -> (Holder, u64) {
        let after = self.changes.partition_point(|change| change.ticks < to);
        let (mut parts, mut until) = (Vec::with_capacity(4), to);
        for change in self.changes.range(..after).rev() {
            parts.push((change.holder, until.saturating_sub(change.ticks.max(from))));
            until = change.ticks;
            if until <= from {
                break;
            }
        }
        if until > from {
            for block in self.blocks.iter().flatten() {
                let mut left = block.end_ticks.min(to).saturating_sub(block.ticks.max(from));
                for &(holder, ticks) in &block.most {
                    let part = ticks.min(left);
                    left -= part;
                    parts.extend((part > 0).then_some((holder, part)));
                }
            }
        }
        longest_of(parts).first().copied().unwrap_or_default()
    }
}

/// Adds up the parts of each holder; returns those that had the CPU longest.
fn longest_of(mut parts: Vec<(Holder, u64)>) -> Vec<(Holder, u64)> {
    parts.sort_unstable_by_key(|(holder, _)| *holder);
    let sums = parts
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| (same[0].0, same.iter().map(|(_, ticks)| *ticks).fold(0, u64::saturating_add)));
    let mut sums: Vec<(Holder, u64)> = sums.collect();
    sums.sort_by_key(|(_, ticks)| Reverse(*ticks));
    sums.truncate(HOLDERS);
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_had_the_cpu_longest_and_for_how_long_the_program_had_it() {
        let mut cpu = Holders::default();
        let own = Holder::Own(7, 0);
        for (ticks, holder) in
            [(10, own), (20, Holder::Interrupts), (23, own), (23, own), (40, Holder::Other(9))]
        {
            cpu.note(ticks, holder);
        }
        for (from, to, longest, own_ticks) in [
            (10, 40, (own, 27), 27),
            (15, 24, (own, 6), 6),
            (19, 24, (Holder::Interrupts, 3), 2),
            (30, 60, (Holder::Other(9), 20), 10),
            (12, 12, (own, 0), 0),
            (0, 15, (own, 5), 5),
            (0, 5, (Holder::Unknown, 0), 0),
        ] {
            let own = cpu.own_until(to) - cpu.own_until(from);
            assert_eq!((cpu.longest(from, to), own), (longest, own_ticks), "{from} to {to}");
        }
    }

    /// Counted tick by tick.
    #[test]
    fn what_is_remembered_one_by_one_is_exact() {
        let holders = [Holder::Own(7, 0), Holder::Other(9), Holder::Own(8, 1), Holder::Interrupts];
        let (mut cpu, mut held) = (Holders::default(), vec![]);
        for turn in 0..40 {
            let holder = holders[turn * turn / 3 % 4];
            cpu.note(held.len() as u64, holder);
            held.extend([holder].repeat(1 + turn * 7 % 5));
        }
        for from in 0..held.len() {
            for to in from + 1..=held.len() {
                let count =
                    |holder: &Holder| held[from..to].iter().filter(|it| *it == holder).count();
                let longest = held[from..to].iter().max_by_key(|it| (count(it), Reverse(**it)));
                let expected = longest.map(|holder| (*holder, count(holder) as u64));
                assert_eq!(Some(cpu.longest(from as u64, to as u64)), expected, "{from} to {to}");
            }
            let own = held[..from].iter().filter(|it| matches!(it, Holder::Own(..))).count();
            assert_eq!(cpu.own_until(from as u64), own as u64, "up to {from}");
        }
    }

    #[test]
    fn memory_is_bounded_and_sums_stay_exact() {
        let mut cpu = Holders::default();
        for turn in 0..100_000 {
            cpu.note(10 * turn, Holder::Own(7, 0));
            cpu.note(10 * turn + 4, Holder::Other(turn as i32));
        }
        assert!(cpu.changes.len() <= REMEMBERED);
        assert!(cpu.blocks.iter().all(|blocks| blocks.len() <= BLOCKS));
        assert_eq!(cpu.own_until(1_000_000), 400_000);
        let before = cpu.own_until(600_000);
        assert!((200_000..=240_000).contains(&before), "up to a block: {before}");
        // Of a block that begins before, up to all of it may count, and changes beyond 65,536 may be forgotten.
        for (from, least, most) in
            [(0, 131_072, 400_000), (500_000, 200_000, 220_000), (999_400, 240, 288)]
        {
            let (holder, ticks) = cpu.longest(from, 1_000_000);
            assert_eq!(holder, Holder::Own(7, 0));
            assert!((least..=most).contains(&ticks), "{ticks} since {from}");
        }
    }

    #[test]
    fn before_the_remembered_changes_the_blocks_that_overlap_count() {
        let mut cpu = Holders::default();
        // Sixteen changes are a block: the long holder is the third in its block.
        let mut ticks = 0;
        for turn in 0..400 {
            cpu.note(ticks, if turn % 2 == 0 { Holder::Own(7, 0) } else { Holder::Other(turn) });
            ticks += if turn == 162 { 5_000 } else { 10 };
        }
        let long = 1_620..6_620;
        for (name, from, to, least, most) in [
            ("it had it in the whole time", long.start, long.end, 5_000, 5_000),
            ("it had it before too", 2_000, long.end, 4_620, 4_620),
            ("to the end of its block and beyond", 3_000, 8_000, 3_620, 4_800),
            ("only the middle of it", 3_000, 4_000, 1_000, 1_000),
            ("before it, in another block", 100, 400, 150, 230),
            ("nothing after the time counts", 0, 10, 0, 10),
        ] {
            let (holder, held) = cpu.longest(from, to);
            assert_eq!(holder, Holder::Own(7, 0), "case: {name}");
            assert!((least..=most).contains(&held), "case: {name}: {held}");
        }
        for from in (0..ticks).step_by(37) {
            for length in [0, 1, 25, 300, 2_500] {
                let (_, held) = cpu.longest(from, from + length);
                assert!(held <= length, "{held} in {length} since {from}");
            }
        }
    }
}
