//! Buffers for what loops measure: allocated, touched and locked before the start, then passed back and forth
//! between a loop and the writer without a lock, an allocation or a system call.

mod block;

use crate::mapping::{Mapping, Pages};
use anechoic_kernels::detour::Gap;
use anechoic_recording::{Loss, LossKind};
use block::{Block, Current};
use crossbeam_queue::ArrayQueue;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Size of a block in bytes.
const BLOCK_BYTES: usize = 128 * 1024;
/// Size of a block in bytes if each series has few items.
const SMALL_BLOCK_BYTES: usize = 4 * 1024;
/// Memory for all loops' blocks of one kind together, in bytes, where they may store much.
pub(crate) const BUDGET: usize = 64 << 20;
/// Size of the huge pages to which the memory is rounded, in bytes.
const HUGE_PAGE: usize = 2 << 20;

/// An item that a loop stores, in time order.
///
/// # Safety
/// All bytes zero must be a valid value.
pub(crate) unsafe trait Item: Copy {
    /// What is lost if there is no room: a word of [`Loss::what`].
    const WHAT: LossKind;
    /// An item that is stored and discarded before the start, to touch all memory that storing uses.
    const ZERO: Self;

    /// Returns the first and the last tick that it covers.
    fn span(&self) -> (u64, u64);

    /// Returns the CPU of the item, if the item has it.
    fn cpu(&self) -> Option<u32> {
        None
    }
}

// SAFETY: it consists of two integers.
unsafe impl Item for Gap {
    const WHAT: LossKind = LossKind::Detours;
    const ZERO: Self = Gap { start: 0, end: 0 };

    fn span(&self) -> (u64, u64) {
        (self.start, self.end)
    }
}

/// A sample of a series as a loop stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredSample {
    pub(crate) index: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) count: u32,
    pub(crate) cpu: u32,
}

// SAFETY: it consists of integers only.
unsafe impl Item for StoredSample {
    const WHAT: LossKind = LossKind::Samples;
    const ZERO: Self = StoredSample { index: 0, start: 0, end: 0, count: 0, cpu: 0 };

    fn span(&self) -> (u64, u64) {
        (self.start, self.end)
    }

    fn cpu(&self) -> Option<u32> {
        Some(self.cpu)
    }
}

/// The memory for what one loop stores.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    mapping: Mapping,
    /// Number of items in a block; a block holds items of one series.
    block_items: usize,
    items: PhantomData<T>,
}

impl<T: Item> Arena<T> {
    /// Allocates memory for one of `loops` loops: an equal share of `budget` bytes, at least 2 MiB.
    ///
    /// # Errors
    /// Returns the kernel's error if it gives no memory.
    pub(crate) fn new(budget: usize, loops: usize) -> rustix::io::Result<Self> {
        Self::make((budget / loops.max(1)).max(1).next_multiple_of(HUGE_PAGE), BLOCK_BYTES)
    }

    /// Allocates memory for a loop that stores little, in many series: 2 MiB in small blocks.
    ///
    /// # Errors
    /// Returns the kernel's error if it gives no memory.
    pub(crate) fn small() -> rustix::io::Result<Self> {
        Self::make(HUGE_PAGE, SMALL_BLOCK_BYTES)
    }

    fn make(bytes: usize, block_bytes: usize) -> rustix::io::Result<Self> {
        let mapping = Mapping::new(bytes, Pages::Transparent)?;
        Ok(Arena { mapping, block_items: block_bytes / size_of::<T>(), items: PhantomData })
    }

    /// Returns whether the pages are locked; if not (limit on locked memory), they are at least touched.
    pub(crate) fn locked(&self) -> bool {
        self.mapping.locked
    }
}

impl<T> Arena<T> {
    fn blocks(&mut self) -> impl Iterator<Item = Block<'_, T>> {
        let (start, items) = (self.mapping.start().cast(), self.mapping.bytes() / size_of::<T>());
        // SAFETY: the mapping is ours alone, zeroed (a valid `Item`) and lives as long as `self`.
        let items = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), items) };
        items.chunks_exact_mut(self.block_items).map(Block::new)
    }
}

