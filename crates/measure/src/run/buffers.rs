//! Buffers for gaps: made, touched and locked before the start, then passed to and fro
//! between a loop and the writer without a lock, an allocation or a system call.

use anechoic_kernels::detour::Gap;
use anechoic_recording::{Detour, Loss};
use crossbeam_queue::ArrayQueue;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap_anonymous, munmap};
use std::ptr;

/// Gaps in one block (128 KiB).
const BLOCK: usize = 8 * 1024;
/// Memory for all CPUs' blocks together, in bytes.
const BUDGET: usize = 64 << 20;
/// Bytes of the huge pages that the memory is rounded to.
const HUGE_PAGE: usize = 2 << 20;

/// Memory for one CPU's gaps.
#[derive(Debug)]
pub(super) struct Arena {
    start: ptr::NonNull<Gap>,
    gaps: usize,
    /// Whether the pages are locked; where not (limit on locked memory) they are touched at least.
    pub(super) locked: bool,
}

impl Arena {
    /// Memory for one of `cpus` CPUs: an equal share of 64 MiB, 2 MiB at least.
    ///
    /// # Errors
    /// The kernel's refusal to give memory.
    pub(super) fn new(cpus: usize) -> rustix::io::Result<Self> {
        let bytes = (BUDGET / cpus.max(1)).max(1).next_multiple_of(HUGE_PAGE);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh private mapping at a place of the kernel's choice.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, MapFlags::PRIVATE) }?;
        // SAFETY: the mapping made above. Advice that is refused changes nothing.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
        for page in (0..bytes).step_by(4096) {
            // SAFETY: inside the mapping made above, which nobody else knows yet.
            unsafe { start.byte_add(page).cast::<u8>().write_volatile(0) };
        }
        // SAFETY: the mapping made above; it is unlocked when it is unmapped.
        let locked = unsafe { mlock(start, bytes) }.is_ok();
        let start = ptr::NonNull::new(start.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Arena { start, gaps: bytes / size_of::<Gap>(), locked })
    }

    fn blocks(&mut self) -> impl Iterator<Item = Block<'_>> {
        // SAFETY: the mapping is ours alone, zeroed (a valid Gap) and lives as long as `self`.
        let gaps = unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.gaps) };
        gaps.chunks_exact_mut(BLOCK).map(|gaps| Block { gaps, len: 0 })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let bytes = self.gaps * size_of::<Gap>();
        // SAFETY: the mapping made in `new`; the blocks that borrow from it are gone.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), bytes) };
    }
}

/// Some gaps of one CPU, in the order of time.
#[derive(Debug)]
pub(super) struct Block<'a> {
    gaps: &'a mut [Gap],
    len: usize,
}

/// One CPU's blocks: the loop takes empty ones and gives back filled ones, the writer the reverse.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    cpu: u32,
    filled: ArrayQueue<Block<'a>>,
    empty: ArrayQueue<Block<'a>>,
}

impl<'a> Lane<'a> {
    pub(super) fn new(cpu: u32, arena: &'a mut Arena) -> Self {
        let blocks: Vec<_> = arena.blocks().collect();
        let lane = Lane {
            cpu,
            filled: ArrayQueue::new(blocks.len()),
            empty: ArrayQueue::new(blocks.len()),
        };
        for block in blocks {
            lane.give_back(block);
        }
        lane
    }

    /// The CPU whose gaps these are.
    pub(super) fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Whether half of the blocks are filled: time for the writer.
    pub(super) fn half_full(&self) -> bool {
        self.filled.len() * 2 >= self.filled.capacity()
    }

    /// Moves the oldest filled block's gaps to `rows`; false if there is none.
    pub(super) fn take(&self, rows: &mut Vec<Detour>) -> bool {
        let Some(block) = self.filled.pop() else { return false };
        let row = |gap: &Gap| Detour { cpu: self.cpu, start_ticks: gap.start, end_ticks: gap.end };
        rows.extend(block.gaps[..block.len].iter().map(row));
        self.give_back(block);
        true
    }

    fn give_back(&self, block: Block<'a>) {
        // Both queues have room for all blocks there are.
        let _ = self.empty.push(Block { gaps: block.gaps, len: 0 });
    }
}

/// Where one loop puts its gaps.
#[derive(Debug)]
pub(super) struct Sink<'l, 'a> {
    lane: &'l Lane<'a>,
    block: Option<Block<'a>>,
    /// Gaps stored.
    pub(super) stored: u64,
    losses: Vec<Loss>,
    losing: bool,
}

