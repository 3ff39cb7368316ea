//! A block of one loop's items, and a view of the block that is being filled.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// Items of one loop, in time order.
#[derive(Debug)]
pub(super) struct Block<'a, T> {
    /// A pointer instead of a reference, because the writer reads the first items while the loop adds more.
    pub(super) items: ptr::NonNull<T>,
    room: usize,
    pub(super) len: usize,
    pub(super) tag: u32,
    memory: PhantomData<&'a mut [T]>,
}

// SAFETY: the block stands for a `&mut [T]`, which is `Send`.
unsafe impl<T: Send> Send for Block<'_, T> {}

impl<'a, T> Block<'a, T> {
    pub(super) fn new(items: &'a mut [T]) -> Self {
        let room = items.len();
        Block { items: ptr::NonNull::from(items).cast(), room, len: 0, tag: 0, memory: PhantomData }
    }

    /// Returns the same memory, empty.
    pub(super) fn emptied(self) -> Self {
        Block { len: 0, tag: 0, ..self }
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == self.room
    }

    pub(super) fn push(&mut self, item: T) {
        assert!(!self.is_full());
        // SAFETY: inside the block, which is ours; a reader of the current block reads only items below
        // `len`.
        unsafe { self.items.add(self.len).write(item) };
        self.len += 1;
    }

    pub(super) fn items(&self) -> &[T] {
        // SAFETY: that many items were written, and the shared borrow prevents further writes.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

/// The block that the loop is filling, which the writer can view without a handover.
#[derive(Debug)]
pub(super) struct Current<T> {
    items: AtomicPtr<T>,
    pub(super) len: AtomicUsize,
    tag: AtomicU32,
}

impl<T> Default for Current<T> {
    fn default() -> Self {
        Current {
            items: AtomicPtr::new(ptr::null_mut()),
            len: AtomicUsize::new(0),
            tag: AtomicU32::new(0),
        }
    }
}

impl<T> Current<T> {
    /// Makes `block` the block that the loop fills, or none.
    pub(super) fn turn_to(&self, block: Option<&Block<'_, T>>) {
        // This order prevents that a length is taken for that of another block.
        self.items.store(ptr::null_mut(), Ordering::Release);
        self.len.store(block.map_or(0, |block| block.len), Ordering::Release);
        if let Some(block) = block {
            self.tag.store(block.tag, Ordering::Release);
            self.items.store(block.items.as_ptr(), Ordering::Release);
        }
    }

    /// Returns the start of the block, its tag and its length; `None` while the loop is changing blocks.
    pub(super) fn now(&self) -> Option<(*mut T, u32, usize)> {
        let items = self.items.load(Ordering::Acquire);
        let (len, tag) = (self.len.load(Ordering::Acquire), self.tag.load(Ordering::Acquire));
        let same = self.items.load(Ordering::Acquire) == items;
        (same && !items.is_null()).then_some((items, tag, len))
    }
}