/// The blocks of one loop: the loop takes empty ones and returns filled ones, the writer does the reverse.
#[derive(Debug)]
pub(crate) struct BlockExchange<'a, T> {
    filled: ArrayQueue<Block<'a, T>>,
    empty: ArrayQueue<Block<'a, T>>,
    block_items: usize,
    current: Current<T>,
    /// The block that the writer last read while it was being filled, and how many items it had then.
    seen: LookState<T>,
}

/// State that only the writer uses.
#[derive(Debug)]
struct LookState<T> {
    items: AtomicPtr<T>,
    len: AtomicUsize,
}

impl<'a, T: Item> BlockExchange<'a, T> {
    pub(crate) fn new(arena: &'a mut Arena<T>) -> Self {
        let block_items = arena.block_items;
        let blocks: Vec<_> = arena.blocks().collect();
        let [filled, empty] = [(); 2].map(|()| ArrayQueue::new(blocks.len()));
        let seen = LookState { items: AtomicPtr::new(ptr::null_mut()), len: AtomicUsize::new(0) };
        let lane = BlockExchange { filled, empty, block_items, current: Current::default(), seen };
        for block in blocks {
            lane.give_back(block);
        }
        lane
    }

    /// Returns whether half of the blocks are filled, so that the writer should take them.
    pub(crate) fn half_full(&self) -> bool {
        self.filled.len() * 2 >= self.filled.capacity()
    }

    /// Returns whether a filled block waits for the writer.
    pub(crate) fn has_filled(&self) -> bool {
        !self.filled.is_empty()
    }

    /// Returns the number of items that fit into all blocks together.
    pub(crate) fn room(&self) -> usize {
        self.filled.capacity() * self.block_items
    }

    /// Copies the next new items to `rows`, converted by `row` from the block's tag and the item: those of the oldest
    /// filled block, or else those of the block that is being filled. Returns whether there may be more. Only one
    /// thread may read; it gets each item once, in order.
    pub(crate) fn read<R>(&self, rows: &mut Vec<R>, row: impl Fn(u32, &T) -> R) -> bool {
        let Some(block) = self.filled.pop() else { return self.read_current(rows, row) };
        let known = self.known_of(block.items.as_ptr());
        rows.extend(block.items()[known..].iter().map(|item| row(block.tag, item)));
        self.seen.items.store(ptr::null_mut(), Ordering::Relaxed);
        self.give_back(block);
        true
    }

    /// Copies new items of the block that is being filled. Returns true if there are filled blocks, which hold
    /// earlier items and must be read first.
    fn read_current<R>(&self, rows: &mut Vec<R>, row: impl Fn(u32, &T) -> R) -> bool {
        let current = self.current.now();
        if !self.filled.is_empty() {
            return true;
        }
        let Some((items, tag, len)) = current else { return false };
        let known = self.known_of(items);
        for place in known..len {
            // SAFETY: the item was written before `len` was, and is not written again until the block is
            // given back, which only the caller does.
            rows.push(row(tag, unsafe { &*items.add(place) }));
        }
        self.seen.items.store(items, Ordering::Relaxed);
        self.seen.len.store(len.max(known), Ordering::Relaxed);
        false
    }

    /// Returns how many items of a block were already read.
    fn known_of(&self, items: *mut T) -> usize {
        let same = self.seen.items.load(Ordering::Relaxed) == items;
        if same { self.seen.len.load(Ordering::Relaxed) } else { 0 }
    }

    fn give_back(&self, block: Block<'a, T>) {
        // Both queues have room for all blocks.
        let _ = self.empty.push(block.emptied());
    }
}

/// The end of a lane at which its loop stores items.
#[derive(Debug)]
pub(crate) struct Sink<'l, 'a, T> {
    lane: &'l BlockExchange<'a, T>,
    block: Option<Block<'a, T>>,
    /// The CPU of losses, if an item has none.
    cpu: u32,
    /// The series of the items.
    tag: u32,
    /// Number of items stored since the last [`Sink::begin`].
    pub(crate) stored: u64,
    /// Number of items lost since then.
    pub(crate) lost: u64,
    losses: Vec<Loss>,
    losing: bool,
}