impl<'l, 'a> Sink<'l, 'a> {
    /// Intervals of loss that are told apart; later ones are joined to the last.
    const LOSSES: usize = 4096;

    pub(super) fn new(lane: &'l Lane<'a>) -> Self {
        let losses = Vec::with_capacity(Self::LOSSES);
        Sink { lane, block: lane.empty.pop(), stored: 0, losses, losing: false }
    }

    /// Stores a gap, or counts it as lost where no block is free.
    #[inline]
    pub(super) fn store(&mut self, gap: Gap) {
        if self.block.as_ref().is_none_or(|block| block.len == block.gaps.len()) {
            self.next_block();
        }
        let Some(block) = &mut self.block else { return self.lose(gap) };
        block.gaps[block.len] = gap;
        block.len += 1;
        self.stored += 1;
        self.losing = false;
    }

    #[cold]
    fn next_block(&mut self) {
        if let Some(full) = self.block.take() {
            let _ = self.lane.filled.push(full); // has room for all blocks there are
        }
        self.block = self.lane.empty.pop();
    }

    #[cold]
    fn lose(&mut self, gap: Gap) {
        let full = self.losses.len() == Self::LOSSES;
        match self.losses.last_mut() {
            Some(loss) if self.losing || full => {
                loss.end_ticks = gap.end;
                loss.count += 1;
            }
            _ => self.losses.push(Loss {
                what: String::new(), // named when the loop is over: naming allocates
                cpu: self.lane.cpu,
                start_ticks: gap.start,
                end_ticks: gap.end,
                count: 1,
            }),
        }
        self.losing = true;
    }

    /// Touches everything that `store` may touch, and starts over.
    pub(super) fn warm_up(&mut self) {
        self.store(Gap { start: 0, end: 0 });
        self.next_block();
        while self.losses.len() < Self::LOSSES {
            self.losing = false;
            self.lose(Gap { start: 0, end: 0 });
        }
        self.losses.clear();
        self.losing = false;
        while let Some(block) = self.lane.filled.pop() {
            self.lane.give_back(block);
        }
        self.stored = 0;
    }

    /// Hands the last block over and returns what was lost.
    pub(super) fn finish(mut self) -> Vec<Loss> {
        if let Some(block) = self.block.take() {
            let _ = self.lane.filled.push(block);
        }
        let named = |loss| Loss { what: "detours".to_owned(), ..loss };
        self.losses.into_iter().map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(i: usize) -> Gap {
        Gap { start: 10 * i as u64, end: 10 * i as u64 + 5 }
    }

    #[test]
    fn what_the_loop_stores_the_writer_gets_in_order() {
        let mut arena = Arena::new(usize::MAX).expect("2 MiB");
        let lane = Lane::new(3, &mut arena);
        let mut sink = Sink::new(&lane);
        sink.warm_up();
        (0..BLOCK + 7).for_each(|i| sink.store(gap(i)));
        assert_eq!(sink.stored, BLOCK as u64 + 7);
        assert!(sink.finish().is_empty(), "nothing was lost");
        let mut rows = Vec::new();
        while lane.take(&mut rows) {}
        assert_eq!(rows.len(), BLOCK + 7);
        let expected = Detour { cpu: 3, start_ticks: 80_000, end_ticks: 80_005 };
        assert_eq!(rows[8_000], expected);
    }

    #[test]
    fn what_finds_no_room_is_counted_with_its_interval() {
        let mut arena = Arena::new(usize::MAX).expect("2 MiB");
        let lane = Lane::new(0, &mut arena);
        let room = lane.empty.len() * BLOCK;
        let mut sink = Sink::new(&lane);
        (0..room + 100).for_each(|i| sink.store(gap(i)));
        let mut rows = Vec::new();
        assert!(lane.half_full() && lane.take(&mut rows));
        (room + 100..room + 200).for_each(|i| sink.store(gap(i)));
        assert_eq!(sink.stored as usize, room + 100, "room again after the writer took a block");
        let losses = sink.finish();
        let expected = Loss {
            what: "detours".to_owned(),
            cpu: 0,
            start_ticks: gap(room).start,
            end_ticks: gap(room + 99).end,
            count: 100,
        };
        assert_eq!(losses, [expected]);
    }
}