impl<'l, 'a, T: Item> Sink<'l, 'a, T> {
    /// The largest number of separate intervals of loss; later ones extend the last.
    const LOSSES: usize = 4096;

    /// Creates the sink and touches all memory that `store` may touch.
    pub(crate) fn new(lane: &'l BlockExchange<'a, T>, cpu: u32) -> Self {
        let losses = Vec::with_capacity(Self::LOSSES);
        let block = lane.empty.pop();
        lane.current.turn_to(block.as_ref());
        let mut sink = Sink { lane, block, cpu, tag: 0, stored: 0, lost: 0, losses, losing: false };
        sink.warm_up();
        sink
    }

    /// Starts a series: later items belong to `tag`.
    pub(crate) fn begin(&mut self, tag: u32) {
        self.tag = tag;
        if let Some(block) = &mut self.block {
            block.tag = tag;
            self.lane.current.turn_to(Some(block));
        }
        (self.stored, self.lost, self.losing) = (0, 0, false);
    }

    /// Stores an item, or counts it as lost if no block is free.
    #[inline]
    pub(crate) fn store(&mut self, item: T) {
        if !self.try_store(item) {
            self.lose(&item);
        }
    }

    /// Stores an item, and returns whether a block was free for it.
    #[inline]
    pub(crate) fn try_store(&mut self, item: T) -> bool {
        if self.block.as_ref().is_none_or(Block::is_full) {
            self.next_block();
        }
        let Some(block) = &mut self.block else { return false };
        block.push(item);
        self.lane.current.len.store(block.len, Ordering::Release);
        self.stored += 1;
        self.losing = false;
        true
    }

    #[cold]
    fn next_block(&mut self) {
        self.lane.current.turn_to(None);
        if let Some(full) = self.block.take() {
            let _ = self.lane.filled.push(full); // has room for all blocks
        }
        self.block = self.lane.empty.pop();
        if let Some(block) = &mut self.block {
            block.tag = self.tag;
        }
        self.lane.current.turn_to(self.block.as_ref());
    }

    #[cold]
    fn lose(&mut self, item: &T) {
        let (start_ticks, end_ticks) = item.span();
        let full = self.losses.len() == Self::LOSSES;
        match self.losses.last_mut() {
            Some(loss) if self.losing || full => {
                loss.end_ticks = end_ticks;
                loss.count += 1;
            }
            _ => self.losses.push(Loss {
                what: T::WHAT,
                cpu: item.cpu().unwrap_or(self.cpu),
                start_ticks,
                end_ticks,
                count: 1,
            }),
        }
        self.lost += 1;
        self.losing = true;
    }

    fn warm_up(&mut self) {
        self.store(T::ZERO);
        self.next_block();
        while self.losses.len() < Self::LOSSES {
            self.losing = false;
            self.lose(&T::ZERO);
        }
        self.losses.clear();
        while let Some(block) = self.lane.filled.pop() {
            self.lane.give_back(block);
        }
        if self.block.is_none() {
            self.block = self.lane.empty.pop();
        }
        self.begin(0);
    }

    /// Hands the present block over to the writer.
    pub(crate) fn flush(&mut self) {
        if self.block.as_ref().is_some_and(|block| block.len > 0) {
            self.next_block();
        }
    }

    /// Hands the last block over and returns the losses.
    pub(crate) fn finish(mut self) -> Vec<Loss> {
        self.flush();
        self.losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_recording::Detour;
    use std::sync::atomic::AtomicBool;

    const BLOCK: usize = BLOCK_BYTES / size_of::<Gap>();

    fn gap(i: usize) -> Gap {
        Gap { start: 10 * i as u64, end: 10 * i as u64 + 5 }
    }

    fn detour(tag: u32, gap: &Gap) -> Detour {
        Detour { cpu: tag, start_ticks: gap.start, end_ticks: gap.end }
    }

    #[test]
    fn what_the_loop_stores_the_writer_gets_in_order() {
        let mut arena = Arena::new(1, 1).expect("2 MiB");
        let lane = BlockExchange::new(&mut arena);
        let mut sink = Sink::new(&lane, 3);
        sink.begin(8);
        (0..BLOCK + 7).for_each(|i| sink.store(gap(i)));
        assert_eq!((sink.stored, sink.lost), (BLOCK as u64 + 7, 0));
        sink.flush();
        sink.begin(9);
        sink.store(gap(BLOCK + 7));
        assert!(sink.finish().is_empty(), "nothing was lost");
        let mut rows = Vec::new();
        while lane.read(&mut rows, detour) {}
        assert_eq!(rows.len(), BLOCK + 8);
        assert_eq!(rows[8_000], Detour { cpu: 8, start_ticks: 80_000, end_ticks: 80_005 });
        assert_eq!(rows[BLOCK + 6].cpu, 8);
        assert_eq!(rows[BLOCK + 7].cpu, 9, "the next series");
    }

    /// A writer that reads while a loop stores gets each item once and in order, before or after its block is
    /// full.
    #[test]
    fn what_is_stored_can_be_read_before_it_is_handed_over() {
        let mut arena = Arena::new(1, 1).expect("2 MiB");
        let lane = BlockExchange::new(&mut arena);
        let all = 40 * BLOCK + 11;
        let mut rows = Vec::new();
        let done = AtomicBool::new(false);
        let mut sink = Sink::new(&lane, 0);
        sink.begin(3);
        let (lane, done) = (&lane, &done);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                (0..all).for_each(|i| {
                    // A full lane would lose items, so the test waits for room.
                    while sink.block.as_ref().is_none_or(Block::is_full) && lane.empty.is_empty() {
                        std::thread::yield_now();
                    }
                    sink.store(gap(i));
                });
                done.store(true, Ordering::Release);
                while !lane.filled.is_empty() {
                    std::thread::yield_now();
                }
                assert!(sink.finish().is_empty());
            });
            let mut over = false;
            while !over {
                over = done.load(Ordering::Acquire);
                while lane.read(&mut rows, detour) {}
            }
        });
        while lane.read(&mut rows, detour) {}
        let expected: Vec<Detour> = (0..all).map(|i| detour(3, &gap(i))).collect();
        assert!(rows == expected, "{} of {all} read", rows.len());
    }

    #[test]
    fn many_short_series_find_room_in_small_blocks() {
        let mut arena = Arena::small().expect("2 MiB");
        let lane = BlockExchange::new(&mut arena);
        let mut sink = Sink::new(&lane, 0);
        for series in 0..200 {
            sink.begin(series);
            (0..20).for_each(|i| sink.store(gap(i)));
            sink.flush();
        }
        assert!(!lane.half_full() && sink.finish().is_empty());
        let mut rows = Vec::new();
        while lane.read(&mut rows, detour) {}
        assert_eq!((rows.len(), rows[3_999].cpu), (4_000, 199));
    }

    #[test]
    fn what_finds_no_room_is_counted_with_its_interval() {
        let mut arena = Arena::new(1, 1).expect("2 MiB");
        let lane = BlockExchange::new(&mut arena);
        let mut sink = Sink::new(&lane, 0);
        let room = (lane.empty.len() + 1) * BLOCK;
        (0..room + 100).for_each(|i| sink.store(gap(i)));
        let mut rows = Vec::new();
        assert!(lane.half_full() && lane.read(&mut rows, detour));
        (room + 100..room + 200).for_each(|i| sink.store(gap(i)));
        assert_eq!(sink.stored as usize, room + 100, "room again after the writer took a block");
        let losses = sink.finish();
        let expected = Loss {
            what: LossKind::Detours,
            cpu: 0,
            start_ticks: gap(room).start,
            end_ticks: gap(room + 99).end,
            count: 100,
        };
        assert_eq!(losses, [expected]);
    }
}
